#include "proctable.hpp"

#include <flux/parse_integer.hpp>

#include <cerrno>
#include <chrono>

namespace flux::shell {
namespace {

using namespace std::chrono_literals;

/// The method, and the kind of messages between shells: `{}` from the leader is answered by
/// `{processes: [[task rank, executable, pid], …]}`.
constexpr std::string_view method = "proctable", kind = "processes";
/// How long the other shells may take.
constexpr auto patience = 5s;
/// Digits of a host's number that are taken as one: what every reader can hold.
constexpr std::size_t max_digits = 9;

/// Numbers as ranges: `n`, `[delta, k]` for a run of k + 1 numbers, `[delta, -k]` for a number that comes k times more,
/// `[delta, k, r]` for a pair that is repeated r times more. Deltas are to the last number before.
class RangeEncoder {
public:
    void add(std::int64_t number) {
        auto step = number - last_;
        if (open_ && step == 1 && more_ >= 0)
            ++more_;
        else if (open_ && step == 0 && more_ <= 0)
            --more_;
        else
            begin(step);
        last_ = number;
    }
    Json take() {
        finish();
        return std::move(list_);
    }

private:
    void begin(std::int64_t delta) {
        finish();
        open_ = true;
        delta_ = delta;
        more_ = 0;
    }
    void finish() {
        if (!std::exchange(open_, false)) return;
        auto size = JsonView(list_).size();
        if (more_ == 0) {
            list_.append(delta_);
            repeats_ = -1;
        } else if (repeats_ >= 0 && delta_ == pair_delta_ && more_ == pair_more_) {
            // Written again with one repetition more.
            ++repeats_;
            JsonRef(list_[size - 1]).clear();
            JsonRef pair(list_[size - 1]);
            pair.append(delta_);
            pair.append(more_);
            pair.append(repeats_);
        } else {
            list_.append(Json::array_of(delta_, more_));
            pair_delta_ = delta_;
            pair_more_ = more_;
            repeats_ = 0;
        }
    }

    Json list_ = Json::array();
    bool open_ = false;
    std::int64_t last_ = 0, delta_ = 0, more_ = 0;
    std::int64_t pair_delta_ = 0, pair_more_ = 0, repeats_ = -1; // the last entry, when it is a pair
};

/// Names: plain ones, and `[prefix, ranges]` for several in a row with the same prefix before their numbers; -1 is the
/// prefix alone.
class NameEncoder {
public:
    void add(std::string_view name) {
        auto [prefix, number] = split(name);
        if (count_ > 0 && prefix != prefix_) finish();
        prefix_ = prefix;
        only_ = name;
        ++count_;
        numbers_.add(number);
    }
    Json take() {
        finish();
        return std::move(list_);
    }

private:
    // A number does not begin with zeros, which would be lost.
    static std::pair<std::string_view, std::int64_t> split(std::string_view name) {
        auto begin = name.size();
        while (begin > 0 && name.size() - begin < max_digits && name[begin - 1] >= '0' && name[begin - 1] <= '9')
            --begin;
        while (begin + 1 < name.size() && name[begin] == '0') ++begin;
        auto number = parse_integer<std::int64_t>(name.substr(begin));
        return number ? std::pair(name.substr(0, begin), *number) : std::pair(name, std::int64_t(-1));
    }
    void finish() {
        auto numbers = std::exchange(numbers_, RangeEncoder()).take();
        if (count_ == 1)
            list_.append(only_);
        else if (count_ > 1)
            list_.append(Json::array_of(prefix_, std::move(numbers)));
        count_ = 0;
    }

    Json list_ = Json::array();
    std::string prefix_, only_;
    std::size_t count_ = 0;
    RangeEncoder numbers_;
};

} // namespace

Json encode_proctable(const ProcessMap& processes) {
    NameEncoder hosts, executables;
    RangeEncoder ids, pids, ranks;
    for (const auto& [task, process] : processes) {
        hosts.add(process.host);
        executables.add(process.executable);
        ids.add(static_cast<std::int64_t>(task));
        pids.add(process.pid);
        ranks.add(process.broker_rank);
    }
    return Json::object("hosts", hosts.take(), "executables", executables.take(), "ids", ids.take(), "pids",
                        pids.take(), "ranks", ranks.take());
}

Proctable::Proctable(Shell& shell) : shell_(shell), limit_(shell.loop(), [this] { give_up(); }) {}

void Proctable::offer() {
    shell_.serve(method, [this](Request request) { serve(std::move(request)); });
    shell_.receive(kind, [this](unsigned from, JsonView message) {
        if (shell_.leader())
            add(from, message);
        else
            shell_.send(0, kind, own_part());
    });
}

void Proctable::serve(Request request) {
    for (auto* task : shell_.tasks())
        if (task->pid() < 0) throw Error(EAGAIN, "tasks are not started yet");
    auto expected = shell_.leader() ? shell_.info().ntasks : shell_.tasks().size();
    if (processes_.empty()) add_own();
    if (processes_.size() == expected) return request.respond(encode_proctable(processes_));
    requests_.push_back(std::move(request));
    if (requests_.size() == 1) ask_others();
}

// Those that have not answered in time before are asked again.
void Proctable::ask_others() {
    hold_ = shell_.hold();
    limit_.start(patience);
    for (const auto& other : shell_.info().ranks) {
        auto task = other.taskids.first();
        if (task && !processes_.contains(*task)) shell_.send(other.rank, kind, Json::object());
    }
}

Json Proctable::own_part() const {
    auto list = Json::array();
    for (auto* task : shell_.tasks())
        if (task->pid() >= 0) list.append(Json::array_of(task->rank(), task->argv()[0], task->pid()));
    return Json::object("processes", std::move(list));
}

void Proctable::add_own() {
    const auto& self = shell_.info().self();
    for (auto* task : shell_.tasks())
        processes_[task->rank()] = Process{self.host, task->argv()[0], task->pid(), self.broker_rank};
}

void Proctable::add(unsigned shell_rank, JsonView answer) {
    const auto& from = shell_.info().ranks.at(shell_rank);
    for (auto process : answer.get<JsonView>("processes").elements()) {
        auto task = process[0].as<Idset::Id>();
        if (from.taskids.test(task))
            processes_[task] = Process{from.host, process[1].as<std::string>(), process[2].as<int>(), from.broker_rank};
    }
    if (requests_.empty() || processes_.size() < shell_.info().ntasks) return;
    auto table = encode_proctable(processes_);
    for (auto& request : std::exchange(requests_, {})) request.respond(table.copy());
    limit_.stop();
    hold_.release();
}

void Proctable::give_up() {
    for (auto& request : std::exchange(requests_, {}))
        request.fail(Error(ECANCELED, "not all shells of the job have told their processes"));
    hold_.release();
}

} // namespace flux::shell
