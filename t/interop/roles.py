#!/usr/bin/env python3
"""Calls every method of roles.txt as a guest, and as one with a role that no method asks for, at the broker of FLUX_URI.

An owner's connection may speak for others. Usage: roles.py JOBID - an active job of the owner, whose methods refuse guests.
Exits 1 and names each method that lets somebody in, or keeps somebody out, against the table.
"""

import json
import pathlib
import sys
import time

import wire

EPERM = 1
GUEST = 65533
USER, ADMIN = 2, 8
OWNER_ONLY = "Request requires owner credentials"
NOT_ALLOWED = "Request rejected due to insufficient privilege"
MAY = {"owner": (), "user": (USER,), "all": (USER, ADMIN)}


class Caller:
    def __init__(self):
        self.connection = wire.Connection()
        self.matchtag = 0

    def call(self, topic, payload, rolemask, flags=()):
        """errno and text of the first answer"""
        self.matchtag += 1
        data = json.dumps(payload).encode() + b"\0"
        request = wire.Message(wire.REQUEST, flags, topic, data, wire.NODEID_ANY, self.matchtag, GUEST, rolemask)
        self.connection.send(request)
        deadline = time.monotonic() + wire.DEADLINE
        while (answer := self.connection.receive(deadline)).matchtag != self.matchtag:
            pass
        text = answer.payload.rstrip(b"\0").decode(errors="replace") if answer.errnum and answer.payload else ""
        return answer.errnum, text


def table():
    for line in (pathlib.Path(__file__).parent / "roles.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            yield line.split()


def check_methods(caller):
    for topic, who in table():
        for rolemask in (USER, ADMIN):
            try:
                errnum, text = caller.call(topic, {}, rolemask)
            except wire.Late:
                yield f"{topic}: no answer with rolemask {rolemask}"
                continue
            refused = errnum == EPERM and text in (OWNER_ONLY, NOT_ALLOWED)
            if refused == (rolemask in MAY[who]):
                yield f"{topic} is for {who}: with rolemask {rolemask} the answer is {errnum} {text}"
            elif refused and text != (OWNER_ONLY if who == "owner" else NOT_ALLOWED):
                yield f"{topic} is for {who}: refused with {text}"


def check_objects(caller, job):
    """What is the owner's is not for guests."""
    calls = {
        "job-manager.raise": {"id": job, "severity": 0, "type": "cancel"},
        "job-manager.kill": {"id": job, "signum": 15},
        "job-manager.urgency": {"id": job, "urgency": 0},
        "job-manager.memo": {"id": job, "memo": {"a": 1}},
        "job-manager.update": {"id": job, "updates": {"attributes.system.duration": 1}},
        "job-manager.raiseall": {"dry_run": True, "userid": 0xFFFFFFFF, "states": 127, "severity": 0, "type": "cancel"},
        "job-manager.killall": {"dry_run": True, "userid": 0xFFFFFFFF, "signum": 15},
        "job-info.lookup": {"id": job, "keys": ["jobspec"], "flags": 0},
        "job-info.eventlog-watch": {"id": job, "path": "eventlog", "flags": 0},
        "job-info.update-watch": {"id": job, "key": "R", "flags": 0},
        "job-exec.critical-ranks": {"id": job, "ranks": "0"},
        "kvs.lookup": {"namespace": "primary", "key": "resource.R", "flags": 0},
        "kvs.commit": {"namespace": "primary", "flags": 0, "ops": []},
    }
    for topic, payload in calls.items():
        errnum, text = caller.call(topic, payload, USER, ["streaming"] if topic.endswith("-watch") else [])
        if errnum != EPERM:
            yield f"{topic} of what is the owner's: the answer to a guest is {errnum} {text}"


if __name__ == "__main__":
    caller = Caller()
    wrong = [*check_methods(caller), *check_objects(caller, int(sys.argv[1]))]
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)
