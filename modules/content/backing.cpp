#include "backing.hpp"

#include "forward.hpp"

#include <flux/content_protocol.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

using namespace std::chrono_literals;

namespace flux {
namespace {

namespace store = content_backing_protocol;

// A write takes more blobs only until it is this large, so that it does not hold up a commit for long.
constexpr std::size_t batch_bytes = 4 << 20;
// How long a store may be away: the host has started a process module that died again by then.
constexpr auto away_limit = 15s;
// A store that cannot write is tried again this often.
constexpr auto retry_period = 1s;

constexpr const char* lost_text = "content backing store did not come back";

bool means_away(const Message& response) {
    return response.errnum() == ENOSYS || response.errnum() == EHOSTUNREACH || response.errnum() == ECONNRESET;
}

} // namespace

Backing::Backing(Handle& handle, BlobCache& cache, HashKind hash, std::size_t batch_limit)
    : handle_(handle),
      cache_(cache),
      hash_(hash),
      batch_limit_(batch_limit),
      away_timer_(handle.loop(), [this] { become_lost(); }),
      retry_timer_(handle.loop(), [this] { pump(); }) {}

// Which store there is --------------------------------------------------------------------------------------------

void Backing::discover() {
    state_ = State::away;
    discovering_ = true;
    handle_.call(store::hello.topic).then([this](const Message& response) {
        if (!std::exchange(discovering_, false)) return; // it has registered meanwhile
        if (response.errnum()) return become_none();
        registrant_ = response.json().get<std::string>("uuid");
        come_up(response.json().get<std::string>("name"));
    });
}

void Backing::register_store(const Request& request) {
    auto name = request.json().get<std::string>("name");
    if (state_ == State::up && request.sender() != registrant_)
        throw Error(EBUSY, "content backing store is already active");
    if (!name_.empty() && name != name_) throw Error(EINVAL, "content backing store cannot be changed on the fly");
    registrant_ = request.sender();
    request.respond();
    if (name_.empty()) {
        // One that was set by the command line stays.
        handle_.notify("attr.set", Json::object("name", content_protocol::backing_attribute, "value", name));
    }
    come_up(name);
}

void Backing::unregister_store(const Request& request) {
    if (state_ == State::none) throw Error(EINVAL, "content backing store is not active");
    if (request.json_or_none().get_or("reload", false)) {
        request.respond();
        go_away();
    } else if (state_ == State::up) {
        push(Waiting(Wait::unregister, request));
    } else {
        become_none();
        request.respond();
    }
}

// The store went without a word, or with one that is still to be answered.
void Backing::disconnect(const Request& request) {
    if (state_ == State::up && request.sender() == registrant_) go_away();
}

void Backing::come_up(const std::string& name) {
    name_ = name;
    discovering_ = false;
    away_timer_.stop();
    state_ = State::up;
    run_deferred();
    pump();
}

void Backing::go_away() {
    state_ = State::away;
    away_timer_.start(away_limit);
}

void Backing::become_lost() {
    state_ = State::lost;
    handle_.log(LogLevel::crit, lost_text);
    fail_requests(EHOSTUNREACH, lost_text);
    run_deferred();
}

void Backing::become_none() {
    state_ = State::none;
    away_timer_.stop();
    retry_timer_.stop();
    failing_ = false;
    auto waiting = std::exchange(queue_, {});
    for (auto& item : waiting) {
        if (std::holds_alternative<Blobref>(item)) {
            queue_.push_back(std::move(item));
        } else if (auto* commit = std::get_if<Commit>(&item)) {
            keep_in_memory(commit->content);
            commit->request.respond();
        } else if (auto& request = std::get<Waiting>(item); request.what == Wait::unregister) {
            request.request.respond();
        } else {
            request.request.fail(ENOSYS);
        }
    }
    if (cache_.dirty_count()) handle_.log(LogLevel::err, fmt::format("{} unflushables", cache_.dirty_count()));
    run_deferred();
}

void Backing::run_deferred() {
    for (auto& action : std::exchange(deferred_, {})) action();
    changed_.notify_all();
}

// Reads -----------------------------------------------------------------------------------------------------------

void Backing::load(const Blobref& ref, std::function<void(const Message&)> done) {
    switch (state_) {
    case State::none: done(Message::response_error({}, ENOENT, errno_text(ENOENT))); return;
    case State::lost: done(Message::response_error({}, EHOSTUNREACH, lost_text)); return;
    case State::away: deferred_.push_back([this, ref, done = std::move(done)] { load(ref, done); }); return;
    case State::up: break;
    }
    auto digest = Payload::from_bytes(std::string(ref.digest()));
    handle_.call(store::load.topic, std::move(digest)).then([this, ref, done](const Message& response) {
        if (!means_away(response)) return done(response);
        if (state_ == State::up) go_away();
        load(ref, done);
    });
}

void Backing::checkpoint_get(const Request& request) {
    switch (state_) {
    case State::none: throw Error(ENOSYS, "checkpoint get unavailable, no backing store");
    case State::lost: throw Error(EHOSTUNREACH, lost_text);
    case State::away:
        deferred_.push_back([this, request] {
            try {
                checkpoint_get(request);
            } catch (const Error& error) {
                request.fail(error);
            }
        });
        return;
    case State::up: break;
    }
    handle_.call(store::checkpoint_get.topic).then([request](const Message& response) { forward(request, response); });
}

// Writes ----------------------------------------------------------------------------------------------------------

void Backing::write(const Blobref& ref) {
    queue_.push_back(ref);
    // While the store fails, blobs wait for the next try.
    if (!failing_)
        pump();
    else if (!retry_timer_.active())
        retry_timer_.start(retry_period);
}

void Backing::commit(const Request& request) {
    Commit commit(request, hash_);
    if (state_ == State::lost) throw Error(EHOSTUNREACH, lost_text);
    if (state_ != State::none) return push(std::move(commit));
    keep_in_memory(commit.content);
    request.respond();
}

void Backing::keep_in_memory(const ContentCommit& commit) {
    auto now = std::chrono::steady_clock::now();
    for (const auto& blob : commit.blobs()) {
        Blobref ref(hash_, blob.digest);
        if (cache_.insert_dirty(ref, Payload::from_bytes(std::string(blob.bytes)), now)) queue_.push_back(ref);
    }
}

void Backing::flush(const Request& request) {
    if (state_ == State::none) throw Error(ENOSYS);
    if (state_ == State::lost) throw Error(EHOSTUNREACH, lost_text);
    push(Waiting(Wait::flush, request));
}

void Backing::checkpoint_put(const Request& request) {
    if (state_ == State::none) throw Error(ENOSYS, "checkpoint put unavailable, no backing store");
    if (state_ == State::lost) throw Error(EHOSTUNREACH, lost_text);
    push(Waiting(Wait::checkpoint_put, request));
}

void Backing::push(Item item) {
    queue_.push_back(std::move(item));
    pump();
}

std::size_t Backing::batch_count() const noexcept {
    return static_cast<std::size_t>(std::count_if(
        batch_.begin(), batch_.end(), [](const Item& item) { return std::holds_alternative<Blobref>(item); }));
}

void Backing::take_front() {
    batch_.push_back(std::move(queue_.front()));
    queue_.pop_front();
}

/// Begin the next write, when none is under way.
void Backing::pump() {
    if (!batch_.empty() || state_ != State::up) return;
    ContentCommitWriter writer;
    while (!queue_.empty() && batch_.size() < batch_limit_ && writer.size() < batch_bytes) {
        if (auto* ref = std::get_if<Blobref>(&queue_.front())) {
            writer.add(ref->digest(), cache_.peek(*ref)->bytes());
            take_front();
        } else if (auto* commit = std::get_if<Commit>(&queue_.front())) {
            auto payload = writer.empty() ? commit->request.message().payload : writer.finish(commit->content);
            take_front();
            return send(store::commit.topic, std::move(payload));
        } else if (!batch_.empty()) {
            break; // what the request waits for is in the batch
        } else {
            take_front();
            auto& waiting = std::get<Waiting>(batch_.back());
            auto request = waiting.request;
            if (waiting.what == Wait::checkpoint_put)
                return send(store::checkpoint_put.topic, request.message().payload);
            bool leaves = waiting.what == Wait::unregister;
            batch_.clear();
            if (leaves) become_none();
            request.respond();
            if (leaves) return;
        }
    }
    if (batch_.empty()) return changed_.notify_all();
    send(store::commit.topic, writer.finish(Json::object("hash", name_of(hash_))));
}

void Backing::send(std::string_view topic, Payload payload) {
    handle_.call(topic, std::move(payload)).then([this](const Message& response) { on_written(response); });
}

void Backing::on_written(const Message& response) {
    auto batch = std::exchange(batch_, {});
    if (means_away(response)) {
        std::move(batch.rbegin(), batch.rend(), std::front_inserter(queue_));
        if (state_ == State::up) go_away();
    } else if (response.errnum() == 0) {
        for (auto& item : batch) complete(item);
        if (std::exchange(failing_, false)) handle_.log(LogLevel::notice, "content store: writes again");
    } else if (auto* waiting = std::get_if<Waiting>(&batch.front())) {
        forward(waiting->request, response);
    } else {
        on_failure(response, std::move(batch));
        return;
    }
    changed_.notify_all();
    pump();
}

void Backing::complete(Item& item) {
    auto now = std::chrono::steady_clock::now();
    if (auto* ref = std::get_if<Blobref>(&item)) {
        cache_.mark_clean(*ref, now);
    } else if (auto* commit = std::get_if<Commit>(&item)) {
        for (const auto& blob : commit->content.blobs())
            cache_.insert(Blobref(hash_, blob.digest), Payload::from_bytes(std::string(blob.bytes)), now);
        commit->request.respond();
    } else {
        std::get<Waiting>(item).request.respond();
    }
}

// The blobs stay in the queue and are tried again; requests end, and so does the wait of those that come later.
void Backing::on_failure(const Message& response, std::vector<Item> batch) {
    auto text = response.error_text();
    if (!std::exchange(failing_, true)) handle_.log(LogLevel::crit, "content store: " + text);
    std::move(batch.rbegin(), batch.rend(), std::front_inserter(queue_));
    fail_requests(response.errnum(), text);
    if (!queue_.empty()) retry_timer_.start(retry_period);
    changed_.notify_all();
}

/// Take the requests out of the queue and fail them; blobs stay.
void Backing::fail_requests(int errnum, const std::string& text) {
    bool leaves = false;
    for (auto& item : std::exchange(queue_, {})) {
        if (std::holds_alternative<Blobref>(item)) {
            queue_.push_back(std::move(item));
        } else if (auto* commit = std::get_if<Commit>(&item)) {
            commit->request.fail(errnum, text);
        } else if (auto& waiting = std::get<Waiting>(item); waiting.what == Wait::unregister) {
            waiting.request.respond();
            leaves = true;
        } else if (waiting.what == Wait::checkpoint_put) {
            waiting.request.fail(errnum, content_protocol::flush_error);
        } else {
            waiting.request.fail(errnum, text);
        }
    }
    if (leaves) become_none();
}

Task<> Backing::drain(std::chrono::nanoseconds limit) {
    bool late = false;
    Timer timer(handle_.loop(), [&] {
        late = true;
        changed_.notify_all();
    });
    timer.start(limit);
    // Its registration may be held for the next instance of this cache.
    if (state_ == State::away) discover();
    auto pending = [&] {
        return (state_ == State::up || state_ == State::away) && !failing_ && (!batch_.empty() || !queue_.empty());
    };
    while (pending() && !late) co_await changed_.wait();
}

} // namespace flux
