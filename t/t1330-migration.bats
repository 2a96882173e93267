#!/usr/bin/env bats
# Content that is restored at the start and dumped at the end of an instance; stores that another Flux has filled.
load lib/common
load lib/cluster

VECTORS=${FLUX_VECTORS:-$BATS_TEST_DIRNAME/../../shared/vectors}

# instance COMMAND [FLUX-START-OPTIONS...]: one broker whose state is kept
instance() {
    local command=$1
    shift
    timeout 60 flux start -Sstatedir="$PWD/state" -Slog-stderr-level=6 "$@" bash -e -o pipefail -c "$command" 2>>log
}

@test "every stop dumps and every start restores" {
    mkdir state
    instance 'flux kvs put a.b=1; flux submit --wait true; flux submit -n1 --urgency=0 true' -Scontent.dump=auto -Scontent.restore=auto
    file=$(readlink state/dump/RESTORE); [[ $file =~ ^[0-9]{8}_[0-9]{6}\.tgz$ ]]
    tar xzOf state/dump/$file a/b | grep -qx 1
    grep -q "dumping content to $PWD/state/dump/$file" log
    size=$(sqlite_rows); [ "$size" -gt 0 ]
    instance 'flux kvs version >version; flux kvs get a.b; flux jobs -ano {status}; flux submit --wait true; flux kvs put a.c=2' \
        -Scontent.dump=auto -Scontent.restore=auto >out
    diff out <(printf "1\nSCHED\nCOMPLETED\n"; sed -n '$p' out)
    [ "$(cat version)" -lt 20 ]
    grep -q "restoring content from $PWD/state/dump/$file" log; [ -e state/dump/$file ]
    # A link that is there is replaced; one that is not is no reason to begin anew.
    instance 'flux kvs get a.c' -Scontent.dump=auto; rm state/dump/RESTORE
    instance 'flux kvs get a.c; [ "$(flux kvs version)" -gt 3 ]' -Scontent.restore=auto
}

# Objects in the database.
sqlite_rows() { python3 -c "import sqlite3; print(sqlite3.connect('state/content.sqlite').execute('select count(*) from objects').fetchone()[0])"; }

@test "garbage is gone after a restore" {
    mkdir state
    instance 'for i in $(seq 30); do flux kvs put key=$(head -c 300 /dev/urandom | base64 -w0); done; flux kvs sync' -Scontent.dump=auto
    before=$(sqlite_rows)
    instance true -Scontent.restore=auto; [ "$(sqlite_rows)" -lt $((before / 2)) ]
}

@test "an archive of one's own name, and flux shutdown tells where" {
    mkdir state
    instance "flux kvs put a=1; flux shutdown --dump=$PWD/mine.tar >said; sleep inf" || true
    grep -qx "shutdown will dump KVS to $PWD/mine.tar (this may take some time)" said
    tar xOf mine.tar a | grep -qx 1; [ ! -e state/dump ]
    instance "flux shutdown --gc >said; sleep inf" || true
    grep -qx "shutdown will dump KVS to $PWD/state/dump/ (this may take some time)" said; [ -L state/dump/RESTORE ]
    rm -r state/dump; instance "flux shutdown --skip-gc >said; sleep inf" -Scontent.dump=auto || true
    [ ! -s said ]; [ ! -e state/dump ]
    mkdir other
    timeout 60 flux start -Sstatedir="$PWD/other" -Scontent.restore="$PWD/mine.tar" flux kvs get a | grep -qx 1
    timeout 60 flux start --recovery="$PWD/mine.tar" flux kvs get a | grep -qx 1
}

