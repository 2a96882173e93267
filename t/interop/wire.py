"""Frames of the local socket (broker.md 1.1-1.4), written for these tests alone: nothing of libflux is used."""

import json
import os
import select
import socket
import struct
import time

REQUEST, RESPONSE, EVENT, CONTROL = 1, 2, 4, 8
TYPES = {"request": REQUEST, "response": RESPONSE, "event": EVENT, "control": CONTROL}
TOPIC, PAYLOAD, ROUTE = 1, 2, 8
FLAGS = {"noresponse": 4, "upstream": 16, "private": 32, "streaming": 64, "user1": 128}
NODEID_ANY = 0xFFFFFFFF
FRAME_MAGIC = 0xFFEE0012
HEADER = struct.Struct(">BBBBIIII")
DEADLINE = float(os.environ.get("FLUX_INTEROP_DEADLINE", "20"))


class Late(Exception):
    """Nothing came within the deadline."""


class Message:
    """One message: what its header says, topic and payload bytes; routes are counted, not kept."""

    def __init__(self, kind, flags=(), topic="", payload=None, aux1=0, aux2=0, userid=0xFFFFFFFF, rolemask=0):
        self.kind = kind
        self.flags = sorted(flags)
        self.topic = topic
        self.payload = payload
        self.aux1 = aux1  # nodeid, errnum or sequence
        self.aux2 = aux2  # matchtag
        self.userid = userid
        self.rolemask = rolemask

    @property
    def errnum(self):
        return self.aux1

    @property
    def matchtag(self):
        return self.aux2

    def json(self):
        return json.loads(self.payload[:-1].decode())


def encode_part(part):
    size = bytes([len(part)]) if len(part) < 255 else b"\xff" + struct.pack(">I", len(part))
    return size + part


def encode(message):
    flags = TOPIC | ROUTE | sum(FLAGS[name] for name in message.flags)
    parts = [b"", message.topic.encode()]
    if message.payload is not None:
        flags |= PAYLOAD
        parts.append(message.payload)
    header = HEADER.pack(0x8E, 1, message.kind, flags, message.userid, message.rolemask, message.aux1, message.aux2)
    body = b"".join(encode_part(part) for part in parts + [header])
    return struct.pack("=I", FRAME_MAGIC) + struct.pack(">I", len(body)) + body


def split_parts(body):
    parts, at = [], 0
    while at < len(body):
        size = body[at]
        at += 1
        if size == 255:
            (size,) = struct.unpack_from(">I", body, at)
            at += 4
        if at + size > len(body):
            raise ValueError("a part is longer than its frame")
        parts.append(body[at : at + size])
        at += size
    return parts


def decode(body):
    parts = split_parts(body)
    magic, version, kind, bits, userid, rolemask, aux1, aux2 = HEADER.unpack(parts.pop())
    if (magic, version) != (0x8E, 1):
        raise ValueError(f"header begins with {magic:#x} {version:#x}")
    payload = parts.pop() if bits & PAYLOAD else None
    topic = parts.pop().decode() if bits & TOPIC else ""
    if bits & ROUTE and (not parts or parts[-1] != b""):
        raise ValueError("the route stack has no delimiter")
    flags = [name for name, bit in FLAGS.items() if bits & bit]
    return Message(kind, flags, topic, payload, aux1, aux2, userid, rolemask)


class Connection:
    """A client's socket; FLUX_URI names the broker."""

    def __init__(self, uri=None):
        path = (uri or os.environ["FLUX_URI"]).removeprefix("local://")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(DEADLINE)
        self.socket.connect(path)
        self.buffer = b""
        welcome = self.socket.recv(1)
        if welcome != b"\0":
            raise ConnectionError(f"{path}: refused with {welcome!r}")

    def close(self):
        self.socket.close()

    def send(self, message):
        self.socket.sendall(encode(message))

    def receive(self, deadline):
        """The next message; Late when none comes until the monotonic time `deadline`."""
        while (message := self._cut()) is None:
            left = max(0, deadline - time.monotonic())
            if not select.select([self.socket], [], [], left)[0]:
                raise Late()
            data = self.socket.recv(1 << 16)
            if not data:
                raise ConnectionError("the broker closed the connection")
            self.buffer += data
        return message

    def _cut(self):
        if len(self.buffer) < 8:
            return None
        (magic,) = struct.unpack_from("=I", self.buffer)
        if magic != FRAME_MAGIC:
            raise ValueError(f"a frame begins with {magic:#x}")
        (size,) = struct.unpack_from(">I", self.buffer, 4)
        if len(self.buffer) < 8 + size:
            return None
        body, self.buffer = self.buffer[8 : 8 + size], self.buffer[8 + size :]
        return decode(body)

    def rpc(self, topic, payload=None, nodeid=NODEID_ANY, streaming=False):
        """A request of the replay itself and its responses, which must not be errors; ENODATA ends a stream."""
        data = None if payload is None else json.dumps(payload).encode() + b"\0"
        self.send(Message(REQUEST, ["streaming"] if streaming else [], topic, data, nodeid, 1))
        deadline = time.monotonic() + DEADLINE
        while True:
            response = self.receive(deadline)
            if streaming and response.errnum == 61:
                return
            if response.errnum:
                raise OSError(response.errnum, f"{topic}: {os.strerror(response.errnum)} {response.payload}")
            yield response.json() if response.payload else None
            if not streaming:
                return
