#include <flux/content_commit.hpp>

#include <cerrno>
#include <limits>

namespace flux {
namespace {

constexpr std::size_t word_size = 4;

void put_word(char* at, std::uint32_t value) {
    for (std::size_t i = 0; i < word_size; ++i) at[i] = static_cast<char>(value >> 8 * i);
}

std::string_view take_bytes(std::string_view& rest, std::size_t size) {
    if (rest.size() < size) throw Error(EPROTO, "content commit is cut short");
    auto bytes = rest.substr(0, size);
    rest.remove_prefix(size);
    return bytes;
}

std::uint32_t take_word(std::string_view& rest) {
    auto bytes = take_bytes(rest, word_size);
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < word_size; ++i) value |= std::uint32_t(static_cast<unsigned char>(bytes[i])) << 8 * i;
    return value;
}

} // namespace

ContentCommit::ContentCommit(std::string_view payload, HashKind hash) : hash_(hash) {
    auto rest = payload;
    auto count = take_word(rest);
    encoded_ = rest;
    auto least = digest_size(hash) + word_size;
    if (count > rest.size() / least) throw Error(EPROTO, "content commit is cut short");
    blobs_.reserve(count);
    for (std::uint32_t i = 0; i < count; ++i) {
        Blob blob;
        blob.digest = take_bytes(rest, digest_size(hash));
        blob.bytes = take_bytes(rest, take_word(rest));
        blobs_.push_back(blob);
    }
    if (rest.empty() || rest.back() != '\0') throw Error(EPROTO, "content commit has no tail");
    tail_ = rest.substr(0, rest.size() - 1);
}

Json ContentCommit::tail() const {
    auto tail = Json::parse(tail_, "tail of content commit");
    if (!tail.is_object()) throw Error(EPROTO, "tail of content commit is no object");
    auto hash = tail.get_or<std::string_view>("hash", name_of(hash_));
    if (hash != name_of(hash_))
        throw Error(EPROTO, std::string("content commit uses hash ").append(hash) + ", the instance " +
                                std::string(name_of(hash_)));
    return tail;
}

ContentCommitWriter::ContentCommitWriter() : data_(word_size, '\0') {}

void ContentCommitWriter::add(std::string_view digest, std::string_view bytes) {
    if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) throw Error(EFBIG);
    char size[word_size];
    put_word(size, static_cast<std::uint32_t>(bytes.size()));
    data_.append(digest).append(size, word_size).append(bytes);
    ++count_;
}

Payload ContentCommitWriter::finish(JsonView tail) {
    data_ += tail.dump();
    data_ += '\0';
    return take();
}

Payload ContentCommitWriter::finish(const ContentCommit& rest) {
    data_ += rest.encoded_;
    count_ += static_cast<std::uint32_t>(rest.blobs_.size());
    return take();
}

Payload ContentCommitWriter::take() {
    put_word(data_.data(), count_);
    auto payload = Payload::from_bytes(std::move(data_));
    data_.assign(word_size, '\0');
    count_ = 0;
    return payload;
}

} // namespace flux
