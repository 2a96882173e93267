#!/bin/bash
# instance.sh BUILD: cost of instances, commands and jobs, in starts of python3 and beside xargs.
exec python3 "$(dirname "$0")/instance.py" "$1"
