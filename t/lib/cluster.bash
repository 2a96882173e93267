# A configured instance of brokers of this host, each started by itself, that meet over TLS at a loopback address which
# no other test has.

# cluster SIZE [CONFIG-LINES...]: its configuration. Rank N is host nodeN; node0 is the parent of all.
cluster() {
    SIZE=$1
    ADDRESS=127.$((BASHPID % 250 + 2)).$((BASHPID / 250 % 250 + 1)).$((RANDOM % 250 + 1))
    mkdir -p conf run
    [ -e cert ] || flux keygen cert
    printf '%s\n' '[bootstrap]' "curve_cert = \"$PWD/cert\"" "default_port = 8050" \
        "default_bind = \"tcp://$ADDRESS:%p\"" "default_connect = \"tcp://$ADDRESS:%p\"" \
        "hosts = [{host = \"node[0-$((SIZE - 1))]\"}]" "${@:2}" >conf/flux.toml
    mkfifo up down
    exec 7<>up
    PIDS=()
    RUN=()
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
