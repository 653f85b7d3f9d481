#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a capture of mirrored copies (ERSPAN III) whose traces are known, or
sends them out of an interface as fast as it can.

Packet number n is a TCP SYN from 10.0.0.0 + n, port 1024 + n % 60000, to
10.200.0.1 port 80 with IP ID n % 65536. It crosses the switches 10.255.0.1 to
10.255.0.HOPS in this order, with TTL 64 downwards, --hop-us after one another
by the switches' clocks, coming in by port 100 + hop. The copies of a packet
are spread over those of --spread others.
"""

import argparse
import socket
import struct
import sys


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def ipv4(src, dst, proto, length, ident, ttl):
    header = struct.pack("!BBHHHBBHII", 0x45, 0, length, ident, 0x4000, ttl, proto, 0, src, dst)
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:]


def address(text):
    return struct.unpack("!I", socket.inet_aton(text))[0]


SERVER, TARGET = address("10.200.0.1"), address("10.1.0.21")


def original(n, ttl):
    """The packet as a switch sees it, from its Ethernet header."""
    eth = bytes.fromhex("020000000001020000000002") + b"\x08\x00"
    ip = ipv4(address("10.0.0.0") + n, SERVER, 6, 40, n % 65536, ttl)
    tcp = struct.pack("!HHIIBBHHH", 1024 + n % 60000, 80, n, 0, 0x50, 0x02, 65535, 0, 0)
    return eth + ip + tcp


def copy(n, hop, sequence, time_ns):
    """The copy that the hop'th switch sends."""
    inner = original(n, 64 - hop)
    # ERSPAN III: version 2, session 1; timestamp (granularity ns), Ethernet
    # frame, platform 5 sub-header with the port and the clock's seconds.
    erspan = struct.pack("!HHIHH", 0x2000, 0x0001, time_ns % 10**9 & 0xFFFFFFFF, 0, 0x0005 | 2 << 1)
    platform = struct.pack("!II", 5 << 26 | (100 + hop), time_ns // 10**9 & 0xFFFFFFFF)
    gre = struct.pack("!HHI", 0x1000, 0x22EB, sequence & 0xFFFFFFFF)
    payload = gre + erspan + platform + inner
    outer = ipv4(address("10.255.0.1") + hop, TARGET, 47, 20 + len(payload), 0, 64)
    eth = bytes.fromhex("0200000000fe0200000000ff") + b"\x08\x00"
    return eth + outer + payload


def copies(args):
    """(packet, hop) in the order of arrival: hop h of a packet comes --spread
    packets after hop h - 1."""
    for step in range(args.packets + (args.hops - 1) * args.spread):
        for hop in range(args.hops):
            n = step - hop * args.spread
            if 0 <= n < args.packets:
                yield n, hop


def frames(args):
    sequence = [0] * args.hops
    for n, hop in copies(args):
        switch_time = args.start * 10**9 + n * 1000 + hop * args.hop_us * 1000
        yield copy(args.first + n, hop, sequence[hop], switch_time)
        sequence[hop] += 1


def write(args):
    gap_ns = 10**9 // args.rate
    now = args.start * 10**9
    with open(args.file, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))  # ns, Ethernet
        for frame in frames(args):
            out.write(struct.pack("<IIII", now // 10**9, now % 10**9, len(frame), len(frame)) + frame)
            now += gap_ns


def send(args):
    ready = list(frames(args))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind((args.file, 0))
        for frame in ready:
            out.send(frame)
    print(len(ready))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packets", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first packet")
    parser.add_argument("--hops", type=int, default=5)
    parser.add_argument("--spread", type=int, default=100, help="packets between two hops of one packet")
    parser.add_argument("--hop-us", type=int, default=10)
    parser.add_argument("--rate", type=int, default=100000, help="copies per second")
    parser.add_argument("--start", type=int, default=1795228200, help="time of the first copy, in s since 1970")
    parser.add_argument("--send", action="store_true", help="FILE is an interface to send from")
    parser.add_argument("file", metavar="FILE")
    args = parser.parse_args()
    if args.send:
        send(args)
    else:
        write(args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
