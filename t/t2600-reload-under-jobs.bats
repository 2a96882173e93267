#!/usr/bin/env bats
# Every module is reloaded, on the leader and on a follower, while 2-rank jobs run, others are submitted and clients wait.
load lib/common

@test "running jobs, waiting clients and submissions do not notice that modules are reloaded" {
    cat >scenario <<'E2'
task='echo pid $$; i=0; until [ -e go ]; do i=$((i + 1)); echo line $i; sleep 0.02; done; echo pid $$'
modules() { flux exec -r$1 flux module list | awk 'NR > 1 { print $1 }' | grep -vxE 'config|connector-local|groups|overlay' | shuf; }
flux run -N2 -n2 -l sh -c "$task" >run.out 2>run.err & run=$!
id=$(flux submit -N2 -n2 -c1 --flags=waitable sh -c "$task")
flux job wait-event -t 20 -p exec $id shell.start >/dev/null
flux job attach -l $id >attach.out 2>attach.err & attach=$!
flux job wait-event $id clean >event.out 2>event.err & event=$!
flux job wait $id >wait.out 2>wait.err & wait=$!
flux kvs put key=0
flux kvs get --watch key >watch.out 2>watch.err & watch=$!
{ for ((n = 1; ; ++n)); do [ -e stop ] && break; flux submit true >>ids && flux kvs put key=$n || echo "$n failed" >>failures; done; } 2>>failures & load=$!
for ((round = 0; round < ${FLUX_SOAK:+10} + 1; ++round)); do
    for rank in 0 1; do
        for module in $(modules $rank); do
            flux exec -r$rank flux module reload $module 2>reload.err || { echo "reload of $module on rank $rank"; cat reload.err; exit 1; }
        done
    done
done
touch stop; wait $load; [ ! -s failures ] || { cat failures; exit 1; }
touch go
for client in run attach event wait; do
    timeout 30 tail --pid=${!client} -f /dev/null || { echo "$client hangs"; exit 1; }
    wait ${!client} || { echo "$client failed:"; cat $client.err; exit 1; }
done
grep -q " clean$" event.out
for client in run attach; do for rank in 0 1; do
    sed -n "s/^$rank: line //p" $client.out >lines; seq $(wc -l <lines) | cmp - lines
    sed -n "s/^$rank: pid //p" $client.out >pids; [ $(wc -l <pids) = 2 ]; [ $(sort -u pids | wc -l) = 1 ]
done; done
for job in $(cat ids); do flux job wait-event -t 30 $job clean >/dev/null; done
[ "$(flux jobs -anc0 -o {status} | sort -u)" = COMPLETED ]; [ $(flux jobs -anc0 -o {id} | wc -l) = $(($(wc -l <ids) + 2)) ]
flux kvs put key=last; timeout 30 sh -c 'tail -n +1 -f watch.out | grep -qx last'; kill $watch; sort -nc <(grep -v last watch.out); [ ! -s watch.err ]
E2
    FLUX_TEST_TIMEOUT=300 run under_flux 2 "$(cat scenario)"
    echo "$output"; [ "$status" -eq 0 ]
}
