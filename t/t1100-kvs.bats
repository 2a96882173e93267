#!/usr/bin/env bats
# The KVS: commits, look-ups, namespaces, versions on several ranks, repeats, permissions, restart and death of the leader.
load lib/common
load lib/kvs

@test "a value is put, found on every rank, replaced, appended to and removed" {
    run kvs_instance 3 "
        [ \$(flux-t-kvs put a.b hello) = 1 ]
        for r in 0 1 2; do [ \$(on \$r flux-t-kvs get a.b) = hello ]; done
        [ \$(\$rank1 flux-t-kvs put a.b again) = 2 ]; [ \$(\$rank1 flux-t-kvs get a.b) = again ]; [ \$(flux-t-kvs get a.b) = again ]
        flux-t-kvs put -a a.b +more; [ \$(\$rank1 flux-t-kvs get a.b) = again+more ]
        rpc kvs.commit \"\$(commit '' \"\$(op a.b null)\")\"; refused 2 \$rank1 flux-t-kvs get a.b"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "the trees are the ones that Flux makes" {
    run kvs_instance 1 "
        flux-t-kvs put a.b.c testkey; flux-t-kvs put short hi; flux-t-kvs put large \$(printf 'z%.0s' \$(seq 300))
        rpc kvs.commit \"\$(commit '' \"\$(op y '{\"ver\":1,\"type\":\"symlink\",\"data\":{\"target\":\"a.b.c\"}}')\" \"\$(op z '{\"ver\":1,\"type\":\"symlink\",\"data\":{\"namespace\":\"smurf\",\"target\":\"otherthing\"}}')\")\"
        flux-t-kvs put -a log one; flux-t-kvs put -a log two; flux-t-kvs put nothing ''
        rpc kvs.commit \"\$(commit '' \"\$(op empty '{\"ver\":1,\"type\":\"dir\",\"data\":{}}')\")\" | grep -q sha1-618390e36bacc1de4f429ed158e99f688a524637
        rpc kvs.lookup \"\$(look . 16)\" | grep -q sha1-618390e36bacc1de4f429ed158e99f688a524637
        [ \$(flux-t-kvs get y) = testkey ]; refused 95 flux-t-kvs get z; refused 21 flux-t-kvs get a
        rpc kvs.lookup \"\$(look a.b 1)\" | grep -q '\"val\":{\"data\":{\"c\":{\"data\":\"dGVzdGtleQ==\"'"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what is refused, and how" {
    run kvs_instance 2 "
        refused 71 rpc kvs.commit '{\"namespace\":\"primary\",\"flags\":0,\"ops\":[{\"key\":\"x\",\"flags\":0}]}'
        refused 22 \$rank1 flux-t-rpc kvs.commit \"\$(commit '' \"\$(op . \"\$(val x)\")\")\"
        refused 71 rpc kvs.commit \"\$(commit '' \"\$(op x '{\"ver\":1,\"type\":\"dir\",\"data\":{}}' 32)\")\"
        refused 71 rpc kvs.lookup '{\"key\":\"x\",\"flags\":0}'
        refused 22 rpc kvs.lookup '{\"key\":\"x\",\"flags\":0,\"rootdir\":{\"ver\":1,\"type\":\"dir\",\"data\":{}}}'
        refused 95 rpc kvs.getroot '{\"namespace\":\"none\"}'; refused 95 \$rank1 flux-t-rpc kvs.getroot '{\"namespace\":\"none\"}'
        refused 95 rpc kvs.namespace-remove '{\"namespace\":\"primary\"}'
        refused 22 rpc kvs.namespace-create '{\"namespace\":\"n\",\"rootref\":\"zot\",\"owner\":-1,\"flags\":0}'
        [ \$(flux-t-kvs put good 1) = 1 ] # none of these has made a version
        flux module stats kvs | jq -e '.pending_requests == 0'"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a failed transaction is refused alone, those with it are made" {
    run kvs_instance 1 "
        for i in 1 2 3 4 5 6 7 8; do flux-t-kvs put k\$i \$i >/dev/null & pids=\"\$pids \$!\"; rpc kvs.commit \"\$(commit '' \"\$(op k\$i.x \"\$(val 1)\" 32)\" \"\$(op link.x '{\"ver\":1,\"type\":\"val\",\"data\":\"!!\"}' 32)\")\" 2>/dev/null & done
        wait \$pids; for i in 1 2 3 4 5 6 7 8; do flux-t-kvs get k\$i >/dev/null || rpc kvs.lookup \"\$(look k\$i 1)\" >/dev/null; done
        refused 2 flux-t-kvs get link.x"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "an old version can be read, a new one waited for" {
    run kvs_instance 2 "
        flux-t-kvs put a old; ref=\$(rpc kvs.getroot '{\"namespace\":\"primary\"}' | jq -r .rootref); flux-t-kvs put a new
        \$rank1 flux-t-rpc kvs.lookup \"{\\\"key\\\":\\\"a\\\",\\\"flags\\\":0,\\\"rootdir\\\":{\\\"ver\\\":1,\\\"type\\\":\\\"dirref\\\",\\\"data\\\":[\\\"\$ref\\\"]}}\" | grep -q \$(printf old | base64)
        \$rank1 flux-t-rpc kvs.wait-version '{\"namespace\":\"primary\",\"rootseq\":5}' >waited & wait=\$!
        for i in 3 4 5; do flux-t-kvs put a \$i; done; wait \$wait; jq -e '.rootseq == 5' waited"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "namespaces: made, listed, used on every rank, removed" {
    run kvs_instance 2 "
        rpc -r 0 kvs.namespace-create '{\"namespace\":\"n\",\"owner\":-1,\"flags\":3}'
        refused 17 rpc kvs.namespace-create '{\"namespace\":\"n\",\"owner\":-1,\"flags\":0}'
        rpc kvs.namespace-list | jq -e '.namespaces | map(.namespace) | sort == [\"n\",\"primary\"]'
        \$rank1 flux-t-kvs -N n put x 1; [ \$(flux-t-kvs -N n get x) = 1 ]; refused 2 flux-t-kvs get x
        rpc kvs.commit \"\$(commit '' \"\$(op link '{\"ver\":1,\"type\":\"symlink\",\"data\":{\"namespace\":\"n\",\"target\":\".\"}}')\")\"
        [ \$(\$rank1 flux-t-kvs get link.x) = 1 ]
        \$rank1 flux-t-rpc kvs.wait-version '{\"namespace\":\"n\",\"rootseq\":99}' 2>waited & wait=\$!
        rpc kvs.namespace-remove '{\"namespace\":\"n\"}'; ! wait \$wait; grep -q '^errno 95' waited
        refused 95 \$rank1 flux-t-kvs -N n get x; refused 95 flux-t-kvs -N n put x 1
        rpc kvs.namespace-create '{\"namespace\":\"n\",\"owner\":-1,\"flags\":0}'; refused 2 \$rank1 flux-t-kvs -N n get x"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "guests use their own namespaces, for what guests may put" {
    run kvs_instance 2 "
        rpc kvs.namespace-create '{\"namespace\":\"g\",\"owner\":4242,\"flags\":0}'
        flux-t-kvs put secret 1
        for r in '' \"\$rank1\"; do
            refused 1 \$r flux-t-rpc -u 4242 kvs.lookup \"\$(look secret)\"
            refused 1 \$r flux-t-rpc -u 4242 kvs.commit \"\$(commit '' \"\$(op x \"\$(val 1)\")\")\"
            \$r flux-t-rpc -u 4242 kvs.commit \"\$(commit '' \"\$(op x \"\$(val 1)\")\" | in_ns g)\"
            \$r flux-t-rpc -u 4242 kvs.lookup \"\$(look x | in_ns g)\"
            refused 1 \$r flux-t-rpc -u 4243 kvs.lookup \"\$(look x | in_ns g)\"
            refused 1 \$r flux-t-rpc -u 4242 kvs.commit \"\$(commit '' \"\$(op l '{\"ver\":1,\"type\":\"symlink\",\"data\":{\"target\":\"x\"}}')\" | in_ns g)\"
            grep -q 'guests may not commit symlink objects' err
            refused 1 \$r flux-t-rpc -u 4242 -r 0 kvs.namespace-create '{\"namespace\":\"h\",\"owner\":4242,\"flags\":0}'
        done"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a commit that is sent again is made once, also after a reload" {
    run kvs_instance 2 "
        once() { commit \",\\\"once\\\":{\\\"id\\\":\\\"me\\\",\\\"seq\\\":\$1}\" \"\$(op log \"\$(val \$2)\" 32)\"; }
        rpc kvs.commit \"\$(once 1 a)\" >first; \$rank1 flux-t-rpc kvs.commit \"\$(once 1 a)\" | cmp - first
        flux module reload kvs; rpc kvs.commit \"\$(once 1 a)\" | cmp - first
        \$rank1 flux-t-rpc kvs.commit \"\$(once 2 b)\" >second; refused 22 rpc kvs.commit \"\$(once 1 a)\"; refused 22 rpc kvs.commit \"\$(once 4 d)\"
        [ \$(flux-t-kvs get log) = ab ]"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "no commit is lost or made twice while the store and the KVS are reloaded" {
    run kvs_instance 2 "
        \$rank1 flux-t-kvs write log 3000 >acked & writer=\$!
        flux-t-kvs follow log 3000 >followed & reader=\$!
        for i in 1 2 3 4 5; do flux module reload kvs; \$rank1 flux module reload kvs; flux module reload content-sqlite; flux module reload content; done
        wait \$writer; wait \$reader
        flux-t-kvs get log | cmp - <(seq 3000); cmp acked <(seq 3000); cmp followed <(seq 3000)"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what was answered is there after the leader was killed, namespaces and repeats too" {
    mkdir state
    run kvs_instance 1 "
        rpc kvs.namespace-create '{\"namespace\":\"n\",\"owner\":4242,\"flags\":0}'; flux-t-kvs -N n put x 1
        rpc kvs.commit \"\$(commit ',\"once\":{\"id\":\"me\",\"seq\":7}' \"\$(op log \"\$(val a)\" 32)\")\" >$TEST_TMP/first
        flux-t-kvs write lines 100000 >$TEST_TMP/acked & flux-t-kvs follow lines 500 >/dev/null; kill -9 \$(flux getattr broker.pid)" -Sstatedir="$TEST_TMP/state"
    run kvs_instance 1 "
        last=\$(tail -1 $TEST_TMP/acked); [ \$(flux-t-kvs get lines | wc -l) -ge \$last ]
        flux-t-kvs get lines | cmp - <(seq \$(flux-t-kvs get lines | wc -l))
        [ \$(flux-t-kvs -N n get x) = 1 ]; rpc kvs.getroot '{\"namespace\":\"n\"}' | jq -e '.owner == 4242 and .rootseq == 1'
        rpc kvs.commit \"\$(commit ',\"once\":{\"id\":\"me\",\"seq\":7}' \"\$(op log \"\$(val a)\" 32)\")\" | cmp - $TEST_TMP/first
        [ \$(flux-t-kvs get log) = a ]" -Sstatedir="$TEST_TMP/state"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a restarted instance goes on where it stopped" {
    mkdir state
    run kvs_instance 1 "flux-t-kvs put a 1; flux-t-kvs put a 2" -Sstatedir="$TEST_TMP/state"
    run kvs_instance 1 "[ \$(flux-t-kvs get a) = 2 ]; [ \$(flux-t-kvs put a 3) = 3 ]
        rpc kvs.commit '{\"namespace\":\"primary\",\"flags\":4,\"ops\":[]}'; rpc content.checkpoint-get | jq -e '.value[0].sequence == 4'" -Sstatedir="$TEST_TMP/state"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "without a backing store the KVS lives in memory, and survives its reload" {
    STORE='' run kvs_instance 2 "
        \$rank1 flux-t-kvs put a 1; rpc kvs.namespace-create '{\"namespace\":\"n\",\"owner\":7,\"flags\":0}'; flux-t-kvs -N n put x 2
        flux module reload kvs; flux module reload kvs
        [ \$(flux-t-kvs get a) = 1 ]; [ \$(\$rank1 flux-t-kvs -N n get x) = 2 ]; [ \$(\$rank1 flux-t-kvs put a 3) = 2 ]
        rpc kvs.getroot '{\"namespace\":\"n\"}' | jq -e '.owner == 7'
        refused 38 rpc kvs.commit '{\"namespace\":\"primary\",\"flags\":4,\"ops\":[]}'"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "checkpoints are made when they are due" {
    run kvs_instance 1 "
        flux-t-kvs put a 1; n=\$(rpc content.checkpoint-get | jq '.value | length')
        flux-t-kvs put a 2; until [ \$(rpc content.checkpoint-get | jq '.value | length') -gt \$n ]; do :; done" --conf=kvs.checkpoint-period=20ms
    echo "$output"; [ "$status" -eq 0 ]
    run kvs_instance 1 true --conf=kvs.checkpoint-period=often
    [ "$status" -ne 0 ]; [[ "$output" == *"invalid checkpoint-period config: often"* ]]
}

@test "a small cache is enough" {
    run kvs_instance 2 "
        for i in \$(seq 20); do flux-t-kvs put d\$i.e.f.g \$i; done
        for i in \$(seq 20); do [ \$(flux-t-kvs get d\$i.e.f.g) = \$i ]; [ \$(\$rank1 flux-t-kvs get d\$i.e.f.g) = \$i ]; done
        flux module stats kvs | jq -e '.cache.\"#faults\" > 0'" --conf=kvs.cache-limit=1
    echo "$output"; [ "$status" -eq 0 ]
}

@test "on a full disk commits that may wait do so, others are refused, and all goes on when there is space" {
    unshare -rm true || skip "no mount namespaces here"
    mkdir state
    export -f kvs_instance
    export STORE
    run unshare -rm bash -c "mount -t tmpfs -o size=2m none state && kvs_instance 1 '
        fill() { head -c 3M /dev/zero >$TEST_TMP/state/filler 2>/dev/null || true; }
        flux-t-kvs put before 1; fill
        until ! flux-t-kvs put junk \$(head -c 3000 /dev/urandom | base64 -w0) >/dev/null 2>err; do :; done; grep -q \"^errno 28:\" err
        flux-t-kvs -w write log 100 >acked & writer=\$!
        until ! flux-t-kvs put junk 1 >/dev/null 2>err; do :; done; grep -q \"^errno 28:\" err
        refused 28 flux-t-kvs put other 1; [ \$(flux-t-kvs get before) = 1 ]; ! grep -q 100 acked
        rm $TEST_TMP/state/filler; wait \$writer; cmp acked <(seq 100); flux-t-kvs get log | cmp - <(seq 100)
        flux-t-kvs put other 2' -Sstatedir=$TEST_TMP/state"
    echo "$output"; [ "$status" -eq 0 ]
}
