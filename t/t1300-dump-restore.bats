#!/usr/bin/env bats
# flux dump and flux restore: what is in an archive, what becomes of it, and what is refused.
load lib/common

VECTORS=${FLUX_VECTORS:-$BATS_TEST_DIRNAME/../../shared/vectors}

# snapshots SIZE SCRIPT [FLUX-START-OPTIONS...]
snapshots() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" '
        fails() { local text=$1 rc=0; shift; "$@" >out 2>err || rc=$?; [ $rc = 1 ] && grep -qF -- "$text" err || { echo "rc=$rc: $*"; cat out err; exit 1; }; }
        is() { [ "$1" = "$2" ] || { printf "wanted: %s\ngot:    %s\n" "$1" "$2"; exit 1; }; }
        '"$script" "$@"
}

# The tree V9 of the reference, in a namespace.
V9='flux kvs namespace create v9; export FLUX_KVS_NAMESPACE=v9
    flux kvs put a.b.c=testkey short=hi large=$(printf "z%.0s" $(seq 300))
    flux kvs link a.b.c y; flux kvs link -T smurf otherthing z
    flux kvs put --append log=one; flux kvs put --append log=two; flux kvs put nothing=; flux kvs mkdir empty'

# Names, types, modes, sizes, targets and contents of an archive, in order of names; below a folder only, if one is given.
cat_archive() {
    python3 - "$@" <<'E2'
import hashlib, sys, tarfile
below = sys.argv[2] + "/" if len(sys.argv) > 2 else ""
with tarfile.open(sys.argv[1]) as archive:
    for m in sorted(archive, key=lambda m: m.name):
        if m.name.startswith(below):
            print(m.name[len(below):], m.type, oct(m.mode), m.size, m.linkname,
                  hashlib.sha1(archive.extractfile(m).read()).hexdigest() if m.isfile() else "")
E2
}
export -f cat_archive

