// Service `cron` on rank 0: commands that run by the clock or by events.
//
// An entry is `{id:i, rank:i, name:s, command:s, repeat:i, stopped:b, type:s, timeout?:f, stats:o, typedata:o,
// tasks:[o]}`; the newest task comes first. Unknown ids give ENOENT.
#pragma once

#include <flux/handle.hpp>

namespace flux::cron_protocol {

/// `{type:s, name:s, command:s, args:o, cwd?:s, environ?:o, repeat?:i, rank?:i, task-history-count?:i,
/// stop-on-failure?:i, timeout?:f}` to the entry. Types and their args: `interval` `{interval:f, after?:f}`; `event`
/// `{topic:s, nth?:i, after?:i, min_interval?:f}`; `datetime` `{second, minute, hour, mday, month, year, weekday}`,
/// each an integer or a text. EPROTO, EINVAL, ENOSYS for another type.
inline constexpr Method create{"cron.create", MethodClass::once};
/// `{id:i, kill?:b}` to the entry, when its task has ended.
inline constexpr Method remove{"cron.delete", MethodClass::once};
/// `{id:i}` to the entry. EINVAL when it is stopped.
inline constexpr Method stop{"cron.stop", MethodClass::once};
/// `{id:i}` to the entry. EINVAL when it is started.
inline constexpr Method start{"cron.start", MethodClass::once};
/// `{entries:[o]}`
inline constexpr Method list{"cron.list", MethodClass::read};
/// `{topic?:s, disable?:b, sync_epsilon?:f}` to `{sync_event:s, sync_epsilon:f}` or `{sync_disabled:true}`
inline constexpr Method sync{"cron.sync", MethodClass::once};

} // namespace flux::cron_protocol
