#!/usr/bin/env python3
"""configured.py BUILD: what instances cost whose brokers are started one by one and meet over TLS.

Start until the leader's program runs, in units of P (the time of `/usr/bin/python3 -c pass`); how long it takes until all
children are back after a leader that was killed serves again; and RPCs through one hop beside those over ipc://.
Figures are medians of 5 rounds in which the measurements alternate.
"""
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 5
BUILD = os.path.abspath(sys.argv[1])
FLUX = BUILD + "/bin/flux"
RPC = [BUILD + "/bench/bench_rpc", "heartbeat.ping", "0"]
PYTHON = ["/usr/bin/python3", "-c", "pass"]


class Instance:
    """Brokers node0 to nodeN-1 of this host, at a loopback address of their own."""

    def __init__(self, size):
        self.size = size
        self.folder = tempfile.TemporaryDirectory()
        self.address = f"127.{os.getpid() % 250 + 2}.{os.getpid() // 250 % 250 + 1}.{size}"
        self.path = self.folder.name
        os.mkdir(self.path + "/run")
        subprocess.run([FLUX, "keygen", self.path + "/cert"], check=True, stdout=subprocess.DEVNULL)
        with open(self.path + "/flux.toml", "w") as file:
            print(f"""[bootstrap]
curve_cert = "{self.path}/cert"
default_port = 8050
default_bind = "tcp://{self.address}:%p"
default_connect = "tcp://{self.address}:%p"
hosts = [{{host = "node[0-{size - 1}]"}}]""", file=file)
        self.brokers = [None] * size

    def start_broker(self, rank, *options, program="true"):
        command = [FLUX, "broker", "-c", self.path + "/flux.toml", f"-Shostname=node{rank}",
                   f"-Srundir={self.path}/run", f"-Sstatedir={self.path}/state", *options, "bash", "-c", program]
        self.brokers[rank] = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                              stderr=subprocess.DEVNULL)

    def start(self):
        self.start_broker(0, program="echo up; read -r")
        for rank in range(1, self.size):
            self.start_broker(rank)
        self.brokers[0].stdout.readline()

    def stop(self):
        self.brokers[0].stdin.close()
        for broker in self.brokers:
            broker.wait()

    def uri(self, rank):
        return f"local://{self.path}/run/local-{rank}"


def P():
    begin = time.monotonic()
    for _ in range(10):
        subprocess.run(PYTHON, check=True)
    return (time.monotonic() - begin) / 10


def start(size):
    seconds, units = [], []
    for _ in range(ROUNDS):
        units.append(P())
        instance = Instance(size)
        begin = time.monotonic()
        instance.start()
        seconds.append(time.monotonic() - begin)
        instance.stop()
    print(f"start of {size} configured brokers: {statistics.median(seconds) * 1000:.0f} ms, "
          f"{statistics.median(seconds) / statistics.median(units):.1f} P   goal <= 60 P", flush=True)


def back(size):
    """All children of a leader that was killed."""
    seconds = []
    instance = Instance(size)
    instance.start()
    for _ in range(ROUNDS):
        instance.brokers[0].kill()
        instance.brokers[0].wait()
        time.sleep(2)  # they have noticed, and look for it
        instance.start_broker(0, "-Sbroker.quorum=1", program=f"echo up; {FLUX} overlay status --wait=full; echo full; read -r")
        instance.brokers[0].stdout.readline()
        begin = time.monotonic()
        for line in instance.brokers[0].stdout:
            if line == b"full\n":
                break
        seconds.append(time.monotonic() - begin)
    instance.stop()
    print(f"{size - 1} children are back {statistics.median(seconds):.2f} s after the leader serves "
          f"(longest {max(seconds):.2f} s)   goal <= 1 s", flush=True)


def microseconds(prefix, **options):
    output = subprocess.check_output([*prefix, *RPC], text=True, **options)
    return float(re.search(r": ([0-9.]+) us a round trip", output)[1])


def hop():
    tls, ipc = [], []
    instance = Instance(2)
    instance.start()
    for _ in range(ROUNDS):
        tls.append(microseconds([], env={**os.environ, "FLUX_URI": instance.uri(1)}))
        ipc.append(microseconds([FLUX, "start", "-s2", "bash", "-c", FLUX + ' exec -r1 "$@"', "-"]))
    instance.stop()
    a, b = statistics.median(tls), statistics.median(ipc)
    print(f"RPC through one hop: {a:.1f} us over TLS, {b:.1f} us over ipc, rate {b / a * 100:.0f} %   goal >= 70 %")


start(16)
back(32)
hop()
