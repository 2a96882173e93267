#include "broker/overlay/upstream.hpp"

#include "broker/overlay/verdict.hpp"

#include <flux/duration.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace flux::broker {
namespace {

using namespace std::chrono_literals;

// Between attempts to reach the parent.
constexpr std::chrono::milliseconds first_delay(50), last_delay(250);
// The log tells this often that the parent is still being looked for.
constexpr auto log_period = 10s;
// How long the answer to hello may take.
constexpr auto hello_limit = 10s;

// Services of a parent that has joined its instance but does not serve it yet.
constexpr std::array<std::string_view, 4> early_services{"config", "groups", "overlay", "state-machine"};

bool needs_a_person(int errnum) {
    constexpr std::array refusals{EINVAL, EEXIST, EPERM, EACCES, EPROTO, EKEYREJECTED};
    return std::find(refusals.begin(), refusals.end(), errnum) != refusals.end();
}

} // namespace

class Upstream::Hold final : public Endpoint {
public:
    explicit Hold(Upstream& upstream) : Endpoint("hold", Kind::parent), upstream_(upstream) {}
    void deliver(Message message) override {
        if (auto* link = upstream_.link(); link && passes(message))
            link->deliver(std::move(message));
        else
            upstream_.held_.add(std::move(message));
    }

private:
    // An answer is waited for by somebody who got through, and may be all that a parent waits for before it goes.
    static bool passes(const Message& message) {
        if (message.type != MessageType::request) return message.type == MessageType::response;
        return std::find(early_services.begin(), early_services.end(), message.service()) != early_services.end();
    }
    Upstream& upstream_;
};

Upstream::Upstream(Loop& loop, Router& router, Scope& scope, Environment environment)
    : loop_(loop),
      router_(router),
      scope_(scope),
      environment_(std::move(environment)),
      held_(environment_.hold_limit, [this](const Message& request, int errnum,
                                            const std::string& text) { router_.fail(request, errnum, text); }),
      hold_(std::make_unique<Hold>(*this)),
      hold_timer_(loop, [this] { end(Error(ETIMEDOUT, fmt::format("{} did not come back", parent_text())), false); }) {
    path_.rank = environment_.parent;
}

Upstream::~Upstream() {
    if (link()) router_.remove(*link_);
}

std::string Upstream::parent_text() const { return fmt::format("{} (rank {})", parent_host_, environment_.parent); }

Endpoint* Upstream::endpoint() noexcept {
    if (open_) return link();
    return joined_once_ && !ended_ ? hold_.get() : nullptr;
}

// Reaching the parent -------------------------------------------------------------------------------------------

/// Try until the parent has answered hello. \throws Error with a refusal
Task<> Upstream::join() {
    auto delay = first_delay;
    std::optional<std::chrono::steady_clock::time_point> told;
    for (;;) {
        std::string why;
        try {
            co_await attempt();
            if (told) environment_.log(LogLevel::info, fmt::format("overlay: reached {}", parent_text()));
            co_return;
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (needs_a_person(error.errnum()) || environment_.hold_timeout == 0ns) throw;
            why = error.what();
        }
        auto now = std::chrono::steady_clock::now();
        if (!told || now - *told >= log_period) {
            environment_.log(LogLevel::notice, fmt::format("overlay: waiting for {}: {}", parent_text(), why));
            told = now;
        }
        co_await sleep_for(delay);
        delay = std::min(delay * 2, last_delay);
    }
}

Task<> Upstream::attempt() {
    auto transport = co_await environment_.connect();
    link_ = environment_.make_link(std::move(transport));
    link_->rank = environment_.parent;
    accepted_ = false;
    refusal_.reset();
    link_->start([this](Link& link, Message message) { on_message(link, std::move(message)); },
                 [this](Link& link, const Error& error) { on_closed(link, error); });
    auto hello = Message::request("overlay.hello");
    hello.payload = Payload::from_json(environment_.hello());
    link_->send(std::move(hello));
    Timer limit(loop_, [this] {
        link_.reset();
        hello_done_.notify_all();
    });
    limit.start(hello_limit);
    while (link_ && !accepted_ && !refusal_) co_await hello_done_.wait();
    if (accepted_) co_return;
    if (!refusal_) throw Error(EHOSTUNREACH, "the link was closed before hello was answered");
    link_.reset();
    throw *refusal_;
}

void Upstream::on_message(Link& link, Message message) {
    link.last_received = std::chrono::steady_clock::now();
    if (link.joined) {
        if (std::exchange(silent_, false)) {
            environment_.log(LogLevel::err, fmt::format("broker on {} is responsive now", parent_text()));
            update_path();
        }
        return environment_.on_message(link, std::move(message));
    }
    if (message.type != MessageType::response || message.topic != "overlay.hello" || refusal_) return;
    try {
        if (message.errnum()) throw Error(message.errnum(), message.error_text());
        accept(link, message.json());
    } catch (const Error& error) {
        refusal_ = error;
    }
    hello_done_.notify_all();
}

