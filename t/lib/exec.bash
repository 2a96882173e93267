# Helpers for scripts inside of an instance whose jobs run in shells.
. "$BATS_TEST_DIRNAME/lib/jobs.bash"
# exec_events ID -> names of the events of its execution
exec_events() { flux job eventlog -p exec "$1" | awk '{ printf "%s ", $2 }'; }
# exec_event ID NAME -> the context of the first such event, once it is there
exec_event() { flux job wait-event -p exec "$1" "$2" | sed "s/^[0-9.]* $2 *//"; }
# event ID NAME -> the context of the first such event, once it is there
event() { flux job wait-event "$1" "$2" | sed "s/^[0-9.]* $2 *//"; }
await_clean() { flux job wait-event -q "$1" clean; }
on_rank() { FLUX_URI=local://$(flux getattr rundir)/local-$1 "${@:2}"; }
broker_pid() { on_rank "$1" flux getattr broker.pid; }
# gate NAME: a fifo; a task waits for it by `cat NAME`, `open_gate NAME` lets it go on.
gate() { mkfifo "$1"; }
open_gate() { : >"$1"; }
