#!/usr/bin/env python3
"""instance.py BUILD [--quick]: what an instance and its commands cost, in units of P.

P is the time of `/usr/bin/python3 -c pass`, measured around every round. Each figure is the median of 5 rounds in which
the measurements alternate; job rates stand beside the rate at which `xargs -P2` runs the same program.
"""
import os
import re
import statistics
import subprocess
import sys
import time

ROUNDS = 5
BUILD = os.path.abspath(sys.argv[1])
QUICK = "--quick" in sys.argv
FLUX = BUILD + "/bin/flux"
PYTHON = ["/usr/bin/python3", "-c", "pass"]


def timed(command, times=1, **options):
    begin = time.monotonic()
    for _ in range(times):
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, **options)
    return (time.monotonic() - begin) / times


def report(name, seconds, P, goal):
    ratio = statistics.median(seconds) / statistics.median(P)
    print(f"{name:28} {statistics.median(seconds) * 1000:9.2f} ms {ratio:8.2f} P   goal <= {goal} P", flush=True)


def starts():
    """Start and end of whole instances."""
    sizes = {1: 10, 32: 70}
    P, seconds = [], {size: [] for size in sizes}
    for _ in range(ROUNDS):
        P.append(timed(PYTHON, 10))
        for size in sizes:
            seconds[size].append(timed([FLUX, "start", f"-s{size}", "true"], 1 if size > 1 else 5))
    for size, goal in sizes.items():
        report(f"flux start -s{size} true", seconds[size], P, goal)


def commands():
    """Inside an instance: commands a user types."""
    goals = {"run true": 4, "submit true": 1, "jobs": 1, "getattr size": 0.4}
    P, seconds = [], {command: [] for command in goals}
    for _ in range(ROUNDS):
        P.append(timed(PYTHON, 10))
        for command in goals:
            # Each on an idle instance: what a job costs is measured by itself.
            taken = 0
            for _ in range(20):
                taken += timed([FLUX] + command.split())
                timed([FLUX, "queue", "drain"])
            seconds[command].append(taken / 20)
    for command, goal in goals.items():
        report("flux " + command, seconds[command], P, goal)


def jobs(count):
    """Inside an instance: real jobs, first submit to last clean, beside xargs; and submission alone."""
    own, peer, submission = [], [], []
    numbers = "\n".join(str(i) for i in range(count)).encode()
    for _ in range(ROUNDS):
        peer.append(count / timed(["xargs", "-P2", "-n1", "true"], input=numbers))
        begin = time.monotonic()
        timed([FLUX, "submit", f"--cc=1-{count}", "true"])
        timed([FLUX, "queue", "drain"])
        own.append(count / (time.monotonic() - begin))
        timed([FLUX, "queue", "stop"])
        submission.append(count / timed([FLUX, "submit", f"--cc=1-{count}", "true"]))
        timed([FLUX, "cancel", "--all"])
        timed([FLUX, "queue", "start"])
        timed([FLUX, "queue", "drain"])
    share = statistics.median(own) / statistics.median(peer) * 100
    print(f"{count} jobs of true: {statistics.median(own):.0f}/s, xargs -P2: {statistics.median(peer):.0f}/s, "
          f"{share:.1f} %   goal >= 15 %")
    print(f"submission of {count} jobs: {statistics.median(submission):.0f}/s   goal >= 2000/s", flush=True)


def pss(pid):
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return int(re.search(r"^Pss: *(\d+)", file.read(), re.M)[1]) / 1024


def memory():
    """Inside an instance of 4 idle brokers: proportional memory of each."""
    pids = [int(pid) for pid in subprocess.check_output(
        [FLUX, "exec", FLUX, "getattr", "broker.pid"], text=True).split()]
    leader = int(subprocess.check_output([FLUX, "getattr", "broker.pid"], text=True))
    print(f"PSS of an idle leader {pss(leader):.1f} MB, of followers "
          + ", ".join(f"{pss(pid):.1f}" for pid in pids if pid != leader) + " MB   goals <= 25, 12 MB", flush=True)


def inside(size, *words):
    command = [FLUX, "start", f"-s{size}", sys.executable, os.path.abspath(__file__), BUILD, *words]
    subprocess.run(command, check=True)


def main():
    if "--commands" in sys.argv:
        commands()
    elif "--jobs" in sys.argv:
        jobs(200 if QUICK else 1000)
    elif "--memory" in sys.argv:
        memory()
    else:
        starts()
        inside(1, "--commands")
        inside(1, "--jobs", *(["--quick"] if QUICK else []))
        inside(1, "--memory")
        inside(4, "--memory")


main()
