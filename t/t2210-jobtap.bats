#!/usr/bin/env bats
# Plugins of job-manager: loading, what they are told and may do, bad ones, and what survives.
load lib/common

# The scheduler and the execution service are those of start_services.
export FLUX_MODPROBE_DISABLE=sched-simple,sched-backfill,job-exec
inside() { under_flux 1 ". '$BATS_TEST_DIRNAME/lib/jobs.bash'; $helpers $1" "${@:2}"; }
export PLUGINS="$FLUX_BUILD/test/jobtap"
helpers='
    maps() { grep "/so/$1-" /proc/$(flux getattr broker.pid)/maps; }
    is_unloaded() { ! maps $1 || { echo "$1 is still mapped"; exit 1; }; }
    calls() { flux jobtap query probe.so | grep -o "\"$(flux job id --to=f58plain $1)\":\"[^\"]*" | cut -d\" -f4; }
    reload() { flux module reload job-manager; }
'

@test "builtin plugins are listed, removed and loaded again by name" {
    run inside '
        is "" "$(flux jobtap list)"
        flux jobtap list -a >all; is ".priority-default" "$(head -1 all)"; is 11 "$(wc -l <all)"
        flux jobtap query .history | grep -q "\"path\": *\"builtin\""
        flux jobtap remove all; flux jobtap list -a | cmp - all
        fails "\* not found" flux jobtap remove "*"
        flux jobtap remove .begin-time; fails "no such plugin\|not found" flux jobtap query .begin-time
        is 10 "$(flux jobtap list -a | wc -l)"
        fails ".history already loaded" flux jobtap load .history
        reload; is 10 "$(flux jobtap list -a | wc -l)"
        flux jobtap load .begin-time; is .begin-time "$(flux jobtap list -a | tail -1)"
        flux jobtap remove ".up*"; is 9 "$(flux jobtap list -a | wc -l)"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a plugin is loaded with arguments, told of every step of a job, and really unloaded" {
    run inside '
        flux jobtap load $PLUGINS/probe.so a.b=1 c=text; is probe.so "$(flux jobtap list)"
        maps probe >/dev/null
        flux jobtap query probe.so >answer; for part in "\"path\": *\"$PLUGINS/probe.so\"" "\"a\": *{\"b\": *1}" "\"c\": *\"text\""; do grep -q "$part" answer; done
        fails "probe.so already loaded" flux jobtap load $PLUGINS/probe.so
        start_services -s -e
        id=$(with_system "{\"dependencies\":[{\"scheme\":\"probe\",\"value\":\"x\"}]}")
        await_event $id dependency-add
        is "create validate dependency new depend " "$(calls $id)"
        jm probe.release "{\"id\":$id}"; drain
        is "create validate dependency new depend sched run cleanup inactive destroy " "$(calls $id)"
        is "submit dependency-add validate dependency-remove depend priority alloc prolog-start prolog-finish start finish release free clean " "$(events $id)"
        fails "the probe rejects this job" with_system "{\"probe\":{\"reject\":1}}"
        flux jobtap remove probe.so; is_unloaded probe; is "" "$(flux jobtap list)"
        fails "errno 38" jm probe.release "{\"id\":$id}"
        fails "not supported" with_system "{\"dependencies\":[{\"scheme\":\"probe\",\"value\":\"x\"}]}"
        for i in 1 2 3 4 5; do flux jobtap load $PLUGINS/probe.so; flux jobtap load -r "*" $PLUGINS/probe.so; flux jobtap remove all; done
        is_unloaded probe
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a plugin that is loaded later hears of the jobs that are there, and its priorities count" {
    run inside '
        waiting=$(submit); depending=$(with_system "{\"dependencies\":[{\"scheme\":\"after\",\"value\":\"$(flux job id --to=f58 $waiting)\"}]}")
        flux jobtap load $PLUGINS/probe.so priority=77
        await_event $depending dependency-add
        is "create new " "$(calls $waiting)"; flux jobtap query probe.so | grep -q "\"durable\": *2"
        is "create new depend " "$(calls $depending)"
        list | grep -q "\"id\":$waiting,[^}]*\"priority\":77"
        flux jobtap remove probe.so
        list | grep -q "\"id\":$waiting,[^}]*\"priority\":16"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a plugin gives resources past the scheduler and lets a key be updated" {
    run inside '
        flux jobtap load $PLUGINS/probe.so
        start_services -e
        R="{\"version\":1,\"execution\":{\"R_lite\":[{\"rank\":\"0\",\"children\":{\"core\":\"0\"}}],\"nodelist\":[\"here\"],\"starttime\":0,\"expiration\":0}}"
        id=$(with_system "{\"probe\":{\"R\":$R}}"); drain
        is "submit validate depend priority alloc prolog-start prolog-finish start finish release free clean " "$(events $id)"
        jm getattr "{\"id\":$id,\"attrs\":[\"R\"]}" | grep -q R_lite
        flux-t-rpc job-info.lookup "{\"id\":$id,\"keys\":[\"eventlog\"],\"flags\":0}" | grep -q "bypass"
        held=$(submit)
        jm update "{\"id\":$held,\"updates\":{\"attributes.system.probe.note\":\"x\"}}"
        fails "update of attributes.system.other not supported" jm update "{\"id\":$held,\"updates\":{\"attributes.system.other\":1}}"
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a plugin that blocks is named, and job-manager goes on without it" {
    FLUX_MODPROBE_DISABLE= run under_flux 1 '
        flux jobtap load $FLUX_BUILD/test/jobtap/blocking.so && exit 1
        flux dmesg | grep "jobtap plugin .*/blocking.so: its initializer has not returned for 2s"
        test -z "$(flux jobtap list)"
        flux run true' -Svendor.module-limit=2s
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what cannot be loaded is refused by name and reason, and nothing of it stays" {
    run inside '
        refused() { fails "$1" flux jobtap load $PLUGINS/$2.so; grep -q "$PLUGINS/$2.so" failure; is_unloaded $2; is "" "$(flux jobtap list)"; }
        refused "built for another flux" wrong_abi
        refused "does not define flux_jobtap_table" no_table
        refused "undefined symbol" undefined
        refused "thrown on purpose" throwing
        fails "errno 38" jm throwing.never
        refused "unknown type" throwing_int
        refused "no configuration will do" refusing
        echo nonsense >garbage.so; fails "not a loadable" flux jobtap load ./garbage.so
        fails "./missing.so not found" flux jobtap load ./missing.so
        fails "missing.so not found" flux jobtap load missing.so
        fails "not a flux jobtap plugin\|does not define" flux jobtap load $FLUX_BUILD/test/modules/good.so
        fails "missing.so not found" flux jobtap remove missing.so
        fails "of the form KEY=VAL" flux jobtap load $PLUGINS/probe.so novalue
        flux jobtap load $PLUGINS/pinned.so; flux jobtap remove pinned.so
        flux jobtap load $PLUGINS/pinned.so; flux jobtap remove pinned.so
        flux dmesg >log; grep -q "pinned.so: something pins the code" log
        reload; flux jobtap load $PLUGINS/pinned.so; is pinned.so "$(flux jobtap list)"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a plugin that throws wherever it can disturbs nobody" {
    run inside '
        flux jobtap load $PLUGINS/rude.so; flux jobtap load $PLUGINS/probe.so
        start_services -s -e
        id=$(submit); drain
        is "create validate new depend sched run cleanup inactive destroy " "$(calls $id)"
        fails "rude answer" flux jobtap query rude.so
        flux dmesg >log; grep -q "rude.so: .*rude answer" log
        flux jobtap remove all; is_unloaded rude
        id=$(submit); drain
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "plugins loaded at run time are there after a reload and a restart, removed ones are not" {
    mkdir conf.d state
    cat >conf.d/jobtap.toml <<EOT
[job-manager]
plugins = [ { load = "$PLUGINS/probe.so", conf = { priority = 5 } }, { load = "$PLUGINS/pinned.so" }, { remove = "pinned.so" } ]
EOT
    run inside '
        is probe.so "$(flux jobtap list)"
        id=$(submit); list | grep -q "\"id\":$id,[^}]*\"priority\":5,"
        flux jobtap load $PLUGINS/rude.so
        reload; is "probe.so rude.so" "$(flux jobtap list | tr "\n" " " | sed "s/ $//")"
        is "create new sched " "$(calls $id)"
        before=$(grep -c "/so/job-manager-" /proc/$(flux getattr broker.pid)/maps)
        for i in 1 2 3; do reload; done
        test $(grep -c "/so/job-manager-" /proc/$(flux getattr broker.pid)/maps) -le $((before * 2))
        flux jobtap load -r probe.so $PLUGINS/probe.so priority=9
        list | grep -q "\"id\":$id,[^}]*\"priority\":9,"
        flux jobtap remove rude.so
        cancel $id; drain
    ' -c conf.d -Sstatedir=$PWD/state
    echo "$output"; [ "$status" -eq 0 ]
    run inside '
        is probe.so "$(flux jobtap list)"; flux jobtap query probe.so | grep -q "\"priority\": *9"
        flux jobtap remove probe.so; flux jobtap load $PWD/probe.so 2>/dev/null && exit 1
        cp $PLUGINS/probe.so mine.so; flux jobtap load ./mine.so
    ' -c conf.d -Sstatedir=$PWD/state
    echo "$output"; [ "$status" -eq 0 ]
    rm mine.so
    run inside '
        is "" "$(flux jobtap list)"; flux dmesg >log; grep -q "cannot load plugin mine.so again, going on without it: .*/mine.so: No such file" log
    ' -c conf.d -Sstatedir=$PWD/state
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a plugin of the configuration that cannot be loaded keeps job-manager from starting" {
    mkdir conf.d
    echo "job-manager.plugins = [ { load = '$PLUGINS/wrong_abi.so' } ]" >conf.d/jobtap.toml
    run inside 'true' -c conf.d
    echo "$output"; [ "$status" -ne 0 ]; [[ "$output" == *"wrong_abi.so: built for another flux"* ]]
}

@test "mere users may not touch plugins" {
    run inside 'fails "errno 1:" flux-t-rpc -u 1234 job-manager.jobtap "{\"remove\":\"all\"}"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a plugin whose loading was acknowledged is there after kill -9" {
    run inside 'flux jobtap load $PLUGINS/probe.so a=1; kill -9 $(flux getattr broker.pid)' -Sstatedir="$PWD/state"
    run inside 'is probe.so "$(flux jobtap list)"; flux jobtap query probe.so | grep -q "\"a\": *1"' -Sstatedir="$PWD/state"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "plugins work when job-manager is a process of its own" {
    run inside '
        flux module remove job-manager; flux module load --exec job-manager
        flux jobtap load $PLUGINS/probe.so; id=$(submit); is "create validate new depend sched " "$(calls $id)"
        flux jobtap remove probe.so; cancel $id; drain'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "validate-duration follows the end of the instance also after kvs-watch was away" {
    run under_flux 1 '
        lifetime() {
            flux kvs get resource.R | python3 -c "import json, sys, time
R = json.load(sys.stdin); R[\"execution\"][\"expiration\"] = time.time() + $1; print(json.dumps(R))" >R
            flux kvs put resource.R="$(<R)"
        }
        flux submit -t 1h --urgency=hold true
        flux module remove kvs-watch; flux module load kvs-watch
        lifetime 60
        # Its watch may look a moment later than the command has put.
        until ! flux submit -t 1h --urgency=hold true 2>refusal; do flux module stats job-manager >/dev/null; done
        cat refusal; lifetime 7200
        until flux submit -t 1h --urgency=hold true 2>/dev/null; do flux module stats job-manager >/dev/null; done'
    echo "$output"; [ "$status" -eq 0 ]; [[ $output == *"exceeds remaining instance lifetime"* ]]
}
