"""Names that differ from run to run: job ids, blobrefs, uuids, shell services, versions. Each is mapped as it first appears."""

import base64
import json
import os
import re
import resource

VARIABLE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|sha1-[0-9a-f]{40}|[0-9]+-shell-f[0-9A-Za-z]+")
NUMBERS = ("id", "rootseq")
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def f58(jobid):
    digits = ""
    while jobid:
        jobid, digit = divmod(jobid, 58)
        digits = BASE58[digit] + digits
    return "\u0192" + (digits or "1")


class Names:
    def __init__(self):
        self.texts = {}
        self.numbers = {key: {} for key in NUMBERS}

    def learn(self, key, recorded, ours):
        """Sees a recorded value and ours in the same place."""
        if key == "id" and type(recorded) is int and type(ours) is int:
            self._learn_job(recorded, ours)
        elif key == "rootseq":
            self.numbers[key].setdefault(recorded, ours)
        elif isinstance(recorded, str) and isinstance(ours, str) and VARIABLE.fullmatch(recorded):
            self.texts.setdefault(recorded, ours)

    def _learn_job(self, recorded, ours):
        """Jobs that ran at the same time may end in another order than the recorded ones: a listing shows which is which."""
        jobs = self.numbers["id"]
        before = jobs.get(recorded)
        for other, job in jobs.items():
            if job == ours and other != recorded and before is not None:
                jobs[other] = before
                self.texts[f58(other)] = f58(before)
                break
        jobs[recorded] = ours
        self.texts[f58(recorded)] = f58(ours)

    def topic(self, topic):
        service, dot, method = topic.partition(".")
        return self.texts.get(service, service) + dot + method

    def request(self, value, key=None):
        """A recorded request's payload as we send it."""
        if key == "J":
            return self._sign(value)
        if key == "cmd":
            return value | {"cwd": os.getcwd(), "env": dict(os.environ)}
        if isinstance(value, dict):
            return {name: self.request(member, name) for name, member in value.items()}
        if isinstance(value, list):
            return [self.request(member, key) for member in value]
        if type(value) is int and key in NUMBERS:
            return self.numbers[key].get(value, value)
        return self.texts.get(value, value) if isinstance(value, str) else value

    def _sign(self, signed):
        """The job specification with our directory and environment, signed by mechanism `none`."""
        jobspec = self.request(json.loads(base64.b64decode(signed.split(".")[1] + "===")))
        system = jobspec["attributes"]["system"]
        system["cwd"] = os.getcwd()
        system["environment"] = dict(os.environ)
        limits = system["shell"]["options"]["rlimit"]
        system["shell"]["options"]["rlimit"] = {name: our_limit(name) for name in limits}
        return sign(jobspec)


def our_limit(name):
    return resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))[0]


def sign(jobspec):
    header = f"version\0i1\0userid\0i{os.getuid()}\0mechanism\0snone\0"
    payload = json.dumps(jobspec)
    return ".".join([base64.b64encode(header.encode()).decode(), base64.b64encode(payload.encode()).decode(), "none"])
