#!/usr/bin/env bats
# flux kvs: what its subcommands print and how they fail.
load lib/common

# fails TEXT COMMAND...: the command exits 1 and says TEXT on stderr.
kvs_script() {
    under_flux "$1" "set +o pipefail # readers that have seen enough leave early
        fails() { local text=\$1 rc=0; shift; \"\$@\" >out 2>err || rc=\$?; [ \$rc = 1 ] && grep -qF -- \"\$text\" err || { echo \"rc=\$rc: \$*\"; cat out err; exit 1; }; }
        same() { diff - <(\"\$@\") || { echo \"differs: \$*\"; exit 1; }; }
        $2"
}

@test "put, get, append, unlink" {
    run kvs_script 2 '
        flux kvs put a.b.c=42 a.str=hello empty= eq=x=y
        [ $(flux kvs get a.b.c) = 42 ]
        same flux kvs get a.b.c a.str empty eq <<<$(printf "42\nhello\nx=y")
        [ $(flux kvs get -l eq) = eq=x=y ]
        [ -z "$(flux kvs get empty)" ]
        [ "$(flux kvs get -r a.str | wc -c)" = 5 ]
        flux kvs put -A a.str=-more; [ $(flux kvs get a.str) = hello-more ]
        printf "raw\0bytes" | flux kvs put -r raw=-; [ $(flux kvs get -r raw | wc -c) = 9 ]
        flux kvs get -t a.b.c | grep -q "^{\"data\":\"NDI=\",\"type\":\"val\",\"ver\":1}$"
        flux kvs put -t copy="$(flux kvs get -t a)"; [ $(flux kvs get copy.b.c) = 42 ]
        flux kvs unlink a.b.c; fails "flux-kvs: a.b.c: No such file or directory" flux kvs get a.b.c
        fails "flux-kvs: a: Is a directory" flux kvs get a
        fails "cannot unlink '"'copy'"': Directory not empty" flux kvs unlink copy
        fails "cannot unlink '"'none'"': No such file or directory" flux kvs unlink none
        flux kvs unlink -f none; flux kvs unlink -R copy; fails "copy: No such file" flux kvs get copy
        fails "key=value" flux kvs put novalue
        fails Usage flux kvs get'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "roots and versions" {
    run kvs_script 2 '
        seq=$(flux kvs put -s x=1); [ $(flux kvs version) = $seq ]
        [ $(flux kvs getroot -s) = $seq ]; [ $(flux kvs getroot -o) = $(id -u) ]
        [ $(flux kvs put -b x=2) = $(flux kvs getroot -b) ]
        [ $(flux kvs put -O x=3) = $(flux kvs getroot) ]
        old=$(flux kvs getroot); flux kvs put x=4; [ $(flux kvs get -a $old x) = 3 ]
        flux kvs wait $(flux kvs version)
        flux kvs wait $((seq + 4)) & flux kvs put x=5; wait $!
        flux kvs sync; fails "sync" flux kvs sync extra || true'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "dir and ls" {
    run kvs_script 1 '
        flux kvs put a.b.c=42 a.list=[1,2,3] a.str=hello lines="$(printf "one\ntwo")" long=$(printf "x%.0s" $(seq 200))
        flux kvs mkdir a.none; flux kvs link a.b.c lnk; flux kvs link -T other k far
        same flux kvs dir a <<<$(printf "a.b.\na.list = [1,2,3]\na.none.\na.str = hello")
        same flux kvs dir -R a <<<$(printf "a.b.c = 42\na.list = [1,2,3]\na.none.\na.str = hello")
        same flux kvs dir -d a <<<$(printf "a.b.\na.list\na.none.\na.str")
        flux kvs dir | grep -qx "far -> other::k"; flux kvs dir | grep -qx "lnk -> a.b.c"
        flux kvs dir | grep -qx "lines = one..."
        flux kvs dir -w 20 | grep -qx "long = xxxxxxxxxx..."; [ $(flux kvs dir -w 0 | grep ^long | wc -c) = 208 ]
        same flux kvs ls -1 <<<$(printf "a\nadmin\nfar\nlines\nlnk\nlong\nresource")
        same flux kvs ls -1F <<<$(printf "a.\nadmin.\nfar@\nlines\nlnk@\nlong\nresource.")
        same flux kvs ls -w 40 a <<<"b       list    none    str"
        same flux kvs ls -w 20 a <<<$(printf "b       list\nnone    str")
        same flux kvs ls -1R a <<<$(printf "a:\nb\nlist\nnone\nstr\n\na.b:\nc\n\na.none:")
        same flux kvs ls -1 lines a.b a <<<$(printf "lines\n\na:\nb\nlist\nnone\nstr\n\na.b:\nc")
        same flux kvs ls -d a <<<a
        fails "lines.: Not a directory" flux kvs ls lines.
        fails "none: No such file or directory" flux kvs ls none a; grep -q list out
        fails "flux-kvs: none: No such file or directory" flux kvs dir none'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "links, copies and moves" {
    run kvs_script 1 '
        flux kvs put a.b=1; flux kvs link a.b l; flux kvs link -T ns k m
        [ $(flux kvs get l) = 1 ]; [ $(flux kvs readlink l) = a.b ]; [ $(flux kvs readlink m) = ns::k ]
        [ $(flux kvs readlink -o m) = ns ]; [ $(flux kvs readlink -k m) = k ]
        fails "flux-kvs: a.b: Invalid argument" flux kvs readlink a.b
        flux kvs copy a c; [ $(flux kvs get c.b) = 1 ]; flux kvs move c d; [ $(flux kvs get d.b) = 1 ]
        fails "No such file" flux kvs get c.b'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "namespaces" {
    run kvs_script 2 '
        flux kvs namespace create ns1 ns2
        flux kvs namespace list | grep -q "^NAMESPACE                                 OWNER      FLAGS$"
        flux kvs namespace list | grep -Eq "^ns1 {33} +[0-9]+ 0x00000000$"
        fails "namespace '"'ns1'"' exists" flux kvs namespace create ns1
        flux kvs put -N ns1 x=1; [ $(flux kvs get -N ns1 x) = 1 ]; fails "x: No such file" flux kvs get x
        [ $(FLUX_KVS_NAMESPACE=ns1 flux kvs get x) = 1 ]
        flux kvs copy -S ns1 -D primary x y; [ $(flux kvs get y) = 1 ]
        flux kvs namespace remove ns1 ns2
        fails "x: Operation not supported" flux kvs get -N ns1 x'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "watching" {
    run kvs_script 2 '
        { [ $(flux kvs get -W late) = 1 ] && touch late-seen; } & late=$!
        flux kvs put k=1
        flux kvs get -w -c 3 k >seen & watcher=$!
        for i in 2 3 4 5 6 7 8 9; do flux kvs put -n k=$i; [ $(wc -l <seen) -ge 3 ] && break; done
        wait $watcher; [ $(wc -l <seen) = 3 ]
        flux kvs put late=1; wait $late; [ -e late-seen ]
        flux kvs put s=a; flux kvs put -A s=b; flux kvs put -A s=c; [ $(flux kvs get -S s) = abc ]
        fails "Invalid argument" flux kvs get -w -S s
        fails "none: No such file or directory" flux kvs get -w none'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "eventlogs" {
    run kvs_script 1 '
        flux kvs eventlog append -t 1 log x "{\"a\":1}"; flux kvs eventlog append -t 2.5 log y
        same flux kvs eventlog get log <<<$(printf "1.000000 x a=1\n2.500000 y")
        same flux kvs eventlog get -u log <<<$(printf "{\"timestamp\":1.0,\"name\":\"x\",\"context\":{\"a\":1}}\n{\"timestamp\":2.5,\"name\":\"y\"}")
        TZ=UTC same flux kvs eventlog get -H log <<<$(printf "[Jan01 00:00] x a=1\n[  +1.500000] y")
        flux kvs eventlog get -L log | grep -q 33mx
        fails "unformatted" flux kvs eventlog get -u -H log
        flux kvs eventlog wait-event log y | grep -qx "2.500000 y"
        [ -z "$(flux kvs eventlog wait-event -q log y)" ]; [ $(flux kvs eventlog wait-event -v log y | wc -l) = 2 ]
        fails "wait-event timeout on event '"'z'"'" flux kvs eventlog wait-event -t 0.1 log z
        fails "eventlog path nolog not found" flux kvs eventlog wait-event nolog z
        flux kvs eventlog wait-event -W later z & flux kvs eventlog append later z; wait $!
        flux kvs eventlog get -w -c 3 log >seen & flux kvs eventlog append log w; wait $!; tail -1 seen | grep -q " w$"
        fails "context" flux kvs eventlog append log x "[1]" || fails "" flux kvs eventlog append log x "[1]"'
    echo "$output"; [ "$status" -eq 0 ]
}
