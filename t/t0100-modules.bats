#!/usr/bin/env bats
# Loading, removing and reloading of modules, good and bad.
load lib/common

M() { echo "$FLUX_BUILD/test/modules/$1.so"; }

@test "a module is loaded by path and really unloaded" {
    run under_flux 1 "flux module load $(M good); flux module list | grep -q '^good .* R '
        grep -q '/so/good-' /proc/\$(flux getattr broker.pid)/maps
        flux-t-rpc good.hello | grep -q thread; flux module remove good
        ! grep -q '/so/good-' /proc/\$(flux getattr broker.pid)/maps
        ! flux module list | grep -q ^good; flux dmesg 2>/dev/null | grep -c pins || true"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a module is loaded twice under two names" {
    run under_flux 1 "flux module load $(M good); flux module load --name=better $(M good); flux module list | grep -c 'good\|better'
        flux module remove good; flux ping -c1 better; flux module remove better"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what cannot be loaded is refused by name and reason" {
    run under_flux 1 "
        refused() { local why=\$1; shift; if flux module load \"\$@\" 2>err; then echo \"\$@ was loaded\"; exit 1; fi; grep -q \"\$why\" err || { cat err; exit 1; }; }
        refused 'built for another flux' $(M wrong_abi)
        refused 'undefined symbol' $(M undefined)
        refused 'does not define' $(M no_table)
        refused 'thrown on purpose' $(M throwing)
        refused 'not found in search path' nosuchmodule
        echo nonsense >garbage.so; refused 'not a loadable' ./garbage.so
        refused 'No such file' ./missing.so
        flux module load $(M good); refused 'already loaded' $(M good)
        refused 'exists already' --name=broker $(M good)
        flux module remove broker && exit 1; flux module reload connector-local && exit 1
        flux module list | grep -c good | grep -qx 1"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a module that hangs in start is ended, one that blocks its thread is left behind" {
    run under_flux 1 "
        flux module load $(M hanging) 2>err && exit 1; grep -q 'hanging: start did not finish' err
        ! flux module list | grep -q hanging
        flux module load $(M spinning) 2>err && exit 1; grep -q 'spinning: start did not finish' err
        ! flux module list | grep -q spinning
        flux getattr rank" -Svendor.module-limit=200ms
    echo "$output"; [ "$status" -eq 0 ]
}

@test "reload replaces a copy that blocks its thread, and what that has not answered fails" {
    run under_flux 1 "
        flux module load $(M spinning) asked
        mkfifo answers; flux-t-rpc -s spinning.block >answers 2>err & client=\$!
        exec 3<answers; read -r -t 10 first <&3; [[ \$first == *blocks* ]]
        flux module reload spinning
        wait \$client && exit 1; grep -q 'errno 113' err
        flux ping -c1 spinning" -Svendor.module-limit=200ms
    echo "$output"; [ "$status" -eq 0 ]
}

@test "code that is pinned or has open handles stays loaded, and new code still runs" {
    run under_flux 1 "flux module load $(M pinned); flux module remove pinned; flux module load $(M pinned); flux module remove pinned
        flux module load $(M pending); flux module remove pending; flux module load $(M pending); flux module remove pending; flux getattr rank"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a module may ask for its own removal" {
    run under_flux 1 "flux module load $(M self_removing); for i in \$(seq 200); do flux module list | grep -q self_removing || exit 0; done; exit 1"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "1000 reloads in a row: no failure, nothing stays mapped, memory does not grow" {
    run under_flux 1 "flux module load $(M good); pid=\$(flux getattr broker.pid)
        flux-t-rpc -n 50 module.reload '{\"name\":\"good\"}'; before=\$(awk '/VmRSS/ {print \$2}' /proc/\$pid/status)
        flux-t-rpc -n 1000 module.reload '{\"name\":\"good\"}'; after=\$(awk '/VmRSS/ {print \$2}' /proc/\$pid/status)
        echo before=\$before after=\$after; test \$((after - before)) -lt 4096
        test \$(ls \$(flux getattr rundir)/so | grep -c ^good-) -le 2 # the old and the new one, by turns
        test \$(grep -c '/so/good-' /proc/\$pid/maps) -lt 10; flux ping -c1 good"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "an open stream and held requests survive reload; new code runs; a broken version is rolled back" {
    run under_flux 1 "flux module load --name=counter $(M counter1)
        requests() { flux module stats counter | jq .rx.request; }
        before=\$(requests)
        flux-t-rpc -s -m 400 counter.watch >stream & watcher=\$!
        flux-t-rpc counter.slow '{\"ms\":300}' >slow & slow=\$!
        flux-t-rpc counter.once '{\"ms\":100}' >once & once=\$!
        for ((asked = 1; \$(requests) < before + asked + 3; ++asked)); do :; done # all three are with the module
        flux-t-rpc counter.version | grep -q 1
        flux module reload --name=counter $(M counter2)
        flux-t-rpc counter.version | grep -q 2; flux-t-rpc counter-alias.x 2>err || grep -q 'Unknown service method' err
        flux module reload --name=counter $(M counter3) 2>err && exit 1; grep -q 'this version is broken' err
        flux-t-rpc counter.version | grep -q 2
        for i in 1 2 3 4 5; do flux module reload counter; done
        wait \$watcher \$slow \$once; wait \$once; wait \$slow
        seq 0 399 | sed 's/.*/{\"n\":&}/' | cmp - stream
        grep -q 2 slow; grep -q 1 once"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "no request fails while a module is reloaded under load" {
    run under_flux 2 "flux module load --name=counter $(M counter1)
        for c in 1 2 3 4; do flux-t-rpc -n 3000 counter.version >/dev/null & pids=\"\$pids \$!\"; done
        for c in 1 2; do flux-t-rpc -r 0 -n 1000 counter.version >/dev/null & pids=\"\$pids \$!\"; done
        for i in \$(seq 20); do flux module reload counter; done
        for p in \$pids; do wait \$p; done"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a module in a process of its own does the same, and its death is healed" {
    run under_flux 1 "flux module load --exec --name=counter $(M counter1)
        flux-t-rpc -s -m 200 counter.watch >stream & watcher=\$!
        flux-t-rpc counter.version | grep -q 1
        flux module reload --name=counter $(M counter2); flux-t-rpc counter.version | grep -q 2
        wait \$watcher; seq 0 199 | sed 's/.*/{\"n\":&}/' | cmp - stream
        flux module remove counter
        flux module load --exec $(M throwing) 2>err && exit 1; grep -q 'thrown on purpose' err
        flux module load --exec $(M hanging) 2>err && exit 1; grep -q 'did not finish' err
        flux module load --exec $(M dying)
        flux-t-rpc dying.die 2>err && exit 1; grep -q 'errno 113: module disconnect' err
        flux ping -c1 dying; flux-t-rpc dying.die 2>err && exit 1; flux ping -c1 dying" -Svendor.module-limit=2s
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a module process that cannot be started again is given up, and the broker goes on" {
    run under_flux 1 "flux module load --exec $(M dying); broker=\$(flux getattr broker.pid)
        mkfifo log; flux dmesg --follow >log & exec 4<log
        flux logger following; grep -m1 following <&4
        prlimit --pid \$broker --nofile=1: # no more descriptors
        kill -9 \$(pgrep -P \$broker -f modules/dying)
        grep -m1 'dying module runtime failure' <&4
        prlimit --pid \$broker --nofile=1024:
        flux module list | grep dying && exit 1
        flux module load --exec $(M dying); flux ping -c1 dying; flux module remove dying" -Sbroker.module-nopanic=1
    echo "$output"; [ "$status" -eq 0 ]
}
