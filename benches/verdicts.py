"""Prints the verdicts of studies on the pairs that their plans ask about, from results.json; for benches/aa-studies and benches/demos.

    verdicts.py STUDY            a line for the study
    verdicts.py --count STUDY…   how many studies tell a direction
"""

import json
import pathlib
import sys

DIRECTIONS = ("better", "worse")


def asked(study):
    """Comparisons that the plan asks for, at each thread count and over all."""
    results = json.loads((pathlib.Path(study) / "results.json").read_text())
    return [one for one in results["judgement"]["comparisons"] if one.get("question")]


def percent(factor):
    return f"{(factor - 1) * 100:+.1f} %"


def told(one):
    difference = one.get("difference")
    if difference is None:
        return f"{one['metric']}: {one['verdict']}, {one['because']}"
    low, high = difference["ratio_interval"]
    interval = f"{percent(difference['ratio'])} ({percent(low)} to {percent(high)})"
    return f"{one['workload']}, {one['metric']}: {interval}, {one['verdict']}"


def line(study):
    comparisons = asked(study)
    shown = [one for one in comparisons if one["metric"] == "tps" or one["verdict"] in DIRECTIONS]
    beside, seconds = (pathlib.Path(study) / "finished").read_text().split()
    return f"{pathlib.Path(study).name} (beside {beside}, {seconds} s): " + "; ".join(told(one) for one in shown)


def has_direction(study):
    return any(one["verdict"] in DIRECTIONS for one in asked(study))


if __name__ == "__main__":
    if sys.argv[1] == "--count":
        studies = sys.argv[2:]
        false = sum(has_direction(study) for study in studies)
        print(f"{false} of {len(studies)} studies tell a direction")
    else:
        print(line(sys.argv[1]))
