# Helpers of the system tests. Each test runs its script inside an instance of its own; nothing is shared.
: "${FLUX_BUILD:=$(cd "$BATS_TEST_DIRNAME/.." && pwd)/build}"
export PATH="$FLUX_BUILD/bin:$FLUX_BUILD/test:$PATH"
export FLUX_BUILD

setup() {
    unset FLUX_URI FLUX_JOB_ID FLUX_KVS_NAMESPACE
    TEST_TMP=$(mktemp -d "${BATS_TMPDIR:-/tmp}/flux-test-XXXXXX")
    export TEST_TMP TMPDIR="$TEST_TMP"
    cd "$TEST_TMP" || return 1
}

teardown() {
    cd / && rm -rf "$TEST_TMP"
}

# under_flux SIZE SCRIPT [FLUX-START-OPTIONS...]: run a bash script (with `set -e`) as initial program of an instance.
under_flux() {
    local size=$1 script=$2
    shift 2
    printf 'set -e -o pipefail\n%s\n' "$script" >"$TEST_TMP/script.bash"
    timeout --foreground -k 5 "${FLUX_TEST_TIMEOUT:-60}" flux start -s "$size" "$@" bash "$TEST_TMP/script.bash"
}
export -f under_flux
