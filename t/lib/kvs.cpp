// flux-t-kvs [-N NAMESPACE] [-w] COMMAND ...: uses of the KVS client, for tests.
//   -w                     wait when the store is full
//   put [-a] KEY VALUE     put, or append with -a; prints the sequence
//   get KEY                print the bytes of a value
//   write KEY COUNT        append the lines 1 to COUNT with a Writer, 16 under way; prints each line that is durable
//   follow KEY COUNT       print what is appended until COUNT lines have been there
// A failure prints `errno N: text` on stderr and exits 1.
#include <flux/kvs_writer.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace {

using namespace flux;

class Plan {
public:
    Plan() {}
    std::string name_space = kvs::default_namespace();
    bool append = false;
    int flags = 0;
    std::vector<std::string> words;
};

Task<int> put(Handle* handle, Plan plan) {
    kvs::Transaction txn;
    if (plan.append)
        txn.append(plan.words.at(1), plan.words.at(2));
    else
        txn.put(plan.words.at(1), plan.words.at(2));
    auto options = kvs::CommitOptions().name_space(plan.name_space).flags(plan.flags);
    auto root = co_await kvs::commit(*handle, txn, options);
    fmt::print("{}\n", root.sequence);
    co_return 0;
}

Task<int> get(Handle* handle, Plan plan) {
    auto options = kvs::LookupOptions().name_space(plan.name_space);
    auto value = co_await kvs::lookup(*handle, plan.words.at(1), options);
    fmt::print("{}", value.bytes());
    co_return 0;
}

Task<int> write_lines(Handle* handle, Plan plan) {
    auto options = kvs::WriterOptions().name_space(plan.name_space).flags(plan.flags);
    kvs::Writer writer(*handle, options);
    Condition durable;
    int count = std::atoi(plan.words.at(2).c_str()), under_way = 0, failed = 0;
    for (int line = 1; line <= count; ++line) {
        while (under_way == 16) co_await durable.wait();
        ++under_way;
        kvs::Transaction txn;
        txn.append(plan.words.at(1), std::to_string(line) + "\n");
        writer.add(std::move(txn), [&, line](const Error* failure) {
            --under_way;
            if (failure)
                ++failed, fmt::print(stderr, "errno {}: {}\n", failure->errnum(), failure->what());
            else
                fmt::print("{}\n", line), std::fflush(stdout);
            durable.notify_all();
        });
    }
    while (under_way > 0) co_await durable.wait();
    co_return failed > 0;
}

Task<int> follow(Handle* handle, Plan plan) {
    auto options = kvs::WatchOptions().name_space(plan.name_space).append().wait_create();
    kvs::Watch watch(*handle, plan.words.at(1), options);
    long wanted = std::atol(plan.words.at(2).c_str());
    while (wanted > 0) {
        auto value = co_await watch.next();
        if (!value) break;
        auto bytes = value->bytes();
        wanted -= std::count(bytes.begin(), bytes.end(), '\n');
        fmt::print("{}", bytes);
        std::fflush(stdout);
    }
    co_return 0;
}

} // namespace

int main(int argc, char** argv) {
    Plan plan;
    for (int c; (c = ::getopt(argc, argv, "N:aw")) != -1;) {
        switch (c) {
        case 'N': plan.name_space = optarg; break;
        case 'w': plan.flags = kvs_protocol::wait_space; break;
        case 'a': plan.append = true; break;
        default: return 2;
        }
    }
    plan.words.assign(argv + optind, argv + argc);
    if (plan.words.size() < 2) return 2;
    Loop loop;
    Scope scope(loop);
    try {
        auto handle = Handle::open(loop);
        handle->on_closed([](const Error& error) {
            fmt::print(stderr, "errno {}: {}\n", error.errnum(), error.what());
            std::_Exit(1);
        });
        const auto& command = plan.words.front();
        auto function = command == "put" ? &put : command == "get" ? &get : command == "write" ? &write_lines : &follow;
        return run_task<int>(scope, function, handle.get(), plan);
    } catch (const std::exception& error) {
        auto* failure = dynamic_cast<const Error*>(&error);
        fmt::print(stderr, "errno {}: {}\n", failure ? failure->errnum() : 0, error.what());
        return 1;
    }
}
