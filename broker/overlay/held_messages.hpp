// What waits for the way up while the link to the parent is broken: in order, within a limit, withdrawn when its
// requester goes. Pure: knows no loop.
#pragma once

#include <flux/message.hpp>

#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <vector>

namespace flux::broker {

class HeldMessages {
public:
    using Fail = std::function<void(const Message& request, int errnum, const std::string& text)>;

    /// \param limit  bytes of messages that may wait.
    /// \param fail   answers a request that is not held, or no longer.
    HeldMessages(std::size_t limit, Fail fail) : limit_(limit), fail_(std::move(fail)) {}

    /// Hold a message that wants up, or do what it asks of those that wait: `SERVICE.disconnect` withdraws those of its
    /// sender, `SERVICE.cancel` one. What means nothing to a parent that comes back is dropped: answers, control, what
    /// is told anew then, and requests without matchtag, whose protocols start over.
    void add(Message message);
    /// Hold again what was under way, before everything else.
    void put_back(std::vector<Message> requests);
    /// All of them, in order; nothing is held then.
    std::vector<Message> take_all();
    /// Answer all with an error; nothing is held then.
    void fail_all(int errnum, const std::string& text);

    std::size_t count() const noexcept { return entries_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }

private:
    class Entry {
    public:
        explicit Entry(Message message);
        Message message;
        std::size_t bytes; ///< about what it takes
    };
    void push(Message message);
    void withdraw_sender(std::string_view sender);
    bool cancel(const Message& request);

    std::size_t limit_;
    Fail fail_;
    std::list<Entry> entries_;
    std::size_t bytes_ = 0;
};

} // namespace flux::broker
