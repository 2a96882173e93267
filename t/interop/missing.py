"""What steps that were not recorded would have made: the prologue of a recorded line."""

import json
import os

import names as naming
import wire

INACTIVE = 64


class Prologue:
    """Requests of the replay itself, on a connection of their own."""

    def __init__(self, names):
        self.names = names
        self.jobs = []

    def before(self, line):
        step = STEPS.get(str(line))
        if step:
            step(self)

    def rpc(self, topic, payload, **options):
        connection = wire.Connection()
        try:
            yield from connection.rpc(topic, payload, **options)
        finally:
            connection.close()

    def put(self, key, data):
        ops = [{"key": key, "flags": 0, "dirent": {"ver": 1, "type": "val", "data": data}}]
        list(self.rpc("kvs.commit", {"namespace": "primary", "flags": 0, "ops": ops}))

    def submit(self, recorded_id, command, urgency=16):
        """A job whose submission was not recorded."""
        jobspec = {
            "resources": [{"type": "slot", "count": 1, "with": [{"type": "core", "count": 1}], "label": "task"}],
            "tasks": [{"command": command, "slot": "task", "count": {"per_slot": 1}}],
            "attributes": {"system": {"duration": 0, "cwd": os.getcwd(), "environment": dict(os.environ)}},
            "version": 1,
        }
        (answer,) = self.rpc("job-ingest.submit", {"J": naming.sign(jobspec), "urgency": urgency, "flags": 0})
        self.names.learn("id", recorded_id, answer["id"])
        self.jobs.append(answer["id"])
        return answer["id"]

    def running(self, jobid):
        for response in self.rpc("job-info.eventlog-watch", {"id": jobid, "path": "guest.exec.eventlog", "flags": 1}, streaming=True):
            if json.loads(response["event"])["name"] == "shell.start":
                return

    def settle(self):
        """The next client came when the jobs of the one before it were over, for job-list too."""
        for jobid in self.jobs:
            try:
                list(self.rpc("job-list.list-id", {"id": jobid, "attrs": ["state"], "state": INACTIVE}))
            except wire.Late:
                (answer,) = self.rpc("job-manager.getattr", {"id": jobid, "attrs": ["eventlog"]})
                raise wire.Late(f"job {naming.f58(jobid)} does not end: {answer['eventlog']}") from None
        self.jobs.clear()


STEPS = {
    "29-kvs-watch.jsonl:1": lambda prologue: prologue.put("w.key", "MQ=="),
    "29-kvs-watch.jsonl:4": lambda prologue: prologue.put("w.key", "Mg=="),
    "73-job-urgency.jsonl:1": lambda prologue: prologue.submit(666172915712, ["true"], urgency=0),
    "74-cancel.jsonl:1": lambda prologue: prologue.running(prologue.submit(678520946688, ["sleep", "60"])),
    "75-job-kill.jsonl:1": lambda prologue: prologue.running(prologue.submit(697932185600, ["sleep", "60"])),
    # The job that the second one depends on ended before that one was validated.
    "84-dependency.jsonl:4": lambda prologue: prologue.settle(),
}