@test "an archive has what Flux writes, and comes back as what Flux makes of it" {
    run snapshots 2 "$V9"'
        is sha1-618390e36bacc1de4f429ed158e99f688a524637 $(flux kvs getroot -b)
        before=$(date +%s); flux dump -q t.tar; after=$(date +%s); flux dump -v t2.tar 2>names
        is "a/b/c large log nothing short y z" "$(sort names | xargs)"; is "" "$(flux dump -q - 2>&1 >t3.tar)"
        is 0 $(($(stat -c %s t.tar) % 512)); flux dump -q - | wc -c | grep -qx 10240
        python3 - $before $after <<E2
import os, sys, tarfile
whole = {"large", "log"}
for name in "t.tar", "t2.tar", "t3.tar":
    assert open(name, "rb").read()[257:263] == b"ustar\0"
    for m in tarfile.open(name):
        assert m.mode == 0o644 and not m.uname and not m.gname and not m.pax_headers, m
        if m.name in whole:
            assert name != "t.tar" or int(sys.argv[1]) <= m.mtime <= int(sys.argv[2]), m
            assert (m.uid, m.gid) == (os.getuid(), os.getgid()), m
        else:
            assert (m.mtime, m.uid, m.gid) == (0, 0, 0), m
E2
        cat_archive t.tar | cut -d" " -f1-5 >got; diff - got <<E2
a/b/c b'"'0'"' 0o644 7 
large b'"'0'"' 0o644 300 
log b'"'0'"' 0o644 6 
nothing b'"'0'"' 0o644 0 
short b'"'0'"' 0o644 2 
y b'"'2'"' 0o644 0 a.b.c
z b'"'2'"' 0o644 0 smurf::otherthing
E2
        for requests in 1 2 7; do
            flux dump -q --maxreqs=$requests m.tar; diff <(cat_archive t.tar) <(cat_archive m.tar)
        done
        flux dump -q t.tgz; flux dump -q t.tar.gz; flux dump -q t.tar.xz; flux dump -q t.zip; flux dump -q t.cpio
        for requests in 1 2 7; do
            flux restore -q --maxreqs=$requests --key=back t.tar
            flux kvs get -t back | grep -q sha1-b26f3bfa26d1258a07c406444036c492ddc21503
        done
        for name in t.tgz t.tar.gz t.tar.xz t.zip t.cpio; do
            flux restore -q --key=again $name; is "$(flux kvs get -t back)" "$(flux kvs get -t again)"
        done
        flux restore -q --key=piped - <t.tgz; is "$(flux kvs get -t back)" "$(flux kvs get -t piped)"
        is testkey $(flux kvs get back.a.b.c); is smurf::otherthing $(flux kvs readlink back.z)
        flux restore --key=told t.tar 2>err; grep -q "restored 7 keys" err
        grep -qx "flux-restore: writing snapshot sha1-b26f3bfa to KVS key '"'told'"'" err
        flux kvs put $(printf "k%.0s" $(seq 101))=long é=accent; flux dump -q pax.tar
        python3 -c "
import tarfile
names = {m.name: m.pax_headers for m in tarfile.open(\"pax.tar\")}
assert \"path\" in names[\"é\"] and \"path\" in names[\"k\" * 101] and not names[\"a/b/c\"]"
        flux restore -q --key=pax pax.tar; is accent $(LC_ALL=C flux kvs get pax.é)'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "the dump of an instance of Flux: every key comes back, and a dump of that has the same members" {
    [ -e "$VECTORS/instance.dump.tgz" ] || skip "no dump: $VECTORS/instance.dump.tgz is missing, FLUX_VECTORS may name its folder"
    run snapshots 2 '
        flux restore -q --key=inst '"$VECTORS"'/instance.dump.tgz; flux dump -q mine.tar
        diff <(cat_archive '"$VECTORS"'/instance.dump.tgz) <(cat_archive mine.tar inst)
        [ $(cat_archive mine.tar inst | wc -l) -gt 300 ]
        python3 - '"$VECTORS"'/instance.dump.tgz <<E2
import subprocess, sys, tarfile
with tarfile.open(sys.argv[1]) as archive:
    members = [m for m in archive if m.isfile()]
    keys = ["inst." + m.name.replace("/", ".") for m in members]
    got = subprocess.run(["flux", "kvs", "get", "-r"] + keys, stdout=subprocess.PIPE, check=True).stdout
    assert got == b"".join(archive.extractfile(m).read() for m in members)
E2'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "large values and many keys need little memory, and whole blobs stay whole" {
    run snapshots 1 '
        peak() { ASAN_OPTIONS=quarantine_size_mb=1 python3 -c "
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)" "$@"; }
        base=$(peak flux dump -q empty.tar)
        small() { [ $(peak "$@") -lt $((base + 20000)) ]; }
        head -c 12M /dev/urandom >bytes; head -c 1M bytes >one; mkdir d; split -b 256K bytes d/piece; tar cf pieces.tar d
        refs=$(flux content store --chunksize=1048576 <bytes | sed "s/.*/\"&\"/" | paste -sd,)
        echo "{\"ver\":1,\"type\":\"valref\",\"data\":[$refs]}" | flux kvs put -t big=-
        flux kvs put -r one=- <one
        flux kvs put $(seq -f "many.%g=value" 5000)
        small flux restore -q --maxreqs=4 --key=pieces pieces.tar
        small flux dump -q x.tar; small flux dump -q --no-cache --maxreqs=4 y.tar; diff <(cat_archive x.tar) <(cat_archive y.tar)
        flux restore -q --key=x x.tar
        flux kvs get -r x.big | cmp - bytes; flux kvs get -r x.one | cmp - one; is value $(flux kvs get x.many.4711)
        flux kvs get -r $(printf "x.pieces.d.%s " $(ls d)) | cmp - bytes; is 1 $(flux kvs get -t x.big | grep -o sha1- | wc -l)
        flux restore -q --size-limit=1M --key=s x.tar 2>err; grep -qx "flux-restore: big size 12582912 exceeds 1M limit, skipping" err
        is value $(flux kvs get s.many.1); fails "s.big: No such" flux kvs get s.big'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a checkpoint is dumped, and written for the next start of the KVS" {
    export FLUX_DISABLE_JOB_CLEANUP=1
    run snapshots 1 '
        flux kvs put a=1; flux dump -q --no-cache --checkpoint then.tar; is 1 $(tar xOf then.tar a)
        flux kvs put a=2; flux dump -q now.tar; is 2 $(tar xOf now.tar a)
        fails "please unload kvs module before using --checkpoint" flux restore --checkpoint now.tar
        flux restore -q --key=back then.tar; is 1 $(flux kvs get back.a)
        for m in $(flux module list | awk "NR > 1 { print \$1 }" | grep -vE "^(content|heartbeat|config|groups|overlay|connector-local|rexec)"); do flux module remove -f $m; done
        fails "No service matching kvs.getroot" flux dump none.tar; [ ! -e none.tar ]
        flux dump -q --checkpoint last.tar; is 2 $(tar xOf last.tar a)
        for cache in "" --no-cache; do
            flux restore $cache --checkpoint then.tar 2>err
            grep -qE "^flux-restore: writing snapshot sha1-[0-9a-f]{8} to checkpoint for next KVS start$" err
            [ $(flux content checkpoint list -nj | head -1 | grep -o "\"sequence\":[0-9]*") = \"sequence\":0 ]
        done
        flux module load kvs; is 1 $(flux kvs get a)
        flux module remove kvs; flux dump -q --checkpoint fresh.tar; is 1 $(tar xOf fresh.tar a)'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "the hash of the instance is used" {
    run snapshots 1 '
        flux kvs put a.b=1 large=$(printf "z%.0s" $(seq 300)); flux dump -q t.tar; flux restore -q --key=back t.tar
        is 1 $(flux kvs get back.a.b); flux kvs get -t back | grep -q sha256-; flux kvs get back.large | grep -q zzz' -Scontent.hash=sha256
    echo "$output"; [ "$status" -eq 0 ]
}

@test "what cannot be read ends a dump, or is left out" {
    run snapshots 1 '
        ref() { echo "{\"ver\":1,\"type\":\"$1\",\"data\":[\"sha1-00000000000000000000000000000000000000ff\"]}"; }
        flux kvs put good=1; flux kvs put -t bad=$(ref valref)
        echo before >t.tar; fails "flux-dump: bad: missing blobref 0: No such file or directory" flux dump -q t.tar; is before $(cat t.tar)
        is t.tar "$(ls | grep t.tar | xargs)"
        flux dump -q --ignore-failed-read t.tar 2>err; grep -q "bad: missing blobref 0" err; is 1 $(tar xOf t.tar good)
        ! tar tf t.tar | grep -qx bad
        flux kvs unlink bad; flux kvs put -t worse=$(ref dirref)
        fails "flux-dump: worse: could not load content: No such file or directory" flux dump -q t.tar
        flux dump -q --ignore-failed-read t.tar 2>err; grep -q "worse: could not load" err
        fails "--maxreqs" flux dump --maxreqs=0 t.tar; fails "--maxreqs" flux restore --key=k --maxreqs=0 t.tar
        fails "t.txt: its name is that of no known kind of archive" flux dump t.txt
        fails "nowhere/t.tar: No such file or directory" flux dump nowhere/t.tar; fails Usage flux dump'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "an archive that is refused is named with the entry and the cause, and changes nothing" {
    run snapshots 1 "$V9"'
        flux dump -q t.tar; flux dump -q t.tgz; root=$(flux kvs getroot)
        refused() { fails "$1" flux restore -q --key=a $2; fails "$1" flux restore -q --check $2; is "$root" "$(flux kvs getroot)"; }
        head -c 1500 t.tar >cut.tar; refused "flux-restore: cut.tar: short: Truncated input file" cut.tar
        head -c 1536 t.tar >cut.tar; refused "flux-restore: cut.tar: after short: the archive is cut short" cut.tar
        head -c 150 t.tgz >cut.tgz; refused "flux-restore: cut.tgz: " cut.tgz
        python3 -c "
import sys
b = bytearray(open(\"t.tar\", \"rb\").read()); b[512 + 150] ^= 1; open(\"sum.tar\", \"wb\").write(b)"
        refused "flux-restore: sum.tar: after nothing: Damaged tar archive" sum.tar
        echo text >text; refused "flux-restore: text: Unrecognized archive format" text
        : >empty; refused "flux-restore: empty: Unrecognized archive format" empty
        refused "flux-restore: none.tar: No such file or directory" none.tar
        mkdir d; echo 1 >d/a.b; tar cf dots.tar -C d .; refused "flux-restore: dots.tar: ./a.b: no key can have a name with a dot" dots.tar
        mv d/a.b d/c; tar cf both.tar d/c; mv d e; echo 1 >d; tar rf both.tar d
        fails "flux-restore: both.tar: d: it is a directory too" flux restore -q --key=a both.tar
        tar cf both.tar d; rm d; mv e d; tar rf both.tar d/c
        fails "flux-restore: both.tar: d/c: '"'d'"' is no directory" flux restore -q --key=a both.tar
        is "$root" "$(flux kvs getroot)"
        tar cf plain.tar ./d; flux restore -q --key=plain plain.tar; is 1 $(flux kvs get plain.d.c)
        fails "Please specify a restore target with --checkpoint or --key" flux restore t.tar'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a dump of a live instance has the namespaces of running jobs as directories" {
    run snapshots 2 '
        stop=0; { for ((n = 0; ; ++n)); do flux kvs put live.$n=$n; [ -e stop ] && break; done; } & writer=$!
        id=$(flux submit -n2 sh -c "echo hello; sleep inf")
        flux job wait-event -p exec $id shell.start >/dev/null; flux job wait-event -p output $id data >/dev/null
        dir=$(flux job id --to=kvs $id); dir=${dir//./\/}
        flux dump -q t.tar; touch stop; wait $writer
        tar xOf t.tar $dir/guest/exec/eventlog | grep -q shell.start; tar xOf t.tar $dir/guest/output | grep -q hello
        ! tar tvf t.tar | grep -q "guest ->"
        flux cancel $id; flux job wait-event $id clean >/dev/null
        flux dump -q t.tar; tar xOf t.tar $dir/guest/exec/eventlog | grep -q done'
    echo "$output"; [ "$status" -eq 0 ]
}
