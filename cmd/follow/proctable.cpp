#include "cmd/follow/proctable.hpp"

#include <flux/taskmap.hpp>

#include <cerrno>

namespace flux::follow {
namespace {

[[noreturn]] void refuse(const char* why) { throw Error(EPROTO, std::string("proctable: ") + why); }

/// Numbers as delta-encoded ranges. An entry is a number, `[delta, n]` for n + 1 numbers that rise by one, or
/// `[delta, -n]` for a number that comes n times more; `[delta, n, r]` is that r times more. The delta is to the last
/// number before.
class RangeDecoder {
public:
    explicit RangeDecoder(std::size_t limit) : limit_(limit) {}

    void add(JsonView entry) {
        if (entry.is_integer()) return push(last_ + bounded(entry.as<std::int64_t>()));
        auto delta = entry[0].as<std::int64_t>(), more = entry[1].as<std::int64_t>();
        auto times = entry[2].try_as<std::int64_t>().value_or(0);
        for (std::int64_t time = 0; time <= times; ++time) {
            push(last_ + bounded(delta));
            for (std::int64_t count = 0; count < more; ++count) push(last_ + 1);
            for (std::int64_t count = 0; count > more; --count) push(last_);
        }
    }

    std::vector<std::int64_t> take() { return std::move(numbers_); }

private:
    static std::int64_t bounded(std::int64_t number) {
        if (number < INT32_MIN || number > INT32_MAX) refuse("number out of range");
        return number;
    }

    void push(std::int64_t number) {
        if (numbers_.size() >= limit_) refuse("too many tasks");
        numbers_.push_back(number);
        last_ = bounded(number); // so that sums cannot overflow
    }

    std::size_t limit_;
    std::int64_t last_ = 0;
    std::vector<std::int64_t> numbers_;
};

std::vector<std::int64_t> numbers(JsonView list) {
    RangeDecoder decoder(Taskmap::max_tasks);
    for (auto entry : list.elements()) decoder.add(entry);
    return decoder.take();
}

/// Names: plain ones, and `[prefix, [ranges]]` for a prefix with numbers, where -1 is the prefix alone.
std::vector<std::string> names(JsonView list) {
    std::vector<std::string> result;
    for (auto entry : list.elements()) {
        if (entry.is_string()) {
            result.push_back(entry.as<std::string>());
            continue;
        }
        auto prefix = entry[0].as<std::string>();
        for (auto number : numbers(entry[1])) {
            if (result.size() >= Taskmap::max_tasks) refuse("too many tasks");
            result.push_back(number < 0 ? prefix : prefix + std::to_string(number));
        }
    }
    return result;
}

} // namespace

std::vector<Process> decode_proctable(JsonView json) {
    auto hosts = names(json["hosts"]), executables = names(json["executables"]);
    auto ids = numbers(json["ids"]), pids = numbers(json["pids"]);
    if (hosts.size() != ids.size() || executables.size() != ids.size() || pids.size() != ids.size())
        refuse("lists of different length");
    std::vector<Process> table;
    for (std::size_t index = 0; index < ids.size(); ++index) {
        if (!std::in_range<std::uint32_t>(ids[index]) || !std::in_range<int>(pids[index]))
            refuse("number out of range");
        table.push_back(
            {hosts[index], executables[index], static_cast<std::uint32_t>(ids[index]), static_cast<int>(pids[index])});
    }
    return table;
}

} // namespace flux::follow
