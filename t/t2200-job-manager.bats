#!/usr/bin/env bats
# job-ingest and job-manager, with a scheduler and an execution service made for tests.
load lib/common

# The scheduler and the execution service are those of start_services.
export FLUX_MODPROBE_DISABLE=sched-simple,sched-backfill,job-exec
inside() { under_flux "${SIZE:-1}" ". '$BATS_TEST_DIRNAME/lib/jobs.bash'; $1" "${@:2}"; }
whole_life="submit validate depend priority alloc start finish release free clean "

@test "a job is accepted with an id and waits for a scheduler" {
    run inside '
        id=$(submit)
        is "submit validate depend priority " "$(events $id)"
        list | grep -q "{\"id\":$id,\"userid\":$(id -u),\"urgency\":16,\"priority\":16,\"t_submit\":[0-9.]*,\"state\":8}"
        jm getinfo | grep -q "\"max_jobid\":$id"
        jm stats-get | grep -q "\"active_jobs\":1,\"inactive_jobs\":0,\"max_jobid\":$id"
        jm queue-status | grep -q "\"start\":false,\"blocked\":\"scheduler\",\"stop_reason\":\"Scheduler is offline\""
        jm alloc-query | grep -q "{\"queue_length\":1,\"alloc_pending\":0,\"running\":0}"
        jm getattr "{\"id\":$id,\"attrs\":[\"jobspec\"]}" >jobspec
        grep -q "\"command\":\\[\"true\"\\]" jobspec; ! grep -q environment jobspec
        fails "errno 2: R is not there" jm getattr "{\"id\":$id,\"attrs\":[\"R\"]}"
        fails "errno 2: unknown attr x" jm getattr "{\"id\":$id,\"attrs\":[\"x\"]}"
        fails "errno 22: unknown job" jm getattr "{\"id\":1,\"attrs\":[\"jobspec\"]}"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "bad requests are refused" {
    run inside '
        ingest() { flux-t-rpc job-ingest.submit "{\"J\":\"$1\",\"urgency\":${2:-16},\"flags\":${3:-0}}"; }
        fails "errno 71" flux-t-rpc job-ingest.submit "{\"urgency\":16,\"flags\":0}"
        fails "errno 71: invalid job flags" ingest x 16 1
        fails "errno 22: urgency range is \\[0:31\\]" ingest x 32
        fails "errno 22" ingest x
        fails "errno 22: dependency scheme must be a string" with_system "{\"dependencies\":[{\"value\":\"x\"}]}"
        fails "errno 22" with_system "{\"duration\":-1}"
        is "" "$(listed_ids)"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "jobs run from submission to their end" {
    run inside "whole='$whole_life'"'
        submit -n 10 >ids
        start_services -s -c 2 -e; drain
        for id in $(cat ids); do is "$whole" "$(events $id)"; done
        for what in alloc start free; do is 10 $(grep -c "^$what " services); done
        jm stats-get | grep -q "\"active_jobs\":0,\"inactive_jobs\":10"
        jm getattr "{\"id\":$(head -1 ids),\"attrs\":[\"R\"]}" | grep -q R_lite
        is "" "$(listed_ids)"
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "exceptions end pending and running jobs" {
    run inside '
        pending=$(submit); cancel $pending
        is "submit validate depend priority exception clean " "$(events $pending)"
        fails "errno 2: job is inactive" cancel $pending
        fails "errno 2: unknown job id" cancel 12345
        fails "errno 71: invalid exception severity" jm raise "{\"id\":$pending,\"severity\":8,\"type\":\"x\"}"
        fails "errno 71: invalid exception type" jm raise "{\"id\":$pending,\"severity\":0,\"type\":\"a b\"}"
        start_services -s -e -H
        id=$(submit); await_event $id start
        jm raise "{\"id\":$id,\"severity\":3,\"type\":\"mild\",\"note\":\"n\"}"
        cancel $id; drain
        is "submit validate depend priority alloc start exception exception finish release free clean " "$(events $id)"
        grep -q "exception $id cancel" services
        fails "errno 22: job is inactive" jm kill "{\"id\":$id,\"signum\":15}"
        stop_services
        a=$(submit); b=$(submit)
        fails "errno 22: job is not running" jm kill "{\"id\":$a,\"signum\":15}"
        all="\"userid\":-1,\"states\":8,\"severity\":0,\"type\":\"cancel\""
        jm raiseall "{\"dry_run\":true,$all}" | grep -q "{\"count\":2,\"errors\":0}"
        is "$a $b " "$(listed_ids)"
        jm raiseall "{\"dry_run\":false,$all}" | grep -q "{\"count\":2,\"errors\":0}"
        drain
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "urgency decides the order, held jobs wait" {
    run inside '
        low=$(submit -u 1); held=$(submit -u 0); high=$(submit -u 20)
        jm urgency "{\"id\":$low,\"urgency\":25}" | grep -q "{\"old_urgency\":1}"
        fails "errno 22: urgency range" jm urgency "{\"id\":$low,\"urgency\":32}"
        is "$low $high " "$(listed_ids 2)"
        start_services -s -l 1 -e
        await_event $high clean
        is "$held " "$(listed_ids)"
        jm urgency "{\"id\":$held,\"urgency\":16}"; drain
        is "$low $high $held " "$(grep ^start services | cut -d" " -f2 | tr "\n" " ")"
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a limited scheduler gets better jobs first, and takes requests back" {
    run inside '
        start_services -s -l 1 -e -H
        running=$(submit); await_event $running start
        waits=$(submit); better=$(submit -u 20)
        cancel $running
        await_event $better start; cancel $better
        await_event $waits start; cancel $waits; drain
        grep -q "cancel $waits" services
        is "$running $waits $better $waits " "$(grep ^alloc services | cut -d" " -f2 | tr "\n" " ")"
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "queues are stopped and disabled, durably" {
    run inside '
        stop_queue maintenance
        jm queue-enable "{\"enable\":false,\"all\":false,\"reason\":\"closed\"}"
        fails "errno 22: job submission is disabled: closed" submit
        flux module reload job-manager
        fails "errno 22: job submission is disabled: closed" submit
        is "{\"enable\":false,\"start\":false,\"disable_reason\":\"closed\",\"stop_reason\":\"maintenance\"}" "$(jm queue-status)"
        jm queue-enable "{\"enable\":true,\"all\":false}"
        submit; start_services -s -e
        jm alloc-query | grep -q "{\"queue_length\":0,\"alloc_pending\":0,\"running\":0}"
        start_queue; drain
        is "{\"enable\":true,\"start\":true}" "$(jm queue-status)"
        fails "errno 22: .x. is not a valid queue" jm queue-status "{\"name\":\"x\"}"
        is "{\"queues\":[]}" "$(jm queue-list)"
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "results of waitable jobs are delivered once, also after a reload" {
    run inside '
        wait_for() { jm wait "{\"id\":$1}"; }
        good=$(submit -f 4); bad=$(with_system "{\"status\":256}" -f 4); other=$(submit)
        start_services -s -c 3 -e
        is "{\"id\":$good,\"success\":true,\"errstr\":\"\"}" "$(wait_for $good)"
        drain
        list | grep -q "\"id\":$bad.*\"state\":64"
        flux module reload job-manager
        is "{\"id\":$bad,\"success\":false,\"errstr\":\"task(s) exited with exit code 1\"}" "$(wait_for -1)"
        fails "errno 10: there are no more waitable" wait_for -1
        fails "errno 10: invalid job id" wait_for $good
        flux module reload job-manager
        fails "errno 10" wait_for $bad
        fails "errno 10" wait_for $other
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a wait goes on over a reload" {
    run inside '
        stop_queue x; id=$(submit -f 4)
        jm wait "{\"id\":-1}" >result & waiter=$!
        flux module reload job-manager
        start_services -s -e; start_queue
        wait $waiter
        grep -q "{\"id\":$id,\"success\":true" result
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "dependencies hold jobs until they are satisfied, or never are" {
    run inside "whole='$whole_life'"'
        depend() { with_system "{\"dependencies\":[{\"scheme\":\"$1\",\"value\":\"$2\"}],\"job\":{\"name\":\"n\"}}"; }
        fails "errno 22: dependency scheme .x. not supported" depend x y
        fails "is not a valid jobid" depend afterok xx-
        fails "job not found" depend afterok 12345
        good=$(submit); bad=$(with_system "{\"status\":256}")
        ok=$(depend afterok $good); never=$(depend afterok $bad); any=$(depend afterany $bad); begin=$(depend begin-time 1.5)
        single=$(depend singleton x)
        list | grep -q "\"dependencies\":\\[\"after-success=$good\"\\]"
        flux module reload job-manager
        start_services -s -c 2 -e; drain
        held="submit dependency-add validate dependency-remove depend ${whole#submit validate depend }"
        for id in $ok $any $begin $single; do is "$held" "$(events $id)"; done
        is "submit dependency-add validate exception clean " "$(events $never)"
        stop_services
        is "submit dependency-add dependency-remove validate depend priority " "$(events $(depend afterok $good))"
        fails "can never be satisfied" depend afterok $bad
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "updates, memos and posted events are kept" {
    run inside '
        update() { jm update "{\"id\":$1,\"updates\":$2}"; }
        post() { jm post-event.post "{\"id\":$1,\"name\":$2}"; }
        id=$(submit -u 0)
        update $id "{\"attributes.system.duration\":600.0}"
        fails "errno 22: update of attributes.x not supported" update $id "{\"attributes.x\":1}"
        fails "errno 22: attribute .x. is no legal path" update $id "{\"x\":1}"
        fails "errno 2: unknown job id" update 1 "{\"attributes.system.duration\":1}"
        jm memo "{\"id\":$id,\"memo\":{\"a\":{\"b\":1}}}"
        post $id "\"mine\",\"context\":{\"x\":1}"
        fails "errno 71" post $id "\"mine\",\"context\":7"
        fails "errno 71: event .validate. in state SCHED" post $id "\"validate\""
        for again in 1 2; do
            list | grep -q "\"annotations\":{\"user\":{\"a\":{\"b\":1}}}"
            jm getattr "{\"id\":$id,\"attrs\":[\"jobspec\"]}" | grep -q "\"duration\":600.0"
            is "submit validate depend priority jobspec-update priority memo mine " "$(events $id)"
            flux module reload job-manager
        done
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "inactive jobs are purged, history tells what was submitted" {
    run inside '
        purge() { jm purge "{\"age_limit\":-1.0,\"num_limit\":$1,\"batch\":$2,\"force\":$3}"; }
        submit -n 12 >ids; newest=$(tail -1 ids); second=$(tail -2 ids | head -1)
        start_services -s -e; drain; stop_services
        is "{\"count\":7}" "$(purge 5 50 false)"
        flux module reload job-manager
        is "{\"count\":7}" "$(purge 5 50 true)"
        is "{\"count\":0}" "$(purge 5 50 true)"
        jm stats-get | grep -q "\"inactive_jobs\":5"
        is "{\"jobs\":[$newest,$second]}" "$(jm history.get "{\"slice\":\"[:2]\"}")"
        fails "errno 22" jm history.get "{\"slice\":\"[1]\"}"
        fails "errno 22: batch must be" purge 5 101 true
        fails "errno 2: unknown job id" cancel $(head -1 ids)
        is "{\"count\":1}" "$(jm purge-id "{\"id\":$newest,\"force\":1}")"
        fails "errno 2: id not found" jm purge-id "{\"id\":$newest,\"force\":1}"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "every rank takes jobs, with ids of its own" {
    SIZE=3 run inside '
        for rank in 0 1 2; do flux-t-submit -r $rank -n 3; done >ids
        is 9 $(sort -u ids | wc -l)
        start_services -s -e; drain; stop_services
        jm stats-get | grep -q "\"inactive_jobs\":9"
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a journal outlives reloads without gap or duplicate" {
    run inside '
        mkfifo stream; flux-t-rpc -s job-manager.events-journal >stream & listener=$!
        grep --line-buffered -v "^$" <stream >journal & copier=$!
        start_services -s -c 4 -e
        for round in 1 2 3 4 5 6 7 8; do submit -n 20 >>ids; flux module reload job-manager; done
        drain; last=$(submit); echo $last >>ids; await_event $last clean
        kill $listener; wait $copier
        flux-t-rpc -s -m 162 job-manager.events-journal "{\"full\":true}" >all
        events_by_id <journal >heard; events_by_id <all >stored
        is 161 $(wc -l <heard); diff heard stored
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}

@test "acknowledged jobs survive kill -9 of the broker and keep their ids" {
    run inside '
        submit -n 50 >ids; stop_queue why
        kill -9 $(flux getattr broker.pid); cat' -Sstatedir="$TEST_TMP"
    run inside '
        is "$(tr "\n" " " <ids)" "$(listed_ids)"
        is "submit validate depend priority flux-restart priority " "$(events $(head -1 ids))"
        jm queue-status | grep -q why
        test $(submit) -gt $(tail -1 ids)
        start_services -s -e; start_queue; drain; stop_services
    ' -Sstatedir="$TEST_TMP"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a running job is taken over after services and job-manager were reloaded" {
    run inside "whole='$whole_life'"'
        start_services -s -e -H; id=$(submit); await_event $id start; stop_services
        flux module reload job-manager
        start_services -s -e; drain
        grep -q "hello $id" services; grep -q "reattach $id" services
        is "$whole" "$(events $id)"
        stop_services
    '
    echo "$output"; [ "$status" -eq 0 ]
}
