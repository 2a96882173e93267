// A response that is another request's answer too.
#pragma once

#include <flux/handle.hpp>

namespace flux {

inline void forward(const Request& request, const Message& response) {
    if (response.errnum())
        request.fail(response.errnum(), response.error_text());
    else
        request.respond(response.payload);
}

} // namespace flux
