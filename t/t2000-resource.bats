#!/usr/bin/env bats
# What an instance has and which of it may be used: discovery, configuration, drain, the scheduler's stream, reload.
load lib/common

# Nobody takes the scheduler's place.
export FLUX_MODPROBE_DISABLE=sched-simple,sched-backfill
# inside SIZE SCRIPT [OPTIONS...]
#   res METHOD [ARGS...]; state JQ-FILTER: of resource.status; seen FILE N: wait for N lines
inside() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" ". '$BATS_TEST_DIRNAME/lib/jobs.bash'
        res() { flux-t-rpc \"resource.\$1\" \"\${@:2}\"; }
        state() { res status | jq -cS \"\$1\"; }
        seen() { local i; exec 9< <(exec tail -n +1 -F \"\$1\" 2>/dev/null); local tail=\$!; for ((i = 0; i < \$2; i++)); do read -r _ <&9; done; exec 9<&-; kill \$tail 2>/dev/null || :; }
        $script" "$@"
}

@test "what the ranks find becomes R" {
    run inside 3 '
        cores=$(nproc)
        res monitor-waitup "{\"up\":3}"
        is "\"0-2\"" "$(state .R.execution.R_lite[0].rank)"
        is $((3 * cores)) $((3 * ($(res get | jq -r ".R.execution.R_lite[0].children.core" | sed "s/.*-//") + 1)))
        is "[\"n[1-3]\"]" "$(state .R.execution.nodelist)"
        is "\"dynamic-discovery\"" "$(flux-t-rpc -r 2 resource.get | jq -c .method)"
        is "[\"0-2\",\"\",\"\",\"\"]" "$(state "[.online,.offline,.exclude,.torpid]")"
        fails "errno 71: this RPC only works on rank 0" flux-t-rpc -r 1 resource.status
        fails "errno 38" flux-t-rpc -r 1 resource.drain "{\"targets\":\"0\"}"
        is "$(flux-t-rpc kvs.lookup "{\"namespace\":\"primary\",\"flags\":0,\"key\":\"resource.R\"}" | jq -r .val.data | base64 -d | jq -cS .)" "$(res get | jq -cS .R)"' --test-hosts=n[1-3]
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a configured R, with properties and exclusion" {
    cat >conf.toml <<'CONF'
[resource]
noverify = true
exclude = "n1"
[[resource.config]]
hosts = "n[1-4]"
cores = "0-3"
[[resource.config]]
hosts = "n[2,3]"
gpus = "0"
properties = ["fast"]
CONF
    run inside 2 '
        res monitor-waitup "{\"up\":2}"
        is "\"configuration\"" "$(res get | jq -c .method)"
        is "\"rank[0,3]/core[0-3] rank[1-2]/core[0-3],gpu0\"" "$(flux-t-rpc resource.get | jq -c "[.R.execution.R_lite[] | \"rank[\" + .rank + \"]/core[\" + .children.core + \"]\" + (if .children.gpu then \",gpu0\" else \"\" end)] | join(\" \") | sub(\"rank.1-2.\";\"rank[1-2]\")")"
        is "[\"0\",\"2-3\",{\"fast\":\"1-2\"}]" "$(state "[.exclude,.offline,.R.execution.properties]")"
        res sched-status >s; is "[\"1-2\",\"3\"]" "$(jq -c "[.all.execution.R_lite[].rank]" s)"
        is "[\"2\",\"3\"]" "$(jq -c "[.down.execution.R_lite[].rank]" s)"
        fails "errno 22: rank 0 excluded" res drain "{\"targets\":\"0\"}"' --test-hosts=n[1-2] --config-path="$PWD/conf.toml"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a bad configuration ends the start with its reason" {
    run flux start -s1 --conf='resource.foo=1' true
    [ "$status" -ne 0 ]; [[ "$output" == *"1 object item(s) left unpacked: foo"* ]]
    printf '[[resource.config]]\ncores = "0"\n' >conf.toml; run flux start -s1 --config-path="$PWD/conf.toml" true
    [ "$status" -ne 0 ]; [[ "$output" == *"config[0]: Object item not found: hosts"* ]]
}

@test "a host with less than it should have is drained" {
    printf '[[resource.config]]\nhosts = "n1"\ncores = "0-4095"\n' >conf.toml
    run inside 1 '
        grep -q -m1 "\"name\":\"drain\",.*missing resources: core" < <(flux-t-rpc -s resource.journal)
        is "\"0\"" "$(state ".drain|keys[0]")"; is "\"0\"" "$(res sched-status | jq -c .down.execution.R_lite[0].rank)"' --test-hosts=n1 --config-path="$PWD/conf.toml"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "drain and undrain: modes, names, errors" {
    run inside 3 '
        res monitor-waitup "{\"up\":3}"
        res drain "{\"targets\":\"1-2\"}"; res drain "{\"targets\":\"n2\",\"reason\":\"fan\"}"
        fails "errno 17: rank 1 already drained" res drain "{\"targets\":\"0-1\",\"reason\":\"x\"}"
        is "{\"1\":\"fan\",\"2\":\"\"}" "$(state ".drain|map_values(.reason)")"
        res drain "{\"targets\":\"0-1\",\"reason\":\"new\",\"mode\":\"update\"}"; res drain "{\"targets\":\"2\",\"reason\":\"z\",\"mode\":\"overwrite\"}"
        is "{\"0\":\"new\",\"1\":\"fan\",\"2\":\"z\"}" "$(state ".drain|map_values(.reason)")"
        fails "errno 22: Invalid mode" res drain "{\"targets\":\"1\",\"mode\":\"x\"}"
        fails "errno 22: invalid targets: invalid hosts: n9" res drain "{\"targets\":\"n9\"}"
        fails "errno 22: idset is out of range" res drain "{\"targets\":\"7\"}"; fails "errno 22: idset is empty" res drain "{\"targets\":\"\"}"
        fails "errno 71" res drain "{}"; fails "errno 1:" res drain -u 1000 "{\"targets\":\"1\"}"
        res undrain "{\"targets\":\"0-1\"}"; fails "errno 17: rank 1 not drained" res undrain "{\"targets\":\"1-2\"}"
        is "[\"2\"]" "$(state ".drain|keys")"' --test-hosts=n[1-3]
    echo "$output"; [ "$status" -eq 0 ]
}

@test "drained hosts stay drained over reload, restart and another order of hosts" {
    mkdir keep
    run inside 2 'res monitor-waitup "{\"up\":2}"; res drain "{\"targets\":\"n2\",\"reason\":\"fan\"}"; flux module reload resource; state .drain' \
        --test-hosts=n[1-2] -Sstatedir=keep
    echo "$output"; [ "$status" -eq 0 ]; [[ "$output" == '{"1":{"reason":"fan","timestamp":'* ]]
    run inside 2 'res monitor-waitup "{\"up\":2}"; state .drain; res undrain "{\"targets\":\"0\"}"' --test-hosts=n2,n1 -Sstatedir=keep --conf=resource.noverify=true
    echo "$output"; [ "$status" -eq 0 ]; [[ "$output" == '{"0":{"reason":"fan","timestamp":'* ]]
    run inside 2 'res monitor-waitup "{\"up\":2}"; state .drain' --test-hosts=n[1-2] -Sstatedir=keep
    echo "$output"; [ "$status" -eq 0 ]; [ "$output" = "{}" ]
}

@test "the scheduler is told of changes, over reloads too, and is alone" {
    run inside 2 '
        res monitor-waitup "{\"up\":2}"
        flux-t-rpc -s -m 6 resource.acquire >acquired & a=$!
        seen acquired 1; fails "errno 16" flux-t-rpc -s resource.acquire
        res drain "{\"targets\":\"1\"}"; flux module reload resource; flux module reload resource; res undrain "{\"targets\":\"1\"}"
        res expiration-update "{\"expiration\":5000000000}"
        res monitor-force-down "{\"ranks\":\"1\"}"; seen acquired 5
        is "[\"0\",\"0\"]" "$(res sched-status | jq -c "[.all.execution.R_lite[0].rank, .down.execution.R_lite[0].rank // \"0\"]")"
        res drain "{\"targets\":\"0\"}"; wait $a
        jq -c "del(.resources)" acquired >changes; printf "%s\n" "{\"up\":\"0-1\"}" "{\"down\":\"1\"}" "{\"up\":\"1\"}" "{\"expiration\":5000000000}" "{\"down\":\"1\",\"shrink\":\"1\"}" "{\"down\":\"0\"}" | diff - changes
        flux-t-rpc -s -m 1 resource.acquire | jq -c .up | grep -q "^\"\"$"
        res acquire-mute; flux-t-rpc -s resource.acquire 2>err >muted & a=$!; seen muted 1; flux module remove resource; ! wait $a; grep -q "errno 125: the resource module was unloaded" err
        flux module load resource'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "the journal has the backlog, R with its definition, a sentinel and what comes" {
    run inside 1 '
        res monitor-waitup "{\"up\":1}"; res status >/dev/null
        flux-t-rpc -s resource.journal >journal & j=$!
        seen journal 3; res drain "{\"targets\":\"0\",\"reason\":\"x\"}"; flux module reload resource; res undrain "{\"targets\":\"0\"}"
        while ! grep -q undrain journal; do seen journal $(($(wc -l <journal) + 1)); done; kill $j
        jq -r "if (.events|length) == 0 then \"-\" else .events[].name end" journal | tr "\n" " " >names
        grep -Eq "^(restart online|online restart|restart) resource-define (online )?- (online )?drain (online restart|restart online|restart) resource-define undrain $" names || { cat names; exit 1; }
        jq -se "[.[] | select(.R)] | length == 2 and all(.events | length == 1)" journal >/dev/null
        fails "errno 71: journal requires streaming" res journal'
    echo "$output"; [ "$status" -eq 0 ]
}
