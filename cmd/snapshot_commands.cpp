// flux dump, flux restore: known to `flux` for help and completion, run as programs of their own.
#include "cmd/snapshot/commands.hpp"

namespace flux::cmd {

extern const options::Command cmd_dump;
const options::Command cmd_dump = snapshot::dump_command(nullptr);
extern const options::Command cmd_restore;
const options::Command cmd_restore = snapshot::restore_command(nullptr);

} // namespace flux::cmd
