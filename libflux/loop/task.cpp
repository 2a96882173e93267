#include <flux/task.hpp>

#include <cstdio>
#include <vector>

namespace flux {

// Waiter --------------------------------------------------------------------------------------------------------

Waiter::~Waiter() { unlink(); }

bool Waiter::arm(Scope* scope, std::coroutine_handle<> coroutine) {
    assert(scope && "a wait outside any scope");
    if (scope->aborted()) {
        aborted_ = true;
        return false;
    }
    coroutine_ = coroutine;
    scope_ = scope;
    previous_ = nullptr;
    next_ = scope->waiters_;
    if (next_) next_->previous_ = this;
    scope->waiters_ = this;
    return true;
}

void Waiter::unlink() noexcept {
    if (!scope_) return;
    if (previous_)
        previous_->next_ = next_;
    else
        scope_->waiters_ = next_;
    if (next_) next_->previous_ = previous_;
    scope_ = nullptr;
}

void Waiter::wake() noexcept {
    if (!coroutine_) return;
    auto& loop = scope_->loop();
    unlink();
    loop.post(std::exchange(coroutine_, {}));
}

void Waiter::check() const {
    if (aborted_) throw Cancelled();
}

// Scope ---------------------------------------------------------------------------------------------------------

Scope::Scope(Loop& loop, ErrorHandler on_error) : loop_(loop), on_error_(std::move(on_error)) {}

Scope::Scope(Scope& parent) : loop_(parent.loop_), parent_(&parent), aborted_(parent.aborted_) {
    parent.enter();
    next_sibling_ = parent.first_below_;
    if (next_sibling_) next_sibling_->previous_sibling_ = this;
    parent.first_below_ = this;
}

Scope::~Scope() {
    assert(count_ == 0 && "a scope dies with tasks in it");
    if (!parent_) return;
    if (previous_sibling_)
        previous_sibling_->next_sibling_ = next_sibling_;
    else
        parent_->first_below_ = next_sibling_;
    if (next_sibling_) next_sibling_->previous_sibling_ = previous_sibling_;
    parent_->leave();
}

void Scope::enter() noexcept { ++count_; }

void Scope::leave() noexcept {
    if (--count_ > 0) return;
    auto callbacks = std::exchange(empty_callbacks_, {});
    for (auto& callback : callbacks) loop_.post(std::move(callback));
}

void Scope::report(const char* name, const std::exception& error) noexcept {
    for (Scope* scope = this; scope; scope = scope->parent_) {
        if (scope->on_error_) return scope->on_error_(name, error);
    }
    std::fprintf(stderr, "%s: %s\n", name, error.what());
}

void Scope::abort() noexcept {
    if (std::exchange(aborted_, true)) return;
    while (waiters_) {
        waiters_->aborted_ = true;
        waiters_->wake();
    }
    for (Scope* below = first_below_; below; below = below->next_sibling_) below->abort();
}

void Scope::when_empty(std::function<void()> callback) {
    if (count_ == 0)
        loop_.post(std::move(callback));
    else
        empty_callbacks_.push_back(std::move(callback));
}

namespace {

// Waits for an emptied scope; not subject to the abort of the scope that waits, since it is what follows an abort.
class EmptyAwaiter {
public:
    explicit EmptyAwaiter(Scope& scope) noexcept : scope_(scope) {}
    bool await_ready() const noexcept { return scope_.count() == 0; }
    void await_suspend(std::coroutine_handle<> coroutine) {
        scope_.when_empty([coroutine] { coroutine.resume(); });
    }
    void await_resume() const noexcept {}

private:
    Scope& scope_;
};

} // namespace

Task<> Scope::close() {
    abort();
    co_await EmptyAwaiter(*this);
}

Task<> Scope::drained() { co_await EmptyAwaiter(*this); }

// sleep, Condition ----------------------------------------------------------------------------------------------

void sleep_for::start(Loop& loop) {
    timer_.emplace(loop, [this] { waiter_.wake(); });
    timer_->start(time_);
}

void Condition::Awaiter::link() noexcept {
    linked_ = true;
    previous_ = nullptr;
    next_ = condition_.first_;
    if (next_) next_->previous_ = this;
    condition_.first_ = this;
}

void Condition::Awaiter::unlink() noexcept {
    if (!std::exchange(linked_, false)) return;
    if (previous_)
        previous_->next_ = next_;
    else
        condition_.first_ = next_;
    if (next_) next_->previous_ = previous_;
}

void Condition::notify_all() noexcept {
    while (first_) {
        auto* awaiter = first_;
        awaiter->unlink();
        awaiter->waiter_.wake();
    }
}

} // namespace flux
