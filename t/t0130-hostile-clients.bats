#!/usr/bin/env bats
# What clients may not do to a broker: malformed frames, half messages, many connections.
load lib/common

@test "malformed frames, oversized lengths, half messages and 1000 dropped connections do no harm" {
    cat >hostile.py <<'PY'
import os, socket, struct, sys
path = os.environ["FLUX_URI"][len("local://"):]
def connect():
    s = socket.socket(socket.AF_UNIX); s.connect(path); assert s.recv(1) == b"\0"; return s
magic = struct.pack("=I", 0xFFEE0012)
header = lambda t=1, f=0: bytes([0x8e, 1, t, f]) + struct.pack(">IIII", 0xffffffff, 0, 0xffffffff, 1)
cases = [
    b"garbage that is no frame at all" * 10,
    magic + struct.pack(">I", 0xffffffff),
    magic + struct.pack(">I", 5) + b"hello",
    magic + struct.pack(">I", 21) + b"\x14" + header(t=3),
    magic + struct.pack(">I", 21) + b"\x14" + header(f=0x44),
    magic + struct.pack(">I", 21) + b"\x14" + header(f=0x02),
    magic + struct.pack(">I", 26) + b"\xff\xff\xff\xff\xff" + b"\x14" + header(),
    magic + struct.pack(">I", 21) + b"\x14" + header(t=2),
]
for case in cases:
    s = connect(); s.sendall(case); s.shutdown(socket.SHUT_WR); s.settimeout(5)
    while s.recv(4096): pass
    s.close()
# Half a message, then gone.
for n in range(1, 29):
    s = connect(); s.sendall((magic + struct.pack(">I", 21) + b"\x14" + header())[:n]); s.close()
for n in range(1000): connect().close()
many = [connect() for n in range(200)]
for s in many: s.close()
PY
    run under_flux 1 'open_files() { ls /proc/$(flux getattr broker.pid)/fd | wc -l; }
        before=$(open_files); python3 hostile.py; flux ping -c1 broker >/dev/null; flux-t-rpc connector-local.stats-get | grep -q "connects"
        test $(open_files) -lt $((before + 20))'
    echo "$output"; [ "$status" -eq 0 ]
}

@test "events that nobody can read, of the topics that brokers and modules follow, do no harm on any rank" {
    cat >events.py <<'PY'
import wire
connection = wire.Connection()
topics = ["overlay.resync", "job-exception", "job-purge-inactive", "heartbeat.pulse", "job-exec.up"]
topics += ["kvs.namespace-primary-" + what for what in ("setroot", "error", "created", "removed")]
for topic in topics:
    for payload in None, b"x", b"\xff\0", b"[]\0", b"{}\0", b'{"namespace":"primary","rootseq":"x","id":[],"incarnation":7}\0':
        connection.send(wire.Message(wire.EVENT, [], topic, payload))
for rank in 0, 1:
    for service in "broker", "kvs", "kvs-watch", "resource", "job-exec":
        list(connection.rpc(service + ".ping", {}, nodeid=rank))
PY
    run under_flux 2 "PYTHONPATH=$BATS_TEST_DIRNAME/interop python3 events.py; flux kvs put a=1
        flux exec -r1 flux kvs get a; flux run -N2 -n2 echo still here; flux overlay status"
    echo "$output"; [ "$status" -eq 0 ]; [ "$(grep -c 'still here' <<<"$output")" -eq 2 ]; grep -q '0 .*full' <<<"$output"
}

