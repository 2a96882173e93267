#!/usr/bin/env bats
# Scheduling of real jobs: order, refusals, drained nodes, forecasts, backfill; hello after reloads in any order.
load lib/common

# inside SCRIPT: an instance with four hosts of one core each, whatever the machine has
inside() {
    printf '[resource]\nnoverify = true\n[[resource.config]]\nhosts = "n[1-4]"\ncores = "0"\n' >conf.toml
    under_flux 4 ". '$BATS_TEST_DIRNAME/lib/jobs.bash'
        flux-t-rpc resource.monitor-waitup '{\"up\":4}'
        job() { flux submit -N1 \"\$@\"; }
        has() { flux job wait-event -t 30 \$1 \$2 >/dev/null; }
        attr() { flux-t-rpc job-list.list-id '{\"id\":'\$(flux job id --to=dec \$1)',\"attrs\":[\"all\"]}' | jq -c \".job.\$2\"; }
        allocated() { flux-t-rpc \$1 | jq -r '[.allocated.execution.R_lite[].rank] | join(\",\")'; }
        $1" --test-hosts=n[1-4] --config-path="$PWD/conf.toml"
}

@test "higher priority first, then the older job" {
    run inside '
        flux queue stop -q 2>/dev/null || flux queue stop
        a=$(job --urgency=10 -N4 true); b=$(job -N4 true); c=$(job --urgency=20 -N4 true); d=$(job -N4 true)
        flux queue start; for j in $a $b $c $d; do has $j clean; done
        for j in $a $b $c $d; do echo "$(attr $j t_run) $j"; done | sort -n | cut -d" " -f2 | tr "\n" " " >order
        is "$c $b $d $a " "$(cat order)"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what can never run is refused, and feasibility says so before" {
    run inside '
        j=$(job -N5 true); has $j exception; has $j clean
        is "\"unsatisfiable request: need 5 exclusive node(s), only 4 eligible\"" "$(attr $j exception_note)"
        check() { flux-t-rpc feasibility.check "{\"jobspec\":$(flux submit --dry-run "$@" true)}"; }
        check -N4; check -n4; fails "errno 75: unsatisfiable request" check -N5; fails "errno 75" check -n5
        fails "errno 22: jobspec has no resources" flux-t-rpc feasibility.check "{\"jobspec\":{}}"
        flux module debug --setbit 1 sched-simple; j=$(job true); has $j clean; is "\"DEBUG_FAIL_ALLOC\"" "$(attr $j exception_note)"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what runs is booked and given back; a drained node gets nothing" {
    run inside '
        flux-t-rpc resource.drain "{\"targets\":\"0,2-3\"}"
        j=$(job sleep 60); has $j start; w=$(job true)
        is "\"1\"" "$(attr $j ranks)"; is "\"rank1/core0\"" "$(attr $j annotations.sched.resource_summary)"
        is 1 "$(allocated sched.resource-status)"; is 1 "$(allocated resource.sched-status)"
        is "0,2-3" "$(flux-t-rpc sched.resource-status | jq -r .down.execution.R_lite[].rank)"
        is 8 "$(attr $w state)"; flux-t-rpc resource.undrain "{\"targets\":\"3\"}"; has $w clean; is "\"3\"" "$(attr $w ranks)"
        flux cancel $j; has $j free; n=$(job -N2 true); has $n clean; is "" "$(allocated sched.resource-status)"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "running jobs are untouched by reloads of the three in any order" {
    run inside '
        long=$(job -N2 sleep 120); has $long start
        for order in "resource sched-simple job-manager" "job-manager resource sched-simple" "sched-simple job-manager resource"; do
            wait_for=$(job -N3 true); two=$(job -N2 true)
            ones=; for m in $order; do flux module reload $m; ones="$ones $(job true)"; done
            flux cancel $wait_for; for j in $wait_for $two $ones; do has $j clean; done
            is "0-1" "$(allocated sched.resource-status)"; is 16 "$(attr $long state)"
        done
        flux module remove sched-simple; j=$(job true); flux queue status | grep -q "Scheduler is offline"
        flux module load sched-simple; has $j clean
        flux module remove resource; flux module load resource; flux-t-rpc resource.monitor-waitup "{\"up\":4}"; j=$(job -N2 true); has $j clean; is "0-1" "$(allocated sched.resource-status)"
        flux cancel $long; has $long clean; j=$(job -N4 true); has $j clean; is "" "$(allocated sched.resource-status)"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "the start of waiting jobs is forecast" {
    run inside '
        a=$(job -N4 -t 100s sleep 60); has $a start
        flux-t-rpc -s job-manager.events-journal "{\"allow\":{\"annotations\":1}}" >journal & b=$(job -N1 -t 10s true)
        grep -q -m1 t_estimate < <(exec tail -n +1 -F journal 2>/dev/null)
        end=$(attr $a expiration); is "$end" "$(attr $b annotations.sched.t_estimate)"
        flux cancel $a; has $b clean; is null "$(attr $b annotations.sched.t_estimate)"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "backfill lets short jobs pass a blocked one" {
    run inside '
        flux module remove sched-simple; flux module load sched-backfill
        a=$(job -N3 -t 100s sleep 60); has $a start; head=$(job -N4 true); long=$(job -N1 -t 200s true); short=$(job -N1 -t 50s true)
        has $short clean; is $(flux job id --to=dec $head) $(flux job id --to=dec $(attr $short annotations.sched.backfill | tr -d \"))
        is "8 8" "$(attr $head state) $(attr $long state)"; flux cancel $a; has $head clean; has $long clean'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "bad arguments are named" {
    run inside '
        flux module remove sched-simple
        fails "queue-depth=.x. is invalid" flux module load sched-simple queue-depth=x
        fails "unknown argument .foo.: built-in options are queue-depth" flux module load sched-simple foo
        flux module load sched-simple queue-depth=unlimited; fails "sched.*exists" flux module load sched-backfill'
    echo "$output"; [ "$status" -eq 0 ]
}
