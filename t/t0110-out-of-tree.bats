#!/usr/bin/env bats
# Plugins built out of the tree against an installed prefix.
load lib/common

@test "a third-party module builds against an installation, loads and works" {
    cmake --install "$FLUX_BUILD" --prefix "$TEST_TMP/prefix" >/dev/null
    cmake -S "$BATS_TEST_DIRNAME/../examples/module" -B build -DCMAKE_PREFIX_PATH="$TEST_TMP/prefix" >/dev/null
    cmake --build build
    local rpc="$FLUX_BUILD/test/flux-t-rpc"
    PATH="$TEST_TMP/prefix/bin:/usr/bin:/bin" run under_flux 2 "
        flux module load build/greeter.so greeting=Hi
        $rpc greeter.hello '{\"name\":\"you\"}' | grep -q 'Hi, you'
        flux module stats -p greetings greeter | grep -qx 1
        flux module reload --name=greeter build/greeter.so
        $rpc greeter.hello '{\"name\":\"you\"}' | grep -q 'Hi, you'
        tr '\\0' '\\n' </proc/\$(flux getattr broker.pid)/cmdline | head -1 | grep -q '^$TEST_TMP/prefix/'"
    echo "$output"; [ "$status" -eq 0 ]
}
