#!/usr/bin/env bats
# The content store: blobs on every rank, reload of its modules, death of the leader.
load lib/common

# store_instance SIZE SCRIPT [FLUX-START-OPTIONS...]: an instance with nothing but the store; $rank1 runs a command on rank 1.
store_instance() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" "
        flux module load content; flux module load content-sqlite
        if [ $size -gt 1 ]; then rank1=\"env FLUX_URI=local://\$(flux getattr rundir)/local-1\"; \$rank1 flux module load content; fi
        $script" -Sbroker.rc1_path= "$@"
}

@test "a blob stored on one rank is loaded on another" {
    run store_instance 2 "
        [ \$(echo hello-content | flux content store) = sha1-2be774a281f0081b05e0800fbe213cce78aa4ea4 ]
        [ \"\$(\$rank1 flux content load sha1-2be774a281f0081b05e0800fbe213cce78aa4ea4)\" = hello-content ]
        ref=\$(echo from-rank-1 | \$rank1 flux content store)
        [ \"\$(flux content load \$ref)\" = from-rank-1 ]
        [ \$(flux content store </dev/null) = sha1-da39a3ee5e6b4b0d3255bfef95601890afd80709 ]
        [ -z \"\$(\$rank1 flux content load sha1-da39a3ee5e6b4b0d3255bfef95601890afd80709)\" ]
        \$rank1 flux content load sha1-0cd47aafb6e0b4a2b4b2f6b1c39a9a2c48a0d0bb 2>err && exit 1
        [ \"\$(cat err)\" = 'flux-content: error loading blob: No such file or directory' ]"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "sha256 works the same" {
    run store_instance 1 "
        [ \$(printf one | flux content store) = sha256-7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed ]
        flux content load sha1-2be774a281f0081b05e0800fbe213cce78aa4ea4 2>err && exit 1
        flux content flush; flux content dropcache
        [ \$(flux content load sha256-7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed) = one ]" -Scontent.hash=sha256
    echo "$output"; [ "$status" -eq 0 ]
}

@test "limits: a blob above blob-size-limit is refused, old blobs are dropped" {
    run store_instance 1 "
        flux module reload content blob-size-limit=100 purge-target-size=1000 purge-old-entry=0
        head -c 101 /dev/zero | flux content store 2>err && exit 1; grep -q 'File too large' err
        seq 1 1000 | flux content store --chunksize=100 >refs; flux content flush
        while [ \$(flux module stats -p size content) -gt 1000 ]; do :; done
        flux content load <refs | cmp - <(seq 1 1000)
        flux module reload content purge-target-size=x 2>err && exit 1; grep -q \"invalid argument 'purge-target-size=x'\" err
        flux content load <refs | cmp - <(seq 1 1000)"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "the backing store leaves and comes back" {
    run store_instance 1 "
        ref=\$(echo one | flux content store)
        flux module remove content-sqlite
        flux content flush 2>err && exit 1; grep -q 'Function not implemented' err
        two=\$(echo two | flux content store); [ \$(flux module stats -p dirty content) = 1 ]
        flux content dropcache; [ \$(flux content load \$two) = two ]
        flux content load \$ref 2>err && exit 1; grep -q 'No such file' err
        flux content checkpoint list 2>err && exit 1; grep -q 'no backing store' err
        flux module load content-sqlite
        flux content flush; [ \$(flux module stats -p dirty content) = 0 ]
        [ \$(flux content load \$ref) = one ]
        flux module load --name=other content-sqlite 2>err && exit 1; grep -q 'in use by host' err"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "checkpoints: newest first, five are kept" {
    run store_instance 1 "
        flux content checkpoint list 2>err && exit 1; grep -q 'No such file' err
        for i in 1 2 3 4 5 6 7; do flux content checkpoint update \$(echo \$i | flux content store); done
        [ \$(flux content checkpoint list -n | wc -l) = 5 ]
        ref=\$(flux content checkpoint list -n | head -n1 | tr -s ' ' | cut -d' ' -f4); [ \$(flux content load \$ref) = 7 ]
        [ \$(flux module stats -p current_epoch content-sqlite) = 7 ]"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "stores and loads on both ranks while every module of the store is reloaded" {
    local soak=10
    [ "${FLUX_SOAK:-}" != full ] || soak=100
    FLUX_TEST_TIMEOUT=$((60 + soak)) run store_instance 2 "
        work() { # stores and loads until told to stop; nothing may fail or be lost
            local n=0
            while [ ! -e stop ]; do
                seq \$n \$((n + 2000)) >in.\$1; n=\$((n + 1))
                \$2 flux content store --chunksize=50 <in.\$1 >refs.\$1
                \$2 flux content dropcache
                \$2 flux content load <refs.\$1 | cmp - in.\$1
                echo \$n >done.\$1
            done
        }
        work 0 '' & a=\$!
        work 1 \"\$rank1\" & b=\$!
        for i in \$(seq $soak); do
            flux module reload content-sqlite; flux module reload content; \$rank1 flux module reload content
        done
        touch stop; wait \$a; wait \$b; cat done.0 done.1"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what was flushed or stored past the cache survives kill -9 of the leader" {
    run store_instance 2 "
        seq 1 3000 | \$rank1 flux content store --chunksize=70 >$TEST_TMP/flushed; flux content flush
        seq 1 300 | flux content store -b --chunksize=70 >$TEST_TMP/direct
        flux content checkpoint update \$(head -n1 $TEST_TMP/direct)
        kill -9 \$(flux getattr broker.pid)" -Sstatedir="$TEST_TMP/state"
    echo "$output"; [ "$status" -ne 0 ]
    run store_instance 1 "
        flux content load <$TEST_TMP/flushed | cmp - <(seq 1 3000)
        flux content load <$TEST_TMP/direct | cmp - <(seq 1 300)
        flux content checkpoint list -n | grep -q \$(head -n1 $TEST_TMP/direct)" -Sstatedir="$TEST_TMP/state"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a second leader on the same store is refused and told who has it" {
    run under_flux 1 "
        flux start -Sstatedir=$TEST_TMP/state true 2>err && exit 1; cat err
        grep -q \"$TEST_TMP/state/content.sqlite is in use by host \$(hostname), pid \$(flux getattr broker.pid), since \" err
        echo still | flux content store" -Sstatedir="$TEST_TMP/state"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a database that cannot be opened is refused in one line" {
    mkdir state; head -c 10000 /dev/zero | tr '\0' x >state/content.sqlite
    run under_flux 1 true -Sstatedir="$TEST_TMP/state"
    echo "$output"; [ "$status" -ne 0 ]; [[ $output == *"state/content.sqlite: file is not a database(26)"* ]]
}

@test "parts of a file are blobs on every rank, also after a reload" {
    run store_instance 2 "
        seq 1 20000 >file; ref=sha1-\$(head -c 5000 file | sha1sum | cut -d' ' -f1)
        flux content load \$ref 2>err && exit 1
        flux-t-rpc content.mmap-add \"{\\\"path\\\":\\\"\$PWD/file\\\",\\\"chunksize\\\":5000,\\\"tag\\\":\\\"t\\\"}\"
        \$rank1 flux content load \$ref | cmp - <(head -c 5000 file)
        [ \$(flux module stats -p mmap.blobs content) = 22 ]
        flux module reload content; \$rank1 flux content dropcache
        \$rank1 flux content load \$ref | cmp - <(head -c 5000 file)
        flux-t-rpc content.mmap-remove '{\"tag\":\"t\"}'; \$rank1 flux content dropcache
        \$rank1 flux content load \$ref 2>err && exit 1; grep -q 'No such file' err"
    echo "$output"; [ "$status" -eq 0 ]
}
