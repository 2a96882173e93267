"""One request of a recorded client and the responses to it."""

import time

import compare
import wire


class Exchange:
    def __init__(self, line):
        self.streaming = "streaming" in line.flags
        self.waiting = []  # (lane, message): came, not yet compared
        self.compared = 0
        self.ended = False  # with us
        self.recorded_end = False
        self.cancelled = False  # what was under way then may come or not, before the end

    def came(self, message):
        """False if nothing may come any more."""
        if self.ended:
            return False
        self.ended = bool(message.errnum) or not self.streaming
        self.waiting.append((compare.lane(compare.content(message)), message))
        return True

    def put_back(self, recorded, message):
        """It belongs to a later recorded one."""
        self.compared -= 1
        self.waiting.insert(0, (compare.lane(recorded.json), message))

    def take(self, recorded):
        """Our message for a recorded one, or None. First and last have their place, between them the order is that of each lane."""
        self.recorded_end = recorded.errnum != 0 or not self.streaming
        lane = compare.lane(recorded.json)
        if self.cancelled and recorded.errnum:
            self.waiting = [(ours, message) for ours, message in self.waiting if message.errnum]
        fixed = self.compared == 0 or recorded.errnum != 0
        for index, (ours, message) in enumerate(self.waiting):
            if fixed or ours == lane:
                del self.waiting[index]
                self.compared += 1
                return message
        return None


class Client:
    """A recorded client's connection, with the open exchange of each matchtag."""

    def __init__(self):
        self.connection = wire.Connection()
        self.exchanges = {}
        self.strays = []

    def send(self, line, names):
        payload = line.raw
        if line.json is not None:
            payload = wire.json.dumps(names.request(line.json), ensure_ascii=False).encode() + b"\0"
        aux1 = 0 if line.kind == wire.EVENT else wire.NODEID_ANY if line.nodeid == "any" else line.nodeid
        self.connection.send(wire.Message(line.kind, line.flags, names.topic(line.topic), payload, aux1, line.matchtag))
        if line.topic.endswith("cancel") and line.json["matchtag"] in self.exchanges:
            self.exchanges[line.json["matchtag"]].cancelled = True
        if line.matchtag:
            self.exchanges[line.matchtag] = Exchange(line)

    def response(self, recorded):
        """Our response for a recorded one; None when the exchange ended without it or the deadline passed."""
        exchange = self.exchanges[recorded.matchtag]
        deadline = time.monotonic() + wire.DEADLINE
        while (message := exchange.take(recorded)) is None:
            if exchange.ended:
                return None
            try:
                self.read(deadline)
            except wire.Late:
                return None
        return message

    def read(self, deadline):
        message = self.connection.receive(deadline)
        exchange = self.exchanges.get(message.matchtag)
        if message.kind != wire.RESPONSE or exchange is None or not exchange.came(message):
            self.strays.append(message)

    def rest(self, matchtag):
        """All responses up to the end of an exchange."""
        exchange = self.exchanges[matchtag]
        deadline = time.monotonic() + wire.DEADLINE
        while not exchange.ended:
            self.read(deadline)
        messages = [message for _, message in exchange.waiting]
        exchange.waiting.clear()
        return messages

    def finish(self):
        """What came and was not recorded. A stream whose end was not recorded was left by its client."""
        try:
            while True:
                self.read(time.monotonic())
        except wire.Late:
            pass
        self.connection.close()
        left = [exchange.waiting for exchange in self.exchanges.values() if exchange.recorded_end]
        return self.strays + [message for waiting in left for _, message in waiting]
