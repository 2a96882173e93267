#include "broker/bootstrap/bootstrap_table.hpp"
#include "broker/bootstrap/business_card.hpp"
#include "fuzz.hpp"

// The [bootstrap] table, as JSON, and a card from another broker.
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace flux::broker;
    auto text = fuzz::text(data, size);
    try {
        auto card = BusinessCard::parse(text);
        fuzz::require(BusinessCard::parse(card.to_string()).uris == card.uris);
    } catch (const flux::Error&) {}
    try {
        auto json = flux::Json::parse(text);
        BootstrapTable table(json);
        fuzz::require(table.parents().size() == table.size());
        for (std::uint32_t rank = 0; rank < table.hosts().size(); ++rank)
            fuzz::require(table.rank_of(table.hosts()[rank].name) == rank);
        if (!table.hosts().empty()) table.bind_uri(0), table.connect_uri(0);
    } catch (const flux::Error&) {}
    return 0;
}
