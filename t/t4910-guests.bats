#!/usr/bin/env bats
# What guests may call, method by method (t/interop/roles.txt), and what they may not do to what is the owner's.
load lib/common

@test "every method lets those in that the table names, and nobody else" {
    run under_flux 1 'id=$(flux submit sleep 300)
        flux job wait-event "$id" start >/dev/null
        timeout 60 python3 -B "'"$BATS_TEST_DIRNAME"'/interop/roles.py" "$(flux job id --to=dec "$id")"'
    echo "$output"
    [ "$status" -eq 0 ]
}
