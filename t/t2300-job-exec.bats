#!/usr/bin/env bats
# job-exec with real shells: from start to release, failures, signals, time limits, losses, reload under running jobs.
load lib/common

inside() { under_flux "${SIZE:-1}" ". '$BATS_TEST_DIRNAME/lib/exec.bash'; $1" "${@:2}"; }
export BATS_TEST_DIRNAME
whole_life="init starting shell.init shell.start shell.task-exit shell-exit complete done "

@test "a job from its start to its end" {
    run inside "whole='$whole_life'"'
        id=$(flux submit sh -c "exit 3")
        is "status=768" "$(event $id finish)"
        is "ranks=\"all\" final=true" "$(event $id release)"
        await_clean $id
        is "$whole" "$(exec_events $id)"
        is "rank=0 wait_status=768" "$(exec_event $id shell-exit)"
        is "status=768" "$(exec_event $id complete)"
        flux module stats job-exec | grep -q "\"jobs\": *{}"
        is "" "$(ls "$(flux getattr rundir)/exec-0")"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a job on several ranks" {
    SIZE=3 run inside "whole='$whole_life'"'
        flux run -N3 -n3 sh -c "echo task \$FLUX_TASK_RANK" | sort >out
        is "task 0 task 1 task 2 " "$(tr "\n" " " <out)"
        id=$(flux submit -N3 -n3 sh -c "exit \$FLUX_TASK_RANK"); await_clean $id
        is "$whole" "$(exec_events $id)"
        is "status=512" "$(event $id finish)"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "many jobs at once" {
    SIZE=2 run inside '
        flux submit --cc=1-40 true >ids
        drain
        for id in $(cat ids); do is "status=0" "$(event $id finish)"; done
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a shell that cannot be started" {
    run inside '
        id=$(flux submit -S exec.job_shell=/no/such/shell true); await_clean $id
        event $id exception | grep -q "type=\"exec\" severity=0 note=\"job shell exec error on broker $(hostname) (rank 0): error launching process: No such file or directory\""
        is "status=256" "$(event $id finish)"
        is "init starting shell-exit complete done " "$(exec_events $id)"
        is "rank=0 wait_status=-1" "$(exec_event $id shell-exit)"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what a shell says is in the log of its job" {
    run inside '
        printf "#!/bin/sh\necho not today >&2\nexit 9\n" >shell; chmod +x shell
        id=$(flux submit -S exec.job_shell=$PWD/shell true); await_clean $id
        is "status=2304" "$(event $id finish)"
        is "component=\"flux-shell\" stream=\"stderr\" rank=\"0\" data=\"not today\\n\"" "$(exec_event $id log)"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a shell that ends before the first barrier ends its job" {
    SIZE=2 run inside '
        printf "#!/bin/sh\ncase \$FLUX_URI in *-1) exit 1;; esac\nexec $FLUX_BUILD/libexec/flux/flux-shell \$1\n" >shell
        chmod +x shell
        id=$(flux submit -N2 -n2 -S exec.job_shell=$PWD/shell true); await_clean $id
        event $id exception | grep -q "note=\"$(hostname) (rank 1) terminated before first barrier\""
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "cancelled jobs" {
    run inside '
        id=$(flux submit sleep inf); event $id start; flux cancel $id
        is "status=36608" "$(event $id finish)"; await_clean $id

        flux module reload job-exec kill-timeout=100ms
        gate ready
        id=$(flux submit sh -c "trap \"\" TERM; echo >ready; while :; do sleep inf; done")
        cat ready; flux cancel $id
        is "status=35072" "$(event $id finish)"; await_clean $id

        printf "#!/bin/sh\ntrap : TERM\necho >$PWD/ready; while :; do sleep inf & wait; done\n" >shell; chmod +x shell
        id=$(flux submit -S exec.job_shell=$PWD/shell true)
        cat ready; flux cancel $id
        is "status=9" "$(event $id finish)"; await_clean $id
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "time limit" {
    run inside '
        id=$(flux submit -t 300ms sleep inf)
        event $id exception | grep -q "type=\"timeout\" severity=0 note=\"resource allocation expired\""
        is "status=36352" "$(event $id finish)"; await_clean $id
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "mock execution" {
    run inside '
        id=$(flux submit -S "exec.test={\"run_duration\":\"1ms\",\"wait_status\":512}" true); await_clean $id
        is "status=512" "$(event $id finish)"
        is "init starting recoverable complete done " "$(exec_events $id)"
        id=$(flux submit -S "exec.test={\"override\":1}" true)
        dec=$(flux job id --to=dec $id)
        until flux-t-rpc job-exec.override "{\"event\":\"start\",\"jobid\":$dec}" 2>failure; do grep -q "errno 2" failure; done
        event $id start
        fails "errno 22: job is already running" flux-t-rpc job-exec.override "{\"event\":\"start\",\"jobid\":$dec}"
        flux-t-rpc job-exec.override "{\"event\":\"finish\",\"jobid\":$dec,\"status\":256}"
        is "status=256" "$(event $id finish)"; await_clean $id
        fails "errno 2: unknown job" flux-t-rpc job-exec.override "{\"event\":\"finish\",\"jobid\":$dec}"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "reload of job-exec, rexec and job-manager while a job runs" {
    SIZE=2 run inside "whole='$whole_life'"'
        gate gate0; gate gate1; gate ready0; gate ready1
        id=$(flux submit -N2 -n2 sh -c "echo \$\$ >pid\$FLUX_TASK_RANK; echo >ready\$FLUX_TASK_RANK; cat gate\$FLUX_TASK_RANK; echo \$\$ >end\$FLUX_TASK_RANK; exit 7")
        cat ready0 ready1
        event $id start
        flux module reload job-exec
        on_rank 1 flux module reload job-exec
        flux module reload rexec
        on_rank 1 flux module reload rexec
        flux module reload job-manager
        flux module reload job-exec
        exec_event $id reattach
        open_gate gate0; open_gate gate1
        is "status=1792" "$(event $id finish)"; await_clean $id
        cmp pid0 end0; cmp pid1 end1
        is "$whole" "$(exec_events $id | sed "s/reattach //g")"
        flux job eventlog $id | awk "\$2 == \"start\" || \$2 == \"finish\"" | wc -l | grep -qx 2
        is "" "$(flux job eventlog $id | grep exception)"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "jobs that end while job-exec is away" {
    SIZE=2 run inside '
        gate gate0; gate gate1; gate ready0; gate ready1
        id=$(flux submit -N2 -n2 sh -c "echo >ready\$FLUX_TASK_RANK; cat gate\$FLUX_TASK_RANK; exit 2")
        cat ready0 ready1; event $id start
        flux module remove job-exec; on_rank 1 flux module remove job-exec
        open_gate gate0; open_gate gate1
        on_rank 1 flux module load job-exec; flux module load job-exec
        is "status=512" "$(event $id finish)"; await_clean $id
        is "" "$(flux job eventlog $id | grep exception)"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a job that is cancelled while job-exec is away" {
    run inside '
        id=$(flux submit sleep inf); event $id start
        flux module remove job-exec
        flux cancel $id; event $id exception
        flux module load job-exec
        is "status=36608" "$(event $id finish)"; await_clean $id
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "jobs come and go while job-exec is reloaded" {
    SIZE=2 run inside "rounds=$([ "${FLUX_SOAK:-}" = full ] && echo 50 || echo 5)"'
        flux submit --cc=1-30 -N1 sh -c "exit 5" >ids &
        for i in $(seq $rounds); do flux module reload job-exec; on_rank 1 flux module reload job-exec; done
        wait $!; drain
        for id in $(cat ids); do
            is "status=1280" "$(event $id finish)"
            is "" "$(flux job eventlog $id | grep exception)"
        done
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a lost broker" {
    SIZE=3 run inside '
        gate ready0; gate ready1; gate ready2
        id=$(flux submit -N3 -n3 sh -c "echo >ready\$FLUX_TASK_RANK; sleep inf"); cat ready0 ready1 ready2
        event $id start
        kill -9 $(broker_pid 2)
        event $id exception | grep -q "type=\"exec\" severity=0 note=\"node failure on $(hostname) (rank 2)\""
        event $id finish; await_clean $id
    ' --test-exit-mode=leader
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a lost broker that is not critical" {
    SIZE=3 run inside '
        gate ready0; gate ready1; gate ready2; gate gate0
        id=$(flux submit -N3 -n3 -o exit-timeout=none sh -c "echo >ready\$FLUX_TASK_RANK; cat gate0; exit 4"); cat ready0 ready1 ready2
        event $id start
        dec=$(flux job id --to=dec $id)
        on_rank 1 flux-t-rpc job-exec.critical-ranks "{\"id\":$dec,\"ranks\":\"0-1\"}"
        is "ranks=\"0-1\"" "$(exec_event $id critical-ranks)"
        fails "errno 22" flux-t-rpc job-exec.critical-ranks "{\"id\":$dec,\"ranks\":\"3\"}"
        kill -9 $(broker_pid 2)
        event $id exception | grep -q "type=\"node-failure\" severity=2 note=\"node failure on $(hostname) (shell rank 2)\""
        flux cancel $id
        event $id finish; await_clean $id
    ' --test-exit-mode=leader
    echo "$output"; [ "$status" -eq 0 ]
}
