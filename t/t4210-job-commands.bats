#!/usr/bin/env bats
# flux jobs, job, cancel and queue.
load lib/common

with_flux() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" "set +o pipefail # readers that have seen enough leave early
        fails() { local code=\$1 text=\$2 rc=0; shift 2; \"\$@\" >out 2>err || rc=\$?; [ \$rc = \$code ] && { [ -z \"\$text\" ] || grep -qF -- \"\$text\" err; } || { echo \"rc=\$rc: \$*\"; cat out err; exit 1; }; }
        same() { diff - <(\"\$@\") || { echo \"differs: \$*\"; exit 1; }; }
        $script" "$@"
}

@test "jobs" {
    run with_flux 2 '
        same flux jobs <<<"       JOBID USER     NAME       ST NTASKS NNODES     TIME INFO"
        ok=$(flux submit --wait true); bad=$(flux submit --wait false || true); held=$(flux submit --urgency=hold -n2 sleep 100)
        running=$(flux submit --wait-event=start -N1 sleep 100)
        [ "$(flux jobs -no "{id} {status_abbrev}" | tr "\n" " ")" = "$held S $running R " ]
        [ "$(flux jobs -ano "{id.f58plain}" | wc -l)" = 4 ]; flux jobs | grep -Eq "^ *$held .* sleep +S +2 +- +- held$"
        [ "$(flux jobs -no "{id}" -f failed)" = "$bad" ]; [ "$(flux jobs -no "{id}" -f completed,sched | sort)" = "$(printf "%s\n" $ok $held | sort)" ]
        [ "$(flux jobs -no "{returncode} {inactive_reason}" $bad)" = "1 Exit 1" ]; [ "$(flux jobs -an -c1 -o {id} 2>/dev/null | wc -l)" = 1 ]
        flux jobs -a -c1 2>&1 | grep -q "warning: output truncated at 1 jobs."
        [ "$(flux jobs -ano "sort:-id {id}" | head -1)" = $running ]; [ "$(flux jobs -ano {id} --sort=t_submit | head -1)" = $ok ]
        flux jobs -a --json | jq -e ".jobs | length == 4"; flux jobs --json $bad | jq -e ".status == \"FAILED\" and .returncode == 1 and .exception.occurred == false"
        flux jobs --stats-only | grep -q "^1 running, 1 completed, 1 failed, 1 pending"
        [ -z "$(flux jobs -n --name=nosuch)" ]; [ $(flux jobs -no {name} --name=sleep | wc -l) = 2 ]; [ "$(flux jobs -no {id} -i 0-1)" = $running ]
        fails 1 "JobID ƒ1 unknown" flux jobs ƒ1; fails 2 "invalid JobID" flux jobs x.y; fails 1 "Invalid filter specified: x" flux jobs -f x
        fails 1 "Error in user format: Unknown format field: x" flux jobs -o {x}; fails 1 "No such format x" flux jobs -o x; flux jobs -o help | grep -q "^  endreason"
        flux jobs -o get-config=default | grep -q "^\[formats.default\]"; flux jobs --color=always -a | grep -q "$(printf "\033\[01;31m")"
        [ "$(FLUX_JOBS_FORMAT_DEFAULT="{id}" flux jobs -n $ok)" = $ok ]; [ "$(flux jobs -w 10 | sed s/ƒ/f/ | awk "{print length}" | sort -u)" = 10 ]
        flux cancel --all -q'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "cancel" {
    run with_flux 1 '
        ids=$(flux submit --cc=1-3 --urgency=hold true); set -- $ids
        flux cancel -n --all 2>&1 | grep -q "flux-cancel: Would cancel 3 jobs"; flux cancel $1; flux job wait-event -t 10 $1 clean >/dev/null
        fails 1 "$1: job is inactive" flux cancel $1; fails 1 "ƒ1: unknown job id" flux cancel ƒ1
        flux cancel -m why --all 2>&1 | grep -q "flux-cancel: Canceled 2 jobs"; flux job wait-event -m note=\"why\" $2 exception | grep -q why
        flux cancel --all 2>&1 | grep -q "flux-cancel: Matched 0 jobs"; [ -z "$(flux cancel --all -q 2>&1)" ]
        fails 1 "must be specified" flux cancel; fails 1 "Do not specify" flux cancel --all $1; fails 1 "Invalid state" flux cancel -S x
        [ -z "$(flux cancel --user=all --quiet --states RUN 2>&1)" ]'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "job: events, info, status" {
    run with_flux 2 '
        id=$(flux submit --wait -N2 true); bad=$(flux submit --wait sh -c "exit 7" || true)
        flux job eventlog $id | head -1 | grep -Eq "^[0-9]+\.[0-9]{6} submit userid=$(id -u) urgency=16 flags=0 version=1$"; flux job eventlog $id | tail -1 | grep -q " clean$"
        flux job eventlog -f json $id | head -1 | jq -e ".name == \"submit\""; flux job eventlog -T offset $id | grep -q "^0.000000 submit"; flux job eventlog -H $id | grep -q "^\[ "
        flux job eventlog -p exec $id | grep -q shell.init; flux job eventlog -F $id | tail -1 | grep -q clean
        flux job wait-event $id finish | grep -q "status=0"; [ $(flux job wait-event -v $id start | wc -l) -gt 3 ]; [ -z "$(flux job wait-event -q $id start)" ]
        flux job wait-event -p exec $id shell.start >/dev/null; fails 1 "event '"'x'"' never received" flux job wait-event $id x
        held=$(flux submit --urgency=hold true); fails 1 "wait-event timeout on event '"'start'"'" flux job wait-event -t 0.1 $held start
        flux job info $id R | jq -e ".version == 1"; flux job info $id jobspec | jq -e ".tasks[0].command[0] == \"true\""; flux job info -o $id jobspec | jq -e .attributes.system.environment
        fails 1 "none: key not found" flux job info $id none; fails 1 "" flux job info ƒ1 R
        flux job status $id; fails 7 "exited with exit code 7" flux job status -v $id $bad; flux job status -j $bad | jq -e ".waitstatus == 1792 and .result == \"FAILED\"" || true
        [ $(flux job last) = $held ]; [ $(flux job last 2 | wc -l) = 2 ]; [ $(flux job taskmap $id) = "[[0,2,1,1]]" ]; [ $(flux job timeleft $id) = 4294967295 ]
        flux job list -a | head -1 | jq -e .id; flux job list-ids $id | jq -e ".state == 64"; flux job list-inactive | wc -l | grep -qx 2; flux job stats | jq -e ".job_states.inactive == 2"
        flux cancel $held'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "job: changes" {
    run with_flux 1 '
        held=$(flux submit --urgency=hold sleep 100); [ "$(flux job urgency -v $held 5 2>&1)" = "old job urgency: job held" ] || true
        flux job wait-event $held start >/dev/null; flux job memo $held a.b=1 s=x; flux job wait-event $held memo | grep -q "a={\"b\":1}"; [ $(flux jobs -no "{user.a.b}" $held) = 1 ]
        flux job raise -s 3 -t test $held a note; flux job wait-event $held exception | grep -q "severity=3 note=\"a note\""
        fails 1 "flux-job: raise ƒ1: unknown job" flux job raise ƒ1; fails 1 "flux-job: kill ƒ1" flux job kill ƒ1
        flux job killall 2>&1 | grep -q "matched 1 jobs"; flux job raiseall foo 2>&1 | grep -q "matched 1 jobs"
        flux job kill $held; rc=0; flux job status $held || rc=$?; [ $rc = 143 ]
        fails 1 "job is inactive" flux job urgency $held 3
        id=$(flux submit --flags=waitable true); bad=$(flux submit --flags=waitable false); flux job wait $id; fails 1 "$bad: " flux job wait $bad; fails 2 "" flux job wait; flux job wait -a
        flux submit --flags=waitable true >/dev/null; flux job wait >/dev/null
        flux job purge --num-limit=1 | grep -q "use --force to purge"; flux job purge -f --num-limit=1 | grep -q "purged 3 inactive jobs, 1 remaining"
        flux job submit <<<"$(flux submit --dry-run true)" | grep -q ƒ'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "queue" {
    run with_flux 1 '
        same flux queue status <<<"Job submission is enabled
Scheduling is started"
        flux queue stop -m later | grep -qx "Scheduling is stopped: later"; id=$(flux submit true); flux queue idle | grep -qx "1 jobs"; fails 1 "drain: timeout" flux queue drain -t 0.1
        flux queue disable -m closed | grep -qx "Job submission is disabled: closed"; fails 1 closed flux submit true; [ -z "$(flux queue enable --quiet)" ]
        flux queue start | grep -qx "Scheduling is started"; flux queue drain; flux queue idle | grep -qx "0 jobs"; [ -z "$(flux queue idle --quiet)" ]
        flux queue status -v | grep -qx "0 running jobs"; fails 1 "'"'none'"' is not a valid queue" flux queue status none
        flux queue stop --quiet --all --nocheckpoint; flux queue start --quiet
        [ $(flux queue list | wc -l) = 2 ]; flux queue list -no "{submission} {scheduling} {limits.timelimit!F}" | grep -qx "enabled started inf"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "named queues" {
    run with_flux 1 '
        fails 1 "Named queues are defined" flux queue start; flux queue start -a | sort | tr "\n" " " | grep -q "a: Scheduling is started b: Scheduling is started "
        flux queue stop a | grep -qx "a: Scheduling is stopped"; [ $(flux queue list -no {queuem} | tr "\n" " " | tr -d " ") = "a*b" ]
        flux queue list -q b -no "{queue} {started.ascii}" | grep -qx "b y"; fails 1 "No such queue: x" flux queue list -q x
        [ $(flux jobs -ano {queue} $(flux submit --wait -q b true)) = b ]' "--conf=queues={\"a\":{},\"b\":{}}" "--conf=policy.jobspec.defaults.system.queue=a"
    echo "$output"; [ "$status" -eq 0 ]
}
