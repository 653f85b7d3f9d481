# SPDX-License-Identifier: Apache-2.0
"""The captures that the benchmark of the switch replays.

Called by bench-ovs. Packets are plain IPv4 with TCP (nine in ten) or UDP, none
of which any class, sample or rule of the benchmark wants, except for the
chosen share of TCP SYNs."""

import struct

IMIX = [60] * 7 + [572] * 4 + [1396]
MIN_PACKETS = 4096  # More where there are more flows.


def checksum(data):
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def packet(flow, size, syn, tcp):
    """A frame of "size" bytes (without FCS) of flow number "flow"."""
    ethernet = bytes.fromhex("020000000001020000000002") + b"\x08\x00"
    # An IP ID that sampling of 10 bits with value 1 never chooses.
    ip = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45, 0, size - 14, 2, 0x4000,
                               64, 6 if tcp else 17, 0,
                               bytes([10, 1 + (flow >> 16), flow >> 8 & 255, flow & 255]),
                               bytes([10, 9, 0, 1])))
    ip[10:12] = struct.pack("!H", checksum(bytes(ip)))
    source = 1024 + flow % 50000
    if tcp:
        l4 = struct.pack("!HHIIBBHHH", source, 8080, 1, 2, 0x50, 0x02 if syn else 0x10, 8192, 0, 0)
    else:
        l4 = struct.pack("!HHHH", source, 8080, size - 34, 0)
    return (ethernet + bytes(ip) + l4).ljust(size, b"\0")


def write(path, flows, imix, syn_percent):
    """Writes a capture; returns the share of packets that are TCP SYNs."""
    n_syn, n = 0, max(MIN_PACKETS, flows)
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for i in range(n):
            # Spread over the capture, as flows begin in real traffic.
            syn = (i * syn_percent) % 100 < syn_percent
            n_syn += syn
            size = IMIX[i * 5 % len(IMIX)] if imix else 60
            data = packet(i % flows, size, syn, syn or i % 10 != 0)
            f.write(struct.pack("<IIII", 0, i, len(data), len(data)) + data)
    return n_syn / n
