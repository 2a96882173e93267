#!/usr/bin/env bats
# The leader of a configured instance goes and comes back: the others hold on, and nothing is lost.
load lib/common
load lib/cluster
bats_require_minimum_version 1.5.0

teardown() { cluster_teardown; }

rounds() { if [ "${FLUX_SOAK:-}" = full ]; then echo "$1"; else echo "$2"; fi; }

@test "brokers come up in any order" {
    cluster 4
    for round in $(seq "$(rounds 20 5)"); do
        for rank in $(shuf -i 0-3); do broker "$rank"; done
        is_up
        [ "$(on 3 flux getattr size)" = 4 ]
        cluster_down
    done
}

@test "a leader whose name cannot be resolved yet is waited for" {
    unshare --mount true 2>/dev/null || skip "file system namespaces cannot be made here"
    cluster 2
    sed -i "s|connect = \"tcp://$ADDRESS|connect = \"tcp://node0|" conf/flux.toml
    cp /etc/hosts hosts
    broker 0
    RUN=(unshare --mount bash -c 'mount --bind hosts /etc/hosts; exec "$@"' -)
    broker 1 -Slog-stderr-mode=local -Slog-stderr-level=5
    timeout 20 grep -qm1 'waiting for node0 (rank 0): .*node0' <(tail -n +1 -F --pid="${PIDS[1]}" log.1 2>/dev/null)
    kill -0 "${PIDS[1]}"
    echo "$ADDRESS node0" >>hosts
    is_up
    [ "$(on 1 flux getattr size)" = 2 ]
    cluster_down
}

