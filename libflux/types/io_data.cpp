#include <flux/base64.hpp>
#include <flux/io_data.hpp>

#include <cerrno>

namespace flux {

Json IoData::encode(std::string_view stream, std::string_view rank, std::string_view data, bool eof) {
    auto json = Json::object("stream", stream, "rank", rank);
    if (!data.empty() || !eof) {
        try {
            json.set("data", data);
        } catch (const Error&) { // not UTF-8
            json.set("data", base64_encode(data));
            json.set("encoding", "base64");
        }
    }
    if (eof) json.set("eof", true);
    return json;
}

IoData IoData::decode(JsonView json) {
    IoData io;
    io.stream = json.get<std::string>("stream");
    io.rank = json.get<std::string>("rank");
    auto data = json.get_optional<std::string_view>("data");
    auto encoding = json.get_or<std::string_view>("encoding", "UTF-8");
    io.eof = json.get_or("eof", false);
    if (!data && !io.eof) throw Error(EPROTO, "stream data: neither data nor eof");
    if (data) io.data = encoding == "base64" ? base64_decode(*data) : std::string(*data);
    return io;
}

} // namespace flux
