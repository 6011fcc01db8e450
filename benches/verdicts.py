"""Prints the verdicts of studies on the pairs that their plans ask about, from results.json; for aa-studies and demos.

    verdicts.py STUDY            a line for the study
    verdicts.py --count STUDY…   how many verdicts are which, and how repeats varied
"""

import collections
import json
import math
import pathlib
import sys

DIRECTIONS = ("better", "worse")


def asked(study):
    """Comparisons that the plan asks for, of all metrics."""
    results = json.loads((pathlib.Path(study) / "results.json").read_text())
    return [one for one in results["judgement"]["comparisons"] if one.get("question")]


def percent(factor):
    return f"{(factor - 1) * 100:+.1f} %"


def told(one):
    difference = one.get("difference")
    if difference is None:
        return f"{one['workload']}, {one['metric']}: {one['verdict']}, {one['because']}"
    low, high = difference["ratio_interval"]
    interval = f"{percent(difference['ratio'])} ({percent(low)} to {percent(high)}, {difference['repeats']} repeats)"
    return f"{one['workload']}, {one['metric']}: {interval}, {one['verdict']}"


def line(study):
    shown = [one for one in asked(study) if one["metric"] == "tps" or one["verdict"] in DIRECTIONS]
    beside, seconds = (pathlib.Path(study) / "finished").read_text().split()
    return f"{pathlib.Path(study).name} (beside {beside}, {seconds} s): " + "; ".join(told(one) for one in shown)


def count(studies):
    comparisons = {study: asked(study) for study in studies}
    throughput = [one for all in comparisons.values() for one in all if one["metric"] == "tps"]
    verdicts = collections.Counter(one["verdict"] for one in throughput)
    deviations = [one["difference"]["deviation"] ** 2 for one in throughput if one.get("difference")]
    with_direction = sum(any(one["verdict"] in DIRECTIONS for one in all) for all in comparisons.values())
    repeats = [one["difference"]["repeats"] for one in throughput if one.get("difference")]
    print("throughput: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())))
    if deviations:
        print(f"repeats: {sum(repeats) / len(repeats):.1f} on average")
        spread = math.sqrt(sum(deviations) / len(deviations)) * 100
        print(f"the ratio of a repeat varies by {spread:.1f} % (pooled over {len(deviations)} comparisons)")
    print(f"{with_direction} of {len(studies)} studies tell a direction, of throughput or a percentile")


if __name__ == "__main__":
    if sys.argv[1] == "--count":
        count(sys.argv[2:])
    else:
        print(line(sys.argv[1]))
