#!/usr/bin/env bats
# Links that are cut, both ways or one way, and hosts that die: both ends come to the same verdict in time.
load lib/common
load lib/cluster
load lib/network
bats_require_minimum_version 1.5.0

setup_file() { unshare --net --mount true 2>/dev/null || skip "network namespaces cannot be made here"; }

teardown() {
    cluster_teardown
    network_down
}

# hosts SIZE [CONFIG-LINES...]: an instance with a host for each broker
hosts() {
    local rank
    network "$1"
    cluster "$1" "$(listed "$1")" "${@:2}"
    notices
    for rank in $(seq 0 $(($1 - 1))); do broker_at "$rank"; done
    is_up
}

# node1 is cut off by these commands, longer than the limit, while there is a job on it.
# cut_off VERDICT-OF-LEADER COMMAND...
cut_off() {
    local verdict=$1
    shift
    hosts 3 '[tbon]' 'tcp_user_timeout = "2s"' '[exec]' 'node-grace = "1m"'
    mkfifo gate
    id=$(on 0 flux submit --requires=rank:1 bash -c "echo one; cat $PWD/gate; echo two")
    on 0 flux job wait-event -p exec "$id" shell.start >/dev/null
    "$@"
    # Both ends know.
    until_path 1 '"reason":"node lost: Connection timed out"'
    until_health 0 '"status":"lost"'
    on 0 flux overlay errors | grep "$verdict"
    on 0 flux dmesg | grep "node1 (rank 1) failed"
    on 1 flux dmesg | grep 'overlay: node0 (rank 0): node lost: Connection timed out, holding'
    # Nobody waits without knowing for what.
    run on 0 flux ping --count=1 1
    echo "$output"; [ "$status" -ne 0 ]; [[ "$output" == *"node1 (rank 1) is lost"* ]]
    on 1 flux kvs put held=1 2>&6 & put=$!
    notice 'flux-kvs put: waiting for node0 (rank 0): node lost: Connection timed out'
    on 1 flux submit --requires=rank:1 echo below 2>&6 >id & submit=$!
    notice 'flux-submit: waiting for node0 (rank 0): node lost: Connection timed out'
    on 0 flux run -N2 --requires=rank:0,2 true
    above=$(on 0 flux submit --requires=rank:1 echo above)
    [ "$(on 0 flux resource list -s down -no '{ranks}')" = 1 ]
    [ "$(on 0 flux getattr rank)$(on 1 flux getattr rank)" = 01 ]
    heal
    until_path 1 '"state":"up"'
    wait "$put" "$submit"
    [ "$(on 0 flux kvs get held)" = 1 ]
    echo go >gate &
    [ "$(on 0 flux job attach "$id")" = $'one\ngo\ntwo' ]
    on 0 flux job eventlog "$id" | { ! grep exception; }
    [ "$(on 0 flux job attach "$above")" = above ]
    [ "$(on 0 flux job attach "$(cat id)")" = below ]
    cluster_down
}

@test "a host is off the network: both ends know, it rejoins, its job goes on" {
    cut_off 'node lost: Connection timed out' unplug 1
}

@test "a cut both ways: both ends know, the follower rejoins, its job goes on" {
    both_ways() { cut_way 0 1; cut_way 1 0; }
    cut_off 'node lost: Connection timed out' both_ways
}

@test "a cut from the leader to the follower: both ends know, the follower rejoins, its job goes on" {
    # Its kernel may be heard when it gives up.
    cut_off 'lost' cut_way 0 1
}

@test "a cut from the follower to the leader: both ends know, the follower rejoins, its job goes on" {
    cut_off 'node lost: Connection timed out' cut_way 1 0
}

@test "a cut that is healed in time is noticed by nobody" {
    hosts 2
    cut_way 0 1; cut_way 1 0
    on 1 flux kvs put a=1 & put=$!
    on 0 flux run --requires=rank:1 echo done >out & job=$!
    [ "$(on 1 flux getattr rank)" = 1 ]
    heal
    wait "$put" "$job"
    [ "$(cat out)" = done ]
    on 0 flux dmesg | { ! grep 'node1 (rank 1)'; }
    on 1 flux dmesg | { ! grep 'node0 (rank 0)'; }
    cluster_down
}

