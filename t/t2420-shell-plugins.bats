#!/usr/bin/env bats
# Shell plugins that are bad: the job ends, and says which one and why.
load lib/common

# fails_with OPTION TEXT [BROKER-OPTION]: a job with this shell option fails, and its exception or its log says why.
fails_with() {
    run under_flux 1 "
        id=\$(flux submit $1 true); flux job wait-event \$id finish >finish
        grep 'status=0' finish && { echo 'the job did not fail'; exit 1; }
        flux job wait-event -q \$id clean
        flux job eventlog \$id >log; flux job eventlog -p output \$id >>log || true
        grep -q \"$2\" log || { cat log; exit 1; }" -Sconf.shell_pluginpath="$FLUX_BUILD/test/shell" $3
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a shell plugin of another ABI is refused before its code runs" {
    fails_with "-o wrong_abi" "wrong_abi.so: built for another flux"
}
@test "a shell plugin without a table is refused" { fails_with "-o no_table" "no_table.so: not a shell plugin"; }
@test "a shell plugin with an undefined symbol is refused" { fails_with "-o undefined" "undefined.so: undefined symbol"; }
@test "a shell plugin that throws in its constructor ends the job" {
    fails_with "-o throwing=constructor" "throwing: thrown on purpose"
}
@test "a shell plugin that throws in init ends the job" { fails_with "-o throwing=init" "throwing: thrown on purpose"; }
@test "a shell plugin whose constructor never returns ends the job" {
    fails_with "-o blocking=constructor" "blocking.so: its initializer has not returned for 2s" -Svendor.module-limit=2s
}
@test "a shell plugin whose init blocks ends the job" {
    fails_with "-o blocking=init" "blocking.so: its initializer has not returned for 2s" -Svendor.module-limit=2s
}
@test "a shell plugin that throws at the end is reported" { fails_with "-o throwing=exit" "exit failed: thrown on purpose"; }
@test "who follows a job that fails early sees its end" {
    run under_flux 1 '
        for i in 1 2 3 4 5 6 7 8 9 10; do
            code=0; timeout -k 1 10 flux run -o no_table true 2>err || code=$?
            [ $code != 0 ] && [ $code != 124 ] && [ $code != 137 ] && grep -q "not a shell plugin" err
        done' -Sconf.shell_pluginpath="$FLUX_BUILD/test/shell"
    echo "$output"; [ "$status" -eq 0 ]
}
