#!/usr/bin/env bats
# The job shell without a broker: tasks, streams, exit codes, options, PMI.

bats_require_minimum_version 1.5.0

setup() {
    build=${FLUX_BUILD:-$BATS_TEST_DIRNAME/../build}
    cd "$BATS_TEST_TMPDIR"
}

# make_job NTASKS OPTIONS COMMAND...: files of a job of NTASKS on that many cores.
make_job() {
    local ntasks=$1 options=$2
    shift 2
    python3 - "$ntasks" "$options" "$PWD" "$@" <<'PY'
import json, sys
ntasks, options, cwd, command = int(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], sys.argv[4:]
slot = {"type": "slot", "count": ntasks, "label": "task", "with": [{"type": "core", "count": 1}]}
system = {"duration": 0, "cwd": cwd, "environment": {"PATH": "/usr/bin:/bin", "X": "y"}, "shell": {"options": options}}
json.dump({"version": 1, "resources": [slot], "tasks": [{"command": command, "slot": "task", "count": {"per_slot": 1}}],
           "attributes": {"system": system}}, open("jobspec", "w"))
cores = "0" if ntasks == 1 else "0-%d" % (ntasks - 1)
execution = {"R_lite": [{"rank": "0", "children": {"core": cores}}], "nodelist": ["here"], "starttime": 0,
             "expiration": 0, "nslots": ntasks}
json.dump({"version": 1, "execution": execution}, open("R", "w"))
PY
}

# shell NTASKS OPTIONS COMMAND...: run such a job.
shell() {
    make_job "$@"
    timeout 60 "$build/libexec/flux/flux-shell" -s jobspec -R R 1234
}

@test "usage" {
    run "$build/libexec/flux/flux-shell" --help
    [ "$status" -eq 0 ]
    for arguments in "" "x" "1 2" "-s jobspec 1" "--no-such 1"; do
        run "$build/libexec/flux/flux-shell" $arguments
        [ "$status" -eq 1 ]
    done
}

@test "tasks run with the job's environment in its directory" {
    shell 2 '{}' sh -c 'echo $FLUX_TASK_RANK/$FLUX_JOB_SIZE $FLUX_TASK_LOCAL_ID $X $PWD >out-$FLUX_TASK_RANK' </dev/null
    [ "$(cat out-0)" = "0/2 0 y $PWD" ]
    [ "$(cat out-1)" = "1/2 1 y $PWD" ]
    FOREIGN=1 run shell 1 '{}' env </dev/null
    [[ "$output" != *FOREIGN* ]]
}

@test "the exit code is the highest of the tasks" {
    run shell 3 '{}' sh -c 'exit $FLUX_TASK_RANK' </dev/null
    [ "$status" -eq 2 ]
    run shell 1 '{}' sh -c 'kill -9 $$' </dev/null
    [ "$status" -eq 137 ]
}

@test "a program that cannot be started is fatal" {
    run -127 shell 2 '{}' no-such-program </dev/null
    [[ "$output" == *"task 0 (host here): start failed: no-such-program: No such file or directory"* ]]
    run shell 1 '{}' /etc/passwd </dev/null
    [ "$status" -eq 126 ]
}

@test "output with labels, in order" {
    run shell 1 '{"output":{"stdout":{"label":true}}}' sh -c 'echo one; echo two' </dev/null
    [ "$output" = $'0: one\n0: two' ]
}

@test "output to files by template" {
    shell 2 '{"output":{"stdout":{"path":"out-{{taskid}}-{{id.dec}}"},"stderr":{"path":"err","label":true}}}' \
        sh -c 'echo out $FLUX_TASK_RANK; echo err >&2' </dev/null
    [ "$(cat out-0-1234)" = "out 0" ]
    [ "$(cat out-1-1234)" = "out 1" ]
    [ "$(sort err)" = $'0: err\n1: err' ]
    shell 1 '{"output":{"stdout":{"path":"out-0-1234"},"mode":"append"}}' echo more </dev/null
    [ "$(cat out-0-1234)" = $'out 0\nmore' ]
    [ "$(ls out*)" = $'out-0-1234\nout-1-1234' ]
    run shell 1 '{"output":{"stdout":{"path":"/no/such/file"}}}' true </dev/null
    [ "$status" -eq 1 ]
    [[ "$output" == *"FATAL: output: open: /no/such/file: No such file or directory"* ]]
}

