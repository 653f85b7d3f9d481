# SPDX-License-Identifier: Apache-2.0
"""Which runs the matrix has, which of them a file of results has already, and how
long the others will take. Knows nothing of a fabric.

A run is known by its fabric, kind, number and seed. What it puts where follows from
these (placements.py), so one that is made later is the one that was left out."""
import json
import statistics

FIRST_GUESS_S = 11.0  # Of a run, before any was made.


class Plan:
    """The runs of one fabric. `label` names it, such as "2x4"; `first` and `last` are
    numbers of placements."""

    def __init__(self, label, kinds, first, last, seed):
        self.label, self.seed = label, seed
        # Side by side, so that a file that is cut off has some of everything.
        self.runs = [(kind, number) for number in range(first, last + 1) for kind in ["none"] + list(kinds)]

    def left(self, results):
        """Those that `results` do not have, in order."""
        done = {(r["kind"], r["number"]) for r in results if r["label"] == self.label and r.get("seed") == self.seed}
        return [run for run in self.runs if run not in done]


def read(path):
    """The results in a file; none if there is no file. A run that was cut off may
    have left half a line at the end, which is no result."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines if line.endswith("\n") and line.strip()]


def cut_half_line(path):
    """Removes what read() does not read, so that results can be appended."""
    with open(path, "a+b") as file:
        file.seek(0)
        text = file.read()
        file.truncate(text.rfind(b"\n") + 1)


def time_left(runs, results):
    """Seconds that `runs` will take, as those of the same kind in `results` took."""
    took = {}
    for result in results:
        if "took_s" in result:
            took.setdefault(result["kind"], []).append(result["took_s"])
    everything = [s for of_kind in took.values() for s in of_kind]
    otherwise = statistics.mean(everything) if everything else FIRST_GUESS_S
    return sum(statistics.mean(took[kind]) if kind in took else otherwise for kind, _ in runs)
