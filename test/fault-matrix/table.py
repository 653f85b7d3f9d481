#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a table (Markdown) of the results of matrix.py.

usage: table.py RESULTS...                  a line for each fabric and kind
       table.py --all-fabrics RESULTS...    a line for each kind
"""
import json
import statistics
import sys


def percent(n, of):
    return "-" if not of else "%d %%" % round(100 * n / of)


def seconds(values):
    return "-" if not values else "%.1f / %.1f" % (statistics.median(values), max(values))


def line(label, kind, runs):
    """A run that met no packet says nothing about the suite, and is only counted."""
    met = [r for r in runs if r["hit"]]
    found = [r["seconds"] for r in met]
    with_link, with_class = [r for r in met if r["has_link"]], [r for r in met if r["has_class"]]
    cells = [
        label,
        kind,
        "%d" % len(met),
        percent(sum("detected" in s for s in found), len(met)),
        percent(sum("device" in s for s in found), len(met)),
        percent(sum("link" in r["seconds"] for r in with_link), len(with_link)),
        percent(sum("class" in r["seconds"] for r in with_class), len(with_class)),
        seconds([s["device"] for s in found if "device" in s]),
        "%d" % sum(len(r["wrong"]) for r in met),
    ]
    return "| " + " | ".join(cells) + " |"


def read(paths):
    runs = []
    for path in paths:
        with open(path, encoding="utf-8") as results:
            runs += [json.loads(text) for text in results if text.strip()]
    return runs


def main():
    arguments = sys.argv[1:]
    runs = read(a for a in arguments if a != "--all-fabrics")
    if "--all-fabrics" in arguments:
        labels = sorted({r["label"] for r in runs})
        for run in runs:
            run["label"] = ", ".join(labels)
    print("| fabric | fault | runs | detected | device | link | class | to the device, s (median / worst) | wrong |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    for label in sorted({r["label"] for r in runs}):
        of_label = [r for r in runs if r["label"] == label]
        for kind in dict.fromkeys(r["kind"] for r in of_label if r["kind"] != "none"):
            print(line(label, kind, [r for r in of_label if r["kind"] == kind]))
        clean = [r for r in of_label if r["kind"] == "none"]
        alarms = sum(len(r["wrong"]) for r in clean)
        print("| %s | none | %d | - | - | - | - | - | %d |" % (label, len(clean), alarms))


main()
