#!/bin/bash
# link.sh BUILD: rate of messages over a TLS link, beside one over a unix socket (goal: at least 70 %).
"$1/bench/bench_link"
