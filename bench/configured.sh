#!/bin/bash
# configured.sh BUILD: instances of configured brokers over TLS: start, return of the leader, RPCs through one hop.
exec python3 "$(dirname "$0")/configured.py" "$1"
