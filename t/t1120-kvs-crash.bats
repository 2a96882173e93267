#!/usr/bin/env bats
# kill -9 of the leader under eight committing clients, again and again on the same state: what was answered is there,
# once and in order.
load lib/common

rounds=${FLUX_SOAK:+25}
rounds=${rounds:-4}
export FLUX_TEST_TIMEOUT=$((60 + 10 * rounds)) # the last run reads what all have written

@test "no answered commit is lost or made twice over $rounds kills of the leader" {
    mkdir state
    for ((round = 1; round <= rounds; ++round)); do
        run under_flux 1 "
            for client in 1 2 3 4 5 6 7 8; do flux-t-kvs write log-$round-\$client 1000000 >$TEST_TMP/acked-$round-\$client 2>/dev/null & done
            flux-t-kvs follow log-$round-\$((RANDOM % 8 + 1)) $((RANDOM % 500 + 20)) >/dev/null
            kill -9 \$(flux getattr broker.pid)" -Sstatedir="$TEST_TMP/state"
        [ "$status" -eq 137 ]
    done
    run under_flux 1 "
        for ((round = 1; round <= $rounds; ++round)); do for client in 1 2 3 4 5 6 7 8; do
            acked=\$(tail -1 $TEST_TMP/acked-\$round-\$client)
            flux-t-kvs get log-\$round-\$client >log || [ -z \"\$acked\" ]
            [ \$(wc -l <log) -ge \${acked:-0} ]
            seq \$(wc -l <log) | cmp - log
        done; done; [ \$client = 8 ]; cat $TEST_TMP/acked-* | wc -l" -Sstatedir="$TEST_TMP/state"
    echo "$output"; [ "$status" -eq 0 ]; [ "$output" -gt $((rounds * 20)) ]
}
