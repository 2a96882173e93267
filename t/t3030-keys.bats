#!/usr/bin/env bats
# Keys of links over tcp: who has another is refused, and they can be changed while brokers run.
load lib/common
bats_require_minimum_version 1.5.0

# instance SCRIPT: run a script in rank 0 of a configured instance of two brokers on this host
instance() {
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    export port
    for name in a b; do flux keygen $name; done
    printf 'set -e -o pipefail\n%s\n%s\n' "$prologue" "$1" >script.bash
    bash -c "$prologue"'config 0 a'
    timeout --foreground -k 5 60 flux broker -c conf0 -Shostname=fake0 -Sbroker.quorum=1 bash script.bash
}

prologue='
    # config RANK CERT [NEXT]
    config() {
        mkdir -p conf$1
        printf "%s\n" "[bootstrap]" "curve_cert = \"$TEST_TMP/$2\"" "default_port = $port" "default_bind = \"tcp://lo:%p\"" \
            "default_connect = \"tcp://127.0.0.1:%p\"" "hosts = [{host = \"fake[0-1]\"}]" \
            ${3:+"curve_cert_next = \"$TEST_TMP/$3\""} >conf$1/bootstrap.toml
    }
    # join CERT [NEXT]: rank 1 joins with these
    join() {
        config 1 "$@"
        env -u FLUX_URI flux broker -c conf1 -Shostname=fake1 2>err1 & follower=$!
        reached full
    }
    leave() { kill $follower; wait $follower || true; reached partial; }
    # reached STATUS: wait until rank 0 sees its subtree so
    reached() { timeout 20 flux-t-rpc -s -w "\"status\":\"$1\"" overlay.health >/dev/null; }
'

@test "a broker with another key is refused, and both ends name both keys" {
    run instance '
        config 1 b
        ! env -u FLUX_URI timeout 20 flux broker -c conf1 -Shostname=fake1 2>err; cat err
        mine=$(sed -n "s/.*own key: \([0-9a-f]*\).*/\1/p" err | head -1); theirs=$(sed -n "s/.*the peer has \([0-9a-f]*\).*/\1/p" err | head -1)
        [ -n "$mine" ]; [ -n "$theirs" ]; [ "$mine" != "$theirs" ]
        flux dmesg | grep "wrong key" | grep "$mine" | grep "$theirs"'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "keys are changed while brokers run" {
    run instance '
        join a
        config 0 a b; flux config reload; leave
        join b a; leave
        join a b
        config 0 b a; flux config reload
        [ "$(flux exec -r1 flux getattr rank)" = 1 ]; leave
        join b
        config 0 b; flux config reload; leave
        join b; leave
        config 1 a
        ! env -u FLUX_URI timeout 20 flux broker -c conf1 -Shostname=fake1 2>err; grep "wrong key" err'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a certificate that cannot be used changes nothing" {
    run instance '
        config 0 nosuch
        ! flux config reload 2>err; grep "error updating overlay: certificate $TEST_TMP/nosuch: No such file or directory" err
        chmod 644 b; config 0 b
        ! flux config reload 2>err; grep "only its owner may" err
        join a; leave'
    echo "$output"; [ "$status" -eq 0 ]
}
