// Coroutines over a Loop, structured: every task belongs to a Scope.
//
//   Task<T>   lazy and immovable: await it in the expression that makes it.
//   Scope     what owns background tasks: an abort source and a gate. `scope.spawn("name", function, arguments...)`
//             is the only way to start one; close() aborts them and waits until the last has left.
//
// A wait (`sleep_for`, an RPC, `Condition::wait`) finds its scope through the coroutine that awaits it and throws
// Cancelled when that scope is aborted; no abort source is passed by hand. All of this runs on one loop's thread.
#pragma once

#include <flux/error.hpp>
#include <flux/loop.hpp>

#include <cassert>
#include <cerrno>
#include <chrono>
#include <coroutine>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace flux {

class Scope;

namespace detail {

struct PromiseBase {
    std::coroutine_handle<> parent;
    bool parent_waits = false;
    Scope* scope = nullptr;
};

// GCC 12 destroys aggregates twice in expressions with co_await; parameters of coroutines must have constructors.
template <class T> inline constexpr bool gcc12_safe =
    !std::is_aggregate_v<std::remove_cvref_t<T>> || std::is_trivially_destructible_v<std::remove_cvref_t<T>>;

struct FinalAwaiter {
    bool await_ready() const noexcept { return false; }
    template <class P> std::coroutine_handle<> await_suspend(std::coroutine_handle<P> self) const noexcept {
        if (self.promise().parent_waits) return self.promise().parent;
        return std::noop_coroutine();
    }
    void await_resume() const noexcept {}
};

template <class T> struct Promise;

} // namespace detail

template <class T = void> class [[nodiscard]] Task {
public:
    using promise_type = detail::Promise<T>;
    using Coroutine = std::coroutine_handle<promise_type>;

    explicit Task(Coroutine coroutine) noexcept : coroutine_(coroutine) {}
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;
    ~Task() {
        if (coroutine_) coroutine_.destroy();
    }

    class Awaiter {
    public:
        explicit Awaiter(Coroutine coroutine) noexcept : coroutine_(coroutine) {}
        bool await_ready() const noexcept { return false; }
        // Runs the child here: symmetric transfer would grow the stack in builds without tail calls.
        template <class P> bool await_suspend(std::coroutine_handle<P> parent) noexcept {
            auto& promise = coroutine_.promise();
            promise.parent = parent;
            promise.scope = parent.promise().scope;
            coroutine_.resume();
            if (coroutine_.done()) return false;
            promise.parent_waits = true;
            return true;
        }
        T await_resume() { return coroutine_.promise().take(); }

    private:
        Coroutine coroutine_;
    };
    Awaiter operator co_await() && noexcept { return Awaiter(coroutine_); }

private:
    Coroutine coroutine_;
};

