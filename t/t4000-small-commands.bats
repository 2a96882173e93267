#!/usr/bin/env bats
# Commands that need little or nothing of an instance: version, env, help, lptest, R, hostlist, config, log, events, uptime, overlay.
load lib/common

# with_flux SIZE SCRIPT: fails TEXT COMMAND... says that a command exits 1 with TEXT on stderr, same COMMAND... compares stdin with its output.
with_flux() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" "
        fails() { local text=\$1 rc=0; shift; \"\$@\" >out 2>err || rc=\$?; [ \$rc = 1 ] && grep -qF -- \"\$text\" err || { echo \"rc=\$rc: \$*\"; cat out err; exit 1; }; }
        same() { diff - <(\"\$@\") || { echo \"differs: \$*\"; exit 1; }; }
        $script" "$@"
}

@test "the driver, help and version" {
    flux help | grep -q "^   submit"
    flux -V | grep -q "^commands:"; flux version | grep -q "^libflux-core:"
    run flux; [ "$status" -eq 1 ]
    flux -v env true | grep -q "^FLUX_EXEC_PATH="; flux -v env true | grep -q "^sub-command search path: "
    flux -v nosuch 2>&1 | grep -q "/flux-nosuch$" || false
    run flux nosuch; [ "$status" -eq 1 ]; [[ "$output" == *"is not a flux command"* ]]
    run flux subm; [[ "$output" == *"submit"* ]]
    for cmd in $(flux help | awk '/^   / {print $1}'); do flux "$cmd" --help >/dev/null 2>&1; done
    flux help jobs | head -1 | grep -qx "FLUX-JOBS(1)"; flux help kvs | grep -q "^EVENTLOG$"; flux help kvs | grep -q -- "--treeobj-root"
    [ "$(flux help --words kvs namespace)" = "create
list
remove
--help" ]
    flux help --words | grep -qx bulksubmit; flux help --words jobs | grep -qx -- "--filter="
    source "$BATS_TEST_DIRNAME/../etc/completions/flux"; compopt() { :; }
    COMP_WORDS=(flux kvs na) COMP_CWORD=2; _flux; [ "${COMPREPLY[*]}" = namespace ]
    COMP_WORDS=(flux modp) COMP_CWORD=1; _flux; [ "${COMPREPLY[*]}" = modprobe ]
    FLUX_URI=local:///no/such run flux version; [ "$status" -eq 1 ]
}

@test "without a broker every family of commands says so in its own way" {
    export FLUX_URI=local:///no/such
    run flux getattr size; [ "$status" -eq 1 ]; [ "$output" = "flux: flux_open: No such file or directory" ]
    run flux -p getattr size; [ "$status" -eq 1 ]; [ "$output" = "flux: flux_open: No such file or directory" ]
    run flux kvs get x; [ "$status" -eq 1 ]; [ "$output" = "flux-kvs: flux_open: No such file or directory" ]
    run flux ping kvs; [ "$status" -eq 1 ]; [ "$output" = "flux-ping: flux_open: No such file or directory" ]
    run flux jobs; [ "$status" -eq 1 ]
    [ "$output" = "flux-jobs: ERROR: Unable to connect to Flux: broker socket /no/such was not found" ]
}

@test "wrong operands are named" {
    run flux uri; [ "$status" -eq 2 ]
    [[ "$output" == *"flux-uri: error: the following arguments are required: TARGET"* ]]
    run flux sproc kill; [ "$status" -eq 2 ]
    [[ "$output" == *"flux-sproc kill: error: the following arguments are required: SIGNUM PID|LABEL"* ]]
    run flux module stats -t foo kvs; [ "$status" -eq 1 ]; [[ "$output" == *"must be int or double"* ]]
}

@test "start shows its commands" {
    run flux start -X -s2 true; [ "$status" -eq 0 ]
    [[ "${lines[0]}" == "flux-start: 0: "*"flux-broker --setattr=rundir="*" true" ]]; [[ "${lines[1]}" == "flux-start: 1: "* ]]
    [ -z "$(ls)" ]
    run flux start -v -s1 true; [[ "${lines[0]}" == "flux-start: 0: "*"flux-broker "*" true" ]]
}

@test "modules and pings: errors that scripts look for" {
    run with_flux 1 '
        fails "load kvs: File exists" flux module load kvs
        fails "load nosuch: nosuch: module not found in search path" flux module load nosuch
        fails "remove nosuch: No such file or directory" flux module remove nosuch
        fails "any!nosvc: Function not implemented" flux ping -c1 nosvc
        fails "No route to host" flux ping -c1 9
        fails "remove nosuch: No such file or directory" flux module reload --exec nosuch
        flux module reload --exec heartbeat; flux ping -c1 heartbeat
        flux module remove heartbeat; flux module reload -f heartbeat; flux ping -c1 heartbeat'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "env" {
    flux env | grep -q '^export FLUX_EXEC_PATH="'
    flux env printenv FLUX_MODULE_PATH
    run flux env /no/such; [ "$status" -eq 1 ]; [[ "$output" == "flux: execvp (/no/such): No such file"* ]]
}

@test "lptest" {
    [ "$(flux lptest 3 2)" = "$(printf '!"#\n"#$')" ]
    [ "$(flux lptest | wc -lc | tr -s ' ')" = " 200 16000" ]
}

@test "R" {
    R=$(flux R encode -r 0-1 -c 0-3 -g 0 -H n[0-1] -p gpu:1)
    [ "$(flux R decode -s <<<"$R")" = "rank[0-1]/core[0-3],gpu0" ]
    [ "$(flux R decode -n <<<"$R")" = "n[0-1]" ]; [ "$(flux R decode -c core <<<"$R")" = 8 ]
    [ "$(flux R decode -p gpu -r <<<"$R")" = 1 ]; [ "$(flux R decode -x 0 -c node <<<"$R")" = 1 ]
    part=$(flux R decode -i 1 <<<"$R")
    [ "$(flux R diff <<<"$R$part" | flux R decode -r)" = 0 ]
    [ "$(flux R intersect <<<"$R$part" | flux R decode -r)" = 1 ]
    [ "$(flux R append <<<"$(flux R encode -r 0 -H a)$(flux R encode -r 1 -H b)" | flux R decode -n)" = "a,b" ]
    run flux R append <<<"$R$part"; [ "$status" -eq 1 ]
    [ "$(flux R remap <<<"$(flux R encode -r 5 -c 7 -H x)" | flux R decode -s)" = "rank0/core0" ]
    [ "$(flux R rerank n[1,0] <<<"$R" | flux R decode -n)" = "n[1,0]" ]
    run flux R rerank n0 <<<"$R"; [ "$status" -eq 1 ]; [[ "$output" == *"Too few hosts specified (expected 2)"* ]]
    flux R verify <<<"$R$part"; run flux R verify <<<"$R$(flux R encode -r 1 -c 0 -H n1)"; [ "$status" -eq 1 ]
    run flux R decode </dev/null; [ "$status" -eq 1 ]
    printf '[resource]\n[[resource.config]]\nhosts="t[1-4]"\ncores="0-3"\n' >r.toml
    [ "$(flux R parse-config r.toml | flux R decode -s)" = "rank[0-3]/core[0-3]" ]
    [ "$(flux R parse-config r.toml | flux R decode -n)" = "t[1-4]" ]
    echo >r.toml; run flux R parse-config r.toml; [ "$status" -eq 1 ]
    [ "$output" = "flux-R: Config file error: Object item not found: resource" ]
    run flux R encode -r 0-1 -H a; [[ "$output" == *"hostname count in 'a' does not match nranks (2)"* ]]
}

@test "hostlist without an instance" {
    [ "$(flux hostlist n[1-3],n5)" = "n[1-3,5]" ]; [ "$(echo n1 n2 | flux hostlist)" = "n[1-2]" ]
    [ "$(flux hostlist -e n[1-3])" = "n1 n2 n3" ]; [ "$(flux hostlist -ed, n[1-2])" = "n1,n2" ]
    [ "$(flux hostlist -c n[1-3])" = 3 ]; [ "$(flux hostlist -n 0,2 n[1-3])" = "n[1,3]" ]; [ "$(flux hostlist -n-1 n[1-3])" = n3 ]
    [ "$(flux hostlist -F n3,n1 n[1-3])" = "2 0" ]; [ "$(flux hostlist -L 2 n[1-3])" = "n[1-2]" ]; [ "$(flux hostlist -L-2 n[1-3])" = "n[2-3]" ]
    [ "$(flux hostlist -x n2 n[1-3])" = "n[1,3]" ]; [ "$(flux hostlist -x 0 n[1-3])" = "n[2-3]" ]
    [ "$(flux hostlist -i n[1-3] n[2-4])" = "n[2-3]" ]; [ "$(flux hostlist -m n[1-3] n2)" = "n[1,3]" ]; [ "$(flux hostlist -X n[1-3] n[2-4])" = "n[1,4]" ]
    [ "$(flux hostlist -S n3,n1)" = "n[1,3]" ]; [ "$(flux hostlist -u n1,n2,n1)" = "n[1-2]" ]
    run flux hostlist -q -x n1 n1; [ "$status" -eq 1 ]; run flux hostlist -F n9 n1; [ "$status" -eq 1 ]
    run flux hostlist -e -c n1; [ "$status" -eq 2 ]
}

@test "job ids and task maps" {
    [ "$(flux job id -t f58plain 1234)" = fNH ]; [ "$(flux job id fNH)" = 1234 ]; [ "$(printf '1\n0x2\n' | flux job id | tr '\n' ' ')" = "1 2 " ]
    [ "$(flux job id -t kvs 1)" = job.0000.0000.0000.0001 ]; [ "$(flux job namespace 7)" = job-7 ]
    run flux job id foo.bar; [ "$status" -eq 1 ]
    [ "$(flux job taskmap --to=pmi '[[0,2,2,1]]')" = "(vector,(0,2,2))" ]; [ "$(flux job taskmap --to=raw '[[0,2,2,1]]')" = "0-1;2-3" ]
    [ "$(flux job taskmap --taskids=1 '[[0,2,2,1]]')" = 2-3 ]; [ "$(flux job taskmap --nodeid=3 '[[0,2,2,1]]')" = 1 ]
}

@test "config of an instance" {
    run with_flux 1 '
        [ $(flux config get) = "{\"a\":{\"b\":1,\"t\":\"2m\"}}" ]; [ $(flux config get a.b) = 1 ]
        [ $(flux config get -t fsd a.t) = 2m ]; [ $(flux config get -t fsd-integer a.t) = 120 ]
        fails "flux-config: none is not set" flux config get none; [ -z "$(flux config get -q none || true)" ]; [ $(flux config get -d 7 none) = 7 ]
        fails "does not have the requested type" flux config get -t string a.b
        flux config set a.b 2; [ $(flux config get a.b) = 2 ]; flux config set -t string a.s x; [ $(flux config get a.s) = x ]
        flux config unset a.s; fails "a.s is not set" flux config get a.s
        echo "[t]
        x = [1]" | flux config load; [ $(flux config get t.x) = "[1]" ]
        flux config reload
        [ $(flux config builtin module_path) = $(flux env printenv FLUX_MODULE_PATH | cut -d: -f1) ]; fails "none is invalid" flux config builtin none' --conf=a.b=1 --conf=a.t=2m
    echo "$output"; [ "$status" -eq 0 ]
}

@test "log" {
    run with_flux 2 '
        flux logger hello world; flux logger -s err -n me oops; echo from stdin | flux logger
        flux dmesg >log; grep -Eq "^[0-9-]+T[0-9:.]+Z? ?[+0-9:]* ?logger.notice\[0\]: hello world$" log; grep -q "me.err\[0\]: oops$" log; grep -q "logger.notice\[0\]: from stdin" log
        flux dmesg -H >log; head -1 log | grep -q "^\["; flux dmesg -L >log; grep -q "33mme.err" log
        flux dmesg -n -f >new & follower=$!
        flux dmesg -C; [ -z "$(flux dmesg | grep hello || true)" ]
        until grep -q arrived new; do flux logger arrived; done; kill $follower
        fails "Invalid severity" flux logger -s bad x; fails "delta" flux dmesg -d'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "events" {
    run with_flux 2 '
        flux event pub -l a.b "{\"x\":1}"; flux event pub -s a.b | grep -q "^seq=[0-9]"; flux event pub -sl a.b raw
        flux event sub -c 2 test. >seen & sub=$!
        until [ $(wc -l <seen) -ge 2 ]; do flux event pub test.one "{\"x\":1}"; flux event pub other; done; wait $sub
        same cat seen <<<$(printf "test.one\t{\"x\":1}\ntest.one\t{\"x\":1}")'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "uptime, overlay and hostlist of an instance" {
    run with_flux 3 '
        flux uptime | head -1 | grep -Eq "^ [0-9:]+ run [0-9.]+m?s,  owner $(id -un),  depth 0,  size 3"
        flux overlay status | grep -Eq "^0 [^:]+: full$"; [ $(flux overlay status | wc -l) = 3 ]; flux overlay status | tail -1 | grep -q "^└─ 2"
        flux overlay status -v | grep -Eq "full for [0-9.]+m?s$"; [ $(flux overlay status --summary) = full ]; [ -z "$(flux overlay status --down)" ]
        flux overlay status -H 1 | grep -q "<<1 "; flux overlay status -w full >/dev/null
        [ $(flux overlay parentof 2) = 0 ]; fails "0 has no parent" flux overlay parentof 0
        [ "$(flux overlay lookup 0-2)" = "$(flux getattr hostlist)" ]; [ -z "$(flux overlay errors)" ]
        [ "$(flux hostlist instance)" = "$(flux getattr hostlist)" ]; [ $(flux hostlist -c local) = 3 ]' --test-hosts=n[0-2]
    echo "$output"; [ "$status" -eq 0 ]
}

@test "shutdown and uri" {
    run with_flux 2 '
        [ $(flux uri .) = $FLUX_URI ]; [ $(flux uri /) = $FLUX_URI ]; [ $(flux uri pid:$$) = $FLUX_URI ]
        flux uri --remote . | grep -q ^ssh://; fails "not a valid Flux jobid" flux uri no.such; fails "No plugin for URI scheme x" flux uri x:y
        flux shutdown --background; exec tail -f /dev/null'
    [ "$status" -eq 129 ]
}

@test "keygen" {
    flux keygen --name=me --meta=a=b,c cert; [ "$(stat -c %a cert)" = 600 ]
    grep -Eqx '    public-key = "[^"]{40}"' cert; grep -Eqx '    secret-key = "[^"]{40}"' cert
    grep -qx '    name = "me"' cert; grep -qx '    a = "b"' cert; grep -qx '    c = ""' cert; grep -q 'keygen.hostname' cert
    run flux keygen; [ "$status" -eq 0 ]; [[ "$output" == *"add PATH argument"* ]]
    run flux keygen /no/such/dir/x; [ "$status" -eq 1 ]
}
