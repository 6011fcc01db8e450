"""Brings a study of the store's format 1 to format 2, in place.

Format 1 kept warnings and rigs as sentences. What decides of them is read back here, once; a sentence that is not known becomes a
disagreement with that text, which decides nothing.
"""

import json
import re
import sqlite3
import sys
import tomllib

FORBIDDING = [
    (r"our own processors made ([\d.]+) % of the model's commands late", "late_commands", ["percent"]),
    (r"the model's commands took ([\d.]+) % longer than", "added_latency", ["percent"]),
    (r"the model's server stood still for ([\d.]+) s", "standstill", ["length_s"]),
    (r"Assay was stopped for at least ([\d.]+) s", "stopped", ["length_s"]),
    (r"the stored (\S+) is no figure", "no_figure", ["name"]),
]
REMARKS = [
    (r"the load generator used ([\d.]+) % of its processors", "load_saturated", ["cpu_percent"]),
    (r"throughput had not settled when measuring began", "not_settled", []),
    (
        r"percentiles are too low: (\d+) transactions \(([\d.]+) %\).*the oldest had waited ([\d.]+) ms",
        "unfinished",
        ["transactions", "percent", "wait_ms_max"],
    ),
    (r"the requests were done after ([\d.]+) s", "short_window", ["length_s"]),
    (
        r"the device was ([\d.]+) % full when measuring began and ([\d.]+) % when it ended, the plan says\s+([\d.]+) %",
        "fill",
        ["begin_percent", "end_percent", "planned_percent"],
    ),
]


def programs(text):
    found = re.findall(r"([^,]+?) \((?:process (\d+)|(\d+) processes)\)", text)
    return [
        {"name": name.strip(), "pid": int(pid or 0), "processes": int(several or 1)}
        for name, pid, several in found
    ]


def warning(text):
    """Kind and facts of a mark."""
    forbids = text.startswith("not comparable: ")
    said = text.removeprefix("not comparable: ")
    others = re.match(r"other programs took ([\d.]+) % of a processor beside it: (.*?)(?:; end them.*)?$", said)
    if others:
        facts = {"cpu_percent": float(others[1]), "is_too_much": forbids, "programs": programs(others[2])}
        return "other_programs", facts
    for pattern, kind, names in FORBIDDING if forbids else REMARKS:
        found = re.match(pattern, said)
        if found:
            number = lambda name, value: value if name == "name" else (int if name == "transactions" else float)(value)
            facts = {name: number(name, value) for name, value in zip(names, found.groups())}
            return kind, facts or None
    assert not forbids, text
    return "disagreement", {"arithmetic": text}


def size(text):
    number, unit = re.match(r"([\d.]+)([KMGT]?)", text).groups()
    return int(float(number) * 1024 ** " KMGT".index(unit or " "))


def media(kind, layers, disk):
    text = layers.get("disk", "")
    if kind == "folder":
        return {"path": text.removeprefix("folder in ")}
    if kind == "image":
        found = re.match(r"image of (\S+) on a loop device, in (.*)", text)
        return {"bytes": size(found[1]), "folder": found[2]}
    if kind == "device":
        return {"path": text}
    if kind == "drive":
        found = re.match(r"software drive(?: of (\S+))? on (?:an image of (\S+) in (.*?)|(/\S+)|an image), (\w+)( with dictionaries)? in units of (\d+) KiB", text)
        return {
            "bytes": found[1] and size(found[1]),
            "device": found[4],
            "folder": found[3] or "",
            "capacity_bytes": found[2] and size(found[2]),
            "codec": found[5],
            "has_dictionaries": bool(found[6]),
            "unit_bytes": int(found[7]) << 10,
            "read_ahead_bytes": None,
        }
    title = re.match(r"model of (.*), capacity ÷ ", text)[1]
    resources = [
        {"name": name.strip().replace(" ", "_"), "real": float(real), "factor": float(factor)}
        for name, real, factor in re.findall(r"([a-z ]+?) ([\d.e+]+) ÷ ([\d.]+)", layers.get("scale", ""))
    ]
    numbers = [{"sort": sort, "count": int(count)} for count, sort in re.findall(r"(\d+) (\w+)", layers.get("numbers", "").split(";")[0])]
    return {
        "preset": disk["preset"],
        "title": title,
        "capacity_scale": disk["capacity_scale"],
        "parallel_scale": disk["parallel_scale"],
        "resources": resources,
        "numbers": numbers,
    }


def tables(text):
    found = re.match(r"(\d+) × (\d+) rows( with text)?(?: of (sysbench-\S+?))?(?:, (.*))?$", text)
    count, rows, has_text, generator, options = found.groups()
    return {"count": int(count), "rows": int(rows), "has_text": bool(has_text), "generator": generator, "create_options": options or ""}


