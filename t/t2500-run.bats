#!/usr/bin/env bats
# Whole jobs in whole instances: what a user of flux run sees.
load lib/common

@test "labelled lines of a parallel job, and exit codes" {
    run under_flux 4 'flux run -N4 -n8 -l hostname | sort >out; test $(wc -l <out) -eq 8; grep -q "^7: " out
        rc=0; flux run sh -c "exit 3" 2>/dev/null || rc=$?; test $rc -eq 3
        rc=0; flux run sh -c "kill -9 \$\$" 2>/dev/null || rc=$?; test $rc -eq 137
        rc=0; flux run nosuchcommand 2>/dev/null || rc=$?; test $rc -eq 127
        touch plain; rc=0; flux run ./plain 2>/dev/null || rc=$?; test $rc -eq 126
        rc=0; flux run -N5 true 2>err || rc=$?; test $rc -eq 1; grep -q unsatisfiable err
        test "$(echo hello | flux run cat)" = hello'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "submitted jobs are listed, and their output can be read again" {
    run under_flux 2 'flux submit --cc=1-5 echo hi >ids; for id in $(cat ids); do flux job wait-event $id clean >/dev/null; done
        test "$(flux job attach $(head -1 ids))" = hi; test $(flux jobs -a | grep -c CD) -eq 5'
    echo "$output"; [ "$status" -eq 0 ]
}
