#!/usr/bin/env bats
# Starting and ending instances: exit codes, directories, attributes, topology.
load lib/common
bats_require_minimum_version 1.5.0

@test "exit codes of the initial program" {
    run flux start -s1 sh -c 'exit 3'; [ "$status" -eq 3 ]
    run flux start -s2 sh -c 'kill -9 $$'; [ "$status" -eq 137 ]
    run -127 flux start -s1 /no/such/program
    touch plain; run flux start -s1 ./plain x; [ "$status" -eq 126 ]
    run flux start true; [ "$status" -eq 0 ]
}

@test "nothing is left behind" {
    run flux start -s3 sh -c 'flux getattr rundir; flux getattr statedir'
    [ "$status" -eq 0 ]
    for dir in $output; do [ ! -e "$dir" ]; done
    mkdir keep; run flux start -s1 -Sstatedir=keep true; [ "$status" -eq 0 ]; [ -d keep ]
}

@test "bad settings end the start with a reason" {
    run flux start -s1 -Snonsense=1 true; [ "$status" -ne 0 ]; [[ "$output" == *"nonsense: unknown attribute"* ]]
    run flux start -s1 -Srank=1 true; [ "$status" -ne 0 ]; [[ "$output" == *"may not be set on the command line"* ]]
    run flux start -s1 -Stbon.topo=ring true; [ "$status" -ne 0 ]; [[ "$output" == *"unknown topology scheme 'ring'"* ]]
    run flux start -s1 --conf='[t' true; [ "$status" -ne 0 ]; [[ "$output" == *"Config file error"* ]]
    run flux start --test-hosts=a,b true; [ "$status" -ne 0 ]
}

@test "every topology comes up and reaches every rank" {
    for topo in kary:1 kary:2 kary:0 mincrit:2 binomial; do
        run under_flux 7 'for r in 0 1 2 3 4 5 6; do flux ping -c1 $r >/dev/null; done; flux getattr tbon.maxlevel' "-Stbon.topo=$topo"
        echo "$topo: $output"; [ "$status" -eq 0 ]
    done
}

@test "rank 0 sees fake host names" {
    run under_flux 3 'flux getattr hostlist' --test-hosts=node[1-3]
    [ "$output" = "node[1-3]" ]
}

@test "a client is told that its rank does not exist, its service does not, its method does not" {
    run under_flux 2 '! flux-t-rpc -r 5 broker.ping "{}" 2>err; grep -q "errno 113" err
        ! flux-t-rpc nosuch.thing 2>err; grep -q "errno 38: No service matching nosuch.thing is registered" err
        ! flux-t-rpc attr.nothing 2>err; grep -q "errno 38: Unknown service method .attr.nothing." err
        ! flux-t-rpc attr.get "{}" 2>err; grep -q "errno 71" err'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "kill -9 of a broker: the leader sees it lost, the others go on, calls to it end" {
    run under_flux 4 'pid=$(flux-t-rpc -r 2 attr.get "{\"name\":\"broker.pid\"}" | sed "s/.*value\":\"\([0-9]*\).*/\1/")
        flux-t-rpc -s -w lost overlay.health >health & watch=$!
        kill -9 $pid; wait $watch; grep -q "\"status\":\"lost\"" health
        ! flux-t-rpc -r 2 broker.ping "{}" 2>err; grep -q "errno 113" err
        flux ping -c1 1 >/dev/null; flux ping -c1 3 >/dev/null' --test-exit-mode=leader
    echo "$output"; [ "$status" -eq 0 ]
}

@test "kill -9 of an interior broker takes its subtree only" {
    run under_flux 7 'pid=$(flux-t-rpc -r 1 attr.get "{\"name\":\"broker.pid\"}" | sed "s/.*value\":\"\([0-9]*\).*/\1/")
        flux-t-rpc -s -w lost overlay.health >health & watch=$!
        flux ping -c1 3 >/dev/null; kill -9 $pid; wait $watch
        for r in 1 3 4; do ! flux-t-rpc -r $r broker.ping "{}" 2>/dev/null; done
        for r in 2 5 6; do flux ping -c1 $r >/dev/null; done' -Stbon.topo=kary:2 --test-exit-mode=leader
    echo "$output"; [ "$status" -eq 0 ]
}

@test "an event reaches subscribers on every rank, in order, and no others" {
    run under_flux 3 'flux-t-rpc event.publish "{\"topic\":\"a.b\",\"flags\":0}" | grep -q seq
        ! flux-t-rpc -r 1 event.publish "{\"topic\":\"a.b\",\"flags\":0}" 2>err; grep -q "only available on rank 0" err'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "starts, ends and crashes of the instance are listed" {
    mkdir state; again() { flux start -s1 -Sstatedir=state "$@"; }
    again true
    run again flux startlog --check
    [ "$status" -eq 0 ]; [ ${#lines[@]} -eq 2 ]; [[ ${lines[0]} == *" - "*"("*")" ]]; [[ ${lines[1]} == *" - running ("*")" ]]
    run again sh -c 'kill -9 $(flux getattr broker.pid)'
    run again flux startlog --check; [ "$status" -eq 1 ]; [[ ${lines[2]} == *" - crashed" ]]
    run again flux startlog --check --quiet; [ "$status" -eq 0 ]; [ -z "$output" ]
}
