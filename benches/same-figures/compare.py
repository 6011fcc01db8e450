"""Compares two results.json: every key, figure, verdict and sentence, numbers as they are written.

Prints how much is the same; fails at the first difference. The keys that name the program are left out.
"""

import json
import sys

OF_THE_PROGRAM = {"format", "written_by"}

counts = {"figures": 0, "verdicts": 0, "texts": 0}


class Number(str):
    """A number as it is written."""


def read(path):
    with open(path) as file:
        results = json.load(file, parse_float=Number, parse_int=Number)
    return {name: value for name, value in results.items() if name not in OF_THE_PROGRAM}


def same(old, new, path):
    if type(old) is not type(new):
        sys.exit(f"{path}: {old!r} and {new!r}")
    if isinstance(old, dict):
        if list(old) != list(new):
            sys.exit(f"{path}: {sorted(old.keys() ^ new.keys()) or 'the order of keys'} differs")
        counts["verdicts"] += "verdict" in old
        for name in old:
            same(old[name], new[name], f"{path}.{name}")
    elif isinstance(old, list):
        if len(old) != len(new):
            sys.exit(f"{path}: {len(old)} and {len(new)} entries")
        for place, (one, other) in enumerate(zip(old, new)):
            same(one, other, f"{path}[{place}]")
    elif old != new:
        sys.exit(f"{path}: {old!r} and {new!r}")
    else:
        counts["figures" if isinstance(old, Number) else "texts"] += 1


if __name__ == "__main__":
    same(read(sys.argv[1]), read(sys.argv[2]), "results")
    print(", ".join(f"{count} {what}" for what, count in counts.items()), "are the same")