@test "much output of many tasks is complete" {
    shell 4 '{"output":{"stdout":{"label":true}}}' sh -c 'seq 20000' </dev/null >out
    for rank in 0 1 2 3; do sed -n "s/^$rank: //p" out | cmp - <(seq 20000); done
}

@test "stdin goes to all tasks" {
    seq 50000 | shell 2 '{}' sh -c 'cat >in-$FLUX_TASK_RANK'
    seq 50000 | cmp - in-0
    seq 50000 | cmp - in-1
}

@test "stdin from a file" {
    seq 1000 >in
    shell 2 '{"input":{"stdin":{"type":"file","path":"in"}}}' sh -c 'cat >copy-$FLUX_TASK_RANK' </dev/null
    cmp in copy-0
    cmp in copy-1
    run shell 1 '{"input":{"stdin":{"type":"file","path":"missing"}}}' cat </dev/null
    [ "$status" -eq 1 ]
    [[ "$output" == *"error opening input file 'missing'"* ]]
}

@test "arguments are templates" {
    run shell 1 '{}' echo '{{id.dec}}' '{{size}}' '{{task.rank}}' '{{node.name}}' '{{no.such}}' </dev/null
    [ "$output" = "1234 1 0 here {{no.such}}" ]
}

@test "the job's temporary directory lives as long as the job" {
    shell 1 '{}' sh -c 'touch $FLUX_JOB_TMPDIR/file; echo $FLUX_JOB_TMPDIR >where; test "{{tmpdir}}" = $FLUX_JOB_TMPDIR' </dev/null
    [ -n "$(cat where)" ]
    [ ! -e "$(cat where)" ]
}

@test "exit-timeout and exit-on-error" {
    run shell 2 '{"exit-timeout":"100ms"}' sh -c 'test $FLUX_TASK_RANK = 0 || sleep 60; exit 5' </dev/null
    [ "$status" -eq 5 ]
    [[ "$output" == *"sh: task rank 0 on host here exited (Exit 5) and exit-timeout=0.1s has expired"* ]]
    run shell 2 '{"exit-on-error":true}' sh -c 'test $FLUX_TASK_RANK = 1 || sleep 60; exit 3' </dev/null
    [ "$status" -eq 3 ]
    [[ "$output" == *"sh: task rank 1 on host here failed (Exit 3) and exit-on-error is set"* ]]
}

@test "signals to the shell reach the tasks" {
    mkfifo ready
    exec 4<>ready
    make_job 2 '{}' sh -c 'trap "exit 7" TERM; echo >ready; sleep 60 & wait'
    "$build/libexec/flux/flux-shell" -s jobspec -R R 1234 </dev/null &
    local shell_pid=$!
    read -u4 -t 30
    read -u4 -t 30
    kill -TERM $shell_pid
    local status=0
    wait $shell_pid || status=$?
    [ "$status" -eq 7 ]
}

@test "affinity" {
    local cpus
    cpus=$(taskset -pc $$ | sed 's/.*: //')
    [ "$(nproc)" -ge 2 ] || skip "one CPU"
    shell 2 '{"cpu-affinity":"map:1;0"}' sh -c 'taskset -pc $$ | sed "s/.*: //" >cpus-$FLUX_TASK_RANK' </dev/null
    [ "$(cat cpus-0)" = 1 ]
    [ "$(cat cpus-1)" = 0 ]
    shell 1 '{"cpu-affinity":"off"}' sh -c 'taskset -pc $$ | sed "s/.*: //" >cpus-0' </dev/null
    [ "$(cat cpus-0)" = "$cpus" ]
}

