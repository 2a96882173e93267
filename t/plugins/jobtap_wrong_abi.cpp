// Built, it says, for another SDK.
extern "C" {
__attribute__((section(".flux.abi.0.000000000000"), used, retain)) static const char mark[] = "0.000000000000";
__attribute__((visibility("default"))) int flux_jobtap_table = 0;
}
// Must not run: a foreign plugin is refused before any of its code does.
__attribute__((constructor)) static void constructor() { __builtin_trap(); }
