#!/usr/bin/env bats
# flux pgrep, pkill, pstree, watch, bulksubmit, jobs of nested instances.
load lib/common

with_flux() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" "set +o pipefail # readers that have seen enough leave early
        fails() { local code=\$1 text=\$2 rc=0; shift 2; \"\$@\" >out 2>err || rc=\$?; [ \$rc = \$code ] && { [ -z \"\$text\" ] || grep -qF -- \"\$text\" err; } || { echo \"rc=\$rc: \$*\"; cat out err; exit 1; }; }
        same() { diff - <(\"\$@\") || { echo \"differs: \$*\"; exit 1; }; }
        is() { [ \"\$1\" = \"\$2\" ] || { printf 'wanted: %s\ngot:    %s\n' \"\$1\" \"\$2\"; exit 1; }; }
        $script" "$@"
}

@test "pgrep and pkill" {
    run with_flux 1 '
        set -- $(flux submit --cc=1-3 --urgency=hold --job-name=held-{cc} true); done=$(flux submit --wait --job-name=over true)
        is "$2" "$(flux pgrep held-2)"; is 3 "$(flux pgrep ^held | wc -l)"; is "$2" "$(flux pgrep name:2\$)"; is "$done" "$(flux pgrep -a ov.r)"
        is "$1 $2 " "$(flux pgrep "$1..$2" | sort | tr "\n" " ")"; is "$3" "$(flux pgrep "$1..$3" 3)"; is 1 "$(flux pgrep -c1 held | wc -l)"
        flux pgrep -o full held | head -1 | grep -q "JOBID USER"; is "held-1" "$(flux pgrep -no {name} held-1)"; is "JOBID" "$(flux pgrep -o {id} held-1 | head -1)"
        is "held-1" "$(FLUX_PGREP_FORMAT_DEFAULT={name} flux pgrep -n held-1)"; flux pgrep -o help | grep -q "^  deps"
        fails 1 "" flux pgrep nothing; fails 1 "" flux pgrep over; fails 2 "Error parsing regex" flux pgrep "(("; fails 2 "Only one name" flux pgrep a b; fails 2 "required" flux pgrep
        flux pkill --wait held-[12] 2>&1 | grep -qx "flux-pkill: INFO: Canceled 2 jobs"; is "$3" "$(flux pgrep .)"; is CA "$(flux jobs -no {status_abbrev} $1)"
        fails 1 "" flux pkill nothing; flux pkill . 2>&1 | grep -q "Canceled 1 job$"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "bulksubmit" {
    run with_flux 1 '
        same flux bulksubmit --dry-run -n {1} echo {0.%} ::: x.c y.c ::: 1 2 <<<"bulksubmit: submit -n1 echo x
bulksubmit: submit -n2 echo x
bulksubmit: submit -n1 echo y
bulksubmit: submit -n2 echo y"
        is "x1 x2 y1 y2 " "$(flux bulksubmit --watch --quiet echo {}{1} ::: x y ::: 1 2 | sort | tr "\n" " ")"
        is "a1 b2 " "$(flux bulksubmit --watch --quiet echo {}{1} ::: a b :::+ 1 2 | sort | tr "\n" " ")"
        is "0-1-in 1-2-in2 " "$(printf "in\nin2\n" | flux bulksubmit --watch --quiet echo {seq}-{seq1}-{} | sort | tr "\n" " ")"
        printf "one two" >list; is "one two " "$(flux bulksubmit --sep=none --watch --quiet echo {} :::: list | sort | tr "\n" " ")"
        is "a1 a2 " "$(flux bulksubmit --cc=1-2 --watch --quiet echo {}{cc} ::: a | sort | tr "\n" " ")"
        is 4 "$(flux bulksubmit --urgency=hold true {} ::: 1 2 3 4 | wc -l)"; is 4 "$(flux pgrep true | wc -l)"; flux cancel --all
        flux bulksubmit --dry-run --progress true {} ::: 1 2 | grep -qx "bulksubmit: submitting a total of 2 jobs"
        fails 1 "unknown tag" flux bulksubmit echo {3} ::: a; fails 1 "no inputs" flux bulksubmit echo :::; fails 3 "" flux bulksubmit --wait sh -c "exit {}" ::: 1 3 2'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "watch and progress" {
    run with_flux 1 '
        fails 1 "selection" flux watch; flux watch -a 2>&1 | grep -qx "flux-watch: INFO: No matching jobs"
        set -- $(flux submit --cc=1-2 sh -c "echo out-{cc}; exit {cc}"); is "out-1 out-2 " "$(flux watch -A 2>/dev/null | sort | tr "\n" " ")"
        fails 2 "" flux watch -A; fails 1 "Watching 1 jobs" flux watch -v $1; fails 2 "future" flux watch --since=+1h; fails 2 "" flux watch --since=-1h
        flux watch -l $2 | grep -q "^$2: 0: out-2"
        flux submit --progress --wait true 2>&1 | grep -q "stdout is not a tty"
        TERM=dumb script -qec "flux submit --quiet --cc=1-3 --progress --wait true" /dev/null </dev/null >typescript; grep -q "PD:0 R:0 CD:3 F:0 .* 100% 0:00:0" typescript
        TERM=dumb script -qec "flux watch --jps -A" /dev/null </dev/null >typescript || true; grep -q "CD:4 F:2 .* 100% .*job/s" typescript'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "jobs of nested instances" {
    export FLUX_URI_RESOLVE_LOCAL=1
    run with_flux 1 '
        mkfifo up; child=$(flux batch -n1 --output=none --job-name=nested --wrap "echo \$FLUX_URI >up; sleep inf"); uri=$(cat up); flux job memo $child uri=$uri
        inner=$(FLUX_URI=$uri flux submit --job-name=inner --wait-event=start sleep inf); FLUX_URI=$uri flux submit --cc=1-2 --urgency=hold --job-name=twin true >held
        flux jobs -R >listing; grep -qx "$child:" listing; grep -qx "1 running, 0 completed, 0 failed, 2 pending" listing
        is 1 "$(grep -c JOBID listing)"; is 1 "$(grep -c " inner " listing)"; is 0 "$(flux jobs -R -L0 | grep -c inner)"; is nested "$(flux jobs -no {name})"
        is "PD:2 R:1 CD:0 F:0|3|0.0|100%" "$(flux jobs -no "{instance.stats}|{instance.stats.total}|{instance.progress}|{instance.utilization!P}")"
        is "1|0" "$(flux jobs -no "{instance.resources.all.nnodes}|{instance.resources.free.ncores}")"
        is "NODES FREE CORE%" "$(flux jobs -o "{instance.resources.all.nnodes} {instance.resources.free.ncores} {instance.utilization}" | head -1)"
        same flux pstree <<<".
└── nested
    └── inner"
        same flux pstree -a --ascii <<<".
\`-- nested
    |-- 2*[twin:S]
    \`-- inner:R"
        same flux pstree -C -X -f pending,running --skip-root=yes -o "{name}/{state}" --parent-label={name} <<<"nested
├─twin/SCHED
├─twin/SCHED
└─inner/RUN"
        is "..|$child nested" "$(flux pstree -p -L1 | sed "s/└── //" | tr "\n" "|" | sed "s/^. /./; s/|$//")"
        flux pstree -x | head -1 | grep -q "JOBID USER *ST NTASKS NNODES *RUNTIME"; flux pstree -x | grep -Eq "^ *$child .* R +1 +1 .*s nested$"; flux pstree -x | grep -q " └── inner$"
        flux pstree -d stats | grep -q "PD:2 R:1 CD:0 F:0 .* nested$"; flux pstree -n -d progress $child | head -1 | grep -q " 100% .* nested$"; fails 1 "Unknown --details" flux pstree -d x
        (export FLUX_URI=$uri; flux pstree | head -1 | grep -qx nested)
        flux jobs -A --json | jq -c ".jobs[]" | head -1 >one; flux jobs --json | jq -c "{id: .id, name: .name, userid: .userid, state: 16}" >/dev/null
        echo "{\"id\":1,\"name\":\"fromfile\",\"state\":8,\"userid\":0,\"urgency\":16}" | FLUX_URI=local:///no/such flux jobs --from-stdin -no "{name} {id.dec} {state}" | grep -qx "fromfile 1 SCHED"
        flux cancel --all; flux queue idle'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "multi-prog, post-job-event, admin" {
    printf '0,2 echo %%t-%%o "a b" # comment\n\n* echo rest-%%t-%%o\n' >conf
    [ "$(flux multi-prog -n 0-2 conf)" = "0: echo 0-0 a b
1: echo rest-1-0
2: echo 2-1 a b" ]
    run flux multi-prog conf; [ "$status" -eq 1 ]; [[ "$output" == *"FLUX_TASK_RANK not found"* ]]
    echo "x true" >bad; run flux multi-prog -n 0 bad; [ "$status" -eq 1 ]; [[ "$output" == *"line 1: invalid idset: x"* ]]
    run with_flux 2 '
        is "0: 0-0 a b 1: rest-1-0 2: 2-1 a b " "$(flux run -n3 -l flux multi-prog conf | sort | tr "\n" " ")"
        id=$(flux submit --urgency=hold true); flux post-job-event $id hello a=1 b=x; flux job eventlog $id | grep -q "hello a=1 b=\"x\"$"; flux post-job-event $id bare; flux job eventlog $id | tail -1 | grep -q " bare$"
        fails 1 "No such job ƒ1" flux post-job-event ƒ1 x; fails 2 "required" flux post-job-event $id; flux cancel $id
        flux admin cleanup-push echo one \>\>ended; printf "echo two >>ended\necho three >>ended\n" | flux admin cleanup-push; fails 1 "no command" flux admin cleanup-push </dev/null'
    echo "$output"; [ "$status" -eq 0 ]; [ "$(tr '\n' ' ' <ended)" = "two three one " ]
}
