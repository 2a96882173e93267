#!/usr/bin/env bats
# The job shell in an instance: output, stdin, exit codes, signals, messages between shells, PMI across nodes.
load lib/common

@test "output of all tasks arrives, labelled by task" {
    run under_flux 2 '
        flux run -N2 -n4 -l echo hi | sort >out
        printf "%s: hi\n" 0 1 2 3 | cmp - out
        flux run -n1 sh -c "echo out; echo err >&2" 2>err | grep -qx out
        grep -qx err err'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "much output of several shells is complete and in order" {
    run under_flux 2 '
        flux run -N2 -n4 -l seq 5000 >out
        for rank in 0 1 2 3; do sed -n "s/^$rank: //p" out | cmp - <(seq 5000); done'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "bytes that are no text arrive unchanged" {
    run under_flux 1 '
        head -c 100000 /dev/urandom >bytes
        flux run -u cat bytes | cmp bytes -'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "stdin reaches the tasks of every shell" {
    run under_flux 2 '
        seq 1000 | flux run -N2 -n2 sh -c "cat >in-\$FLUX_TASK_RANK"
        seq 1000 | cmp - in-0
        seq 1000 | cmp - in-1
        flux run -N2 -n2 --input=in-0 sh -c "cat >copy-\$FLUX_TASK_RANK"
        cmp in-0 copy-0; cmp in-0 copy-1'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "exit codes" {
    run under_flux 2 '
        code() { local code=0; "$@" || code=$?; echo $code; }
        [ $(code flux run true) = 0 ]
        [ $(code flux run -N2 -n2 sh -c "exit \$FLUX_TASK_RANK") = 1 ]
        [ $(code flux run sh -c "exit 42") = 42 ]
        [ $(code flux run no-such-program 2>err) = 127 ]
        grep -q "start failed: no-such-program: No such file or directory" err'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "output to files, one for all shells or one for each task" {
    run under_flux 2 '
        flux run -N2 -n4 --output=all --label-io sh -c "echo \$FLUX_TASK_RANK"
        printf "%s: %s\n" 0 0 1 1 2 2 3 3 | cmp - <(sort all)
        flux run -N2 -n4 --output=out-{{taskid}} sh -c "echo \$FLUX_TASK_RANK"
        for rank in 0 1 2 3; do [ $(cat out-$rank) = $rank ]; done
        flux run --output=/no/such/file true 2>err && exit 1
        grep -q "flux-shell\[0\]: FATAL: output: open: /no/such/file: No such file or directory" err
        ! grep -q redirected err'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "processes of all shells" {
    run under_flux 2 '
        id=$(flux submit -N2 -n4 sh -c "echo \$FLUX_TASK_RANK \$\$ >pid.\$FLUX_TASK_RANK; exec sleep 1000")
        pids=$(flux job hostpids $id)
        [ "$pids" = "$(flux job hostpids $id)" ]
        until [ $(cat pid.* | wc -l) = 4 ]; do :; done
        [ "$pids" = "$(sort -n pid.* | awk "{print \"$(hostname):\" \$2}" | paste -sd,)" ]
        flux cancel $id; flux job wait-event $id clean'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a task that fails ends the job when it is asked to" {
    run under_flux 2 '
        code=0
        flux run -o exit-on-error -N2 -n2 sh -c "test \$FLUX_TASK_RANK = 0 || exit 3; sleep 1000" 2>err || code=$?
        [ $code -ne 0 ]
        grep -q "task rank 1 on host .* failed (Exit 3) and exit-on-error is set" err'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "signals reach the tasks of every shell" {
    run under_flux 2 '
        id=$(flux submit -N2 -n2 sh -c "trap \"exit 9\" USR1; echo ready; while :; do sleep 0.1; done")
        flux job wait-event -W -t 30 -p guest.output -c 2 $id data >/dev/null
        flux job kill -s USR1 $id
        code=0; flux job status $id || code=$?
        [ $code = 9 ]'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "options of the shell: limits, variables, affinity" {
    run under_flux 1 '
        [ "$(flux run -o rlimit.nofile=77 sh -c "ulimit -Sn")" = 77 ]
        [ "$(flux run -o cpu-affinity=per-task -n1 sh -c "taskset -pc \$\$ | sed \"s/.*: //\"" | wc -l)" = 1 ]'
    echo "$output"; [ "$status" -eq 0 ]
}

# An MPI program on two brokers of one host, built with compiler $1.
mpi_program_spans_shells() {
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
    $1 hello.c -o hello
    run under_flux 2 '[ "$(flux run -N2 -n4 ./hello)" = "4 ranks, sum 6" ]'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "PMI: an MPICH program spans shells" { mpi_program_spans_shells mpicc.mpich; }

@test "PMI: an Open MPI program spans shells" { mpi_program_spans_shells mpicc.openmpi; }
