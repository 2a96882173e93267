#!/usr/bin/env bats
# flux fsck: damage is found, told and repaired. flux gc: garbage goes, and nothing else does.
load lib/common

# checked SCRIPT [FLUX-START-OPTIONS...]: in an instance with nothing but the KVS
checked() {
    local script=$1
    shift
    under_flux 1 '
        fails() { local text=$1 rc=0; shift; "$@" >out 2>err || rc=$?; [ $rc = 1 ] && grep -qxF -- "$text" err || { echo "rc=$rc: $*"; cat out err; exit 1; }; }
        is() { [ "$1" = "$2" ] || { printf "wanted: %s\ngot:    %s\n" "$1" "$2"; exit 1; }; }
        missing=sha1-00000000000000000000000000000000000000ff
        ref() { local type=$1; shift; printf "{\"ver\":1,\"type\":\"$type\",\"data\":[%s]}" $(printf "\"%s\"\n" "$@" | paste -sd,); }
        blob() { printf "%s" "$1" | flux content store; }
        objects() { flux module stats content-sqlite | grep -o "\"object_count\": *[0-9]*" | grep -o "[0-9]*$"; }
        for m in content content-sqlite kvs kvs-watch; do flux module load $m; done
        '"$script" -Sbroker.rc1_path= "$@"
}

DAMAGE='flux kvs put good.a=1 good.large=$(printf "z%.0s" $(seq 300))
    one=$(blob one); three=$(blob three)
    flux kvs put -t dir.part="$(ref valref $one $missing $three)"; flux kvs put -t dir.none="$(ref valref $missing)"; flux kvs put dir.ok=1
    flux kvs put -t lost="$(ref dirref $missing)"'