@test "what cannot be restored is refused and the store is left as it is" {
    mkdir state
    instance 'flux kvs put a=1'
    for file in none.tar cut.tgz; do
        [ $file = none.tar ] || { instance "flux dump -q $PWD/whole.tgz"; head -c 300 whole.tgz >cut.tgz; }
        run instance true -Scontent.restore="$PWD/$file"; [ "$status" -ne 0 ]
        grep -q "$file cannot be restored, nothing was changed" log
    done
    mkdir -p state/dump; cp cut.tgz state/dump; ln -s cut.tgz state/dump/RESTORE
    run instance true -Scontent.restore=auto -Scontent.dump=auto; [ "$status" -ne 0 ]
    [ "$(readlink state/dump/RESTORE)" = cut.tgz ]
    [ "$(instance 'flux kvs get a')" = 1 ]
}

@test "a dump of unfinished jobs: waiting ones wait on, the namespace of a running one is there" {
    mkdir state
    FLUX_DISABLE_JOB_CLEANUP=1 instance 'flux submit -n1 sleep inf >run; flux job wait-event -p output $(cat run) data >/dev/null 2>&1 & flux job wait-event -p exec $(cat run) shell.start >/dev/null
        flux submit --urgency=0 true >held; flux dump -q dump.tgz; flux cancel $(cat run); flux job wait-event $(cat run) clean >/dev/null; kill %1 || true'
    rm -r state; mkdir state
    instance 'flux job wait-event -t 20 $(cat run) clean; flux kvs get $(flux job id --to=kvs $(cat run)).guest.exec.eventlog
        flux job urgency $(cat held) default; flux job wait-event -t 20 $(cat held) clean; flux kvs namespace list
        new=$(flux submit --wait true); [ $(flux job id --to=dec $new) -gt $(flux job id --to=dec $(cat held)) ]' -Scontent.restore="$PWD/dump.tgz" >out
    cat out; grep -q "reattach" out; ! grep -q "^job-" out
}

@test "a store that Flux has filled: its jobs are there, and new ones come after them" {
    [ -e "$VECTORS/instance.content.sqlite" ] || skip "no store: $VECTORS/instance.content.sqlite is missing, FLUX_VECTORS may name its folder"
    mkdir state
    cp "$VECTORS/instance.content.sqlite" state/content.sqlite; chmod 600 state/content.sqlite
    instance 'flux jobs -ano "{id.dec} {id.f58} {status} {returncode} {name}" | sort >list
        id=$(flux submit true); flux job wait-event $id clean >/dev/null; flux job id --to=dec $id >new
        flux jobs -ano "{id.dec}" >later; flux jobs -ano {status} --filter=pending' >pending || { cat log; false; }
    diff <(sort "$VECTORS/instance.jobs.txt") list; [ "$(sort -u pending)" = SCHED ]
    [ "$(sort -n later | tail -1)" = "$(cat new)" ]
    # And again, as a store of ours by now.
    instance 'flux jobs -ano "{id.dec} {id.f58} {status} {returncode} {name}"' | grep -v "^$(cat new) " | sort | diff list -
    # The held one waits for its urgency only.
    instance 'flux job urgency ƒ2AB8TbD default; flux job wait-event -t 20 ƒ2AB8TbD clean'
}

@test "a dump that Flux has made is a start as well" {
    [ -e "$VECTORS/instance.dump.tgz" ] || skip "no dump: $VECTORS/instance.dump.tgz is missing, FLUX_VECTORS may name its folder"
    mkdir state
    instance 'flux jobs -ano "{id.dec} {id.f58} {status} {returncode} {name}" | sort >list
        id=$(flux submit true); flux job wait-event $id clean >/dev/null
        [ $(flux job id --to=dec $id) -gt 47345303552 ]' -Scontent.restore="$VECTORS/instance.dump.tgz" || { cat log; false; }
    diff <(sort "$VECTORS/instance.jobs.txt") list
}

@test "a broker that is restarted dumps nothing" {
    cluster 1
    broker 0 -Scontent.dump=auto -Scontent.restore=auto; is_up; on 0 flux kvs put a=1; gone 0 TERM; [ ! -e state/dump ]
    broker 0 -Scontent.dump=auto -Scontent.restore=auto; is_up; [ "$(on 0 flux kvs get a)" = 1 ]
    cluster_down; [ -L state/dump/RESTORE ]
}
