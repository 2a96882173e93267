"""The recorded files: one JSON object a line, in the order in which the recorder between client and broker saw them."""

import base64
import json
import pathlib

import wire


class Line:
    """One recorded message (or handshake) of a file."""

    def __init__(self, file, number, record):
        self.file = file
        self.number = number
        self.conn = record["conn"]
        self.is_handshake = "handshake" in record
        if self.is_handshake:
            return
        self.from_client = record["dir"] == "c2s"
        self.kind = wire.TYPES[record["type"]]
        self.flags = sorted(record["flags"])
        self.topic = record["topic"]
        self.matchtag = record.get("matchtag", 0)
        self.nodeid = record.get("nodeid", "any")
        self.errnum = record.get("errnum", 0)
        self.json = record.get("payload")
        self.raw = payload_bytes(record)

    def __str__(self):
        return f"{self.file}:{self.number}"


def payload_bytes(record):
    """Payloads that are no JSON."""
    nul = b"\0" if record.get("nul") else b""
    if "payload_text" in record:
        return record["payload_text"].encode() + nul
    if "payload_base64" in record:
        return base64.b64decode(record["payload_base64"]) + nul
    return None


def load(path):
    with open(path, encoding="utf-8") as file:
        return [Line(path.name, number, json.loads(text)) for number, text in enumerate(file, 1)]


def files(folder):
    """The files in number order."""
    return sorted(pathlib.Path(folder).glob("*.jsonl"))
