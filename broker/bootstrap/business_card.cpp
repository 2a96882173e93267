#include "broker/bootstrap/business_card.hpp"

#include <flux/json.hpp>

namespace flux::broker {

BusinessCard BusinessCard::parse(std::string_view text) {
    auto json = Json::parse(text, "business card");
    BusinessCard card;
    card.host = json.get<std::string>("host");
    card.public_key = json.get_or<std::string>("pubkey", "");
    card.uris = json.get<std::vector<std::string>>("uri");
    return card;
}

std::string BusinessCard::to_string() const {
    return Json::object("host", host, "pubkey", public_key, "uri", Json(uris)).dump();
}

} // namespace flux::broker