@test "a lost node takes its jobs along at once, and they are gone when it is back" {
    hosts 3 '[tbon]' 'tcp_user_timeout = "1s"'
    mkfifo started
    id=$(on 0 flux submit --requires=rank:1 bash -c "echo \$\$ >$PWD/started; exec sleep inf")
    read -r pid <started
    other=$(on 0 flux submit --requires=rank:2 sleep inf)
    unplug 1
    on 0 flux job wait-event -t 15 -m severity=0 "$id" exception | grep 'node failure on node1 (rank 1)'
    until_group broker.node-lost 1
    on 0 flux job wait-event -t 15 "$id" clean >/dev/null
    kill -0 "$pid"
    plug 1
    timeout 15 tail --pid="$pid" -f /dev/null
    until_group broker.node-lost ''
    on 0 flux run --requires=rank:1 true
    on 0 flux job eventlog "$other" | { ! grep exception; }
    on 0 flux cancel "$other"
    cluster_down
}

@test "a node that has booted again is known by its boot id, while its old link seems alive" {
    hosts 2
    mkfifo started
    id=$(on 0 flux submit --requires=rank:1 bash -c "echo \$\$ >$PWD/started; exec sleep inf")
    read -r pid <started
    # It loses power. Nothing of that gets out, and the new host does not disturb the old link.
    old=$(ip netns exec "${HOSTS[1]}" ss -Htn state established dst 10.0.0.1 | awk '{sub(".*:", "", $3); print $3}')
    power_off 1
    wait "${PIDS[1]}" || true
    rm -rf run/*-1 run/*-1.*
    host 1
    ip netns exec "$NETWORK" nft add rule netdev cuts from0 tcp dport "$old" drop
    cat /proc/sys/kernel/random/uuid >boot-id
    echo 'mount --bind boot-id /proc/sys/kernel/random/boot_id && exec "$@"' >booted
    broker_at 1 bash booted
    until_health 0 '"error":"rebooted"'
    on 0 flux dmesg | grep 'node1 (rank 1) failed: rebooted'
    on 0 flux job wait-event -t 15 -m severity=0 "$id" exception | tee exception
    grep 'node1 (rank 1)' exception
    on 0 flux job wait-event -t 15 "$id" clean >/dev/null
    on 0 flux run --requires=rank:1 true
    cluster_down
}

@test "what goes over a link cannot be read on the way" {
    hosts 2
    mkfifo captured
    ip netns exec "$NETWORK" python3 -c 'if True:
        import socket
        link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        link.bind(("port1", 0))
        open("captured", "w").close()
        with open("capture", "wb", buffering=0) as file:
            while True: file.write(link.recv(65536))' & capture=$!
    read -r <captured || true
    PIDS[99]=$capture
    # What is not encrypted is seen.
    ip netns exec "${HOSTS[1]}" bash -c 'echo in-the-open >/dev/udp/10.0.0.1/9'
    on 1 flux kvs put a=secret-of-the-store
    [ "$(on 0 flux run --requires=rank:1 echo secret-of-a-job)" = secret-of-a-job ]
    [ "$(on 0 flux exec -r1 flux getattr hostlist)" = "node[0-1]" ]
    on 1 flux event pub secret-of-an-event
    ip netns exec "${HOSTS[1]}" bash -c 'echo at-the-end >/dev/udp/10.0.0.1/9'
    timeout 10 tail -c +1 -f capture | grep -aqm1 at-the-end
    kill "$capture"
    unset 'PIDS[99]'
    grep -aq in-the-open capture
    ! grep -aE 'secret|hostlist|kvs|overlay|node0' capture
    [ "$(stat -c %s capture)" -gt 4000 ]
    cluster_down
}