def fill(text):
    found = re.match(r"([\d.]+) % of (\S+) \((\S+) seen by the host\), worn in with data of ([\d.]+):1", text)
    return found and {"percent": float(found[1]), "user_bytes": size(found[2]), "logical_bytes": size(found[3]), "ratio": float(found[4])}


def by_data_set(text, names):
    if not names:
        return {None: text}
    each = dict(part.split(": ", 1) for part in text.split("; ") if part.split(": ", 1)[0] in names)
    return each or {name: text for name in names}


def rig(layers, disk, data_sets):
    """The rig as it is kept now."""
    layers = dict(layers)
    kept = {key: value for key, value in disk.items() if key not in ("kind", "preset", "capacity_scale", "parallel_scale")}
    fills = by_data_set(layers.get("filled", ""), data_sets)
    data = [
        {"data_set": name, "tables": tables(text), "fill": fill(fills[name]) if layers.get("filled") else None}
        for name, text in by_data_set(layers["tables"], data_sets).items()
    ]
    text = layers["file system"]
    made = re.match(r"(\w+)(?:, made with (.*?))?(?:, mounted (.*?))?(?:, extsize (\S+))?$", text)
    file_system = None if text == "the one that is there" else {
        "name": made[1],
        "mkfs_options": (made[2] or "").split(),
        "mount_options": made[3].split(",") if made[3] else [],
        "extsize_bytes": made[4] and size(made[4]),
    }
    return {
        "disk": {"kind": disk["kind"], **media(disk["kind"], layers, disk), **kept},
        "file_system": file_system,
        "server": layers["server"],
        "data": data,
    }


def migrate(path):
    db = sqlite3.connect(path)
    (version,) = db.execute("PRAGMA user_version").fetchone()
    assert version == 1, f"{path} has format {version}"
    head = dict(db.execute("SELECT key, value FROM study"))
    db.executescript(
        """
        CREATE TABLE warnings (id INTEGER PRIMARY KEY, cell_id INTEGER NOT NULL REFERENCES cells ON DELETE CASCADE,
          kind TEXT NOT NULL, facts_json TEXT);
        CREATE TABLE IF NOT EXISTS second_latencies (cell_id INTEGER PRIMARY KEY REFERENCES cells ON DELETE CASCADE,
          histograms BLOB NOT NULL);
        """
    )
    for cell, text in db.execute("SELECT cell_id, text FROM marks ORDER BY rowid").fetchall():
        kind, facts = warning(text)
        facts = None if facts is None else json.dumps(facts)
        db.execute("INSERT INTO warnings (cell_id, kind, facts_json) VALUES (?, ?, ?)", (cell, kind, facts))
    sets = {key.removeprefix("data_set."): value for key, value in head.items() if key.startswith("data_set.")}
    workloads = db.execute("SELECT name, position, recipe, options_json FROM workloads").fetchall()
    arms = db.execute("SELECT name, rig_json FROM arms").fetchall()
    for name, layers in arms:
        ran = db.execute("SELECT DISTINCT workload FROM cells WHERE arm = ?", (name,)).fetchall()
        its_sets = sorted({sets[workload] for (workload,) in ran if workload in sets})
        new = rig(json.loads(layers), json.loads(head[f"disk.{name}"]), its_sets)
        db.execute("UPDATE arms SET rig_json = ? WHERE name = ?", (json.dumps(new), name))
    notes = db.execute("SELECT text FROM notes").fetchall()
    db.executescript(
        """
        DROP TABLE marks; DROP TABLE workloads; DROP TABLE notes;
        CREATE TABLE notes (kind TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE workloads (name TEXT PRIMARY KEY, position INTEGER NOT NULL, workload TEXT NOT NULL, data_set TEXT,
          recipe TEXT NOT NULL, options_json TEXT NOT NULL) WITHOUT ROWID;
        DELETE FROM study WHERE key LIKE 'disk.%' OR key LIKE 'data_set.%';
        """
    )
    if notes:
        db.execute("INSERT INTO notes VALUES ('on_measured_disk')")
    for name, position, recipe, options in workloads:
        data_set = sets.get(name)
        short = name.removeprefix(f"{data_set}: ") if data_set else name
        row = (name, position, short, data_set, recipe, options)
        db.execute("INSERT INTO workloads VALUES (?, ?, ?, ?, ?, ?)", row)
    prices = tomllib.loads(head["plan_toml"]).get("prices")
    if prices:
        db.execute("INSERT INTO study VALUES ('prices', ?)", (json.dumps(prices),))
    db.execute("PRAGMA user_version = 2")
    db.commit()
    db.close()


if __name__ == "__main__":
    migrate(sys.argv[1])
