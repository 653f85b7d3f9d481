#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An HTTP server with canned answers, for tests of clients.

  canned_http.py DIRECTORY   listens on a free port of 127.0.0.1, writes it to
                             DIRECTORY/port and serves until killed

GET /v1/traces?... is answered with the file DIRECTORY/v1_traces, as it is at
that time; without the file with 404. If DIRECTORY/v1_traces.status is there,
it has the HTTP status; if v1_traces.length, a Content-Length that need not be
true. Each path with its query is appended to DIRECTORY/requests.
"""
import http.server
import os
import sys


class Handler(http.server.BaseHTTPRequestHandler):
    directory = ""

    def read(self, name):
        try:
            with open(os.path.join(self.directory, name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def do_GET(self):
        with open(os.path.join(self.directory, "requests"), "a", encoding="utf-8") as log:
            log.write(self.path + "\n")
        name = self.path.split("?")[0].strip("/").replace("/", "_")
        body = self.read(name)
        status = int(self.read(name + ".status") or (404 if body is None else 200))
        body = body or b""
        self.send_response(status)
        self.send_header("Content-Length", (self.read(name + ".length") or str(len(body)).encode()).decode().strip())
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


def main():
    Handler.directory = sys.argv[1]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    port = os.path.join(Handler.directory, "port")
    with open(port + ".new", "w", encoding="utf-8") as file:
        file.write(str(server.server_address[1]))
    os.rename(port + ".new", port)
    server.serve_forever()


main()
