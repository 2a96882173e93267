#!/usr/bin/env bats
# What `flux start --test-size` does with its brokers, as its options say.
load lib/common
bats_require_minimum_version 1.5.0

control() { FLUX_URI=$FLUX_START_URI flux-t-rpc "$@"; }
export -f control
# refused ERRNO COMMAND...
refused() { ! "${@:2}" 2>refusal; grep -q "^errno $1:" refusal; }
export -f refused

@test "brokers are listed, ended, waited for and started by request" {
    run under_flux 3 'control start.status >status; [ "$(grep -o "\"pid\":[0-9]" status | wc -l)" -eq 3 ]
        refused 3 control start.kill "{\"rank\":7,\"signum\":9}"; refused 17 control start.run "{\"rank\":2}"
        refused 38 control start.nothing; refused 71 control start.kill "{}"
        control start.wait "{\"rank\":2}" >code & waiter=$!
        flux-t-rpc -s -w lost overlay.health >health & watch=$!
        control start.kill "{\"rank\":2,\"signum\":9}" >/dev/null
        wait $waiter; wait $watch; [ "$(<code)" = "{\"exit_rc\":137}" ]
        [ "$(control start.wait "{\"rank\":2}")" = "{\"exit_rc\":137}" ]
        control start.status | grep -q "\"pid\":-1"' --test-exit-mode=leader
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a start of the leader only leaves the others to be started by request" {
    flux keygen cert; mkdir conf
    printf '%s\n' '[bootstrap]' "curve_cert = \"$PWD/cert\"" "default_bind = \"ipc://$PWD/tbon-%h\"" \
        "default_connect = \"ipc://$PWD/tbon-%h\"" 'hosts = [{host = "fake[0-2]"}]' >conf/bootstrap.toml
    run under_flux 3 '[ "$(flux overlay status --no-pretty | grep -c offline)" -ge 1 ]
        control start.run "{\"rank\":2}" >/dev/null
        control start.run "{\"rank\":1}" >/dev/null; flux overlay status -w full >/dev/null
        flux exec -r0-2 true' -c conf --test-hosts=fake[0-2] --test-start-mode=leader --test-exit-mode=leader -Sbroker.quorum=1
    echo "$output"; [ "$status" -eq 0 ]
}

@test "the first end of a broker starts the timer for the others, or the end of the leader does" {
    run under_flux 2 'kill -9 $(flux exec -r1 flux getattr broker.pid); exec sleep 60' --test-exit-timeout=0.2s
    echo "$output"; [ "$status" -eq 137 ]; [[ "$output" == *"1 (pid "*") Killed"*"Exit timeout: killed rank 0"* ]]
    run under_flux 2 'flux-t-rpc -s -w lost overlay.health >health & watch=$!
        kill -9 $(flux exec -r1 flux getattr broker.pid); wait $watch; exit 3' --test-exit-timeout=0.2s --test-exit-mode=leader
    echo "$output"; [ "$status" -eq 3 ]; [[ "$output" != *"Exit timeout"* ]]
}

@test "the run directory" {
    mkdir run
    run under_flux 2 'flux getattr rundir' --test-rundir=run; [ "$output" = "$PWD/run" ]; [ -d run ]
    run under_flux 1 true --test-rundir=run --test-rundir-cleanup; [ ! -e run ]
    run under_flux 1 true --test-rundir=run; [ "$status" -ne 0 ]; [[ "$output" == *"not a directory"* ]]
}

@test "the map of brokers to nodes" {
    run under_flux 2 'flux getattr broker.mapping'; [ "$output" = "[[0,1,2,1]]" ]
    run under_flux 2 'flux getattr broker.mapping' --test-pmi-clique=per-broker -Stbon.interface-hint=lo
    [ "$output" = "[[0,2,1,1]]" ]
    run -1 under_flux 2 'flux getattr broker.mapping' --test-pmi-clique=none -Stbon.interface-hint=lo
    run under_flux 2 'flux getattr broker.mapping' '--test-pmi-clique=(vector,(0,2,1))' -Stbon.interface-hint=lo
    [ "$output" = "[[0,2,1,1]]" ]
}

@test "options that make no sense are refused" {
    for option in --test-hosts=a --test-exit-mode=leader --test-start-mode=all --test-rundir=. --test-pmi-clique=none; do
        run flux start $option true; [ "$status" -ne 0 ]; [[ "$output" == *"can only be used with --test-size"* ]]
    done
    run flux start -s2 --test-hosts=a,b,c true; [ "$status" -ne 0 ]; [[ "$output" == *"wrong size"* ]]
    run flux start -s2 --test-start-mode=some true; [ "$status" -ne 0 ]; [[ "$output" == *"must be all or leader"* ]]
    run flux start -s2 --test-exit-mode=some true; [ "$status" -ne 0 ]; [[ "$output" == *"must be any or leader"* ]]
    run flux start -s0 true; [ "$status" -ne 0 ]
    run flux start -X -s2 -Stest.a=1,test.b=2 true; [ "$status" -eq 0 ]
    [[ "$output" == *"--setattr=test.a=1 --setattr=test.b=2"* ]]
}

@test "recovery of a state directory" {
    mkdir state; flux start -Sstatedir=state flux kvs put a=1
    run flux start --recovery=state sh -c 'flux kvs get a; flux getattr broker.recovery-mode; flux getattr statedir'
    echo "$output"; [ "$status" -eq 0 ]
    [ "${lines[0]}" = 1 ]; [ "${lines[1]}" = 1 ]; [ "${lines[2]}" = state ]
    # A start that fails half leaves enough to look around.
    run flux start --recovery=state -Sbroker.rc1_path=false flux getattr rank
    [ "$status" -eq 0 ]; [[ "$output" == *"rc1: false exited with 1"*0 ]]
    run flux start --recovery=nowhere true; [ "$status" -eq 1 ]; [[ "$output" == *"nowhere: No such file"* ]]
    mkdir empty; run flux start --recovery=empty true
    [ "$status" -eq 1 ]; [[ "$output" == *"empty/content.sqlite: No such file"* ]]
}
