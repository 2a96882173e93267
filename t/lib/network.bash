# The brokers of a cluster (lib/cluster) as hosts of a network of their own, whose links can be cut. Needs root: each host
# is a network namespace, the switch between them is one too.

address() { echo "tcp://10.0.0.$(($1 + 1)):8050"; }

# network SIZE: make it.
network() {
    local rank
    NETWORK=flux$BASHPID HOSTS=()
    ip netns add "$NETWORK"
    ip -n "$NETWORK" link add bridge type bridge
    ip -n "$NETWORK" link set bridge up
    ip netns exec "$NETWORK" nft add table netdev cuts
    for rank in $(seq 0 $(($1 - 1))); do host "$rank"; done
}

# host RANK: plug it in.
host() {
    HOSTS[$1]=$NETWORK-$1
    ip netns add "${HOSTS[$1]}"
    ip -n "$NETWORK" link add "port$1" type veth peer name eth0 netns "${HOSTS[$1]}"
    ip -n "$NETWORK" link set "port$1" master bridge up
    ip -n "${HOSTS[$1]}" address add "10.0.0.$(($1 + 1))/24" dev eth0
    ip -n "${HOSTS[$1]}" link set lo up
    ip -n "${HOSTS[$1]}" link set eth0 address "02:00:00:00:00:$(printf %02x $(($1 + 1)))" up
    ip netns exec "$NETWORK" nft add chain netdev cuts "from$1" \
        "{ type filter hook ingress device port$1 priority 0; }"
}

# broker_at RANK [COMMAND...]: start the broker of that host, by that command.
broker_at() {
    RUN=(ip netns exec "${HOSTS[$1]}" "${@:2}")
    broker "$1"
}

# power_off RANK: all processes there are gone, and nobody is told.
power_off() {
    unplug "$1"
    ip netns pids "${HOSTS[$1]}" | xargs kill -9
    ip netns exec "$NETWORK" nft delete chain netdev cuts "from$1"
    ip -n "$NETWORK" link delete "port$1"
    ip netns delete "${HOSTS[$1]}"
}

# cut_way FROM TO: what FROM sends to TO gets lost, without a sign to anybody.
cut_way() { ip netns exec "$NETWORK" nft add rule netdev cuts "from$1" ip daddr "10.0.0.$(($2 + 1))" drop; }

# unplug RANK; plug RANK: the host is off the network, and on it again.
unplug() { ip -n "$NETWORK" link set "port$1" down; }
plug() { ip -n "$NETWORK" link set "port$1" up; }

# All ways are open again.
heal() {
    local rank
    for rank in "${!HOSTS[@]}"; do
        ip netns exec "$NETWORK" nft flush chain netdev cuts "from$rank"
        plug "$rank"
    done
}

# The namespaces are gone; what ran there should be, before.
network_down() {
    local rank
    [ -n "${NETWORK:-}" ] || return 0
    for rank in "${!HOSTS[@]}"; do ip netns delete "${HOSTS[$rank]}"; done
    ip netns delete "$NETWORK"
}
