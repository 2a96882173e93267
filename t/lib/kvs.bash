# kvs_instance SIZE SCRIPT [FLUX-START-OPTIONS...]: an instance with nothing but the KVS and $STORE, its content store,
# with functions for short scripts; $rank1 runs a command on rank 1.
STORE=content-sqlite
kvs_instance() {
    local size=$1 script=$2
    shift 2
    under_flux "$size" "
        on() { local rank=\$1; shift; FLUX_URI=local://\$(flux getattr rundir)/local-\$rank \"\$@\"; }
        rank1=\"env FLUX_URI=local://\$(flux getattr rundir)/local-1\"
        for m in content $STORE kvs kvs-watch; do
            for ((r = 0; r < $size; r++)); do [ \$r -gt 0 -a \$m = content-sqlite ] || on \$r flux module load ${FLUX_TEST_PLACEMENT:-} \$m; done
        done
        val() { printf '{\"ver\":1,\"type\":\"val\",\"data\":\"%s\"}' \$(printf '%s' \"\$1\" | base64 -w0); }
        op() { printf '{\"key\":\"%s\",\"flags\":%s,\"dirent\":%s}' \"\$1\" \"\${3:-0}\" \"\$2\"; }
        commit() { local more=\$1; shift; local IFS=,; echo \"{\\\"namespace\\\":\\\"primary\\\",\\\"flags\\\":0\$more,\\\"ops\\\":[\$*]}\"; }
        look() { printf '{\"namespace\":\"primary\",\"key\":\"%s\",\"flags\":%s}' \"\$1\" \"\${2:-0}\"; }
        in_ns() { sed 's/\"primary\"/\"'\$1'\"/'; }
        refused() { local errno=\$1; shift; if \"\$@\" >out 2>err; then echo \"not refused: \$*\"; exit 1; fi; grep -q \"^errno \$errno:\" err || { cat err; exit 1; }; }
        rpc() { flux-t-rpc \"\$@\"; }
        $script" -Sbroker.rc1_path= "$@"
}
