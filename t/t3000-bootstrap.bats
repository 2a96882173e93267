#!/usr/bin/env bats
# How brokers learn who they are: from the configuration, from a launcher's PMI, or alone.
load lib/common
bats_require_minimum_version 1.5.0

# configure HOSTS [LINES...]: a configuration whose brokers meet at sockets in this directory
configure() {
    mkdir -p conf
    [ -e cert ] || flux keygen cert
    {
        printf '%s\n' '[bootstrap]' "curve_cert = \"$PWD/cert\"" \
            "default_bind = \"ipc://$PWD/tbon-%h\"" "default_connect = \"ipc://$PWD/tbon-%h\"" "hosts = [$1]" "${@:2}"
    } >conf/bootstrap.toml
}

# configured_flux SIZE SCRIPT [OPTIONS...]: as under_flux; each broker is started when those before it are there
configured_flux() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" "for rank in {1..$((size - 1))}; do
            FLUX_URI=\$FLUX_START_URI flux-t-rpc start.run '{\"rank\":'\$rank'}' >started
            flux-t-rpc -s -w \$rank groups.get '{\"name\":\"broker.online\"}' >online
        done
        $script" -Sbroker.quorum=1 --test-start-mode=leader --test-exit-mode=leader "$@"
}

@test "configured: the host name tells the rank" {
    configure '{host = "fake[0-3]"}'
    run configured_flux 4 'flux getattr broker.boot-method; flux getattr hostlist; flux getattr broker.mapping
        flux getattr tbon.topo; flux getattr tbon.endpoint; flux getattr tbon.maxlevel
        flux exec -r3 flux getattr tbon.parent-endpoint; flux run -N4 flux getattr rank | sort | xargs' \
        -c conf --test-hosts=fake[0-3]
    echo "$output"; [ "$status" -eq 0 ]
    [ "$output" = "config
fake[0-3]
[[0,4,1,1]]
custom
ipc://$PWD/tbon-fake0
1
ipc://$PWD/tbon-fake0
0 1 2 3" ]
}

@test "configured: parents make the tree" {
    configure '{host = "fake[0-4]"}, {host = "fake[2,3]", parent = "fake1"}, {host = "fake4", parent = "fake3"}'
    run configured_flux 5 'flux getattr tbon.maxlevel; flux exec -r4 flux getattr tbon.level; flux overlay parentof 2
        flux getattr broker.critical-ranks' -c conf --test-hosts=fake[0-4]
    echo "$output"; [ "$output" = "3
3
1
0-1,3" ]
    run configured_flux 5 'flux getattr tbon.maxlevel' -c conf --test-hosts=fake[0-4] -Stbon.topo=kary:1
    [ "$output" = 4 ]
}

@test "configured: links over tcp, by host names or interfaces" {
    configure '{host = "fake[0-2]"}'
    mapfile -t port < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
for each in sockets: print(each.getsockname()[1])')
    cat >conf/bootstrap.toml <<CONF
[bootstrap]
curve_cert = "$PWD/cert"
default_port = ${port[0]}
default_bind = "tcp://lo:%p"
default_connect = "tcp://localhost:%p"
hosts = [{host = "fake0"}, {host = "fake1", bind = "tcp://127.0.0.1:${port[1]}", connect = "tcp://localhost:${port[1]}"},
    {host = "fake2", parent = "fake1"}]
CONF
    run configured_flux 3 'flux getattr tbon.endpoint; flux exec -r2 flux getattr tbon.parent-endpoint; flux run -N3 -l flux getattr rank | sort' \
        -c conf --test-hosts=fake[0-2]
    echo "$output"; [ "$status" -eq 0 ]
    [ "$output" = "tcp://localhost:${port[0]}
tcp://localhost:${port[1]}
0: 0
1: 1
2: 2" ]
    chmod 644 cert
    run flux broker -c conf -Shostname=fake0 true
    [ "$status" -eq 1 ]; [[ "$output" == *"$PWD/cert"* ]]
}

@test "configured: what is wrong ends the start with a reason" {
    configure '{host = "fake[0-1]"}'
    run flux broker -c conf -Shostname=other true
    [ "$status" -eq 1 ]; [[ "$output" == *"Config file error [bootstrap]: other not found in hosts"* ]]
    configure '{host = "fake[0-1]", bond = "x"}'
    run flux broker -c conf -Shostname=fake0 true
    [ "$status" -eq 1 ]; [[ "$output" == *"Config file error [bootstrap]: invalid hosts[0]: unknown key 'bond'"* ]]
    configure '{host = "fake[0-1]"}, {host = "fake1", parent = "fake1"}'
    run flux broker -c conf -Shostname=fake0 true
    [ "$status" -eq 1 ]; [[ "$output" == *"fake1: a host cannot be its own parent"* ]]
    run flux broker -Sbroker.boot-method=config true
    [ "$status" -eq 1 ]; [[ "$output" == *"Config file error [bootstrap]: boot method is config"* ]]
    run flux broker -Sbroker.boot-method=smoke true
    [ "$status" -eq 1 ]; [[ "$output" == *"bootstrap failed: smoke: unknown method"* ]]
}

@test "configured: a table without hosts is an instance of one" {
    configure ''
    run flux broker -c conf flux getattr broker.boot-method; [ "$output" = config ]
    run flux broker -c conf -Sbroker.boot-method=single flux getattr broker.boot-method; [ "$output" = single ]
}

@test "keys of ZeroMQ are taken, and one notice tells that they do nothing" {
    run flux broker --conf=tbon.zmqdebug=1 --conf=tbon.child_rcvhwm=10 flux dmesg
    [ "$(grep -c 'tbon.zmqdebug, tbon.child_rcvhwm: no effect' <<<"$output")" -eq 1 ]
    run flux broker --conf=tbon.torpid_max=30 true
    [ "$status" -eq 1 ]; [[ "$output" == *"Config file error parsing tbon.torpid_max: Expected string, got integer"* ]]
}

@test "a configuration does not matter to those who choose another method" {
    configure '{host = "fake[0-3]"}'
    run under_flux 2 'flux getattr broker.boot-method; flux getattr size' -c conf -Sbroker.boot-method=simple
    [ "$output" = "simple
2" ]
}

@test "a launcher's tasks without PMI are no instances of their own" {
    for claim in SLURM_NTASKS=2 SLURM_STEP_NUM_TASKS=2 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=0; do
        run env "$claim" flux start true
        echo "$claim: $output"; [ "$status" -eq 1 ]; [[ "$output" == *"$claim"*"srun --mpi=pmi2"* ]]
    done
    SLURM_NTASKS=1 PMIX_RANK=0 flux start true
    SLURM_NTASKS=2 flux start -Sbroker.boot-method=single true
    # What the launcher has told is not passed on.
    SLURM_NTASKS=2 flux start -s1 flux start true
    run flux start -s2 flux run -n2 -o pmi=off flux start true
    [ "$status" -eq 1 ]; [[ "$output" == *"FLUX_JOB_SIZE=2"* ]]
}

@test "our own PMI library is no way to another launcher" {
    library=$(find "$FLUX_BUILD/lib" -name libpmi2.so)
    run flux start -Sbroker.boot-method="libpmi2:$library" true
    [ "$status" -eq 1 ]; [[ "$output" == *"belongs to Flux"* ]]
    run flux start -Sbroker.boot-method=libpmi:/no/such.so true
    [ "$status" -eq 1 ]; [[ "$output" == *"/no/such.so"* ]]
}

@test "flux pmi tries what a launcher offers" {
    [ "$(flux pmi barrier)" = "0: completed pmi barrier on 1 tasks." ]
    run under_flux 2 'lib=$FLUX_BUILD/lib/flux
        for method in simple libpmi:$lib/libpmi.so libpmi2:$lib/libpmi2.so; do
            flux run -n4 flux pmi --method=$method barrier --test-count=2 | sed "s/.*: //"
            flux run -n4 flux pmi --method=$method exchange --count=2 | sed "s/.*: //; s/ in .*//"
            flux run -n2 flux pmi --method=$method get --ranks=all PMI_process_mapping
        done
        ! flux run -n2 flux pmi --libpmi-noflux --method=libpmi2:$lib/libpmi2.so barrier 2>err; grep -q "belongs to Flux" err
        ! flux run -n2 flux pmi barrier --test-abort=1 2>err; grep -q "test abort" err
        ! flux run -n2 -o exit-timeout=0.1s sh -c "[ \$FLUX_TASK_RANK = 1 ] && sleep 60 || flux pmi -t 0.2s barrier" 2>err; grep -q "timed out" err'
    echo "$output"; [ "$status" -eq 0 ]
    [ "$(grep -c '^completed pmi barrier on 4 tasks.$' <<<"$output")" -eq 6 ]
    [ "$(grep -c '^completed pmi exchange on 4 tasks$' <<<"$output")" -eq 6 ]
    [ "$(grep -c '^(vector,(0,1,2))$' <<<"$output")" -eq 6 ]
}

@test "started by mpiexec" {
    command -v mpiexec.hydra >/dev/null || skip "MPICH is not installed"
    run mpiexec.hydra -n 4 flux start flux run -N4 hostname
    echo "$output"; [ "$status" -eq 0 ]; [ "$(grep -cx "$(hostname)" <<<"$output")" -eq 4 ]
    run mpiexec.hydra -n 2 flux start flux getattr broker.boot-method; [ "$output" = simple ]
}

@test "launched on several nodes: links are tcp, unless both ends are on one node" {
    run under_flux 4 'for rank in 1 2 3; do flux exec -r$rank flux getattr tbon.parent-endpoint; done
        flux getattr broker.mapping; flux run -N4 flux getattr rank | sort | xargs' --test-pmi-clique=[[0,2,2,1]]
    echo "$output"; [ "$status" -eq 0 ]
    [[ "${lines[0]}" == ipc://*/tbon-0 ]]; [[ "${lines[1]}" == tcp://*:* ]]; [ "${lines[2]}" = "${lines[1]}" ]
    [ "${lines[3]}" = "[[0,2,2,1]]" ]; [ "${lines[4]}" = "0 1 2 3" ]
    run under_flux 2 'flux exec -r1 flux getattr tbon.parent-endpoint' -Stbon.prefertcp=1 -Stbon.interface-hint=lo
    [[ "$output" == tcp://127.0.0.1:* ]]
    run under_flux 2 'flux getattr tbon.endpoint' --test-pmi-clique=none -Stbon.interface-hint=127.0.0.0/8
    [[ "$output" == tcp://127.*:* ]]
    run under_flux 2 true --test-pmi-clique=per-broker -Stbon.interface-hint=nosuch0 --test-exit-timeout=1s
    [ "$status" -ne 0 ]; [[ "$output" == *"tbon.interface-hint: this host has no address for 'nosuch0'"* ]]
}

@test "a broker of another link protocol is refused, and both ends name who and why" {
    configure '{host = "fake[0-1]"}'
    cat >old.py <<'PY'
import json, os, socket, time, wire
connection = wire.Connection.__new__(wire.Connection) # a link greets nobody
connection.buffer = b""
connection.socket = socket.socket(socket.AF_UNIX)
connection.socket.connect(os.environ["LINK"])
hello = {"rank": 1, "hostname": "oldhost", "uuid": "u", "boot-id": "b", "status": 1, "proto": 1, "proto-min": 1, "subscriptions": []}
connection.send(wire.Message(wire.REQUEST, [], "overlay.hello", json.dumps(hello).encode() + b"\0", 0, 1))
answer = connection.receive(time.monotonic() + 5)
assert answer.errnum == 22, answer.errnum
print(answer.payload.rstrip(b"\0").decode())
PY
    run under_flux 2 "
        export LINK=\$(flux getattr tbon.endpoint); LINK=\${LINK#ipc://}
        PYTHONPATH=$BATS_TEST_DIRNAME/interop python3 old.py | tee told
        flux dmesg >log; grep 'refused hello of .*oldhost (rank 1) speaks overlay protocol 1 to 1, this broker' log
        grep '^oldhost (rank 1) speaks overlay protocol 1 to 1, this broker' told" \
        -c conf --test-hosts=fake[0-1] --test-start-mode=leader --test-exit-mode=leader -Sbroker.quorum=1
    echo "$output"; [ "$status" -eq 0 ]
}
