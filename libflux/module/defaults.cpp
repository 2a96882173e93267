#include <flux/defaults.hpp>

#include <cerrno>
#include <sys/resource.h>

namespace flux {

Json answer_ping(const Request& request, std::uint32_t rank) {
    auto reply = request.json().copy();
    auto& message = request.message();
    reply.set("route", message.routes.describe());
    reply.set("userid", message.credentials.userid);
    reply.set("rolemask", message.credentials.rolemask);
    reply.set("rank", rank);
    return reply;
}

Json answer_rusage(JsonView payload) {
    auto who = payload.get_or<std::string>("who", "self");
    int which = 0;
    if (who == "self")
        which = RUSAGE_SELF;
    else if (who == "children")
        which = RUSAGE_CHILDREN;
    else if (who == "thread")
        which = RUSAGE_THREAD;
    else
        throw Error(EINVAL, who + " is unsupported");
    rusage usage{};
    ::getrusage(which, &usage);
    auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return Json::object("utime", seconds(usage.ru_utime), "stime", seconds(usage.ru_stime), "maxrss", usage.ru_maxrss,
                        "ixrss", usage.ru_ixrss, "idrss", usage.ru_idrss, "isrss", usage.ru_isrss, "minflt",
                        usage.ru_minflt, "majflt", usage.ru_majflt, "nswap", usage.ru_nswap, "inblock",
                        usage.ru_inblock, "oublock", usage.ru_oublock, "msgsnd", usage.ru_msgsnd, "msgrcv",
                        usage.ru_msgrcv, "nsignals", usage.ru_nsignals, "nvcsw", usage.ru_nvcsw, "nivcsw",
                        usage.ru_nivcsw);
}

} // namespace flux
