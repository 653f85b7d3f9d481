#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SYNs of the kernel that do not arrive, and who says so.

  expired_syns.py ADDRESS PORT SRCPORT...   one SYN from each SRCPORT to ADDRESS and PORT; prints for
                                            each ICMP time-exceeded "SRCPORT ITS-SENDER", a line each;
                                            fails if one is still missing after 10 s
"""
import select
import socket
import struct
import sys
import time


def expired(message, address, port):
    """The source port of the TCP segment that an ICMP time-exceeded quotes, or None."""
    icmp = message[(message[0] & 15) * 4:]
    quoted = icmp[8:]
    if icmp[0] != 11 or len(quoted) < 24 or quoted[9] != 6 or quoted[16:20] != socket.inet_aton(address):
        return None
    source_port, destination_port = struct.unpack_from("!HH", quoted, (quoted[0] & 15) * 4)
    return source_port if destination_port == port else None


def main():
    address, port = sys.argv[1], int(sys.argv[2])
    icmp = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    waiting = {}
    for source_port in map(int, sys.argv[3:]):
        s = socket.socket()
        s.bind(("", source_port))
        s.setblocking(False)
        s.connect_ex((address, port))
        waiting[source_port] = s
    end = time.monotonic() + 10
    while waiting and select.select([icmp], [], [], max(0, end - time.monotonic()))[0]:
        message, sender = icmp.recvfrom(1500)
        source_port = expired(message, address, port)
        if source_port in waiting:
            waiting.pop(source_port).close()
            print(source_port, sender[0], flush=True)
    sys.exit(f"no answer for {sorted(waiting)}" if waiting else 0)


if __name__ == "__main__":
    main()
