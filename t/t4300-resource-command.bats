#!/usr/bin/env bats
# flux resource.
load lib/common

with_flux() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" "
        fails() { local code=\$1 text=\$2 rc=0; shift 2; \"\$@\" >out 2>err || rc=\$?; [ \$rc = \$code ] && grep -qF -- \"\$text\" err || { echo \"rc=\$rc: \$*\"; cat out err; exit 1; }; }
        same() { diff - <(\"\$@\") || { echo \"differs: \$*\"; exit 1; }; }
        $script" "$@"
}

@test "list, info and R" {
    run with_flux 2 '
        flux resource list | head -1 | grep -qx "     STATE NNODES NCORES NGPUS NODELIST"; [ $(flux resource list | wc -l) = 4 ]
        [ $(flux resource list -n -s free -o {nnodes}) = 2 ]; [ $(flux resource list -n -s down -o {nnodes}) = 0 ]; flux resource list -n -s all -o {rlist} | grep -q "^rank\[0-1\]/core"
        flux resource info | grep -Eqx "2 Nodes, [0-9]+ Cores, 0 GPUs"; flux resource info -i 0 | grep -Eq "^1 Node, "; flux resource R | flux R decode -r | grep -qx 0-1
        id=$(flux submit --wait-event=start -N1 -x sleep 100); [ $(flux resource list -n -s allocated -o {nnodes}) = 1 ]; flux cancel $id
        fails 1 "Invalid resource state x specified" flux resource list -s x; fails 1 "--queue: x: no such queue" flux resource list -q x; flux resource list -o help | grep -q "^  rlist"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "status, drain and undrain" {
    run with_flux 3 '
        flux resource status | grep -q "avail"; [ $(flux resource status -n -s avail -o {nnodes}) = 3 ]; [ $(flux resource status -n -s drained -o {nnodes}) = 0 ]
        flux resource drain 1 broken fan; [ "$(flux resource drain -n -o "{state} {ranks} {reason}")" = "drained 1 broken fan" ]; flux resource drain | head -1 | grep -q "^TIME         STATE    REASON"
        fails 1 "Use --force to overwrite existing drain reason" flux resource drain 1 other; flux resource drain -f 1 other; flux resource drain -u 0-1 more
        [ $(flux resource status -n -s drained -o "{nnodes}" | paste -sd+ | bc) = 2 ]; [ $(flux resource list -n -s down -o {nnodes}) = 2 ]
        flux resource undrain 0-1; [ -z "$(flux resource drain -n)" ]; fails 1 "" flux resource undrain 0; fails 1 "Only one of" flux resource drain -f -u 0
        flux resource eventlog | grep -q " drain idset=\"1\""; flux resource eventlog -f json -w undrain | tail -1 | jq -e ".name == \"undrain\""; fails 1 "timed out" flux resource eventlog -t 0.1 -w nosuch
        flux resource status -s help | grep -q "^valid states: all,online"; fails 1 "Invalid resource state x" flux resource status -s x; flux uptime | grep -vq drained' --test-hosts=n[0-2]
    echo "$output"; [ "$status" -eq 0 ]
}
