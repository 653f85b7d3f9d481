#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A prober that only keeps what it is ordered: POST, GET and DELETE /v1/probes.

usage: fake_prober.py SOCKET

An order is running until somebody touches SOCKET.done, then done. What was taken is
printed, a line each.
"""
import json
import os
import sys
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingUnixStreamServer

path = sys.argv[1]
orders = {}


class Handler(BaseHTTPRequestHandler):
    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_POST(self):
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if order["id"] in orders:
            self.answer(409, {"error": {"code": "exists", "message": "exists"}})
            return
        orders[order["id"]] = order
        print(order["id"], flush=True)
        self.answer(201, order)

    def do_GET(self):
        order = orders.get(self.path.rsplit("/", 1)[1])
        done = os.path.exists(path + ".done")
        if order is None:
            self.answer(404, {"error": {"code": "no_probes", "message": "none"}})
        else:
            self.answer(200, {"state": "done" if done else "running", "sent": order["count"] if done else 1, "failed": 0})

    def do_DELETE(self):
        self.answer(200, {})


if os.path.exists(path):
    os.unlink(path)
ThreadingUnixStreamServer(path, Handler).serve_forever()
