#include <flux/kvs_writer.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <sys/random.h>

namespace flux::kvs {
namespace {

// What goes into one commit: enough to be worth it, and a message of a size that does not stop others for long.
constexpr std::size_t batch_limit = std::size_t(1) << 20;
// Between attempts when the KVS cannot be reached.
constexpr std::chrono::milliseconds first_delay(50);
constexpr std::chrono::milliseconds last_delay(1000);
// EIO is what a commit gets whose answer was lost with a module; repeated, it is the KVS's own word.
constexpr int io_attempts = 3;

std::string random_id() {
    std::array<unsigned char, 16> bytes;
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw Error(EIO, "kvs: no random numbers");
    std::string id;
    for (auto byte : bytes) {
        id += "0123456789abcdef"[byte >> 4];
        id += "0123456789abcdef"[byte & 15];
    }
    return id;
}

// The fate of the commit is unknown, or nobody was there to take it.
bool may_pass(int errnum) {
    return errnum == EHOSTUNREACH || errnum == ENOSYS || errnum == EAGAIN || errnum == ETIMEDOUT;
}

} // namespace

Task<Root> commit_once(Handle& handle, const Transaction& transaction, CommitOptions options) {
    options.once(random_id(), 1);
    for (auto delay = first_delay;; delay = std::min(delay * 2, last_delay)) {
        try {
            auto root = co_await commit(handle, transaction, options);
            co_return root;
        } catch (const Cancelled&) {
            throw;
        } catch (const Error& error) {
            if (error.errnum() != EHOSTUNREACH) throw;
        }
        co_await sleep_for(delay);
    }
}

struct Writer::State : std::enable_shared_from_this<State> {
    struct Part {
        Part(Transaction transaction, Done done) : transaction(std::move(transaction)), done(std::move(done)) {}
        Transaction transaction;
        Done done;
    };

    State(Handle& handle, const WriterOptions& options)
        : handle(&handle),
          retry(handle.loop(), [this] { send(); }),
          name_space(options.namespace_),
          id(options.id_.empty() ? random_id() : options.id_),
          flags(options.flags_) {}

    // What is added in one turn of the loop goes together.
    void start_soon() {
        if (!batch.empty() || starting) return;
        starting = true;
        handle->loop().post([weak = weak_from_this()] {
            auto self = weak.lock();
            if (!self) return;
            self->starting = false;
            if (self->batch.empty()) self->start_batch();
        });
    }

    void start_batch() {
        std::size_t size = 0;
        while (!waiting.empty()) {
            size += waiting.front().transaction.bytes();
            if (!batch.empty() && (alone > 0 || size > batch_limit)) break;
            batch.push_back(std::move(waiting.front()));
            waiting.pop_front();
        }
        if (batch.empty()) return changed.notify_all();
        if (alone > 0) --alone;
        ++seq;
        attempts = 0;
        delay = first_delay;
        Transaction all;
        for (const auto& part : batch) all.join(part.transaction);
        auto options = CommitOptions().name_space(name_space).flags(flags).once(id, seq);
        payload = Payload::from_json(options.payload(all));
        send();
    }

    void send() {
        handle->call(kvs_protocol::commit.topic, payload)
            .then([weak = weak_from_this(), connection = connection](Message response) {
                auto self = weak.lock();
                if (self && self->connection == connection) self->answered(response);
            });
    }

    void answered(const Message& response) {
        int errnum = response.errnum();
        if (errnum == ECONNRESET) return; // attach() goes on
        if (may_pass(errnum) || (errnum == EIO && ++attempts < io_attempts)) {
            retry.start(delay);
            delay = std::min<std::chrono::milliseconds>(delay * 2, last_delay);
            return;
        }
        if (errnum != 0) --seq; // it was not used up
        if (errnum != 0 && batch.size() > 1) {
            // One of them may be to blame: each by itself then.
            alone += batch.size();
            waiting.insert(waiting.begin(), std::move_iterator(batch.begin()), std::move_iterator(batch.end()));
            batch.clear();
            return start_batch();
        }
        auto done = std::move(batch);
        batch.clear();
        payload = {};
        for (const auto& part : done) bytes -= part.transaction.bytes();
        start_batch();
        Error failure(errnum ? errnum : EIO, errnum ? response.error_text() : std::string());
        for (const auto& part : done)
            if (part.done) part.done(errnum ? &failure : nullptr);
    }

    Handle* handle;
    Timer retry;
    std::string name_space;
    std::string id;
    int flags;
    std::deque<Part> waiting;
    std::vector<Part> batch; // under way
    Payload payload;         // of that
    std::int64_t seq = 0;    // of that, else of the last one made
    bool starting = false;
    std::size_t alone = 0;   // so many at the front of `waiting` go one by one
    std::size_t bytes = 0;   // of both
    unsigned connection = 0; // an answer over an earlier one is none
    int attempts = 0;
    std::chrono::milliseconds delay = first_delay;
    Condition changed;
};

Writer::Writer(Handle& handle, const WriterOptions& options) : state_(std::make_shared<State>(handle, options)) {}
Writer::~Writer() = default;

void Writer::add(Transaction transaction, Done done) {
    state_->bytes += transaction.bytes();
    state_->waiting.emplace_back(std::move(transaction), std::move(done));
    state_->start_soon();
}

Task<> Writer::commit(Transaction transaction) {
    struct Wait {
        Condition done;
        bool ended = false;
        std::optional<Error> failure;
    };
    // The answer may come after an abort of this wait.
    auto wait = std::make_shared<Wait>();
    add(std::move(transaction), [wait](const Error* failure) {
        wait->ended = true;
        if (failure) wait->failure = *failure;
        wait->done.notify_all();
    });
    while (!wait->ended) co_await wait->done.wait();
    if (wait->failure) throw *wait->failure;
}

Task<> Writer::drained() {
    auto state = state_;
    while (!state->batch.empty() || !state->waiting.empty()) co_await state->changed.wait();
}

bool Writer::idle() const noexcept { return state_->batch.empty() && state_->waiting.empty(); }
std::size_t Writer::bytes() const noexcept { return state_->bytes; }

void Writer::attach(Handle& handle) {
    state_->handle = &handle;
    ++state_->connection;
    state_->retry.stop();
    if (!state_->batch.empty()) state_->send();
}

} // namespace flux::kvs
