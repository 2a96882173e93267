#!/usr/bin/env bats
# What the KVS has of a job: logs before, during and after its life, updates, who may look, reload.
load lib/common

# inside SCRIPT: an instance without anything that runs jobs
#   on_kvs OPTIONS...; event NAME CONTEXT: in the main log of job 1; watch FILE PATH FLAGS [OPTIONS...]; lines FILE
export FLUX_MODPROBE_DISABLE=sched-simple,sched-backfill,job-exec,job-ingest,job-list,job-manager
inside() {
    under_flux "${SIZE:-1}" ". '$BATS_TEST_DIRNAME/lib/jobs.bash'
        D=job.0000.0000.0000.0001
        put() { flux-t-kvs \"\$@\" >/dev/null; }
        event() { put put -a \$D.eventlog \"{\\\"timestamp\\\":1.5,\\\"name\\\":\\\"\$1\\\",\\\"context\\\":\${2:-{\\}}}\"\$'\\n'; }
        guest() { put -N job-1 put -a \"\$1\" \"\$2\"\$'\\n'; }
        info() { flux-t-rpc \"job-info.\$1\" \"\${@:2}\"; }
        log() { flux-t-rpc -s \"\${@:3}\" job-info.eventlog-watch '{\"id\":1,\"path\":\"'\$1'\",\"flags\":'\$2'}'; }
        names() { jq -r 'if .event then .event|fromjson? // . |.name // . else \"-\" end' \"\$1\" | tr '\\n' ' '; }
        lines() { jq -r '.event // \"-\" | rtrimstr(\"\\n\")' \"\$1\" | tr '\\n' ' '; }
        seen() { local i; exec 9< <(exec tail -n +1 -F \"\$1\" 2>/dev/null); local tail=\$!; for ((i = 0; i < \$2; i++)); do read -r _ <&9; done; exec 9<&-; kill \$tail 2>/dev/null || :; }
        begin() { event submit '{\"userid\":1000,\"urgency\":16,\"flags\":0,\"version\":1}'; put put \$D.jobspec '{\"attributes\":{\"system\":{\"duration\":0}}}'; }
        allocate() { put put \$D.R '{\"version\":1,\"execution\":{\"expiration\":0.0}}'; event alloc; }
        start() { flux-t-rpc kvs.namespace-create '{\"namespace\":\"job-1\",\"owner\":1000,\"flags\":0}'; event start; }
        finish() {
            local ref=\$(flux-t-rpc kvs.getroot '{\"namespace\":\"job-1\"}' | jq -r .rootref)
            flux-t-rpc kvs.commit '{\"namespace\":\"primary\",\"flags\":0,\"ops\":[{\"key\":\"'\$D.guest'\",\"flags\":0,\"dirent\":{\"ver\":1,\"type\":\"dirref\",\"data\":[\"'\$ref'\"]}}]}' >/dev/null
            flux-t-rpc kvs.namespace-remove '{\"namespace\":\"job-1\"}'; event finish; event release '{\"ranks\":\"all\",\"final\":true}'; event clean
        }
        $1"
}

@test "logs are followed over start, end and reloads" {
    run inside '
        fails "errno 2" log eventlog 0
        log eventlog 1 >waited & w=$!
        begin; log eventlog 2 >main & m=$!; log guest.exec.eventlog 0 >exec & e=$!; log guest.output 3 >output & o=$!
        log guest.never 1 >never 2>err & n=$!; seen main 1; log eventlog 2 -m 2 >/dev/null
        allocate; start; guest exec.eventlog "{\"timestamp\":1.5,\"name\":\"init\"}" || true
        flux module reload job-info; guest output "line one"; seen output 1; flux module reload kvs-watch; guest output "line two"; flux module reload job-info
        finish; wait $w $m $o; ! wait $n; grep -q "^errno 2" err
        is "submit alloc start finish release clean " "$(names main)"; is "submit alloc start finish release clean " "$(names waited)"
        is "line one line two " "$(lines output)"
        log guest.output 2 >after; is "line one line two " "$(lines after)"
        fails "errno 2" log guest.never 1'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "the guest log of a job that never began ends empty" {
    run inside '
        begin; log guest.output 0 >before & b=$!; event exception "{\"type\":\"alloc\",\"severity\":0}"; event clean; wait $b
        log guest.output 0 >after; is "" "$(cat before after)"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "updates are told, once each" {
    run inside '
        begin; flux-t-rpc -s job-info.update-watch "{\"id\":1,\"key\":\"R\",\"flags\":0}" >R & r=$!
        flux-t-rpc -s job-info.update-watch "{\"id\":1,\"key\":\"jobspec\",\"flags\":0}" >jobspec & j=$!
        seen jobspec 1; allocate; seen R 1; event jobspec-update "{\"attributes.system.duration\":5}"; seen jobspec 2
        flux module reload job-info; event resource-update "{\"expiration\":77}"; start; finish; wait $r $j
        is "0 77 " "$(jq .R.execution.expiration R | tr "\n" " ")"; is "0 5 " "$(jq .jobspec.attributes.system.duration jobspec | tr "\n" " ")"
        is 77 "$(info update-lookup "{\"id\":1,\"key\":\"R\",\"flags\":0}" | jq .R.execution.expiration)"
        fails "errno 22" info update-watch -s "{\"id\":1,\"key\":\"J\",\"flags\":0}"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "look-ups: as stored, decoded, current" {
    run inside '
        begin; allocate; event jobspec-update "{\"attributes.system.duration\":5}"
        is "{\"attributes\":{\"system\":{\"duration\":0}}}" "$(info lookup "{\"id\":1,\"keys\":[\"jobspec\"],\"flags\":0}" | jq -r .jobspec)"
        is 5 "$(info lookup "{\"id\":1,\"keys\":[\"jobspec\",\"R\"],\"flags\":3}" | jq .jobspec.attributes.system.duration)"
        is 5 "$(info lookup "{\"id\":1,\"keys\":[\"jobspec\"],\"flags\":2}" | jq -r .jobspec | jq .attributes.system.duration)"
        is 3 "$(info lookup "{\"id\":1,\"keys\":[\"eventlog\"],\"flags\":0}" | jq -j .eventlog | wc -l)"
        fails "errno 2: x: key not found" info lookup "{\"id\":1,\"keys\":[\"R\",\"x\"],\"flags\":0}"
        fails "errno 2: invalid job id" info lookup "{\"id\":2,\"keys\":[\"R\"],\"flags\":0}"
        fails "errno 71" info lookup "{\"id\":1,\"keys\":[\"R\"],\"flags\":4}"; fails "errno 71" info eventlog-watch "{\"id\":1,\"path\":\"eventlog\",\"flags\":0}"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "only the owner and the instance owner may look, from every rank" {
    SIZE=2 run inside '
        begin; allocate
        for r in 0 1; do
            for who in 0 1000; do flux-t-rpc -r $r ${who:+-u $who} job-info.lookup "{\"id\":1,\"keys\":[\"R\"],\"flags\":0}" >/dev/null 2>&1 && echo $who || echo no $who; done
            fails "errno 1:" flux-t-rpc -r $r -u 1001 job-info.lookup "{\"id\":1,\"keys\":[\"R\"],\"flags\":0}"
            for path in eventlog guest.output; do fails "errno 1:" flux-t-rpc -s -r $r -u 1001 job-info.eventlog-watch "{\"id\":1,\"path\":\"$path\",\"flags\":0}"; done
            fails "errno 1:" flux-t-rpc -s -r $r -u 1001 job-info.update-watch "{\"id\":1,\"key\":\"R\",\"flags\":0}"
            flux-t-rpc -s -m 1 -r $r -u 1000 job-info.eventlog-watch "{\"id\":1,\"path\":\"eventlog\",\"flags\":0}" >/dev/null
        done >who; grep -c "^1000$" who | grep -q 2'
    echo "$output"; [ "$status" -eq 0 ]
}
