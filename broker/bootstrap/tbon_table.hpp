// The `[tbon]` table of the configuration (broker.md 7.4): what may stand there.
#pragma once

#include <flux/json.hpp>

namespace flux::broker {

/// \param table  the value of `tbon`; nothing is right too.
/// \throws Error EINVAL `Config file error [tbon]: …` or `Config file error parsing tbon.NAME: …`
void check_tbon_table(JsonView table);

} // namespace flux::broker
