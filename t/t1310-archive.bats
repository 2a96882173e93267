#!/usr/bin/env bats
# flux archive: files go into the KVS on one rank and come out on another.
load lib/common

archived() {
    under_flux "$1" '
        fails() { local text=$1 rc=0; shift; "$@" >out 2>err || rc=$?; [ $rc = 1 ] && grep -qF -- "$text" err || { echo "rc=$rc: $*"; cat out err; exit 1; }; }
        is() { [ "$1" = "$2" ] || { printf "wanted: %s\ngot:    %s\n" "$1" "$2"; exit 1; }; }
        rundir=$(flux getattr rundir); on() { local rank=$1; shift; FLUX_URI=local://$rundir/local-$rank "$@"; }
        mkdir -p tree/sub/deep out1
        echo hello >tree/text; printf "\377\0\1" >tree/bin; : >tree/empty; chmod 640 tree/text; ln -s text tree/link
        head -c 2500000 /dev/urandom >tree/sub/large; chmod 755 tree/sub/large
        truncate -s 5M tree/sub/hole; printf end | dd of=tree/sub/deep/sparse bs=1 seek=3000000 2>/dev/null
        '"$2"
}

@test "what goes in comes out, on any rank" {
    run archived 2 '
        flux archive create -v tree >paths
        diff paths - <<E2
tree/bin
tree/empty
tree/link
tree/sub/deep/sparse
tree/sub/deep
tree/sub/hole
tree/sub/large
tree/sub
tree/text
tree
E2
        flux archive list | diff paths -; on 1 flux archive list | diff paths -
        on 1 flux archive extract -C out1; diff -r --no-dereference tree out1/tree
        is 640 $(stat -c %a out1/tree/text); is 755 $(stat -c %a out1/tree/sub/large); is 5242880 $(stat -c %s out1/tree/sub/hole)
        [ $(stat -c %b out1/tree/sub/deep/sparse) -lt 100 ]
        flux kvs get archive.main | grep -q "^\[{\"path\":\"tree/bin\",\"mode\":33188,\"mtime\":[0-9]*,\"ctime\":[0-9]*,\"size\":3,\"data\":\"/wAB\",\"encoding\":\"base64\"}"
        is 3 $(flux kvs get archive.main | grep -o "tree/sub/large.*" | grep -o "\[[0-9]*,[0-9]*,\"sha1-" | wc -l)'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "list, patterns and names" {
    run archived 1 '
        flux archive create -n mine -C tree text link sub
        diff <(flux archive list -n mine -l) - <<E2
f 0640        6 text
l 0777        0 link
f 0644  3000003 sub/deep/sparse
d 0755        0 sub/deep
f 0644  5242880 sub/hole
f 0755  2500000 sub/large
d 0755        0 sub
E2
        is "sub/large" "$(flux archive list -n mine "*large")"; is "" "$(flux archive list -n mine "none*" 2>err)"; grep -qxF "flux-archive: No files matched pattern '"'none*'"'" err
        flux archive list -n mine --raw text | grep -q "^{.*\"data\":\"hello\\\\n\",\"encoding\":\"utf-8\"}$"
        is text "$(flux archive extract -n mine -t text)"; [ ! -e text ]
        flux archive extract -n mine -v -C out1 "sub/*" 2>err; is "sub/deep/sparse sub/deep sub/hole sub/large" "$(xargs <err)"; cmp tree/sub/large out1/sub/large
        (cd tree; flux archive create -n dot .; flux archive list -n dot | grep -qx sub/large; ! flux archive list -n dot | grep -qx "\.")
        flux archive create -n abs $PWD/tree/text; is "${PWD#/}/tree/text" "$(flux archive list -n abs)"
        fails "archive.none: No such file or directory" flux archive list -n none; fails "an archive has no" flux archive create -n up tree/../tree
        fails "fifo: unsupported file type" sh -c "mkfifo fifo; flux archive create -n fifo fifo"; fails "gone: No such file" flux archive create -n gone gone
        fails Usage flux archive create; fails "missing subcommand" flux archive'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "an archive that is there, and files that are there" {
    run archived 1 '
        flux archive create -C tree text; fails "flux-archive: archive.main: key exists" flux archive create -C tree bin
        fails "cannot be used together" flux archive create --append --overwrite -C tree bin
        flux archive create --append -C tree bin; is "text bin" "$(flux archive list | xargs)"
        flux archive create --overwrite -C tree empty; is empty "$(flux archive list)"
        flux archive create --overwrite -C tree text sub; flux archive extract -C out1
        fails "flux-archive: text: write: Attempt to overwrite existing file" flux archive extract -C out1
        echo longer than before >out1/text; flux archive extract --overwrite -C out1; cmp tree/text out1/text
        flux archive remove; fails "flux-archive: archive.main does not exist" flux archive remove; flux archive remove -f; ! flux kvs get archive.main 2>/dev/null
        flux archive extract --waitcreate -C out1 --overwrite & waiting=$!
        flux archive create -C tree link; wait $waiting; is text $(readlink out1/link)
        fails "flux-archive: archive.never: key was not created within timeout window" flux archive extract -n never --waitcreate=0.1s
        flux kvs namespace create ns; FLUX_KVS_NAMESPACE=ns flux archive create --no-force-primary -n own -C tree text
        flux kvs get -N ns archive.own >/dev/null; ! flux kvs get archive.own 2>/dev/null; fails "archive.own: No such" flux archive list -n own'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "preserved blobs go through a dump, mapped ones stay where they are" {
    run archived 2 '
        flux archive create --preserve --chunksize=1M -C tree sub/large text; is "0 1 2" "$(flux kvs ls -1 archive.main_blobs | xargs)"
        cat tree/sub/large | cmp - <(flux kvs get -r archive.main_blobs.0 archive.main_blobs.1 archive.main_blobs.2)
        flux archive create --append --preserve -C tree sub/deep/sparse; is 4 $(flux kvs ls -1 archive.main_blobs | wc -l)
        flux dump -q t.tar; tar tf t.tar | grep -qx archive/main_blobs/2; flux archive remove; ! flux kvs get archive.main_blobs.0 2>/dev/null
        fails "--mmap cannot be used with" flux archive create --mmap --preserve tree
        flux archive create --mmap -n map -C tree sub; flux module stats content | grep -q "sub/large"
        on 1 flux archive extract -n map -C out1; diff -r tree/sub out1/sub
        flux archive remove -n map; ! flux module stats content | grep -q "sub/large"
        fails "flux-archive: " on 1 flux archive create --mmap -n map -C tree sub'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "an archive that was tampered with does nothing outside" {
    run archived 1 '
        flux kvs put archive.main='"'"'[{"path":"../evil","mode":33188,"size":1,"data":"x","encoding":"utf-8"}]'"'"'; fails "../evil" flux archive extract -C out1; [ ! -e evil ]
        flux kvs put archive.main='"'"'[{"path":"l","mode":41471,"data":"/tmp"},{"path":"l/x","mode":33188,"size":0}]'"'"'; fails "l: Not a directory" flux archive extract -C out1
        flux kvs put archive.main=text; fails "archive.main: " flux archive list
        flux kvs put archive.main=7; fails "neither object nor array" flux archive list
        blob=$(echo content | flux content store)
        flux kvs put archive.main="[{\"path\":\"f\",\"mode\":33188,\"size\":3,\"encoding\":\"blobvec\",\"data\":[[0,3,\"$blob\"]]}]"; fails "has another size" flux archive extract -C out1'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "help and completion know commands that are programs of their own" {
    flux help archive | grep -q "FLUX-ARCHIVE"; flux archive --help 2>&1 | grep -q "extract"; flux --help 2>&1 | grep -q "^   restore "
    [ "$(flux help --words archive | head -4 | xargs)" = "create list extract remove" ]; flux help --words dump | grep -qx -- "--maxreqs="
    flux help --words archive create | grep -qx -- --mmap; flux help --words fsck | grep -qx -- --repair; flux help gc | grep -q -- --no-cache
    ! ldd "$FLUX_BUILD/bin/flux" | grep -E "libarchive|libcrypto"
}
