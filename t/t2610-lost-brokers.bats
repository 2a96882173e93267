#!/usr/bin/env bats
# kill -9 of brokers with jobs on them: who loses a job, how soon and why; everything else goes on.
load lib/common

# A job on every rank, then kill -9 of the broker of rank $1: the jobs on ranks $2 end, the others go on.
scenario() {
    cat <<E2
declare -A job
for rank in \$(seq 0 \$((\$(flux getattr size) - 1))); do
    job[\$rank]=\$(flux submit --requires=rank:\$rank sh -c 'until [ -e go ]; do sleep 0.1; done')
    flux job wait-event -t 20 \${job[\$rank]} start >/dev/null
done
kill -9 \$(flux exec -r$1 flux getattr broker.pid)
for rank in $2; do
    flux job wait-event -t 2 -m type=exec -m severity=0 \${job[\$rank]} exception >exception
    grep -q "node failure on \$(hostname) (rank \$rank)" exception
    flux job wait-event -t 10 \${job[\$rank]} clean >/dev/null
    unset "job[\$rank]"
done
flux overlay status >status; grep -Eq '(^| )$1 .*: lost' status
flux dmesg | grep -q '(rank $1) failed'
touch go
for id in \${job[@]}; do flux job status \$id; done
[ "\$(flux run -N1 echo on)" = on ]
E2
}

@test "a lost leaf takes the jobs on it along, and no others" {
    FLUX_TEST_TIMEOUT=60 run under_flux 4 "$(scenario 3 3)" --test-exit-timeout=60s
    echo "$output"; [ "$status" -eq 137 ]
}

@test "a lost interior broker takes the jobs below it along, and no others" {
    FLUX_TEST_TIMEOUT=60 run under_flux 7 "$(scenario 1 '1 3 4')" --test-exit-timeout=60s -Stbon.topo=kary:2
    echo "$output"; [ "$status" -eq 137 ]
}
