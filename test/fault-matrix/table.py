#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tables (Markdown) of the results of matrix.py.

usage: table.py RESULTS...             a line for each fabric and kind: doc/performance.md
       table.py --readme RESULTS...    a line for each kind, of all fabrics: README.md
       table.py --wrong RESULTS...     what was said wrongly, a line for each time
       table.py --times RESULTS...     where the time of the runs went, a line for each kind
"""
import statistics
import sys

import plan

JUDGED = "runs | detected | device | link | class | to the device, s (median / worst) | wrong"
ALIGNED = "--:|--:|--:|--:|--:|--:|--:"


def percent(n, of):
    return "-" if not of else "%d %%" % round(100 * n / of)


def seconds(values):
    return "-" if not values else "%.1f / %.1f" % (statistics.median(values), max(values))


def row(cells):
    return "| " + " | ".join(cells) + " |"


def judged_cells(runs):
    """A run that met no packet says nothing about the suite, and is only counted."""
    met = [r for r in runs if r["hit"]]
    found = [r["seconds"] for r in met]
    with_link, with_class = [r for r in met if r["has_link"]], [r for r in met if r["has_class"]]
    return [
        "%d" % len(met),
        percent(sum("detected" in s for s in found), len(met)),
        percent(sum("device" in s for s in found), len(met)),
        percent(sum("link" in r["seconds"] for r in with_link), len(with_link)),
        percent(sum("class" in r["seconds"] for r in with_class), len(with_class)),
        seconds([s["device"] for s in found if "device" in s]),
        "%d" % sum(len(r["wrong"]) for r in met),
    ]


def kind_rows(runs):
    """Kind and cells of each kind, those without a fault last."""
    for kind in dict.fromkeys(r["kind"] for r in runs if r["kind"] != "none"):
        yield [kind] + judged_cells([r for r in runs if r["kind"] == kind])
    clean = [r for r in runs if r["kind"] == "none"]
    if clean:
        yield ["none", "%d" % len(clean)] + ["-"] * 5 + ["%d" % sum(len(r["wrong"]) for r in clean)]


def of_fabrics(runs):
    for label in sorted({r["label"] for r in runs}):
        yield label, [r for r in runs if r["label"] == label]


def table_of_fabrics(runs):
    print("| fabric | fault | %s |\n|---|---|%s|" % (JUDGED, ALIGNED))
    for label, of_label in of_fabrics(runs):
        for cells in kind_rows(of_label):
            print(row([label] + cells))


def table_of_kinds(runs):
    print("| fault | %s |\n|---|%s|" % (JUDGED, ALIGNED))
    for cells in kind_rows(runs):
        print(row(cells))


def list_wrong(runs):
    for run in runs:
        for text in run["wrong"]:
            print("%s %s %s (%s): %s" % (run["label"], run["kind"], run["number"], run["fault"] or "no fault", text))
            for step in run.get("why", {}).get(text, []):
                print("    " + step)


def list_times(runs):
    print("| fabric | fault | runs | s each | where, s |\n|---|---|--:|--:|---|")
    for label, of_label in of_fabrics(runs):
        for kind in dict.fromkeys(r["kind"] for r in of_label):
            of_kind = [r for r in of_label if r["kind"] == kind]
            mean = statistics.mean(r["took_s"] for r in of_kind)
            where = {k: statistics.mean(r["spent_s"][k] for r in of_kind) for k in of_kind[0]["spent_s"]}
            shown = ", ".join("%s %.1f" % item for item in where.items())
            print(row([label, kind, "%d" % len(of_kind), "%.1f" % mean, shown]))
        print("%s: %.0f minutes" % (label, sum(r["took_s"] for r in of_label) / 60), file=sys.stderr)


FORMS = {"--readme": table_of_kinds, "--wrong": list_wrong, "--times": list_times}


def main():
    form, paths = table_of_fabrics, sys.argv[1:]
    if paths and paths[0].startswith("-"):
        form = FORMS.get(paths.pop(0))
    if not form or not paths:
        sys.exit(__doc__)
    form([result for path in paths for result in plan.read(path)])


main()