// Not left to who waits for it: other messages may follow in the same breath.
void Upstream::accept(Link& link, JsonView answer) {
    parent_host_ = answer.get_or("hostname", parent_host_);
    link.set_uuid(answer.get<std::string>("uuid"));
    link.joined = accepted_ = true;
    link.repeats = environment_.hold_timeout != 0ns;
    hold_timer_.stop();
    if (!std::exchange(joined_once_, true)) open_ = true;
    environment_.on_joined(link, answer);
}

void Upstream::on_closed(Link& link, const Error& error) {
    if (!link.joined) {
        // It may be gone from its own callback only when that has returned.
        loop_.post([closed = std::shared_ptr<Link>(std::move(link_))] {});
        hello_done_.notify_all();
        return;
    }
    lost(why_closed_.empty() ? verdict(error) : why_closed_);
}

// Hold and resume -----------------------------------------------------------------------------------------------

void Upstream::lost(const std::string& reason) {
    std::shared_ptr<Link> link(std::move(link_));
    auto pending = link->tracker.take_all();
    router_.remove(*link);
    environment_.on_link_lost(*link);
    loop_.post([link] {});
    bool hold = !leaving_ && !ended_ && environment_.hold_timeout != 0ns;
    open_ = false;
    silent_ = false;
    above_ = 0;
    why_closed_ = reason;
    std::vector<Message> again;
    for (auto& [request, whole, answering, number] : pending) {
        if (hold && whole)
            again.push_back(std::move(request));
        else
            router_.fail(request, EHOSTUNREACH,
                         hold ? fmt::format("{}: lost contact with {}, outcome unknown", request.topic, parent_text())
                              : "overlay disconnect");
    }
    if (!hold) {
        if (!leaving_) end(Error(EHOSTUNREACH, "lost connection to the parent"), false);
        return;
    }
    held_.put_back(std::move(again));
    environment_.log(LogLevel::err, fmt::format("overlay: {}: {}, holding", parent_text(), reason));
    update_path();
    if (environment_.hold_timeout && !hold_timer_.active()) hold_timer_.start(*environment_.hold_timeout);
    scope_.spawn("resume", &Upstream::resume, this);
}

Task<> Upstream::resume(Upstream* self) {
    std::optional<Error> refusal;
    try {
        co_await self->join();
    } catch (const Cancelled&) {
        throw;
    } catch (const Error& error) {
        refusal = error;
    }
    if (refusal) self->end(*refusal, true);
}

void Upstream::open() {
    if (open_ || !link()) return;
    open_ = true;
    why_closed_.clear();
    auto waiting = held_.take_all();
    environment_.log(LogLevel::notice,
                     fmt::format("overlay: {} serves again, {} messages had waited", parent_text(), waiting.size()));
    for (auto& message : waiting) link_->deliver(std::move(message));
    update_path();
}

void Upstream::pause(const std::string& reason) {
    if (ended_ || environment_.hold_timeout == 0ns) return;
    open_ = false;
    why_closed_ = reason;
    update_path();
}

void Upstream::end(const Error& why, bool by_refusal) {
    if (std::exchange(ended_, true)) return;
    hold_timer_.stop();
    held_.fail_all(EHOSTUNREACH, why.what());
    environment_.on_ended(why, by_refusal);
}

void Upstream::end(const Error& why) {
    end(why, false);
    if (link()) disconnect(why.what());
}

void Upstream::disconnect(const std::string& reason) {
    if (link()) lost(reason);
}

void Upstream::give_up(const std::string& why) {
    environment_.hold_timeout = 0ns;
    if (open_ || ended_) return;
    ended_ = true;
    scope_.abort();
    hold_timer_.stop();
    held_.fail_all(EHOSTUNREACH, why);
}

void Upstream::leave(std::chrono::nanoseconds limit) {
    leaving_ = true;
    if (!link()) return;
    auto request = Message::request("overlay.goodbye");
    request.set(flag_noresponse);
    link_->send(std::move(request));
    link_->flush(limit);
}

void Upstream::set_path_above(std::uint32_t status) {
    above_ = status;
    update_path();
}

void Upstream::set_silent(std::chrono::nanoseconds silence) {
    silent_ = true;
    environment_.log(LogLevel::err, fmt::format("broker on {} has been unresponsive for {}", parent_text(),
                                                format_duration(std::chrono::duration<double>(silence).count())));
    update_path();
}

// The nearest obstacle counts.
void Upstream::update_path() {
    Path path;
    path.rank = environment_.parent;
    path.since = path_.since;
    if (!open_)
        path.reason = why_closed_;
    else if (silent_)
        path.reason = "it is unresponsive";
    else if (above_ > 0)
        path.reason = "it is out of reach of the brokers above";
    if (open_ && !silent_ && above_ > 0) path.rank = above_ - 1;
    path.silent = silent_;
    path.held = !path.reason.empty();
    if (path_.held == path.held && path_.rank == path.rank && path_.reason == path.reason) return;
    if (path_.held != path.held) path.since = std::chrono::system_clock::now();
    path_ = std::move(path);
    environment_.on_path();
}

} // namespace flux::broker
