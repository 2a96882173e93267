# Helpers for scripts inside of an instance: job-manager by RPC, with or without the services of flux-t-job-services.
jm() { flux-t-rpc "job-manager.$1" "${@:2}"; }
# submit [OPTIONS...] -> ids
submit() { flux-t-submit "$@"; }
# with_system JSON [OPTIONS...]: a job with these members of attributes.system
with_system() { flux-t-submit -a "$1" "${@:2}"; }
# events ID -> names of the events of a job
events() { jm getattr '{"id":'$1',"attrs":["eventlog"]}' | grep -o '"name":"[^"]*' | cut -d'"' -f4 | tr '\n' ' '; }
# list [MAX] -> {"jobs":[...]}
list() { jm list '{"max_entries":'${1:-0}'}'; }
listed_ids() { list "$@" | grep -o '{"id":[0-9]*' | cut -d: -f2 | tr '\n' ' '; }
cancel() { jm raise '{"id":'$1',"severity":0,"type":"cancel"}'; }
drain() { jm drain >/dev/null; }
stop_queue() { jm queue-start '{"start":false,"all":false,"reason":"'"$1"'"}'; }
start_queue() { jm queue-start '{"start":true,"all":false}'; }
# await_event ID NAME: wait until a job has had an event
await_event() {
    grep -q -m1 '^{"id":'$1',.*"name":"'$2'"' < <(flux-t-rpc -s job-manager.events-journal '{"full":true,"allow":{"'$2'":1}}')
}
# fails TEXT COMMAND...: the command fails and says so
fails() {
    local text=$1
    shift
    if "$@" >failure 2>&1; then echo "did not fail: $*" >&2; exit 1; fi
    grep -q -- "$text" failure || { echo "not '$text':" >&2; cat failure >&2; exit 1; }
}
# is WANTED GOT
is() { [ "$1" = "$2" ] || { printf 'wanted: %s\ngot:    %s\n' "$1" "$2" >&2; exit 1; }; }
# start_services OPTIONS...: what they are told goes to the file `services`
start_services() {
    [ -p up ] || mkfifo up
    flux-t-job-services "$@" -r up >>services &
    services=$!
    : <up
}
stop_services() { kill $services; wait $services; }
# events_by_id <JOURNAL: one line `ID EVENT...` for each job, ordered by id
events_by_id() {
    sed -n 's/^{"id":\([0-9][0-9]*\),/\1 /p' | awk '{
        rest = $0
        while (match(rest, /"name":"[a-z-]*"/)) {
            name = substr(rest, RSTART + 8, RLENGTH - 9)
            rest = substr(rest, RSTART + RLENGTH)
            if (name != "annotations") events[$1] = events[$1] " " name
        }
    } END { for (id in events) print id events[id] }' | sort
}
