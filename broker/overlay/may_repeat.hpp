// Which requests a broker may send again by itself when the answer was lost with the parent.
#pragma once

#include <flux/message.hpp>

namespace flux::broker {

/// True when the request asks for something and changes nothing (MethodClass::read, or a stream of which nothing has
/// come yet). What changes something is sent again only by whoever made it, with its key.
bool may_repeat(const Message& request) noexcept;

} // namespace flux::broker
