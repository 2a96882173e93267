#!/usr/bin/env bats
# Modules and plugins built out of the tree against an installed prefix.
load lib/common

# example NAME: install, and build examples/NAME against that in ./build; only what is installed is found afterwards.
example() {
    cmake --install "$FLUX_BUILD" --prefix "$TEST_TMP/prefix" >/dev/null
    cmake -S "$BATS_TEST_DIRNAME/../examples/$1" -B build -DCMAKE_PREFIX_PATH="$TEST_TMP/prefix" >/dev/null
    cmake --build build
    export PATH="$TEST_TMP/prefix/bin:/usr/bin:/bin"
}
installed="tr '\\0' '\\n' </proc/\$(flux getattr broker.pid)/cmdline | head -1 | grep -q \"^\$TEST_TMP/prefix/\""

@test "a third-party module builds against an installation, loads and works" {
    example module
    local rpc="$FLUX_BUILD/test/flux-t-rpc"
    run under_flux 2 "
        $installed
        flux module load build/greeter.so greeting=Hi
        $rpc greeter.hello '{\"name\":\"you\"}' | grep -q 'Hi, you'
        flux module stats -p greetings greeter | grep -qx 1
        flux module reload --name=greeter build/greeter.so
        $rpc greeter.hello '{\"name\":\"you\"}' | grep -q 'Hi, you'"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a third-party jobtap plugin builds against an installation, loads and works" {
    example jobtap-plugin
    run under_flux 1 "
        $installed
        flux jobtap load build/user-limit.so 2>err && exit 1; grep -q max-jobs err
        first=\$(flux submit --urgency=hold true)
        flux jobtap load build/user-limit.so max-jobs=2
        flux submit --urgency=hold true
        flux submit true 2>err && exit 1; grep -q 'you have 2 jobs already' err
        flux jobtap query user-limit.so | grep -q \"\\\"\$(id -u)\\\": *2\"
        flux cancel \$first; flux job wait-event -q \$first clean; flux run true
        flux module reload job-manager; flux jobtap list | grep -qx user-limit.so
        flux submit --urgency=hold true; flux submit true && exit 1
        flux jobtap remove user-limit.so; flux run true
        cp build/user-limit.so prefix/lib/flux/job-manager/plugins/ 2>/dev/null ||
            install -D build/user-limit.so -t prefix/lib/flux/job-manager/plugins
        flux jobtap load user-limit.so max-jobs=1
        flux cancel --all"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a third-party shell plugin builds against an installation, loads and works" {
    example shell-plugin
    run under_flux 2 "
        $installed
        flux run -N2 -n4 -o timing sh -c 'sleep 0.\$FLUX_TASK_RANK' 2>err
        grep timing err && { echo 'loaded from nowhere'; exit 1; }
        cp build/timing.so prefix/lib/flux/shell/plugins/
        flux run -N2 -n4 -o timing true 2>err; grep -q 'timing: 4 tasks ran .* on average' err
        [ \$(flux run -N2 -n4 -o timing=each true 2>&1 | grep -c 'timing: task [0-3] ran') = 4 ]
        id=\$(flux submit -o timing=never true); flux job wait-event \$id exception >why
        grep -q \"timing: timing is alone or 'each'\" why"
    echo "$output"; [ "$status" -eq 0 ]
    run under_flux 1 "
        flux run -n2 -o timing true 2>err; grep -q 'timing: 2 tasks ran' err" -Sconf.shell_pluginpath="$PWD/build"
    echo "$output"; [ "$status" -eq 0 ]
}
