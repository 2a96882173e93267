"""The deviations that we know and why they are there (exceptions.toml)."""

import tomllib


class Exceptions:
    """Each listed deviation must occur: one that does not is as wrong as one that is not listed. Only a race, where it
    depends on time which of two answers comes, may stay away."""

    def __init__(self, path):
        with open(path, "rb") as file:
            tables = tomllib.load(file)
        self.unseen = keys(tables.get("exception", []))
        self.listed = self.unseen | keys(tables.get("race", []))

    def allow(self, line, what):
        self.unseen.discard((str(line), what))
        return (str(line), what) in self.listed

    def not_seen_in(self, file):
        return [key for key in self.unseen if key[0].rpartition(":")[0] == file]


def keys(entries):
    found = set()
    for entry in entries:
        if not entry.get("reason"):
            raise ValueError(f"an exception without a reason: {entry}")
        for line in entry["lines"]:
            found |= {(f"{entry['file']}:{line}", what) for what in entry["what"]}
    return found