@test "fsck: a whole tree" {
    run checked '
        flux kvs put a.b.c=1 large=$(printf "z%.0s" $(seq 300)); flux kvs link a b; flux kvs mkdir empty
        flux fsck >out 2>err; is "" "$(cat err)"
        grep -qE "^Checking integrity of checkpoint from [0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}$" out
        flux fsck -v >out 2>err; for key in a a.b a.b.c b empty large; do grep -qxF "flux-fsck: $key" err; done; grep -qx "flux-fsck: Total errors: 0" err
        is "" "$(flux fsck -q 2>&1)"; is "" "$(flux fsck -r $(flux kvs getroot -b) 2>&1)"
        fails "flux-fsck: : missing dirref blobref" flux fsck -r $missing
        fails "flux-fsck: please unload kvs module before using flux-fsck --repair" flux fsck -R
        fails "flux-fsck: --job-aware requires --repair" flux fsck -j'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "fsck: damage is told, once for each key" {
    run checked "$DAMAGE"'
        fails "flux-fsck: Total errors: 3" flux fsck
        sort err | diff - <(printf "flux-fsck: %s\n" "Total errors: 3" "dir.none: missing blobref(s)" "dir.part: missing blobref(s)" "lost: missing dirref blobref")
        fails "flux-fsck: dir.part: missing blobref index=1" flux fsck -v; grep -qx "flux-fsck: Total errors: 3" err; ! grep -q "(s)" err
        fails "flux-fsck: Total errors: 3" flux fsck -q
        flux kvs put -t two="$(ref dirref $one $three)"; fails "flux-fsck: two: dirref blobref count is not 1" flux fsck
        flux kvs put -t value="$(ref dirref $one)"; fails "flux-fsck: value: could not decode tree object" flux fsck
        flux kvs put -t value="$(ref dirref $(blob "{\"ver\":1,\"type\":\"val\",\"data\":\"\"}"))"; fails "flux-fsck: value: dirref references non-directory" flux fsck
        odd=$(blob "{\"ver\":1,\"type\":\"dir\",\"data\":{\"x\":{\"ver\":9}}}"); flux kvs put -t value="$(ref dirref $odd)"; fails "flux-fsck: value.x: invalid tree object" flux fsck'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "fsck: repair keeps what is left" {
    run checked "$DAMAGE"'
        version=$(flux kvs version); flux module remove kvs-watch; flux module remove kvs
        fails "flux-fsck: Total repairs: 2" flux fsck -R
        for text in "dir.part repaired and moved to lost+found" "dir.none repaired and moved to lost+found" "lost unlinked due to missing blobref" \
            "Updated primary checkpoint to include lost+found" "Total unlinked directories: 1" "Total errors: 3"; do grep -qxF "flux-fsck: $text" err; done
        flux fsck -q; flux module load kvs; [ $(flux kvs version) -gt $version ]
        is onethree $(flux kvs get lost+found.dir.part); is "" "$(flux kvs get lost+found.dir.none)"; is 1 $(flux kvs get dir.ok); is 1 $(flux kvs get good.a)
        is "dir good lost+found" "$(flux kvs ls -1 | xargs)"; is ok $(flux kvs ls -1 dir)
        # What is only unlinked is written too.
        flux kvs put -t lost="$(ref dirref $missing)"; flux module remove kvs; fails "flux-fsck: Total unlinked directories: 1" flux fsck -R
        flux fsck -q; flux fsck -R 2>err; is "" "$(cat err)"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "fsck: a job goes to lost+found as a whole" {
    run checked '
        job=job.0000.0000.0000.00ff; other=job.0000.0000.0000.0100
        flux kvs put $job.jobspec=spec $other.jobspec=other; flux kvs put -t $job.eventlog="$(ref valref $(blob log) $missing)"
        flux kvs put -t jobs.x="$(ref valref $missing)"
        flux module remove kvs-watch; flux module remove kvs; fails "flux-fsck: $job moved to lost+found" flux fsck -Rj; flux fsck -q; flux module load kvs
        is spec $(flux kvs get lost+found.$job.jobspec); is log $(flux kvs get lost+found.$job.eventlog); is "" "$(flux kvs get lost+found.jobs.x)"
        is other $(flux kvs get $other.jobspec); ! flux kvs get $job.jobspec 2>/dev/null'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "gc: what checkpoints, namespaces and the KVS have stays, the rest goes" {
    run checked '
        value() { printf "$1%.0s" $(seq 300); }
        flux kvs namespace create ns; flux kvs put -N ns mine=$(value n)
        flux kvs put keep.me=$(value k) log=$(value 1); flux kvs put -A log=$(value 2)
        for i in $(seq 20); do flux kvs put churn=$(value $i) d.e.f=$i; done
        flux content flush; flux gc 2>err; before=$(objects); [ $before -gt 60 ]; flux gc 2>err; grep -qE "^flux: gc complete: marked [0-9]+, reclaimed 0 blobs \(horizon epoch [0-9]+\)$" err; is $before $(objects)
        for i in $(seq 6); do flux kvs put churn=$(value x$i); flux kvs sync; done
        stray=$(value stray | flux content store); flux content flush
        flux gc -v 2>err; grep -qE "^flux: gc complete: marked [0-9]+, reclaimed [1-9][0-9]* blobs" err; [ $(objects) -lt $((before - 20)) ]
        flux content dropcache
        is $(value k) $(flux kvs get keep.me); is $(value 1)$(value 2) $(flux kvs get log); is $(value n) $(flux kvs get -N ns mine); is 20 $(flux kvs get d.e.f)
        flux fsck; flux content load $stray >/dev/null
        flux gc -vv --no-cache --maxreqs=5 2>err; grep -qE "reclaimed 0 blobs" err; grep -q "flux: gc: marked" err
        rc=0; flux gc --maxreqs=0 2>err || rc=$?; is 1 $rc; grep -q maxreqs err'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "gc: beside commits and other collections" {
    run checked '
        flux kvs put $(seq -f "many.d%g.key=1" 300); flux kvs sync
        { for ((n = 0; ; ++n)); do flux kvs put live.k$((n % 7))=$(printf "$n-%.0s" $(seq 100)); flux kvs sync; [ -e stop ] && break; done; } & writer=$!
        for round in 1 2 3; do
            flux gc 2>/dev/null & first=$!; flux gc 2>/dev/null & second=$!; wait $first; wait $second
        done
        touch stop; wait $writer; flux content flush; flux content dropcache; flux fsck
        is 300 $(flux kvs get -r $(seq -f "many.d%g.key" 300) | wc -c); flux kvs dir -R live | grep -c "^live.k" >/dev/null'
    echo "$output"; [ "$status" -eq 0 ]
}
