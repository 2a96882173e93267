#!/usr/bin/env bats
# A tree of three levels whose interior brokers go and come back: those below hold on.
load lib/common
load lib/cluster
bats_require_minimum_version 1.5.0

teardown() { cluster_teardown; }

tree() {
    cluster 7 '[tbon]' 'topo = "kary:2"' "$(listed 7)" "$@"
    notices
    for rank in 0 1 2 3 4 5 6; do broker "$rank"; done
    is_up
}

# router_returns SIGNAL REASON: broker 1 ends by that and is started again, with a job on the ranks below it.
router_returns() {
    tree
    mkfifo gate3 gate4
    id=$(on 3 flux submit -N2 -n2 --requires=rank:3-4 bash -c 'for i in $(seq 100); do echo "$FLUX_TASK_RANK $i"; done
        cat '"$PWD"'/gate$(flux getattr rank); for i in $(seq 101 200); do echo "$FLUX_TASK_RANK $i"; done')
    on 3 flux job wait-event -p exec "$id" shell.start >/dev/null
    gone 1 "$1"
    for leaf in 3 4; do
        until_path $leaf '"state":"held","rank":1,"host":"node1"'
        # What needs nobody above works.
        [ "$(on $leaf flux getattr size)" = 7 ]
        on $leaf flux dmesg | grep "overlay: node1 (rank 1): $2"
    done
    # Here and there one is told who is missing.
    on 3 flux kvs put held=1 2>&6 & put=$!
    notice "flux-kvs put: waiting for node1 (rank 1): $2"
    on 4 flux submit echo submitted 2>&6 >id & submit=$!
    notice "flux-submit: waiting for node1 (rank 1): $2"
    for rank in 1 3; do
        run on 0 flux ping --count=1 $rank
        echo "$output"; [ "$status" -ne 0 ]; [[ "$output" == *"node1 (rank 1) is "* ]]
    done
    # The other half of the tree goes on.
    on 6 flux run -N2 --requires=rank:5-6 true
    broker 1
    until_group broker.online 0-6
    echo go >gate3 & echo go >gate4 &
    wait "$put" "$submit"
    [ "$(on 0 flux kvs get held)" = 1 ]
    on 0 flux job attach "$(cat id)" | grep -x submitted
    on 0 flux job attach "$id" >lines
    for task in 0 1; do
        seq 200 | sed "s/^/$task /" | diff - <(grep "^$task " lines)
    done
    [ "$(wc -l <lines)" -eq 402 ]
    on 0 flux job eventlog "$id" | { ! grep exception; }
    on 3 flux run -N2 --requires=rank:1,4 true
    cluster_down
}

@test "an interior broker is stopped and started: those below hold on, their job loses nothing" {
    router_returns TERM 'node1 (rank 1) is being restarted'
}

@test "an interior broker is killed and started: those below hold on, their job loses nothing" {
    router_returns KILL 'lost connection: '
}

@test "a leaf knows that the leader is away, also when it has joined since" {
    tree
    on 3 flux kvs put a=0
    gone 0 TERM
    until_path 3 '"state":"held","rank":0'
    on 3 flux kvs put a=1 2>&6 & put=$!
    notice 'flux-kvs put: waiting for node0 (rank 0): it is out of reach of the brokers above'
    gone 3 KILL
    broker 3
    until_health 1 '"rank":3,"status":"full"'
    until_path 3 '"state":"held","rank":0'
    broker 0
    is_up
    on 3 flux kvs put a=2
    wait "$put" || true # it had its broker killed
    cluster_down
}

@test "jobs below a lost router end after a longer grace, naming it" {
    tree '[exec]' 'broker-grace = "0s"' 'rejoin-timeout = "3s"'
    mkfifo started
    on 0 flux submit --requires=rank:1 sleep inf >on-router
    id=$(on 0 flux submit --requires=rank:3 bash -c "echo \$\$ >$PWD/started; exec sleep inf")
    read -r pid <started
    gone 1 KILL
    on 0 flux job wait-event -t 15 -m severity=0 "$(cat on-router)" exception | grep 'node failure on node1 (rank 1)"'
    on 0 flux job wait-event -t 15 -m severity=0 "$id" exception | grep 'node failure on node3 (rank 3): node1 (rank 1) is lost'
    kill -0 "$pid"
    broker 1
    timeout 15 tail --pid="$pid" -f /dev/null
    cluster_down
}

@test "an event crosses only the links on the way to who wants it" {
    FLUX_TEST_TIMEOUT=120 run under_flux 31 '
        for rank in $(seq 0 30); do
            flux-t-rpc -r $rank -s overlay.trace "{\"typemask\":4,\"topic_glob\":\"rare.second\",\"nodeid\":-1}" >trace.$rank &
        done
        mkfifo heard
        FLUX_URI=local://$(flux getattr rundir)/local-30 flux event sub rare. >heard &
        exec 5<heard
        # Once one is heard the subscription has reached this end.
        until flux event pub rare.first && read -r -t 0.5 line <&5; do :; done
        flux event pub rare.second
        until [[ "$line" == rare.second* ]]; do read -r -t 10 line <&5; done
        # What comes back from everywhere has passed whatever the event has set off.
        for rank in $(seq 0 30); do flux ping -c1 $rank >/dev/null; done
        echo crossed: $(grep -c "\"prefix\":\"tx\"" trace.* | grep -v :0)
        kill $(jobs -p)' -Stbon.topo=kary:2
    echo "$output"; [ "$status" -eq 0 ]
    [[ "$output" == *"crossed: trace.0:1 trace.14:1 trace.2:1 trace.6:1"* ]]
}
