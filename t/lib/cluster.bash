# A configured instance of brokers of this host, each started by itself, that meet over TLS at a loopback address which
# no other test has.

ADDRESS=127.$((BASHPID % 250 + 2)).$((BASHPID / 250 % 250 + 1)).$((RANDOM % 250 + 1))

# Where a rank listens.
address() { echo "tcp://$ADDRESS:$((8050 + $1))"; }

# cluster SIZE [CONFIG-LINES...]: its configuration. Rank N is host nodeN; node0 is the parent of all.
cluster() {
    local rank
    SIZE=$1
    mkdir -p conf run
    [ -e cert ] || flux keygen cert
    {
        printf '%s\n' '[bootstrap]' "curve_cert = \"$PWD/cert\"" 'hosts = ['
        for rank in $(seq 0 $((SIZE - 1))); do
            echo "{host = \"node$rank\", bind = \"$(address "$rank")\", connect = \"$(address "$rank")\"},"
        done
        printf '%s\n' ']' "${@:2}"
    } >conf/flux.toml
    mkfifo up down
    exec 7<>up
    PIDS=()
    RUN=()
}

# listed SIZE: config lines of an administrator who says what there is. Otherwise the scheduler forgets what it loses.
listed() {
    printf '%s\n' '[resource]' 'noverify = true' '[[resource.config]]' "hosts = \"node[0-$(($1 - 1))]\"" 'cores = "0-1"'
}

# broker RANK [OPTIONS...]: start one, by the command RUN if there is one. The leader tells when all are online, and ends
# when it is told.
broker() {
    local rank=$1
    shift
    FLUX_DISABLE_JOB_CLEANUP=1 "${RUN[@]}" flux broker -c conf -Shostname="node$rank" -Srundir="$PWD/run" \
        -Sstatedir="$PWD/state" "$@" setpriv --pdeathsig KILL bash -c "echo up >&7; read -r <down" 2>>"log.$rank" &
    PIDS[rank]=$!
}

# is_up: wait until the leader has told that all brokers are online.
is_up() { read -r -t 30 <&7; }

# on RANK COMMAND...: a client of that broker.
on() {
    local uri=local://$PWD/run/local-$1
    shift
    FLUX_URI=$uri timeout 40 "$@"
}

# gone RANK SIGNAL: end a broker, and wait for its end.
gone() {
    kill "-$2" "${PIDS[$1]}"
    wait "${PIDS[$1]}" || true
}

# The end of all, from outside when the instance does not end by itself.
cluster_down() {
    local pid
    echo >down
    for pid in "${PIDS[@]}"; do timeout 20 tail --pid="$pid" -f /dev/null || kill -9 "$pid"; done
    wait
}

# until_path RANK TEXT, until_health RANK TEXT, until_group NAME TEXT: wait until the broker of that rank tells that of
# its way to the leader or of its children, or the leader of that group.
until_path() { on "$1" timeout 15 flux-t-rpc -s -w "$2" overlay.path >>told; }
until_health() { on "$1" timeout 15 flux-t-rpc -s -w "$2" overlay.health >>told; }
until_group() { on 0 timeout 15 flux-t-rpc -s -w "\"members\":\"$2\"" groups.get "{\"name\":\"$1\"}" >>told; }

# notices: where commands tell what they wait for, with 2>&6. notice TEXT: wait until a line there begins so.
notices() {
    mkfifo notices
    exec 6<>notices
}
notice() {
    local line
    while read -r -t 15 line <&6; do
        echo "$line" >>noticed
        [[ "$line" != "$1"* ]] || return 0
    done
    return 1
}

# For the teardown of a test, however it ended.
cluster_teardown() {
    local rank
    for rank in "${!PIDS[@]}"; do kill -9 "${PIDS[$rank]}" 2>/dev/null || true; done
    [ -z "${DEBUG_LOGS:-}" ] || tail -n 30 log.*
    cd / && rm -rf "$TEST_TMP"
}
