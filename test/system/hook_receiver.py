#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Takes webhooks: hook_receiver.py PORT_FILE OUT REFUSALS

Writes the port that the kernel chose into PORT_FILE. Answers the first REFUSALS
requests with 500, all others with 204, and appends those to OUT, a line of JSON
each: path, signature, body (as text).
"""
import http.server
import json
import os
import sys

port_file, out, refusals = sys.argv[1], sys.argv[2], int(sys.argv[3])


class Receiver(http.server.BaseHTTPRequestHandler):
    left = refusals

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if Receiver.left > 0:
            Receiver.left -= 1
            self.send_response(500)
            self.end_headers()
            return
        with open(out, "a") as f:
            line = {"path": self.path, "signature": self.headers.get("Everflow-Signature"), "body": body}
            f.write(json.dumps(line) + "\n")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
with open(port_file + ".new", "w") as f:
    f.write(str(server.server_port))
os.rename(port_file + ".new", port_file)
server.serve_forever()
