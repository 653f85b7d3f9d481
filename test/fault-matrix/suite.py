# SPDX-License-Identifier: Apache-2.0
"""The running suite and its fabric, as the matrix needs them: asking the
controller, and the commands of ef-fabric. Every question has a time limit."""
import json
import subprocess
import urllib.error
import urllib.request
from datetime import datetime, timezone

TIMEOUT_S = 10


def parse_time(text):
    """Seconds since 1970 of "2026-11-21T02:30:00.123456789Z"; None stays None."""
    if not text:
        return None
    whole, _, fraction = text.rstrip("Z").partition(".")
    seconds = datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc).timestamp()
    return seconds + float("0." + (fraction or "0"))


class Suite:
    def __init__(self, controller, ef_fabric, fabric):
        self.controller = controller
        self.command = [ef_fabric, "--name", fabric]

    def ask(self, path, document=None, method=None):
        """The answer as JSON; None if the controller has no such path or refuses."""
        data = None if document is None else json.dumps(document).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.controller + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            self.refused = error.read().decode(errors="replace")[:300]
            return None

    def fabric(self, *words):
        done = subprocess.run(self.command + list(words), capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError("%s: %s" % (" ".join(words), done.stderr.strip()))
        return done.stdout

    def topology(self):
        return json.loads(self.fabric("topology", "--json"))

    def faults(self):
        return json.loads(self.fabric("fault", "list", "--json"))

    def alerts(self):
        return (self.ask("/v1/alerts") or {}).get("alerts", [])

    def diagnosis(self, identifier):
        return self.ask("/v1/diagnoses/" + identifier)

    def stop_diagnosis(self, identifier):
        self.ask("/v1/diagnoses/" + identifier, method="DELETE")

    def running_diagnoses(self):
        listed = (self.ask("/v1/diagnoses") or {}).get("diagnoses", [])
        return [d for d in listed if d.get("state") == "running"]

    def resolve_alerts(self):
        for alert in self.alerts():
            if alert["state"] != "resolved":
                self.ask("/v1/alerts/%s/resolve" % alert["id"], {"why": "the next run of the matrix"})
