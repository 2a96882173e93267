#!/usr/bin/env bats
# Listing jobs: order, attributes, constraints, waits, statistics, privacy; the list after reloads, purges and restarts.
load lib/common

export FLUX_MODPROBE_DISABLE=sched-simple,sched-backfill,job-exec
# inside SCRIPT [OPTIONS...]: jobs run as start_services has it
inside() {
    local script=$1
    shift
    under_flux 1 ". '$BATS_TEST_DIRNAME/lib/jobs.bash'
        jl() { flux-t-rpc \"job-list.\$1\" \"\${@:2}\"; }
        ids() { jl list '{\"max_entries\":'\${2:-0}',\"attrs\":[],\"since\":'\${3:-0}',\"constraint\":'\$1'}' | jq -r '[.jobs[].id] | join(\" \")'; }
        job() { jl list-id '{\"id\":'\$1',\"attrs\":[\"all\"]}' | jq -c \".job.\$2\"; }
        $script" "$@"
}

@test "jobs are listed in order, as told and as asked" {
    run inside '
        start_services -s -e; done1=$(submit); done2=$(submit); drain; stop_services
        low=$(submit -u 10); high=$(submit -u 20)
        is "$high $low $done2 $done1" "$(ids "{}")"; is "$high $low" "$(ids "{}" 2)"; is "$high $low" "$(ids "{\"states\":[14]}")"
        is "$done2" "$(ids "{\"states\":[\"inactive\"]}" 0 $(job $done1 t_inactive))"; is "" "$(ids "{\"userid\":[12345]}")"
        is "$done2 $done1" "$(ids "{\"and\":[{\"results\":[1]},{\"name\":[\"true\"]}]}")"
        jl list -s "{\"max_entries\":0,\"attrs\":[\"state\"]}" >s; is 4 "$(wc -l <s)"; head -1 s | jq -e ".version == 1 and (.jobs[0] | keys == [\"id\",\"state\"])" >/dev/null
        is "[1,64,0,true,false]" "$(jl list-id "{\"id\":$done1,\"attrs\":[\"all\"]}" | jq -c "[.job|.result,.state,.waitstatus,.success,.exception_occurred]")"
        jl list-attrs | jq -e ".attrs | index(\"all\") and index(\"nodelist\")" >/dev/null
        fails "errno 22: foo is not a valid attribute" jl list "{\"max_entries\":0,\"attrs\":[\"foo\"]}"
        fails "errno 71" jl list "{\"max_entries\":-1,\"attrs\":[]}"; fails "errno 71" jl list "{\"max_entries\":0,\"attrs\":{}}"
        fails "errno 71: unknown constraint operator: x" jl list "{\"max_entries\":0,\"attrs\":[],\"constraint\":{\"x\":[]}}"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "one job can be waited for" {
    run inside '
        fails "errno 2" jl list-id "{\"id\":1,\"attrs\":[]}"
        id=$(submit); is 8 "$(job $id state)"
        jl list-id "{\"id\":$id,\"attrs\":[\"state\"],\"state\":64}" >ended & w=$!
        flux module reload job-list; start_services -s -e; wait $w; is 64 "$(jq .job.state ended)"; stop_services'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "statistics follow, and purged jobs are counted apart" {
    run inside '
        flux-t-rpc -s job-list.job-stats >stats & w=$!
        start_services -s -e; for i in 1 2 3; do submit; done >/dev/null; drain; stop_services; flux module reload job-list
        last=$(submit); cancel $last; jm drain >/dev/null; grep -q -m1 "\"inactive\":4,\"total\":4}" < <(exec tail -n +1 -F stats 2>/dev/null); kill $w
        jl job-stats | jq -e ".successful == 3 and .canceled == 1 and .queues == []" >/dev/null
        jm purge "{\"age_limit\":-1,\"num_limit\":1,\"batch\":100,\"force\":true}" | grep -q "\"count\":3"
        flux-t-rpc -s -m 1 job-list.job-stats | jq -e ".inactive_purged == 3 and .job_states.total == 1" >/dev/null; is "$last" "$(ids "{}")"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "reloads of both sides and a restart change nothing in the list" {
    mkdir keep
    run inside '
        start_services -s -e; for i in 1 2 3 4; do submit; done >/dev/null; drain; stop_services; bad=$(submit); cancel $bad; jm drain >/dev/null
        all() { jl list "{\"max_entries\":0,\"attrs\":[\"all\"]}" | jq -cS .; }
        all >before; for m in job-list job-manager job-list; do flux module reload $m; all | cmp - before; done; all' -Sstatedir=keep
    [ "$status" -eq 0 ]; before=$output
    run inside 'jl list "{\"max_entries\":0,\"attrs\":[\"all\"]}" | jq -cS .' -Sstatedir=keep
    [ "$status" -eq 0 ]; [ "$output" = "$before" ] || { echo "$before"; echo "$output"; false; }
}

@test "private mode shows a guest no jobs of others" {
    run inside '
        id=$(submit); guest() { flux-t-rpc -u 1234 "job-list.$1" "${@:2}"; }
        is "[]" "$(guest list "{\"max_entries\":0,\"attrs\":[]}" | jq -c .jobs)"; fails "errno 2" guest list-id "{\"id\":$id,\"attrs\":[]}"
        fails "errno 1:" guest job-stats; is "$id" "$(ids "{}")"' --conf=access.private-mode=true
    echo "$output"; [ "$status" -eq 0 ]
}
