"""Compares two results.json: every figure, verdict and name, byte for byte, but for words that were renamed. Sentences, told by
their spaces, may be said anew, and are counted.

Prints how much was compared; fails at the first that is not the same.
"""

import json
import sys

from rename import KEYS, METRICS, reworded

# Sentences that became values, and who wrote the file.
BECAME_VALUES = {"rig", "notes", "written_by", "format"}
RENAMED = {"marks": "warnings", **KEYS, **METRICS}

# One word was two: of a class, and of what keeps a page whole.
OF_DURABILITY = {("promised", "relies_on_device"), ("promised", "atomic_by_device")}

counts = {"figures": 0, "verdicts": 0, "texts": 0}
said_anew = 0


class Number(str):
    """A number as it is written."""


def read(path):
    with open(path) as file:
        return json.load(file, parse_float=Number, parse_int=Number)


def same_object(old, new, path):
    new = {name: value for name, value in new.items() if name not in BECAME_VALUES}
    # What people named, such as a configuration `folder`, keeps its name.
    today = lambda name: name if name in new else RENAMED.get(name, name)
    old = {today(name): value for name, value in old.items() if name not in BECAME_VALUES}
    assert old.keys() == new.keys(), f"{path}: {old.keys() ^ new.keys()} on one side only"
    for name, value in old.items():
        if name == "warnings":
            assert len(value) == len(new[name]), f"{path}.{name}"
        else:
            same(value, new[name], f"{path}.{name}")
    counts["verdicts"] += "verdict" in old


def same_list(old, new, path):
    assert len(old) == len(new), f"{path}: {len(old)} and {len(new)}"
    for place, (one, other) in enumerate(zip(old, new)):
        same(one, other, f"{path}[{place}]")


def same(old, new, path):
    assert type(old) is type(new), f"{path}: {old!r} and {new!r}"
    if isinstance(old, dict):
        same_object(old, new, path)
    elif isinstance(old, list):
        same_list(old, new, path)
    elif isinstance(old, Number) or not isinstance(old, str):
        assert old == new, f"{path}: {old!r} and {new!r}"
        counts["figures"] += 1
    elif new in (old, reworded(old)) or (old, new) in OF_DURABILITY:
        counts["texts"] += 1
    else:
        global said_anew
        assert " " in old, f"{path}: {old!r} and {new!r}"
        said_anew += 1


if __name__ == "__main__":
    same(read(sys.argv[1]), read(sys.argv[2]), "results")
    print(", ".join(f"{count} {what}" for what, count in counts.items()), f"are the same; {said_anew} sentences are said anew")
