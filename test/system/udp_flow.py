#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One UDP flow at a steady rate, for the system tests of debug sessions, until killed.

usage: udp_flow.py ADDRESS PORT PER_SECOND [TOS]

The kernel counts up the IP ID of a connected socket, so that samples by the ID
are true ones. TOS sets the type of service, and with it perhaps the debug bit.
"""
import socket
import sys
import time


def main():
    address, port, per_second = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    flow = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    flow.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, int(sys.argv[4], 0) if len(sys.argv) > 4 else 0)
    flow.connect((address, port))
    due = time.monotonic()
    while True:
        try:
            flow.send(b"x" * 64)
        except OSError:  # The receiver has no such port, says its ICMP.
            pass
        # One that was held up does not catch up with a burst: the rate is what is tested.
        due = max(due + 1 / per_second, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


if __name__ == "__main__":
    main()