# What somebody does on rank 3 while the leader is away, and a job on ranks 1 and 2 that lives through it.
# away SIGNAL
away() {
    on 3 flux kvs put -N calm kept=yes
    id=$(on 3 flux submit -N2 -n2 --requires=rank:1-2 bash -c 'for i in $(seq 100); do echo "$FLUX_TASK_RANK $i"; done
        cat '"$PWD"'/gate$FLUX_TASK_RANK; for i in $(seq 101 200); do echo "$FLUX_TASK_RANK $i"; done')
    on 3 flux job wait-event "$id" start >start.event
    on 3 flux job wait-event "$id" finish >finish.event & finish=$!
    [ "$(on 3 flux kvs get -N calm kept)" = yes ]
    gone 0 "$1"
    # What needs no leader works.
    [ "$(on 3 flux getattr size)" = 4 ]
    on 3 flux dmesg >/dev/null
    [ "$(on 3 flux kvs get -N calm kept)" = yes ]
    # What needs one waits and says for whom.
    on 3 flux kvs put held=1 2>&6 & put=$!
    notice "flux-kvs put: waiting for node0 (rank 0): "
    FLUX_URI=local://$PWD/run/local-3 env --default-signal=INT flux submit --job-name=dropped true 2>&6 & submit=$!
    notice "flux-submit: waiting for node0 (rank 0): "
    kill -INT "$submit"
    ! wait "$submit"
    on 3 flux jobs -ano '{id} {status_abbrev}' >jobs.out 2>&6 & jobs=$!
    notice "flux-jobs"
    echo go >gate0 & echo go >gate1 &
    broker 0
    is_up
    wait "$put"; wait "$jobs"; wait "$finish"
    [ "$(on 3 flux kvs get held)" = 1 ]
    grep -q "$id" jobs.out
    grep -q 'status=0' finish.event
    on 3 flux job attach "$id" >lines
    for task in 0 1; do
        seq 200 | sed "s/^/$task /" | diff - <(grep "^$task " lines)
    done
    on 3 flux job eventlog "$id" | { ! grep exception; }
    [ -z "$(on 3 flux jobs -a -no '{id}' --name=dropped)" ]
}

# leave_and_return SIGNAL
leave_and_return() {
    local round
    cluster 4
    mkfifo gate0 gate1
    notices
    for rank in 0 1 2 3; do broker "$rank"; done
    is_up
    on 3 flux kvs namespace create calm # where nobody else writes
    for round in $(seq "$(rounds 50 1)"); do away "$1"; done
    cluster_down
}

@test "the leader is stopped and started: clients wait, jobs go on" {
    leave_and_return TERM
}

@test "the leader is killed and started: clients wait, jobs go on" {
    leave_and_return KILL
}

@test "a leader with an older store: what it has is what all have" {
    cluster 3
    for rank in 0 1 2; do broker "$rank"; done
    is_up
    on 2 flux kvs put a=old
    gone 0 TERM
    cp -r state older
    broker 0; is_up
    for i in 1 2 3; do on 2 flux kvs put a=new b=$i; done
    [ "$(on 1 flux kvs get a)" = new ]
    mkfifo watched; exec 6<>watched
    on 1 flux kvs get --watch --count=2 a >&6 & watch=$!
    read -r -t 10 value <&6; [ "$value" = new ]
    gone 0 KILL
    rm -r state; mv older state
    broker 0; is_up
    wait "$watch"
    read -r -t 10 value <&6; [ "$value" = old ]
    for rank in 0 1 2; do
        [ "$(on "$rank" flux kvs get a)" = old ]
        ! on "$rank" flux kvs get b
    done
    on 2 flux kvs put b=again
    [ "$(on 1 flux kvs get b)" = again ]
    cluster_down
}

@test "a client that dies with the leader takes its processes along" {
    cluster 2
    broker 0; broker 1; is_up
    mkfifo started
    on 0 flux exec -r1 bash -c "echo \$\$ >$PWD/started; exec sleep inf" & client=$!
    read -r pid <started
    kill -9 "$client"
    gone 0 KILL
    broker 0; is_up
    timeout 5 tail --pid="$pid" -f /dev/null
    cluster_down
}

@test "a new key is rolled out over four brokers, and no link is dropped" {
    cluster 4
    for rank in 0 1 2 3; do broker "$rank"; done
    is_up
    flux keygen next
    on 0 flux-t-rpc -s overlay.monitor >links & monitor=$!
    # roll CERT NEXT: what all brokers have from now on
    roll() {
        sed -i "/^curve_cert/d; s|^\[bootstrap\]|&\ncurve_cert = \"$PWD/$1\"${2:+\ncurve_cert_next = \"$PWD/$2\"}|" conf/flux.toml
        on 0 flux config reload
        for rank in 1 2 3; do on "$rank" flux-t-rpc -s -w "\"curve_cert\":\"$PWD/$1\"" config.get >/dev/null; done
    }
    roll cert next
    roll next cert
    roll next
    on 0 flux exec -r 0-3 true
    kill "$monitor"; wait "$monitor" || true
    cat links; [ "$(wc -l <links)" -eq 3 ]; [ "$(grep -c full links)" -eq 3 ]
    # Who comes now has the new key; the old one opens no door.
    gone 3 KILL
    sed "s|$PWD/next|$PWD/cert|" conf/flux.toml >old.toml
    run timeout 10 flux broker -c old.toml -Shostname=node3 -Srundir="$PWD/other" true
    echo "$output"; [ "$status" -eq 1 ]; [[ "$output" == *"wrong key"* ]]
    broker 3
    on 0 flux overlay status -w full >/dev/null
    cluster_down
}

@test "who may not join is told why, and so is the log of the parent" {
    cluster 3
    broker 0; broker 1; broker 2; is_up
    # A rank that is taken.
    run timeout 5 flux broker -c conf -Shostname=node1 -Srundir="$PWD/other" true
    echo "$output"; [ "$status" -eq 1 ]; [[ "$output" == *"rank 1 is here already, from node1 (rank 1)"* ]]
    grep -q 'refused hello of .*rank 1 is here already' log.0
    # Another key.
    gone 2 KILL
    mkdir wrong; flux keygen wrong/cert
    sed "s|$PWD/cert|$PWD/wrong/cert|" conf/flux.toml >wrong/flux.toml
    run timeout 5 flux broker -c wrong/flux.toml -Shostname=node2 -Srundir="$PWD/other" true
    echo "$output"; [ "$status" -eq 1 ]; [[ "$output" == *"key"* ]]
    grep -q 'refused .*key' log.0
    cluster_down
}

@test "a broker that does not answer is torpid, and no job ends for it" {
    cluster 4 '[tbon]' 'torpid_min = "0.2s"' 'torpid_max = "1s"'
    for rank in 0 1 2 3; do broker "$rank"; done
    is_up
    id=$(on 0 flux submit --requires=rank:2 sleep 300)
    on 0 flux job wait-event "$id" start >/dev/null
    kill -STOP "${PIDS[2]}"
    run on 0 flux ping --count=1 2
    echo "$output"; [ "$status" -ne 0 ]; [[ "$output" == *"node2 (rank 2) is unresponsive"* ]]
    run on 0 flux exec -r2 true
    echo "$output"; [ "$status" -ne 0 ]; [[ "$output" == *"node2"* ]]
    # Everybody agrees: it is there, and gets nothing to do.
    on 0 flux dmesg | grep 'broker on node2 (rank 2) has been unresponsive for '
    on 0 flux overlay status --no-pretty --color=never >overlay; cat overlay
    grep -q '2 node2: full unresponsive' overlay
    until_group broker.torpid 2
    [ "$(on 0 flux resource status -s torpid -no '{ranks}')" = 2 ]
    [ "$(on 0 flux resource list -s down -no '{ranks}')" = 2 ]
    on 0 flux run --requires=rank:1 true
    kill -CONT "${PIDS[2]}"
    on 0 flux exec -r1,3 true
    on 2 flux getattr rank
    on 0 flux exec -r2 true
    on 0 flux dmesg | grep 'broker on node2 (rank 2) is responsive now'
    until_group broker.torpid ''
    [ -z "$(on 0 flux resource list -s down -no '{ranks}')" ]
    on 0 flux job eventlog "$id" | { ! grep exception; }
    on 0 flux cancel "$id"
    on 0 flux job wait-event "$id" clean >/dev/null
    cluster_down
}

@test "a parent that does not answer is torpid: those below wait, told why, and go on" {
    cluster 2 '[tbon]' 'torpid_min = "0.2s"' 'torpid_max = "1s"'
    notices
    broker 0; broker 1; is_up
    kill -STOP "${PIDS[0]}"
    until_path 1 '"reason":"it is unresponsive"'
    on 1 flux dmesg | grep 'broker on node0 (rank 0) has been unresponsive for '
    [ "$(on 1 flux getattr size)" = 2 ]
    on 1 flux kvs put a=1 2>&6 & put=$!
    notice 'flux-kvs put: waiting for node0 (rank 0): it is unresponsive'
    kill -CONT "${PIDS[0]}"
    wait "$put"
    until_path 1 '"state":"up"'
    on 1 flux dmesg | grep 'broker on node0 (rank 0) is responsive now'
    # Who was stopped himself blames nobody, and no link was dropped.
    on 0 flux dmesg | { ! grep -E 'node1.*(unresponsive|failed)'; }
    cluster_down
}

@test "silence has an end: the link is dropped at both ends, and made anew" {
    cluster 3 '[tbon]' 'torpid_min = "0.2s"' 'torpid_max = "1s"' '[heartbeat]' 'period = "0.2s"' 'timeout = "2s"'
    broker 0; broker 1; broker 2; is_up
    kill -STOP "${PIDS[2]}"
    until_health 0 '"error":"no sign of life for 2s"'
    kill -CONT "${PIDS[2]}"
    until_group broker.online 0-2
    on 2 flux kvs put a=1
    kill -STOP "${PIDS[0]}"
    until_path 1 '"reason":"no heartbeat for 2s"'
    kill -CONT "${PIDS[0]}"
    until_path 1 '"state":"up"'; until_path 2 '"state":"up"'
    [ "$(on 1 flux kvs get a)" = 1 ]
    cluster_down
}

@test "jobs on a broker that is torpid for longer than configured end, and so do their shells" {
    cluster 2 '[tbon]' 'torpid_min = "0.2s"' 'torpid_max = "1s"' '[exec]' 'torpid-timeout = "0.5s"'
    mkfifo started
    broker 0; broker 1; is_up
    id=$(on 0 flux submit --requires=rank:1 bash -c "echo \$\$ >$PWD/started; exec sleep inf")
    read -r pid <started
    kill -STOP "${PIDS[1]}"
    on 0 flux job wait-event -t 15 -m severity=0 "$id" exception | grep 'broker is unresponsive on node1 (rank 1)'
    kill -CONT "${PIDS[1]}"
    on 0 flux job wait-event -t 15 "$id" clean >/dev/null
    timeout 15 tail --pid="$pid" -f /dev/null
    cluster_down
}

@test "a broker that is killed takes no job along while it may come back" {
    cluster 2
    mkfifo gate
    broker 0; broker 1; is_up
    id=$(on 0 flux submit --requires=rank:1 bash -c "echo one; cat $PWD/gate; echo two")
    on 0 flux job wait-event -p exec "$id" shell.start >/dev/null
    gone 1 KILL
    until_health 0 '"error":"lost connection"'
    on 0 flux dmesg | grep 'node1 (rank 1) failed$'
    run on 0 flux ping --count=1 1
    echo "$output"; [ "$status" -ne 0 ]; [[ "$output" == *"node1 (rank 1) is lost"* ]]
    broker 1
    until_group broker.online 0-1
    echo go >gate &
    [ "$(on 0 flux job attach "$id")" = $'one\ngo\ntwo' ]
    on 0 flux job eventlog "$id" | { ! grep exception; }
    cluster_down
}
