// Carries the ABI mark, but no table of entry functions.
#include <flux/module.hpp>

FLUX_ABI_MARK
