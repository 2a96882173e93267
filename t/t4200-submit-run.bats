#!/usr/bin/env bats
# flux submit, run and job attach: what jobs get, what is printed, exit codes.
load lib/common

with_flux() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" "set +o pipefail # readers that have seen enough leave early
        fails() { local code=\$1 text=\$2 rc=0; shift 2; \"\$@\" >out 2>err || rc=\$?; [ \$rc = \$code ] && { [ -z \"\$text\" ] || grep -qF -- \"\$text\" err; } || { echo \"rc=\$rc: \$*\"; cat out err; exit 1; }; }
        same() { diff - <(\"\$@\") || { echo \"differs: \$*\"; exit 1; }; }
        $script" "$@"
}

@test "run prints what the tasks print and exits as they do" {
    run with_flux 2 '
        [ "$(flux run echo hi)" = hi ]
        [ "$(flux run -n2 -l echo hi | sort | tr "\n" " ")" = "0: hi 1: hi " ]
        fails 3 "flux-job: task(s) exited with exit code 3" flux run sh -c "exit 3"
        fails 137 "flux-job: task(s) Killed" flux run sh -c "kill -9 \$\$"
        fails 127 "task(s) exited with exit code 127" flux run /no/such/command
        [ "$(echo data | flux run cat)" = data ]; [ "$(seq 20000 | flux run cat | md5sum)" = "$(seq 20000 | md5sum)" ]
        [ -z "$(flux run cat </dev/null)" ]; flux run sh -c "echo err >&2" 2>&1 >/dev/null | grep -qx err
        [ "$(printf "a\n" | flux run -n2 -l --input=1 cat)" = "1: a" ]
        flux run -v true 2>&1 | grep -q "^jobid: "
        flux run -vvv true 2>&1 | grep -Eq "^[0-9.]+s: job.start"; flux run -vvv true 2>&1 | grep -Eq "^[0-9.]+s: exec.shell.init \{"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a cancelled, a late and an impossible job" {
    run with_flux 1 '
        flux run sleep 100 2>err & pid=$!; id=; until id=$(flux job last 2>/dev/null); do :; done
        flux job wait-event $id start >/dev/null; flux cancel -m because $id; rc=0; wait $pid || rc=$?
        [ $rc = 143 ]; grep -q "job.exception $id type=cancel severity=0 because" err
        fails 142 "type=timeout severity=0" flux run -t 0.5s sleep 100
        fails 1 "type=alloc severity=0" flux run -N 100 true'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "Ctrl-C twice cancels, signals are passed on" {
    run with_flux 1 '
        flux run sleep 100 2>err & pid=$!; until id=$(flux job last 2>/dev/null); do :; done; flux job wait-event -p exec $id shell.start >/dev/null
        kill -USR1 $pid; rc=0; wait $pid || rc=$?; [ $rc = 138 ]
        set -m; flux run sleep 101 2>err & pid=$!; until [ "$(flux job last)" != $id ]; do :; done; id=$(flux job last); flux job wait-event $id start >/dev/null
        kill -INT $pid; until grep -q "one more ctrl-C" err; do :; done; kill -INT $pid; rc=0; wait $pid || rc=$?
        [ $rc = 143 ]; grep -q "interrupted by ctrl-C" err'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what options make of a job" {
    run with_flux 1 '
        [ "$(flux run --env=-* --env=A=1 --env=B=\$A/x sh -c "echo \$A \$B \$HOME")" = "1 1/x" ]
        [ "$(flux run --cwd=/ pwd)" = / ]; [ "$(flux run --rlimit=nofile=100 sh -c "ulimit -n")" = 100 ]
        flux run --output=out.txt echo to file 2>err; [ "$(cat out.txt)" = "to file" ]; grep -q "stdout redirected to out.txt" err
        echo in >in.txt; [ "$(flux run --input=in.txt cat)" = in ]
        id=$(flux submit --job-name=me --urgency=20 -S user.x=7 -o verbose=1 true); flux job info $id jobspec | jq -e ".attributes.user.x == 7 and .attributes.system.job.name == \"me\" and .attributes.system.shell.options.verbose == 1"
        [ $(flux jobs -no {urgency}:{name} $id) = 20:me ]
        flux submit --dry-run -N2 -n4 true | jq -e ".resources[0].count == 2 and .resources[0].with[0].count == 2"
        fails 1 "invalid int value" flux submit -n x true; fails 1 "missing" flux submit -n1; fails 2 "unrecognized arguments" flux submit --nosuch true
        fails 1 "Unknown flag: x" flux submit --flags=x true; fails 1 "--env: unknown variable" flux submit --env=A=\$NO true'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "copies, waiting and watching" {
    run with_flux 2 '
        [ $(flux submit --cc=1-5 true | sort -u | wc -l) = 5 ]
        same sh -c "flux submit --quiet --watch --cc=1-4 echo copy {cc} | sort" <<<"copy 1
copy 2
copy 3
copy 4"
        [ "$(flux submit --quiet --watch --cc=7 sh -c "echo \$FLUX_JOB_CC")" = 7 ]; [ -z "$(flux submit --quiet --watch --bcc=7 printenv FLUX_JOB_CC)" ] || true
        flux submit -l --watch echo hi | tail -1 | grep -Eq "^ƒ[^:]+: 0: hi$"
        fails 3 "" flux submit --wait --cc=1-3 sh -c "exit {cc}"
        fails 1 "failed: status=256" flux submit -v --wait false; fails 0 "complete: status=0" flux submit -v --wait true
        flux submit -vv --wait-event=start true 2>&1 | grep -Eq ": [0-9.]+s: start$"
        flux submit --wait-event=exec.shell.start sleep 0 >/dev/null
        fails 1 "type=alloc" flux submit --wait -N 100 true; fails 1 "only one of" flux submit --cc=1 --bcc=1 true
        fails 1 "unknown tag" flux submit --cc=1 echo {x}; flux submit --cc=1 echo {{id}} >/dev/null
        flux submit --log=log.{cc} --cc=1-2 true; [ $(cat log.1 log.2 | wc -l) = 2 ]'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a thousand copies are under way at the same time" {
    run with_flux 1 '
        flux queue stop >/dev/null; [ $(flux submit --cc=1-1000 true | wc -l) = 1000 ]; flux cancel --all 2>&1 | grep -q "Canceled 1000 jobs"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "attaching later" {
    run with_flux 2 '
        id=$(flux submit -n2 sh -c "for i in 1 2 3 4; do echo line \$i; done"); [ $(flux job attach -l $id | sort | grep -c "^[01]: line") = 8 ]
        [ $(flux job attach --tail=2 $id | wc -l) = 2 ]; flux job attach -E $id 2>&1 | grep -q "job.clean"
        fails 1 "Failed to attach to ƒ1: No such job" flux job attach ƒ1; fails 1 "" flux job attach bad.id
        held=$(flux submit --urgency=hold true); flux job attach $held & pid=$!; flux job urgency $held default; wait $pid'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a job cannot ask for more time than the instance has left" {
    run under_flux 1 '
        flux kvs get resource.R | python3 -c "
import json, sys, time
R = json.load(sys.stdin)
R[\"execution\"][\"expiration\"] = time.time() + 600
print(json.dumps(R))" >R
        flux kvs put "resource.R=$(cat R)"
        # job-manager hears of it by its watch, soon
        until ! flux submit -t 20m true 2>err; do :; done
        cat err; grep -q "exceeds remaining instance lifetime" err
        flux run -t 5m true'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "an instance that runs as a job is found by its id" {
    run with_flux 1 '
        id=$(flux batch -n1 --wrap sleep inf); uri=$(flux uri --wait $id); [ "${uri%%/local-0}" != "$uri" ]
        [ "$(FLUX_URI=$(flux uri --local $id) flux getattr instance-level)" = 1 ]
        [ "$(FLUX_URI=$(flux uri --local $id) flux getattr jobid)" = $id ]
        flux cancel $id'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "terminals of tasks" {
    export FLUX_URI_RESOLVE_LOCAL=1
    run with_flux 2 '
        flux run -o pty tty | grep -q "^/dev/pts/"; [ "$(flux run -o pty stty size | tr -d "\r")" = "25 80" ]; [ "$(flux run -o pty sh -c "echo x >/dev/tty" | tr -d "\r")" = x ]
        [ "$(flux run -n2 -l -o pty.ranks=1 sh -c "test -t 1 && echo yes || echo no" | tr -d "\r" | sort | tr "\n" " ")" = "0: no 1: yes " ]
        fails 3 "exited with exit code 3" flux run -o pty sh -c "exit 3"; fails 1 "pty.bad: unknown option" flux run -o pty.bad=1 true
        [ "$(flux run -N2 -n2 -l -o pty seq 2000 | tr -d "\r" | sort | md5sum)" = "$(for i in 0 1; do seq 2000 | sed "s/^/$i: /"; done | sort | md5sum)" ]
        echo hi | flux run -o pty.interactive sh -c "read x; echo got-\$x; tty" | tr -d "\r" >out; grep -qx got-hi out; grep -q ^/dev/pts out
        id=$(flux submit -o pty.interactive -o pty.capture=1 echo captured); flux job attach $id </dev/null | tr -d "\r" | grep -qx captured; [ "$(flux job attach -r $id | tr -d "\r")" = captured ]
        script -qec "flux run -o pty.interactive sh -c \"stty -echo; read x; echo got-\\\$x\"" /dev/null <<<hello | grep -q got-hello
        script -qec "flux alloc -n1 flux getattr instance-level" /dev/null </dev/null | tr -d "\r" | grep -q "1$" # script shows the end of its input too
        id=$(flux alloc -n1 --bg); [ "$(FLUX_URI=$(flux uri $id) flux getattr instance-level)" = 1 ]; flux cancel $id; flux job wait-event -q $id clean'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "exec on the nodes of a job" {
    run with_flux 3 '
        id=$(flux submit -N2 --requires=rank:1-2 --wait-event=exec.shell.start sleep inf)
        [ "$(flux exec -j $id -l flux getattr rank | sort | tr "\n" " ")" = "0: 1 1: 2 " ]; [ "$(flux exec -j $id -r 1 flux getattr rank)" = 2 ]; [ "$(echo in | flux exec -j $id -x 0 cat)" = in ]
        fails 7 "Exit 7" flux exec -j $id -n sh -c "exit 7"; fails 1 "invalid --ranks" flux exec -j $id -r 2 true
        flux exec -j $id --bg sleep inf | grep -Eq "^[01]: [0-9]+$"; flux cancel $id; flux job wait-event -q -t 20 $id clean
        fails 1 "is not running" flux exec -j $id true; fails 1 "" flux exec -j x.y true'
    echo "$output"; [ "$status" -eq 0 ]
}
