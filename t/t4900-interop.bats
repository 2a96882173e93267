#!/usr/bin/env bats
# Recorded traffic of Flux clients gets from our broker the answers that it got from Flux (t/interop).
load lib/common

@test "recorded clients get the recorded answers" {
    local recorded=${FLUX_TRANSCRIPTS:-$BATS_TEST_DIRNAME/../../shared/reference/transcripts} cpus
    [ -d "$recorded" ] || skip "no recorded traffic: $recorded is missing, FLUX_TRANSCRIPTS may name its folder"
    # The recorded brokers had two cores each.
    cpus=$(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep=",")')
    [[ $cpus == *,* ]] || skip "needs two CPUs"
    run timeout --foreground -k 5 120 taskset -c "$cpus" flux start -s 2 python3 -B "$BATS_TEST_DIRNAME/interop/replay.py" "$recorded"
    echo "$output"
    [ "$status" -eq 0 ]
}