namespace detail {

template <class T> struct Promise : PromiseBase {
    Task<T> get_return_object() noexcept { return Task<T>(std::coroutine_handle<Promise>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    FinalAwaiter final_suspend() const noexcept { return {}; }
    template <class V> void return_value(V&& v) { value.emplace(std::forward<V>(v)); }
    void unhandled_exception() noexcept { failure = std::current_exception(); }
    T take() {
        if (failure) std::rethrow_exception(failure);
        return std::move(*value);
    }
    std::optional<T> value;
    std::exception_ptr failure;
};

template <> struct Promise<void> : PromiseBase {
    Task<void> get_return_object() noexcept { return Task<void>(std::coroutine_handle<Promise>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    FinalAwaiter final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }
    void take() {
        if (failure) std::rethrow_exception(failure);
    }
    std::exception_ptr failure;
};

} // namespace detail

/// A suspended coroutine that waits for one thing or for the abort of its scope, whichever comes first. Leaf awaiters
/// hold one. Waking posts the coroutine to the loop: nothing runs inside the one who wakes.
class Waiter {
public:
    Waiter() = default;
    ~Waiter();
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    /// Suspend `coroutine` until wake(). False when its scope is already aborted: do not suspend.
    template <class P> bool suspend(std::coroutine_handle<P> coroutine) {
        return arm(coroutine.promise().scope, coroutine);
    }
    /// Resume the coroutine soon; does nothing when it was woken before.
    void wake() noexcept;
    bool waiting() const noexcept { return static_cast<bool>(coroutine_); }
    /// After resumption: throws Cancelled when the scope's abort was what woke it.
    void check() const;

private:
    friend class Scope;
    bool arm(Scope* scope, std::coroutine_handle<> coroutine);
    void unlink() noexcept;

    std::coroutine_handle<> coroutine_;
    Scope* scope_ = nullptr;
    Waiter* next_ = nullptr;
    Waiter* previous_ = nullptr;
    bool aborted_ = false;
};

/// Owner of background tasks on one loop.
class Scope {
public:
    /// \param on_error  told of a task that ended with an exception other than Cancelled: its name and the error. It
    ///                  runs on the loop; by default the failure is written to stderr.
    using ErrorHandler = std::function<void(const char* name, const std::exception& error)>;
    explicit Scope(Loop& loop, ErrorHandler on_error = {});
    /// A scope below another: aborted with it, and waited for by its close().
    explicit Scope(Scope& parent);
    /// Nothing may be running in it any more.
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    Loop& loop() noexcept { return loop_; }
    bool aborted() const noexcept { return aborted_; }
    /// Number of tasks (and scopes below) inside.
    std::size_t count() const noexcept { return count_; }

    /// Start `function(arguments...)`, a function that returns Task<>, as a task of this scope. It owns copies of the
    /// arguments. `name` must outlive the task (a literal). In an aborted scope nothing starts.
    template <class Function, class... Arguments>
    void spawn(const char* name, Function function, Arguments... arguments);

    /// Wake every wait of this scope and of those below with Cancelled; nothing starts any more.
    void abort() noexcept;

    /// Abort, then wait until the last task has left. Await it from a coroutine of another scope.
    Task<> close();
    /// Wait until no task is left, without abort.
    Task<> drained();
    /// Call back (posted to the loop) once when nothing is left inside; at once when that is so now.
    void when_empty(std::function<void()> callback);

private:
    friend class Waiter;
    struct Detached;
    void enter() noexcept;
    void leave() noexcept;
    void report(const char* name, const std::exception& error) noexcept;

    Loop& loop_;
    Scope* parent_ = nullptr;
    ErrorHandler on_error_;
    std::size_t count_ = 0;
    bool aborted_ = false;
    Waiter* waiters_ = nullptr;
    Scope* first_below_ = nullptr;
    Scope* next_sibling_ = nullptr;
    Scope* previous_sibling_ = nullptr;
    std::vector<std::function<void()>> empty_callbacks_;
};

struct Scope::Detached {
    struct promise_type : detail::PromiseBase {
        Detached get_return_object() noexcept {
            return Detached(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const noexcept { std::terminate(); }
    };
    explicit Detached(std::coroutine_handle<promise_type> h) noexcept : coroutine(h) {}
    std::coroutine_handle<promise_type> coroutine;

    template <class Function, class... Arguments>
    static Detached run(Scope* scope, const char* name, Function function, Arguments... arguments) {
        try {
            co_await function(std::move(arguments)...);
        } catch (const Cancelled&) {
        } catch (const std::exception& error) {
            scope->report(name, error);
        }
        scope->leave();
    }
};

template <class Function, class... Arguments>
void Scope::spawn(const char* name, Function function, Arguments... arguments) {
    static_assert((detail::gcc12_safe<Arguments> && ...), "give the argument type a constructor");
    if (aborted_) return;
    enter();
    auto task = Detached::run(this, name, std::move(function), std::move(arguments)...);
    task.coroutine.promise().scope = this;
    task.coroutine.resume();
}

/// `co_await sleep_for(2s)`: wait on the awaiting coroutine's loop. Throws Cancelled when its scope is aborted.
class sleep_for {
public:
    explicit sleep_for(std::chrono::nanoseconds time) noexcept : time_(time) {}
    bool await_ready() const noexcept { return false; }
    template <class P> bool await_suspend(std::coroutine_handle<P> coroutine) {
        if (!waiter_.suspend(coroutine)) return false;
        start(coroutine.promise().scope->loop());
        return true;
    }
    void await_resume() {
        timer_.reset();
        waiter_.check();
    }

private:
    void start(Loop& loop);
    std::chrono::nanoseconds time_;
    Waiter waiter_;
    std::optional<Timer> timer_;
};

/// Something that several coroutines wait for; it has no memory of past notifications.
class Condition {
public:
    Condition() = default;
    Condition(const Condition&) = delete;
    Condition& operator=(const Condition&) = delete;

    class Awaiter {
    public:
        explicit Awaiter(Condition& condition) noexcept : condition_(condition) {}
        ~Awaiter() { unlink(); }
        bool await_ready() const noexcept { return false; }
        template <class P> bool await_suspend(std::coroutine_handle<P> coroutine) {
            if (!waiter_.suspend(coroutine)) return false;
            link();
            return true;
        }
        void await_resume() {
            unlink();
            waiter_.check();
        }

    private:
        friend class Condition;
        void link() noexcept;
        void unlink() noexcept;
        Condition& condition_;
        Waiter waiter_;
        Awaiter* next_ = nullptr;
        Awaiter* previous_ = nullptr;
        bool linked_ = false;
    };

    /// `co_await condition.wait()`
    Awaiter wait() noexcept { return Awaiter(*this); }
    void notify_all() noexcept;

private:
    Awaiter* first_ = nullptr;
};

/// Run a coroutine to its end on `loop` and return its result; for `main` and tests. SIGINT/SIGTERM handling is the
/// caller's. The task runs in `scope`. \throws what it throws; Error EDEADLK when nothing is left that could wake it
/// (the connection that it waits on is gone): the scope is aborted then.
template <class T, class Function, class... Arguments>
T run_task(Scope& scope, Function function, Arguments... arguments) {
    std::optional<T> value;
    std::exception_ptr failure;
    bool done = false;
    auto* pvalue = &value;
    auto* pfailure = &failure;
    auto* pdone = &done;
    struct Body {
        static Task<> run(Scope* scope, std::optional<T>* value, std::exception_ptr* failure, bool* done,
                          Function function, Arguments... arguments) {
            try {
                value->emplace(co_await function(std::move(arguments)...));
            } catch (...) {
                *failure = std::current_exception();
            }
            *done = true;
            scope->loop().stop();
        }
    };
    scope.spawn("main", &Body::run, &scope, pvalue, pfailure, pdone, std::move(function), std::move(arguments)...);
    while (!done) {
        scope.loop().run();
        if (done || scope.loop().alive()) continue;
        scope.abort();
        scope.loop().run_ready();
        throw Error(EDEADLK, "nothing is left to wait for: the connection is gone");
    }
    if (failure) std::rethrow_exception(failure);
    return std::move(*value);
}

} // namespace flux

template <class T, class... Arguments> struct std::coroutine_traits<flux::Task<T>, Arguments...> {
    static_assert((flux::detail::gcc12_safe<Arguments> && ...),
                  "coroutine parameter is a non-trivial aggregate: give it a constructor");
    using promise_type = flux::detail::Promise<T>;
};
