"""What must be equal between a recorded response and ours: errnum, flags, presence and kind of payload, keys at every level, JSON types.

Values may differ. JSON inside strings (events, R, jobspec) and inside the data of KVS values is looked into like the rest.
"""

import base64
import json

import wire

JSON_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "real", type(None): "null"}
# Their number and wording is each implementation's own, so they are compared one by one with the first.
TEXT_STREAMS = ("log.dmesg",)


def inner_json(text):
    """The JSON objects that a string consists of, one a line, or None."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return [json.loads(text)]
    except ValueError:
        try:
            return [json.loads(line) for line in text.splitlines()]
        except ValueError:
            return None


def value_data(value):
    """The text of a KVS value."""
    if value.get("type") != "val" or not isinstance(value.get("data"), str):
        return None
    return base64.b64decode(value["data"]).decode(errors="replace")


class Comparison:
    """Collects deviations and learns names on the way."""

    def __init__(self, names):
        self.names = names
        self.deviations = []

    def deviates(self, place, what):
        self.deviations.append(f"{place}: {what}" if place else what)

    def message(self, recorded, ours):
        if recorded.topic != ours.topic and self.names.topic(recorded.topic) != ours.topic:
            self.deviates("topic", f"{recorded.topic} is {ours.topic}")
        if recorded.errnum != ours.errnum:
            self.deviates("errnum", f"{recorded.errnum} is {ours.errnum}")
            return
        if recorded.flags != ours.flags:
            self.deviates("flags", f"{recorded.flags} is {ours.flags}")
        self.payload(recorded, ours)

    def payload(self, recorded, ours):
        kinds = payload_kind(recorded.json, recorded.raw), payload_kind(None, ours.payload)
        if kinds[0] != kinds[1] and not (kinds == ("text", "JSON")):
            self.deviates("payload", f"{kinds[0]} is {kinds[1]}")
        elif kinds[0] == "JSON":
            self.value("", None, recorded.json, ours.json())

    def value(self, place, key, recorded, ours):
        self.names.learn(key, recorded, ours)
        kinds = JSON_TYPES[type(recorded)], JSON_TYPES[type(ours)]
        if kinds[0] != kinds[1]:
            self.deviates(place, f"{kinds[0]} is {kinds[1]}")
        elif isinstance(recorded, dict):
            self.members(place, recorded, ours)
        elif isinstance(recorded, list):
            self.elements(place, key, recorded, ours)
        elif isinstance(recorded, str):
            self.text(place, recorded, ours)

    def members(self, place, recorded, ours):
        for key in sorted(recorded.keys() | ours.keys()):
            here = f"{place}.{key}" if place else key
            if key not in ours:
                self.deviates(here, "missing")
            elif key not in recorded:
                self.deviates(here, "additional")
            else:
                self.value(here, key, recorded[key], ours[key])
        texts = value_data(recorded), value_data(ours)
        if None not in texts:
            self.text(f"{place}.data", *texts)

    def elements(self, place, key, recorded, ours):
        """Named objects are found by their name, others by their place."""
        if recorded and all(isinstance(one, dict) and "name" in one for one in recorded) and key != "events":
            by_name = {one["name"]: one for one in ours}
            for one in recorded:
                here = f"{place}[{one['name']}]"
                if one["name"] in by_name:
                    self.value(here, key, one, by_name[one["name"]])
                else:
                    self.deviates(here, "missing")
        elif all(not isinstance(one, (dict, list)) for one in recorded + ours):
            if bool(recorded) != bool(ours):
                self.deviates(place, f"{len(recorded)} elements are {len(ours)}")
            for one in ours if recorded else []:
                self.value(f"{place}[]", key, recorded[0], one)
        elif len(recorded) != len(ours):
            self.deviates(place, f"{len(recorded)} elements are {len(ours)}")
        else:
            for index, pair in enumerate(zip(recorded, ours)):
                self.value(f"{place}[{index}]", key, *pair)

    def text(self, place, recorded, ours):
        objects = inner_json(recorded), inner_json(ours)
        if objects[0] is None:
            return
        if objects[1] is None or len(objects[0]) != len(objects[1]):
            self.deviates(place, "its JSON is another number of objects")
            return
        for pair in zip(*objects):
            if event_name(pair[0]) != event_name(pair[1]):
                self.deviates(place, f"event {event_name(pair[0])} is {event_name(pair[1])}")
            else:
                self.value(place, None, *pair)


def payload_kind(value, raw):
    if value is not None:
        return "JSON"
    if raw is None:
        return "absent"
    if not raw.endswith(b"\0"):
        return "raw"
    return "JSON" if raw.startswith(b"{") else "text"


def content(message):
    """The JSON of our message, if it has any."""
    return message.json() if payload_kind(None, message.payload) == "JSON" else None


def event_name(value):
    return value.get("name") if "timestamp" in value else None


def event_in(payload):
    """The name of the event that a response tells of."""
    if not isinstance(payload, dict) or not isinstance(payload.get("event"), str):
        return None
    return event_name(inner_json(payload["event"])[0])


def lane(payload):
    """Messages of one exchange come in the recorded order if they are of the same lane. What processes write and how they
    end reaches us by separate pipes, so output has one lane for each stream of each task; the first task of a job may end
    before the last one was started on another node."""
    if not isinstance(payload, dict):
        return ""
    if payload.get("type") == "output":
        return "output " + payload["io"]["stream"]
    if event_in(payload) == "shell.task-exit":
        return "task-exit"
    if event_in(payload) == "data":
        context = inner_json(payload["event"])[0]["context"]
        return f"data {context.get('stream')} {context.get('rank')}"
    return ""
