"""Brings a study of the store's format 2 to format 5, in place: the same under the words of the field.

Also renames results.json in the same way, for the comparison.
"""

import json
import re
import sqlite3
import sys

KEYS = {
    "arm": "config", "arms": "configs", "every_arm": "every_config", "cell": "run", "cells": "runs",
    "data_set": "data_profile", "data_sets": "data_profiles",
    "folder": "directory", "twin": "aa_run", "twins": "aa_runs", "chain": "write_path", "requests": "events",
    "processor": "cpu", "processors": "cpus",
}
# What is measured, by its name in the catalogue.
METRICS = {
    "drive_collections_per_s": "drive_gc_segments_per_s", "drive_collection_stalls_per_s": "drive_gc_stalls_per_s",
    "drive_write_bytes_collection_per_s": "drive_write_bytes_gc_per_s",
    "drive_write_amplification_collection": "drive_write_amplification_gc",
    "model_late_per_s": "model_missed_deadlines_per_s", "model_late_percent": "model_missed_deadlines_percent",
    "model_stood_still_ms": "model_stalled_ms",
    **{f"serving_{what}": f"daemon_{what}" for what in [
        "cpu_user_percent", "cpu_system_percent", "cpu_percent", "read_bytes_per_s", "write_bytes_per_s",
        "cancelled_write_bytes_per_s", "context_switches_per_s", "threads", "rss_bytes", "cpu_us_per_query",
    ]},
    "watch_kernel_cpu_percent": "monitor_kernel_cpu_percent", "watch_server_cpu_percent": "monitor_server_cpu_percent",
    **{f"model_{kind}_shown_latency_ms": f"model_{kind}_achieved_latency_ms" for kind in ["read", "write", "flush"]},
}
# Values that are words of ours.
VALUES = {
    "folder": "directory", "cannot_tell": "inconclusive", "cannot tell": "inconclusive", "recalled": "unsourced",
    "late_commands": "missed_deadlines", "standstill": "model_stall", "unwatched": "unmonitored",
    "serving": "daemon", "watch": "monitor", "fixed": "strict",
}
WORDS = {
    "arm": "configuration", "arms": "configurations", "cell": "run", "cells": "runs", "data set": "data profile",
    "data sets": "data profiles",
}


def renamed(value):
    """The same JSON under today's keys, with today's words as values."""
    if isinstance(value, dict):
        return {KEYS.get(name, METRICS.get(name, name)): renamed(each) for name, each in value.items()}
    if isinstance(value, list):
        return [renamed(each) for each in value]
    return VALUES.get(value, value) if isinstance(value, str) else value


def reworded(text):
    """The same name or short text in today's words."""
    text = re.sub(r"\b([Aa])n arm", r"\1 arm", METRICS.get(text, VALUES.get(text, text)))
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
    for name, options in db.execute("SELECT name, options_json FROM workloads").fetchall():
        db.execute("UPDATE workloads SET options_json = ? WHERE name = ?", (json.dumps(renamed(json.loads(options))), name))
    for table in ["series", "results"]:
        for old, new in METRICS.items():
            db.execute(f"UPDATE {table} SET name = ? WHERE name = ?", (new, old))
    for old, new in VALUES.items():
        db.execute("UPDATE series SET layer = ? WHERE layer = ?", (new, old))
        db.execute("UPDATE warnings SET kind = ? WHERE kind = ?", (new, old))
    for old, new in [("fact.processors", "fact.cpus"), ("fact.processor", "fact.cpu")]:
        db.execute("UPDATE study SET key = ? WHERE key = ?", (new, old))
    for key in ["paper", "prices", "judging"]:
        for (value,) in db.execute("SELECT value FROM study WHERE key = ?", (key,)).fetchall():
            db.execute("UPDATE study SET value = ? WHERE key = ?", (json.dumps(renamed(json.loads(value))), key))
    db.execute(
        "CREATE TABLE discarded (id INTEGER PRIMARY KEY, run_id INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
        " ended_at TEXT NOT NULL, warnings_json TEXT NOT NULL)"
    )
    db.execute("PRAGMA user_version = 5")
    db.commit()
    db.close()


if __name__ == "__main__":
    rename(sys.argv[1])
