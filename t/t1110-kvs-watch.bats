#!/usr/bin/env bats
# Watches of the KVS: values, appends, keys and namespaces that come and go, hand-over at reload.
load lib/common
load lib/kvs

# watch_instance SIZE SCRIPT: as kvs_instance, with more functions
#   look FLAGS KEY [NS]   a request; values: of responses; seen FILE N: wait for N lines
watch_instance() {
    kvs_instance "$1" "
        look() { printf '{\"namespace\":\"%s\",\"key\":\"%s\",\"flags\":%s}' \"\${3:-primary}\" \"\$2\" \"\$1\"; }
        values() { jq --unbuffered -r '.val.data // \"-\" | if type == \"object\" then keys | join(\",\") else . end | @base64d? // .'; }
        seen() { local i; exec 9< <(exec tail -s 0.05 -n +1 -F \"\$1\" 2>/dev/null); local tail=\$!; for ((i = 0; i < \$2; i++)); do read -r _ <&9; done; exec 9<&-; kill \$tail 2>/dev/null || true; }
        ready() { flux module stats kvs-watch | jq -e \".watchers == \$1\" >/dev/null; }
        $2"
}

@test "each commit that names the key sends its value, in order, on every rank" {
    run watch_instance 2 "
        flux-t-kvs put a 0
        flux-t-rpc -s -m 21 kvs-watch.lookup \"\$(look 4 a)\" >here & h=\$!
        \$rank1 flux-t-rpc -s -m 21 kvs-watch.lookup \"\$(look 4 ..a.)\" >there & t=\$!
        for f in here there; do seen \$f 1; done
        for i in \$(seq 20); do flux-t-kvs put a \$i >/dev/null; flux-t-kvs put b \$i >/dev/null; done
        wait \$h; wait \$t; for f in here there; do values <\$f | cmp - <(seq 0 20); done"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "unique and full send only what differs" {
    run watch_instance 1 "
        flux-t-kvs put d.a 0
        flux-t-rpc -s -m 3 kvs-watch.lookup \"\$(look \$((4 + 128)) d.a)\" >unique & u=\$!
        flux-t-rpc -s -m 3 kvs-watch.lookup \"\$(look \$((4 + 64 + 1)) d)\" >full & f=\$!
        for o in unique full; do seen \$o 1; done
        for v in 0 0 1 1 1 2; do flux-t-kvs put d.a \$v >/dev/null; flux-t-kvs put other \$v >/dev/null; done
        wait \$u; wait \$f; values <unique | cmp - <(seq 0 2); [ \$(jq -r .val.data.a.data full | base64 -d) = 012 ]"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "appends come piece by piece after the sentinel" {
    run watch_instance 2 "
        flux-t-kvs put -a log a; flux-t-kvs put -a log b
        \$rank1 flux-t-rpc -s -m 5 kvs-watch.lookup \"\$(look \$((4 + 256 + 1024)) log)\" >there & t=\$!
        seen there 2
        flux-t-kvs put -a log c; flux-t-kvs put other 1; flux-t-kvs put -a log d; wait \$t
        [ \"\$(flux-t-rpc -s kvs-watch.lookup \"\$(look 512 log)\" | values | tr -d '\n')\" = abcd ]
        [ \$(values <there | tr -d '\n') = abcd ]
        flux-t-rpc -s kvs-watch.lookup \"\$(look \$((4 + 256)) log)\" 2>err >out & w=\$!; seen out 4
        flux-t-kvs put log new; ! wait \$w; grep -q '^errno 22' err"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what does not exist yet is waited for: keys, directories, namespaces" {
    run watch_instance 2 "
        refused 2 flux-t-rpc -s kvs-watch.lookup \"\$(look 4 none)\"; refused 95 flux-t-rpc -s kvs-watch.lookup \"\$(look 4 x n)\"
        flux-t-rpc kvs-watch.lookup \"\$(look 8 a.b)\" >key & k=\$!
        \$rank1 flux-t-rpc kvs-watch.lookup \"\$(look 8 x n)\" >ns & n=\$!
        flux-t-rpc -s -m 1 kvs-watch.lookup \"\$(look \$((8 + 4 + 64)) d.e)\" >full & f=\$!
        flux-t-kvs put unrelated 1; flux-t-kvs put a.b 1; flux-t-kvs put d.e 2; wait \$k; wait \$f
        flux-t-rpc kvs.namespace-create '{\"namespace\":\"n\",\"owner\":-1,\"flags\":0}'; flux-t-kvs -N n put x 3; wait \$n
        [ \$(cat key full ns | values | tr -d '\n') = 123 ]"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a watch ends when its key or namespace is removed" {
    run watch_instance 2 "
        flux-t-kvs put a 1; flux-t-rpc kvs.namespace-create '{\"namespace\":\"n\",\"owner\":-1,\"flags\":0}'; flux-t-kvs -N n put x 1
        flux-t-rpc -s kvs-watch.lookup \"\$(look 4 a)\" >a 2>aerr & a=\$!
        \$rank1 flux-t-rpc -s kvs-watch.lookup \"\$(look 12 x n)\" >x 2>xerr & x=\$!
        for f in a x; do seen \$f 1; done
        flux-t-rpc kvs.commit '{\"namespace\":\"primary\",\"flags\":0,\"ops\":[{\"key\":\"a\",\"flags\":0,\"dirent\":null}]}'
        flux-t-rpc kvs.namespace-remove '{\"namespace\":\"n\"}'
        ! wait \$a; ! wait \$x; grep -q '^errno 2:' aerr; grep -q '^errno 95:' xerr; ready 0"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "wrong flags and other people's namespaces are refused" {
    run watch_instance 1 "
        flux-t-kvs put a 1
        refused 71 flux-t-rpc kvs-watch.lookup \"\$(look 4 a)\"; refused 71 flux-t-rpc kvs-watch.lookup \"\$(look 512 a)\"
        for f in 516 64 128 256 1028; do refused 22 flux-t-rpc -s kvs-watch.lookup \"\$(look \$f a)\"; done
        refused 1 flux-t-rpc -u 4242 -s kvs-watch.lookup \"\$(look 4 a)\"
        flux-t-rpc kvs-watch.lookup \"\$(look 0 a)\" | values | grep -qx 1
        ready 0"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "an attached reader notices no reload, nor does one that waits" {
    run watch_instance 2 "
        \$rank1 flux-t-kvs follow log 2000 >there & t=\$!
        flux-t-kvs follow log 2000 >here & h=\$!
        flux-t-rpc kvs-watch.lookup \"\$(look 8 end)\" >end & e=\$!
        flux-t-kvs write log 2000 >/dev/null & w=\$!
        for i in 1 2 3 4 5 6; do flux module reload kvs-watch; \$rank1 flux module reload kvs-watch; done
        wait \$w; wait \$t; wait \$h; cmp here <(seq 2000); cmp there <(seq 2000)
        flux-t-kvs put end 1; wait \$e; values <end | grep -qx 1"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a client that goes leaves nothing behind" {
    run watch_instance 1 "
        flux-t-kvs put a 1
        for i in \$(seq 10); do flux-t-rpc -s kvs-watch.lookup \"\$(look 4 a)\" >out\$i & pids=\"\$pids \$!\"; seen out\$i 1; done
        ready 10; kill \$pids; wait \$pids || true
        flux-t-rpc -s -m 1 kvs-watch.lookup \"\$(look 4 a)\" >/dev/null; flux ping -c1 kvs-watch; ready 0"
    echo "$output"; [ "$status" -eq 0 ]
}
