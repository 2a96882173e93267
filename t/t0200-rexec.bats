#!/usr/bin/env bats
# Remote execution: flux exec, flux sproc, and that processes survive the reload of rexec.
load lib/common

@test "exec: output, labels, input and exit codes of several ranks" {
    run under_flux 3 "
        flux exec -n flux getattr rank | sort | tr '\n' ' ' | grep -qx '0 1 2 '
        flux exec -nl -r 1-2 echo hi | sort | tr '\n' ' ' | grep -qx '1: hi 2: hi '
        test \$(seq 20000 | flux exec -r 0,2 cat | wc -l) -eq 40000
        flux exec -n false 2>err && exit 1; test \$? -eq 1; grep -qx '\[0-2\]: Exit 1' err
        flux exec -n -r 1 sh -c 'kill -TERM \$\$' 2>err || test \$? -eq 143; grep -qx '1: Terminated' err
        flux exec -n -r 0 /no/such 2>err || test \$? -eq 127
        grep -qx 'flux-exec: Error: rank 0: /no/such: error launching process: No such file or directory' err
        flux exec -n -r 0 /etc 2>err || test \$? -eq 126
        flux exec -r 3 true 2>err && exit 1; grep -q 'One or more invalid --ranks specified: 3' err
        flux exec -x 0-2 true 2>err && exit 1; grep -q 'No targets specified' err
        test \$(flux exec -n -r 0 -d /usr pwd) = /usr; test \$(flux exec -n -r 0 -d /no/such pwd) = /tmp"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "exec: signals are passed on" {
    run under_flux 2 "
        mkfifo go; flux exec -n sh -c 'trap \"echo got it; exit 9\" TERM; echo ready > go; while :; do read x < go; done' >out 2>err & pid=\$!
        read a < go; kill -TERM \$pid
        rc=0; wait \$pid || rc=\$?; cat out err; test \$rc -ge 9"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "sproc: background processes are listed, signalled, waited for, logged" {
    run under_flux 2 "
        flux exec --bg --waitable --label=one -r 1 sh -c 'echo to the log; exec sleep 1000' | grep -q '^1: [0-9]*\$'
        flux sproc ps -r 1 | awk 'NR == 1 { exit \$1 != \"PID\" } NR == 2 { exit \$2 != \"R\" || \$3 != \"one\" || \$4 != \"sh\" }'
        flux sproc ps -r 1 -n -o '{rank} {label}' | grep -qx '1 one'
        flux exec --bg --label=one -r 1 true 2>err && exit 1; grep -q 'command label is not unique' err
        flux sproc kill -r 1 15 one
        rc=0; flux sproc wait -o -r 1 one >out || rc=\$?; test \$rc -eq 143; grep -qx 'to the log' out
        flux sproc kill -r 1 15 one 2>err && exit 1; grep -q '\[Errno 3\]' err
        flux exec --bg --waitable --label=two -r 1 sleep 1000; flux sproc kill -w -r 1 9 two
        test -z \"\$(flux sproc ps -n -r 1)\""
    echo "$output"; [ "$status" -eq 0 ]
}

@test "exec: attach to a process in the background, and leave it" {
    run under_flux 1 "
        mkfifo go out trace; exec 3<>go 4<>out 5<>trace
        attach() { flux exec -v --attach=\$1 >out 2>trace & pid=\$!; until [[ \$line == *started* ]]; do read line <&5; done; line=; }
        flux exec --bg --label=a sh -c 'read x < go; echo \$x; read x < go; echo \$x; exit 3'
        attach a; echo first >&3; read x <&4; test \$x = first
        flux exec --attach=a 2>err && exit 1; grep -q 'subprocess already has a client attached' err
        flux module reload rexec; echo second >&3; read x <&4; test \$x = second
        rc=0; wait \$pid || rc=\$?; test \$rc -eq 3
        flux exec --bg --waitable --label=b sh -c 'read x < go; exit 4'
        attach b; kill -INT \$pid; wait \$pid
        echo go on >&3; rc=0; flux sproc wait b || rc=\$?; test \$rc -eq 4"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "reload: streams go on without gap or duplicate, same pids, input complete" {
    run under_flux 2 "
        seq 200000 >in
        (head -n 100000 in; flux module reload rexec; tail -n 100000 in) | flux exec -r 0 cat >out & pid=\$!
        for i in 1 2 3; do flux module reload rexec; flux exec -n -r 1 flux module reload rexec; done
        wait \$pid; cmp in out
        flux exec --bg --waitable --label=w sleep 1000; flux sproc ps -n >before
        flux sproc wait w & pid=\$!
        flux module reload rexec; flux sproc ps -n | diff before -
        flux sproc kill 9 w; rc=0; wait \$pid || rc=\$?; test \$rc -eq 137"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a client that goes takes its processes with it, also during a reload" {
    run under_flux 1 "
        mkfifo alive
        for reload in 'true' 'flux module reload rexec'; do
            flux exec -n sh -c 'exec >alive; echo up; exec sleep 1000' & pid=\$!
            exec 3<alive; read up <&3
            \$reload & reload=\$!; kill -9 \$pid; wait \$reload
            cat <&3 # to the end of the process
        done
        test -z \"\$(flux sproc ps -n)\""
    echo "$output"; [ "$status" -eq 0 ]
}

@test "background processes and their launcher end with the instance" {
    mkfifo alive
    under_flux 1 "flux exec --bg sh -c 'exec >alive; setsid sleep 4321 & exec sleep 4322'" >out &
    timeout 60 cat alive
    wait $!
}
