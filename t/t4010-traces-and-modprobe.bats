#!/usr/bin/env bats
# flux module trace, overlay trace, modprobe.
load lib/common

with_flux() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" "set +o pipefail
        fails() { local text=\$1 rc=0; shift; \"\$@\" >out 2>err || rc=\$?; [ \$rc = 1 ] && grep -qF -- \"\$text\" err || { echo \"rc=\$rc: \$*\"; cat out err; exit 1; }; }
        same() { diff - <(\"\$@\") || { echo \"differs: \$*\"; exit 1; }; }
        # until_seen FILE PATTERN COMMAND...: do something until a trace shows it; nothing tells when a trace has begun
        until_seen() { local file=\$1 pattern=\$2; shift 2; until grep -Eq \"\$pattern\" \$file; do \"\$@\" >/dev/null 2>&1 || true; done; }
        $script" "$@"
}

@test "messages of modules and links" {
    run with_flux 2 '
        flux module trace kvs >log & trace=$!; flux module trace -f -T "kvs.lookup" -t request >full & full=$!
        flux module trace -t response -H kvs >human & human=$!
        until_seen log "^20[0-9-]+T[0-9:]+\.[0-9]{3} kvs rx > kvs.commit \[[0-9]+\]$" flux kvs put a=1
        until_seen log "kvs tx < kvs.commit \[[0-9]+\] success$" flux kvs put a=1; until_seen log "kvs tx < kvs.lookup \[[0-9]+\] ENOENT$" flux kvs get none
        until_seen full "^\{.*\"key\":\"a\"" flux kvs get a; until_seen human "^\[.*\] kvs tx <" flux kvs get a; if grep -q ">" human; then exit 1; fi
        kill $trace $full $human
        flux overlay trace "*.ping" >links & trace=$!; flux overlay trace -r 7 >none & none=$!
        until_seen links "tx 1 > broker.ping \[[0-9]+\]$" flux ping -c1 1; until_seen links "rx 1 < broker.ping \[[0-9.K]+\] success$" flux ping -c1 1; [ ! -s none ]
        kill $trace $none; flux ping -c1 1
        fails "--delta" flux module trace -d; fails "unknown message type" flux module trace -t x'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "modprobe" {
    run with_flux 1 '
        same flux modprobe list-dependencies job-info <<<"job-info
├── kvs
│   └── content
│       ├── heartbeat
│       └── content-sqlite
└── kvs-watch"
        flux modprobe list-dependencies -f job-info | tail -1 | grep -q "content-sqlite"
        flux modprobe show sched | jq -e ".name == \"sched-simple\" and .module == \"sched-simple\" and .priority == 50 and .ranks == \"0\" and .disabled == false"
        flux modprobe show -D kvs-watch kvs-watch 2>/dev/null | jq -e .disabled || true
        same flux modprobe remove --dry-run job-list <<<"remove job-list"; fails "kvs still in use by " flux modprobe remove kvs; fails "module nosuch is not loaded" flux modprobe remove nosuch
        flux modprobe remove job-list; fails "job-list is not loaded" flux modprobe remove job-list
        same flux modprobe load --dry-run job-list kvs <<<"load job-list"; flux modprobe load job-list; flux jobs >/dev/null
        flux modprobe load kvs 2>&1 | grep -q "INFO: No modules to load"; fails "module nosuch not found" flux modprobe load nosuch
        flux modprobe remove job-info kvs-watch; flux modprobe load -v job-info >out; same cat out <<<"load kvs-watch
load job-info"
        [ "$(flux modprobe rc3 --dry-run | head -1)" != "remove kvs" ]; flux modprobe rc3 --dry-run | tail -3 | grep -q "remove "; [ -z "$(flux modprobe rc1 --dry-run)" ]'
    echo "$output"; [ "$status" -eq 0 ]
}
