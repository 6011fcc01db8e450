"""Brings a study of the store's format 2 to format 3, in place: the same under the words of the field.

Also renames results.json and sentences in the same way, for the comparison.
"""

import json
import re
import sqlite3
import sys

KEYS = {
    "arm": "config", "arms": "configs", "every_arm": "every_config", "cell": "run", "cells": "runs",
    "data_set": "data_profile", "data_sets": "data_profiles",
}
WORDS = {
    "arm": "configuration", "arms": "configurations", "cell": "run", "cells": "runs", "data set": "data profile",
    "data sets": "data profiles",
}


def renamed(value):
    """The same JSON under today's keys."""
    if isinstance(value, dict):
        return {KEYS.get(name, name): renamed(each) for name, each in value.items()}
    return [renamed(each) for each in value] if isinstance(value, list) else value


def reworded(text):
    """The same sentence in today's words."""
    text = re.sub(r"\b([Aa])n arm", r"\1 arm", text)
    return re.sub(r"\b(data sets?|arms?|cells?)\b", lambda found: WORDS[found[0]], text)


def rename(path):
    db = sqlite3.connect(path)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    assert version == 2, f"{path} has format {version}"
    of_runs = ["warnings", "results", "errors", "series", "histograms", "second_latencies"]
    db.executescript(
        "ALTER TABLE arms RENAME TO configs; ALTER TABLE cells RENAME TO runs; ALTER TABLE runs RENAME COLUMN arm TO config;"
        "ALTER TABLE workloads RENAME COLUMN data_set TO data_profile;"
        + "".join(f"ALTER TABLE {table} RENAME COLUMN cell_id TO run_id;" for table in of_runs)
    )
    for name, rig in db.execute("SELECT name, rig_json FROM configs").fetchall():
        db.execute("UPDATE configs SET rig_json = ? WHERE name = ?", (json.dumps(renamed(json.loads(rig))), name))
    for key in ["paper", "prices"]:
        for (value,) in db.execute("SELECT value FROM study WHERE key = ?", (key,)).fetchall():
            db.execute("UPDATE study SET value = ? WHERE key = ?", (json.dumps(renamed(json.loads(value))), key))
    db.execute("PRAGMA user_version = 3")
    db.commit()
    db.close()


if __name__ == "__main__":
    rename(sys.argv[1])
