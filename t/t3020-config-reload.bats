#!/usr/bin/env bats
# Changes of the configuration of a running instance: all take it, or nobody does.
load lib/common
bats_require_minimum_version 1.5.0

# values: what the modules on both ranks have
prologue='
    module=$FLUX_BUILD/test/modules/choosy.so
    for rank in 0 1; do
        for name in choosy first last; do flux exec -r$rank flux module load --name=$name $module; done
    done
    values() { for rank in 0 1; do for name in choosy first last; do flux-t-rpc -r$rank $name.value; done; done | tr -d "\n"; }
    all() { for i in 1 2 3 4 5 6; do printf "{\"value\":%s}" $1; done; }
    write() { printf "[choosy]\nvalue = %s\nrefuse = \"%s\"\n" "$@" >conf/choosy.toml; }
    # reached VALUE: wait until rank 1 has a value
    reached() { flux-t-rpc -r1 -s -w "\"value\":$1" config.get >/dev/null; }
'

@test "every module on every rank takes a change" {
    mkdir conf; printf '[choosy]\nvalue = 1\n' >conf/choosy.toml
    run under_flux 2 "$prologue"'
        [ "$(values)" = "$(all 1)" ]
        write 2 ""; flux config reload; reached 2
        [ "$(values)" = "$(all 2)" ]
        flux config set choosy.value 3; reached 3
        [ "$(values)" = "$(all 3)" ]; [ "$(flux exec -r1 flux config get choosy.value)" = 3 ]' -c conf
    echo "$output"; [ "$status" -eq 0 ]
}

@test "one that says no leaves all at the old configuration, and is named" {
    mkdir conf; printf '[choosy]\nvalue = 1\n' >conf/choosy.toml
    run under_flux 2 "$prologue"'
        for name in choosy first last; do
            write 2 $name
            ! flux config reload 2>err; cat err; grep -q "error updating $name: not with me" err
            [ "$(values)" = "$(all 1)" ]; [ "$(flux config get choosy.value)" = 1 ]
        done
        ! echo "[heartbeat]
        period = 5" | flux config load 2>err
        grep -q "error updating heartbeat: error reading \[heartbeat\] config table: Expected string, got integer" err
        ! flux config set -t boolean access.unknown true 2>err; grep -q "error updating connector-local: .*unknown" err
        ! flux config set -t string tbon.nonsense x 2>err; grep -q "Config file error \[tbon\]: unknown key .nonsense." err
        [ "$(values)" = "$(all 1)" ]
        echo "[choosy" >conf/choosy.toml; ! flux config reload 2>err; grep -q "choosy.toml" err' -c conf
    echo "$output"; [ "$status" -eq 0 ]
}

@test "changes at the same time come one after the other" {
    run under_flux 2 "$prologue"'
        for value in 1 2 3 4 5 6 7 8; do echo "{\"choosy\":{\"value\":$value}}" | flux config load & done; wait
        reached $(flux config get choosy.value); [ "$(values)" = "$(all $(flux config get choosy.value))" ]'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a module of rank 1 that says no is logged, and the configuration holds" {
    mkdir conf; printf '[choosy]\nvalue = 1\n' >conf/choosy.toml
    run under_flux 2 "$prologue"'
        flux module remove last; write 2 last; flux config reload
        reached 2; flux exec -r1 flux dmesg >log; grep "config of rank 0: error updating last: not with me, ignoring" log
        [ "$(flux exec -r1 flux config get choosy.refuse)" = last ]' -c conf
    echo "$output"; [ "$status" -eq 0 ]
}
