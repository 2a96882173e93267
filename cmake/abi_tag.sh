#!/bin/sh
# abi_tag.sh MAJOR OUT HEADERS...: write the ABI tag of the SDK, a hash of the public headers without comments and space.
set -e
major=$1 out=$2
shift 2
hash=$(cat "$@" | sed 's,//.*,,' | tr -d '[:space:]' | sha256sum | cut -c1-12)
mkdir -p "$(dirname "$out")"
printf '// The ABI of this SDK: what a plugin was built with must match exactly.\n#pragma once\n#define FLUX_ABI_TAG "%s.%s"\n' "$major" "$hash" >"$out.new"
mv "$out.new" "$out"
