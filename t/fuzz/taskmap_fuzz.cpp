#include "fuzz.hpp"

#include <flux/taskmap.hpp>

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        auto map = flux::Taskmap::parse(fuzz::text(data, size));
        fuzz::require(flux::Taskmap::parse(map.encode()) == map);
        if (map.ntasks() > 1000 || map.nodes().last().value_or(0) > 1000) return 0; // what follows looks at every task
        for (std::size_t task = 0; task < map.ntasks(); ++task)
            fuzz::require(map.tasks_of(map.node_of(task).value()).test(static_cast<flux::Idset::Id>(task)));
        auto raw = map.encode_raw();
        fuzz::require(flux::Taskmap::parse(raw).encode_raw() == raw);
        fuzz::require(flux::Taskmap::parse(map.encode_pmi()).encode_raw() == raw);
    } catch (const flux::Error&) {}
    return 0;
}
