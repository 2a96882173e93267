// Carries the ABI mark, but no table of entry functions.
#include <flux/jobtap.hpp>

FLUX_ABI_MARK