@test "a topic that is too long is answered, and nobody answers for others" {
    cat >forged.py <<'PY'
import struct, time, wire
connection, asker, forger = wire.Connection(), wire.Connection(), wire.Connection()
receive = lambda connection: connection.receive(time.monotonic() + 10)
request = lambda topic, payload=None: wire.Message(wire.REQUEST, [], topic, payload, wire.NODEID_ANY, 1)
connection.send(request("kvs." + "x" * 300))
answer = receive(connection)
assert answer.errnum == 71 and b"topic" in answer.payload, (answer.errnum, answer.payload)
# A client serves a method, and another one answers in its place.
connection.send(request("service.add", b'{"service":"slow"}\0'))
assert receive(connection).errnum == 0
asker.send(request("slow.ask"))
asked = b""
while len(asked) < 8 or len(asked) < 8 + struct.unpack_from(">I", asked, 4)[0]:
    asked += connection.socket.recv(4096)
def answer_from(who, text):
    parts = wire.split_parts(asked[8:])
    matchtag = wire.HEADER.unpack(parts.pop())[-1]
    flags = wire.TOPIC | wire.ROUTE | wire.PAYLOAD
    parts += [text, wire.HEADER.pack(0x8E, 1, wire.RESPONSE, flags, 0xFFFFFFFF, 0, 0, matchtag)]
    body = b"".join(wire.encode_part(part) for part in parts)
    who.socket.sendall(asked[:4] + struct.pack(">I", len(body)) + body)
answer_from(forger, b'{"from":"forger"}\0')
list(forger.rpc("broker.ping", {}))
answer_from(connection, b'{"from":"slow"}\0')
assert receive(asker).json() == {"from": "slow"}
PY
    run under_flux 1 "PYTHONPATH=$BATS_TEST_DIRNAME/interop python3 forged.py"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "a guest cannot pass for another sender" {
    cat >guest.py <<'PY'
import json, struct, time, wire
owner = wire.Connection()
list(owner.rpc("connector-local.debug", {"flags": 4}))
guest = wire.Connection()
def ping(connection):
    parts = [b"b" * 36, b"a" * 36, b"", b"broker.ping", b"{}\0"] # the bottom is the second
    parts.append(wire.HEADER.pack(0x8E, 1, wire.REQUEST, wire.TOPIC | wire.ROUTE | wire.PAYLOAD, 0xFFFFFFFF, 0, wire.NODEID_ANY, 7))
    body = b"".join(wire.encode_part(part) for part in parts)
    connection.socket.sendall(struct.pack("=I", wire.FRAME_MAGIC) + struct.pack(">I", len(body)) + body)
    answer = b""
    while len(answer) < 8 or len(answer) < 8 + struct.unpack_from(">I", answer, 4)[0]:
        answer += connection.socket.recv(4096)
    parts = wire.split_parts(answer[8:])
    assert parts[:3] == [b"b" * 36, b"a" * 36, b""], parts # it comes back to whom it was relayed for
    return json.loads(parts[-2].rstrip(b"\0"))["route"].split("!")
relayed, route = ping(owner), ping(guest)
assert relayed[:2] == ["a" * 8, "b" * 8], relayed
assert len(route) == len(relayed) - 2 and "a" * 8 not in route, route
PY
    run under_flux 1 "PYTHONPATH=$BATS_TEST_DIRNAME/interop python3 guest.py"
    echo "$output"; [ "$status" -eq 0 ]
}

@test "other users may connect when [access] allows it, and are guests then" {
    [ "$(id -u)" -eq 0 ] || skip "needs another user"
    chmod 755 "$TEST_TMP"; mkdir -m 755 conf
    other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
    export -f other
    run under_flux 1 '
        chmod 755 "$(flux getattr rundir)"
        other flux getattr rank 2>err && exit 1; cat err; grep -q "Operation not permitted\|Permission denied" err
        flux dmesg | grep "connect by uid=65534 .*denied"
        printf "[access]\nallow-guest-user = true\n" >conf/access.toml; flux config reload
        [ "$(other flux getattr rank)" = 0 ]
        other flux kvs get resource.R 2>err && exit 1; cat err; grep -q "Operation not permitted" err
        other flux dmesg 2>err && exit 1; grep -q "Request requires owner credentials" err' -c conf
    echo "$output"; [ "$status" -eq 0 ]
}
