#!/usr/bin/env bats
# Commands by the clock and by events: the cron module.
load lib/common

# inside SCRIPT [FLUX-START-OPTIONS...]: `cron METHOD JSON`, `entry ID` (its JSON when it is settled), `fails TEXT COMMAND...`
inside() {
    local script=$1
    shift
    under_flux 2 "
        cron() { flux-t-rpc \"cron.\$1\" \"\${2:-{\}}\"; }
        fails() { local text=\$1; shift; if \"\$@\" >failure 2>&1; then exit 1; fi; grep -q -- \"\$text\" failure || { cat failure; exit 1; }; }
        has() { grep -qF -- \"\$1\" || { echo \"not there: \$1\"; cron list; exit 1; }; }
        [ -p done ] || mkfifo done
        cron sync '{\"disable\":true}' >/dev/null
        $script" "$@"
}

@test "a command runs at intervals, with its environment, directory and rank" {
    run inside '
        mkdir here
        cron create "{\"type\":\"interval\",\"name\":\"n\",\"args\":{\"interval\":0.05,\"after\":0},\"repeat\":3,\"rank\":1,\"cwd\":\"$PWD/here\",
            \"environ\":{\"PATH\":\"$PATH\",\"WHAT\":\"it\"},\"command\":\"echo \$WHAT >>out; echo \$PWD >../done\"}" | has "\"typedata\":{\"interval\":0.05"
        for i in 1 2 3; do [ "$(<done)" = "$PWD/here" ]; done
        [ "$(tr "\n" " " <here/out)" = "it it it " ]
        fails "is stopped" cron stop "{\"id\":1}"; cron list | has "\"count\":3"
        fails "no such entry" cron stop "{\"id\":7}"; fails "errno 38" cron create "{\"type\":\"x\",\"name\":\"n\",\"command\":\"c\",\"args\":{}}"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a command runs on every second event" {
    run inside '
        cron create "{\"type\":\"event\",\"name\":\"n\",\"args\":{\"topic\":\"tick\",\"nth\":2},\"command\":\"echo x >$PWD/done\"}" >/dev/null
        flux event pub tick.1; flux event pub tick.2; read x <done
        flux event pub tick.3; flux event pub tick.4; read x <done
        cron delete "{\"id\":1}" | has "\"counter\":4"; [ "$(cron list)" = "{\"entries\":[]}" ]'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "commands wait for the event that all are in step with" {
    run inside '
        [ "$(cron sync "{\"topic\":\"step\"}")" = "{\"sync_event\":\"step\",\"sync_epsilon\":0.015}" ]
        cron create "{\"type\":\"event\",\"name\":\"n\",\"args\":{\"topic\":\"tick\"},\"command\":\"echo x >$PWD/done\"}" >/dev/null
        flux event pub tick; cron list | has "\"state\":\"Deferred\""
        flux event pub step; read x <done; cron list | has "\"deferred\":1"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "failures are counted, late commands ended" {
    run inside '
        cron create "{\"type\":\"interval\",\"name\":\"n\",\"args\":{\"interval\":100,\"after\":0},\"repeat\":1,\"timeout\":0.1,\"command\":\"sleep inf\"}" >/dev/null
        cron create "{\"type\":\"interval\",\"name\":\"n\",\"args\":{\"interval\":0.01},\"stop-on-failure\":2,\"command\":\"exit 3\"}" >/dev/null
        grep -qm2 "cron-2: \"exit 3\": Failed: Exit 3" < <(flux dmesg -f); grep -qm1 "cron-1: \"sleep inf\": Timeout: Terminated" < <(flux dmesg -f)
        cron list | has "\"failure\":2"; cron list | has "\"timedout\":true"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "entries and running commands outlive a reload, entries a kill of the broker" {
    mkdir state
    run inside '
        cron create "{\"type\":\"event\",\"name\":\"n\",\"args\":{\"topic\":\"tick\"},\"command\":\"echo up >$PWD/got; read x <$PWD/done; echo \$x >$PWD/got\"}" >/dev/null
        mkfifo got; flux event pub tick; read x <got
        flux module reload cron
        cron list | has "\"state\":\"Running\""
        echo hello >done; [ "$(<got)" = hello ]
        cron delete "{\"id\":1}" | has "\"success\":1"
        cron create "{\"type\":\"datetime\",\"name\":\"n\",\"args\":{\"hour\":3,\"minute\":0,\"second\":0},\"command\":\"true\"}" | has "\"id\":2"
        kill -9 $(flux getattr broker.pid)' -Sstatedir=state
    run inside 'cron list | has "\"id\":2"; cron list | has "\"hour\":\"3\""; cron sync | has "\"sync_disabled\":true"' -Sstatedir=state
    echo "$output"; [ "$status" -eq 0 ]
}
