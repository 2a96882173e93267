#!/usr/bin/env bats
# An instance as a job step of Slurm, on two nodes that are this machine.
load lib/common
bats_require_minimum_version 1.5.0

teardown() {
    local each
    for each in "${daemons[@]}"; do kill "$each" && wait "$each" || true; done
    if [ -e munged.pid ]; then
        each=$(<munged.pid)
        kill "$each" && timeout 10 tail --pid="$each" -f /dev/null
    fi
    cd / && { rm -rf "$TEST_TMP" || rm -rf "$TEST_TMP"; } # steps that end may still write
}

start_slurm() {
    local ports
    chmod 755 . # munged asks for it
    mkdir state node0 node1
    head -c 1024 /dev/urandom >munge.key
    chmod 400 munge.key
    munged --socket="$PWD/munge.socket" --key-file="$PWD/munge.key" --pid-file="$PWD/munged.pid" \
        --log-file="$PWD/munged.log" --seed-file="$PWD/munge.seed"
    mapfile -t ports < <(python3 -c '
import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
for each in sockets: print(each.getsockname()[1])')
    cat >slurm.conf <<CONF
ClusterName=test
SlurmctldHost=$(hostname)(127.0.0.1)
SlurmctldPort=${ports[0]}
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$PWD/munge.socket
CredType=cred/munge
StateSaveLocation=$PWD/state
SlurmdSpoolDir=$PWD/%n
SlurmctldPidFile=$PWD/slurmctld.pid
SlurmdPidFile=$PWD/%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SlurmdParameters=config_overrides
NodeName=node0 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=${ports[1]} CPUs=2
NodeName=node1 NodeHostname=$(hostname) NodeAddr=127.0.0.1 Port=${ports[2]} CPUs=2
PartitionName=all Nodes=ALL Default=YES State=UP
CONF
    export SLURM_CONF=$PWD/slurm.conf
    daemons=()
    await 'Running as primary controller' slurmctld -D
    await 'slurmd started' slurmd -N node0 -D
    await 'slurmd started' slurmd -N node1 -D
}

# await TEXT COMMAND...: run a daemon in the background, return when it has said TEXT
await() {
    local fifo="said-${#daemons[@]}" text=$1
    shift
    mkfifo "$fifo"
    "$@" >"$fifo" 2>&1 3>&- &
    daemons+=($!)
    exec {said}<"$fifo"
    timeout 20 grep -q -m1 "$text" <&"$said"
    cat <&"$said" >>"$1.log" 3>&- &
    exec {said}<&-
}

@test "an instance as a job step" {
    PATH=$PATH:/usr/sbin
    for program in srun slurmctld slurmd munged; do
        command -v $program >/dev/null || skip "$program is not installed"
    done
    start_slurm
    # Two nodes, by PMI-1 on the wire.
    run timeout 60 srun -N2 -n2 --mpi=pmi2 flux start sh -c 'flux getattr size; flux getattr broker.boot-method; flux run -N2 hostname'
    wire=$output
    # By its libraries.
    run timeout 60 srun -N2 -n2 --mpi=pmi2 flux start -Sbroker.boot-method=libpmi2:libpmi2.so.0 flux getattr size
    pmi2=$output
    run timeout 60 srun -N2 -n2 --mpi=none flux start flux getattr size
    pmi1=$output
    # Without any.
    FLUX_PMI_CLIENT_METHODS=simple run timeout 60 srun -N2 -n2 --mpi=none flux start true
    none=$status
    printf '%s\n' "$wire" "$pmi2" "$pmi1" "$output"
    [ "$wire" = "2
simple
$(hostname)
$(hostname)" ]
    [ "$pmi2" = 2 ]
    [ "$pmi1" = 2 ]
    [ "$none" -eq 1 ]; [[ "$output" == *"PMI_FD is not set"* ]]
}
