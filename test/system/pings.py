#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends a number of ICMP echo requests and waits for the answers.

usage: pings.py ADDRESS COUNT [PAYLOAD_BYTES [INTERVAL_S]]

Prints "ANSWERED LEAST_US GREATEST_US IN_ORDER": how many were answered, the
least and the greatest round trip, and 1 if the answers came in order. Ends when
all are answered, or when none has come for a second and a half, which ping(8)
does not do: it waits for two round trips.
"""
import os
import select
import socket
import struct
import sys
import time

QUIET_S = 1.5


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


def request(ident, seq, payload):
    head = struct.pack("!BBHHH", 8, 0, 0, ident, seq)
    return struct.pack("!BBHHH", 8, 0, checksum(head + payload), ident, seq) + payload


def main():
    address, count = sys.argv[1], int(sys.argv[2])
    payload = bytes((int(sys.argv[3]) if len(sys.argv) > 3 else 56) & ~1)
    interval = float(sys.argv[4]) if len(sys.argv) > 4 else 0.002
    ident = os.getpid() & 0xFFFF
    sock = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    sent, trips, order = {}, {}, []
    start = last = time.monotonic()
    while len(trips) < count and (len(sent) < count or time.monotonic() - last < QUIET_S):
        now = time.monotonic()
        if len(sent) < count and now >= start + len(sent) * interval:
            seq = len(sent)
            sent[seq] = last = now
            sock.sendto(request(ident, seq, payload), (address, 0))
            continue
        next_send = start + len(sent) * interval if len(sent) < count else last + QUIET_S
        if not select.select([sock], [], [], max(0, next_send - now))[0]:
            continue
        data = sock.recv(65536)
        now = time.monotonic()
        icmp = data[(data[0] & 15) * 4:]
        kind, _, _, its, seq = struct.unpack("!BBHHH", icmp[:8])
        if kind == 0 and its == ident and seq in sent and seq not in trips:
            trips[seq] = now - sent[seq]
            order.append(seq)
            last = now
    times = [int(t * 1e6) for t in trips.values()] or [0]
    print(len(trips), min(times), max(times), int(order == sorted(order)))


main()
