#!/usr/bin/env python3
"""Replays recorded traffic of Flux clients against the broker of FLUX_URI and tells where its answers deviate.

Usage: replay.py TRANSCRIPTS [LAST-NUMBER]
Exits 1 when a deviation is not in exceptions.toml, or one that is there did not occur.
"""

import pathlib
import sys
import time

import compare
import exceptions
import exchange as exchanges
import missing
import names
import recording


class Replay:
    def __init__(self, known):
        self.known = known
        self.names = names.Names()
        self.prologue = missing.Prologue(self.names)
        self.responses = 0
        self.allowed = 0
        self.first_texts = {}
        self.wrong = []

    def file(self, path):
        clients = {}
        for line in recording.load(path):
            self.prologue.before(line)
            if line.is_handshake:
                clients[line.conn] = exchanges.Client()
            elif line.from_client:
                clients[line.conn].send(line, self.names)
            else:
                self.response(line, clients[line.conn])
        for client in clients.values():
            for message in client.finish():
                self.deviation(path.name, f"additional response to {message.topic}: {message.payload}")
        self.prologue.settle()
        for place, what in self.known.not_seen_in(path.name):
            self.complain(f"{place}: listed, but does not occur: {what}")

    def response(self, line, client):
        self.responses += 1
        if line.topic in compare.TEXT_STREAMS:
            self.text(line, client)
            return
        exchange = client.exchanges[line.matchtag]
        message = client.response(line)
        if message is None:
            if line.errnum or not exchange.cancelled:
                self.deviation(line, "response missing")
            return
        event = compare.event_in(line.json)
        if event and event != compare.event_in(compare.content(message)):
            exchange.put_back(line, message)
            if not exchange.cancelled:
                self.deviation(line, f"event {event} is missing")
            return
        self.compare(line, message)
        if line.topic == "job-ingest.submit" and not message.errnum:
            self.prologue.jobs.append(message.json()["id"])

    def text(self, line, client):
        """Each text of ours against the first recorded one, our end against the recorded end."""
        if not line.errnum:
            self.first_texts.setdefault(line.topic, line)
            return
        *texts, end = client.rest(line.matchtag)
        for message in texts:
            self.compare(self.first_texts[line.topic], message)
        self.compare(line, end)

    def compare(self, line, message):
        comparison = compare.Comparison(self.names)
        comparison.message(line, message)
        text = f" ({message.payload[:-1].decode(errors='replace')})" if message.errnum and message.payload else ""
        for what in comparison.deviations:
            self.deviation(line, what, text)

    def deviation(self, line, what, text=""):
        if self.known.allow(line, what):
            self.allowed += 1
        else:
            self.complain(f"{line}: {what}{text}")

    def complain(self, text):
        self.wrong.append(text)
        print(text, flush=True)


def main(folder, last="99"):
    started = time.monotonic()
    replay = Replay(exceptions.Exceptions(pathlib.Path(__file__).with_name("exceptions.toml")))
    paths = [path for path in recording.files(folder) if path.name[:2] <= last]
    if not paths:
        sys.exit(f"replay: {folder}: no recorded files")
    for path in paths:
        replay.file(path)
    print(f"{replay.responses} responses of {len(paths)} files in {time.monotonic() - started:.1f} s: ", end="")
    print(f"{len(replay.wrong)} wrong, {replay.allowed} known deviations")
    return 1 if replay.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
