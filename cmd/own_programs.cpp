// Commands that are programs of their own: known to `flux` for help and completion.
#include "cmd/archive/commands.hpp"
#include "cmd/snapshot/commands.hpp"

namespace flux::cmd {

extern const options::Command cmd_archive;
const options::Command cmd_archive = archive::command<nullptr, nullptr, nullptr, nullptr>();
extern const options::Command cmd_dump;
const options::Command cmd_dump = snapshot::dump_command(nullptr);
extern const options::Command cmd_restore;
const options::Command cmd_restore = snapshot::restore_command(nullptr);

} // namespace flux::cmd