@test "rlimit" {
    run shell 1 '{"rlimit":{"nofile":77}}' sh -c 'ulimit -n' </dev/null
    [ "$output" = 77 ]
    run shell 1 '{"rlimit":{"files":77}}' true </dev/null
    [ "$status" -eq 1 ]
    [[ "$output" == *"invalid shell option rlimit.files=77"* ]]
}

@test "variables are templates" {
    run shell 1 '{"env-expand":{"A":"{{id.dec}}","B":"task-{{task.rank}}"}}' sh -c 'echo $A $B' </dev/null
    [ "$output" = "1234 task-0" ]
}

@test "files of the jobspec are in the temporary directory" {
    make_job 1 '{}' sh -c 'exec $FLUX_JOB_TMPDIR/script'
    python3 - <<'PY'
import json
jobspec = json.load(open("jobspec"))
jobspec["attributes"]["system"]["files"] = {"script": {"mode": 0o100700, "encoding": "utf-8", "data": "#!/bin/sh\necho it runs\n"}}
json.dump(jobspec, open("jobspec", "w"))
PY
    run "$build/libexec/flux/flux-shell" -s jobspec -R R 1234 </dev/null
    [ "$output" = "it runs" ]
}

@test "task maps" {
    run shell 1 '{"taskmap":{"scheme":"block","value":"x"}}' true </dev/null
    [ "$status" -eq 1 ]
    run shell 1 '{"taskmap":{"scheme":"unknown"}}' true </dev/null
    [[ "$output" == *"failed to map tasks with scheme=unknown"* ]]
}

@test "an option of the wrong type is fatal" {
    run shell 1 '{"verbose":true}' true </dev/null
    [ "$status" -eq 1 ]
    [[ "$output" == *verbose* ]]
}

@test "an option that cannot be obeyed is fatal" {
    refused() {
        run shell 1 "$1" echo ran </dev/null
        [ "$status" -eq 1 ]; [[ "$output" == *"flux-shell[0]: FATAL: "*"$2"* ]]; [[ "$output" != *ran* ]]
    }
    refused '{"initrc":"/no/such"}' "loading rc file /no/such: No such file or directory"
    echo >rc.lua
    refused '{"userrc":"rc.lua"}' "loading rc file rc.lua: Lua is not supported"
    refused '{"stage-in":1}' "option stage-in is not supported"
    refused '{"hwloc":{"xmlfile":1}}' "option hwloc.xmlfile is not supported"
    refused '{"oom":{"adjust":5000}}' "adjust from -1000 to 1000"
    refused '{"oom":{"adjust":1,"x":1}}' "adjust from -1000 to 1000"
    shell 1 '{"hwloc":{"xmlfile":0},"pty":0,"stop-tasks-in-exec":false,"unknown":1}' true </dev/null
    run shell 1 '{"pty":{"interactive":1}}' echo ran </dev/null
    [[ "$output" == *"nobody can attach to a shell without an instance"*ran* ]]
    # The score is set as soon as the task runs.
    run shell 1 '{"oom":{"adjust":500}}' sh -c 'until [ $(cat /proc/self/oom_score_adj) = 500 ]; do :; done; echo yes' </dev/null
    [ "$output" = yes ]
}

@test "PMI: an MPI program finds its ranks" {
    command -v mpicc.mpich >/dev/null || skip "no mpich"
    cat >hello.c <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
    int rank, size, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) printf("%d ranks, sum %d\n", size, sum);
    return MPI_Finalize();
}
C
    mpicc.mpich hello.c -o hello
    run shell 4 '{"cpu-affinity":"off"}' ./hello </dev/null
    [ "$status" -eq 0 ]
    [ "$output" = "4 ranks, sum 6" ]
}

@test "PMI: what is no PMI ends the job" {
    run shell 1 '{}' sh -c 'echo junk >&$PMI_FD; sleep 60' </dev/null
    [ "$status" -eq 1 ]
    [[ "$output" == *"PMI-1 wire protocol error"* ]]
    run shell 1 '{"pmi":"off"}' env </dev/null
    [[ "$output" != *PMI_FD* ]]
}
