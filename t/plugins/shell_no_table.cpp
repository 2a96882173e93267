// Carries the ABI mark, but no table of entry functions.
#include <flux/shell.hpp>

FLUX_ABI_MARK
