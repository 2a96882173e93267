#!/bin/bash
# rpc.sh BUILD: cost of an RPC to a module, in socketpair round trips (goal: at most 6).
taskset -c 0 "$1/bin/flux" start -s1 "$1/bench/bench_rpc" heartbeat.ping
