#!/usr/bin/env bats
# Large output and input of jobs: all of it arrives, and the brokers do not grow with it.
load lib/common

# Functions for the scripts: what the brokers hold at most while something runs.
memory_watch='
brokers="$(flux getattr broker.pid) $(flux exec -r 1 flux getattr broker.pid)"
idle=0
memory() { for pid in $brokers; do awk -v what="$1:" "\$1 == what { print \$2 }" /proc/$pid/status; done | sort -n | tail -1; }
flat() {
    [ $idle -gt 0 ] || idle=$(memory VmRSS)
    for pid in $brokers; do echo 5 >/proc/$pid/clear_refs; done
    "$@"
    local peak=$(memory VmHWM)
    echo "$*: grew to $peak from $idle kB" >&2
    [ $((peak - idle)) -lt 60000 ]
}
watchers() { flux module stats $1 | grep -o "\"$2\": *[0-9]*" | head -1 | grep -o "[0-9]*$"; }
into() { local file=$1; shift; "$@" >"$file"; }
'

# check_output: print the file `big` by a job, read it again.
check_output() {
    run under_flux 2 "$memory_watch"'
        flat into out flux run cat big
        cmp big out
        flat into out flux job attach $(flux job last)
        cmp big out'
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "100 MB of output in lines" {
    yes "$(printf 'x%.0s' {1..99})" | head -c 100M >big
    check_output
}

@test "100 MB of output without a newline" {
    head -c 75M /dev/urandom | base64 -w 0 | head -c 100M >big
    check_output
}

@test "output that takes much escaping, and output that is no text" {
    head -c 5M /dev/zero >big
    head -c 5M /dev/urandom >>big
    check_output
}

@test "lines of parallel tasks arrive whole and in order" {
    run under_flux 4 'seq 1000 >lines; flux run -N4 -n8 -l seq 1000 >out; test $(wc -l <out) -eq 8000
        for task in 0 1 2 3 4 5 6 7; do sed -n "s/^$task: //p" out | cmp - lines; done'
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "as much stdin as a job may get, and more" {
    head -c 30M /dev/urandom >big
    run under_flux 2 "$memory_watch"'
        flat into out flux run -o input.limit=32M md5sum <big
        test "$(cat out)" = "$(md5sum <big)"
        rc=0; flux run md5sum <big 2>err || rc=$?
        test $rc -ne 0; grep "stdin exceeds 10M limit" err
        flat into out flux run --input=big md5sum
        test "$(cat out)" = "$(md5sum <big)"'
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "a reader that goes leaves nothing behind" {
    yes "$(printf 'x%.0s' {1..99})" | head -c 20M >big
    run under_flux 2 "$memory_watch"'
        flux submit cat big >id; flux job wait-event $(cat id) clean
        before=$(watchers kvs-watch watchers)
        (flux job attach $(cat id) & echo $! >pid; rc=0; wait $! || rc=$?; echo $rc >status) | head -1 >first
        cmp first <(head -1 big); test -s status; ! kill -0 $(cat pid) 2>/dev/null
        flux run true
        test $(watchers job-info guest_watchers) -eq 0; test $(watchers kvs-watch watchers) -eq $before'
    echo "$output"
    [ "$status" -eq 0 ]
}

@test "a stopped reader makes no broker grow and hinders nobody" {
    yes "$(printf 'x%.0s' {1..99})" | head -c 40M >big
    run under_flux 2 "$memory_watch"'
        flux run cat big >/dev/null
        job=$(flux job last)
        mkfifo pipe
        flux job attach $job >pipe & reader=$!
        exec 3<pipe
        head -c 100 <&3 >part; kill -STOP $reader
        flat flux run -N2 -n4 hostname
        flat flux run true
        test $(watchers job-info guest_watchers) -eq 1
        kill -CONT $reader
        cat <&3 >>part & flat wait $reader
        wait
        cmp big part'
    echo "$output"
    [ "$status" -eq 0 ]
}
