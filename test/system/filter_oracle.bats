#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The filter language against tshark: over crafted packets and over a capture
# of real programs, each filter selects the same frames. doc/filter-language.md
# lists where the two differ on purpose.

setup_file() {
    export here=${EF_SOURCE:-$BATS_TEST_DIRNAME/../..}
    export tools=${EF_BUILD:-$here/_build}/test/tools
    export filters=$here/test/system/filter_oracle/filters.txt
    # Numbers as they are in the packet, every fragment for itself. An ICMP
    # error that quotes a cut DNS message keeps tshark from showing its listeners
    # the frame at all.
    export options="-o tcp.relative_sequence_numbers:FALSE -o tcp.desegment_tcp_streams:FALSE
        -o ip.defragment:FALSE -o ipv6.defragment:FALSE --disable-protocol dns"
}

setup() {
    command -v tshark >/dev/null || skip "tshark is not installed"
    [ -x "$tools/filter_select" ] || skip "test/tools/filter_select is not built"
    case $(tshark --version 2>/dev/null) in *"with Lua"*) ;; *) skip "this tshark has no Lua" ;; esac
    # No preferences of a user may change what tshark shows.
    export HOME=$BATS_TEST_TMPDIR
}

# Compares both over a capture; prints each filter that differs.
compare() { # CAPTURE
    # shellcheck disable=SC2086
    EF_FILTERS=$filters tshark -q -r "$1" $options -X "lua_script:$here/test/tools/filter_tshark.lua" \
        >"$BATS_TEST_TMPDIR/theirs" 2>"$BATS_TEST_TMPDIR/log" || { cat "$BATS_TEST_TMPDIR/log"; return 1; }
    "$tools/filter_select" "$filters" "$1" >"$BATS_TEST_TMPDIR/ours"
    [ "$(wc -l <"$filters")" = "$(wc -l <"$BATS_TEST_TMPDIR/theirs")" ]
    if ! cmp -s "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours"; then
        paste -d'|' "$filters" "$BATS_TEST_TMPDIR/theirs" "$BATS_TEST_TMPDIR/ours" |
            awk -F'|' '$(NF - 1) != $NF {print "FILTER " $0}' | cut -c1-400
        return 1
    fi
    # Neither side may have answered "error", nor may the filters find nothing.
    ! grep -q error "$BATS_TEST_TMPDIR/ours"
}

# How many filters select some frames, but not all N.
telling() { # N
    awk -v n="$1" 'NF > 0 && NF < n' "$BATS_TEST_TMPDIR/ours" | wc -l
}

@test "the table has at least 150 filters" {
    [ "$(sort -u "$filters" | wc -l)" -ge 150 ]
}

@test "2,500 crafted packets of many protocols: the same frames as tshark" {
    "$tools/craft_packets" "$BATS_TEST_TMPDIR/crafted.pcap" 2500 1
    compare "$BATS_TEST_TMPDIR/crafted.pcap"
    [ "$(telling 2500)" -ge 300 ]
}

@test "other crafted packets, from other seeds" {
    for seed in 2 3; do
        "$tools/craft_packets" "$BATS_TEST_TMPDIR/crafted.pcap" 2500 $seed
        compare "$BATS_TEST_TMPDIR/crafted.pcap"
    done
}

@test "packets of real programs: the same frames as tshark" {
    compare "$here/test/vectors/real.pcapng"
    [ "$(telling 322)" -ge 150 ]
}

@test "packets that lib/packet builds, and another real capture" {
    # Without the frames of made.pcapng where the manual says that we differ: too
    # many extension headers, and copies that cut a segment.
    tshark -r "$here/test/vectors/made.pcapng" -w "$BATS_TEST_TMPDIR/made" \
        -Y 'not (ipv6.dstopts and frame.len == 198) and not (erspan and ip.len == 59)' 2>/dev/null
    compare "$BATS_TEST_TMPDIR/made"
    compare "$here/test/vectors/real.pcap"
}

@test "filters in one run are what tshark -Y selects" {
    compare "$here/test/vectors/real.pcapng"
    while IFS= read -r filter; do
        # shellcheck disable=SC2086
        tshark -r "$here/test/vectors/real.pcapng" $options -Y "$filter" -T fields -e frame.number 2>/dev/null |
            tr '\n' ' ' >"$BATS_TEST_TMPDIR/one"
        line=$(grep -nFx -- "$filter" "$filters" | cut -d: -f1)
        [ "$(cat "$BATS_TEST_TMPDIR/one")" = "$(sed -n "${line}p" "$BATS_TEST_TMPDIR/ours")" ]
    done <<'END'
icmp && tcp
ip.ttl != 64
tcp.flags & 0x12 == 0x02
ipv6.src == 2001:db8::/32
tcp.port not in {80, 443}
END
}

@test "what tshark accepts otherwise than we do is as the manual says" {
    printf '%s\n' 'tcp.flags.syn == true' 'tcp.flags.syn == 2' 'tcp.port == -1' 'eth.type == IPv4' 'tcp == 06:00' \
        'ip.len == ip.len == ip.len' 'tcp[0] == 4' 'tcp xor udp' 'ipv6.dst & ffff:: == fd00::' \
        >"$BATS_TEST_TMPDIR/filters"
    filters=$BATS_TEST_TMPDIR/filters
    "$tools/filter_select" "$filters" "$here/test/vectors/real.pcapng" >"$BATS_TEST_TMPDIR/ours" 2>/dev/null
    # shellcheck disable=SC2086
    EF_FILTERS=$filters tshark -q -r "$here/test/vectors/real.pcapng" $options \
        -X "lua_script:$here/test/tools/filter_tshark.lua" >"$BATS_TEST_TMPDIR/theirs" 2>/dev/null
    refused() { sed 's/^error$/refused/; t; s/.*/taken/' "$BATS_TEST_TMPDIR/$1" | tr '\n' ' '; }
    [ "$(refused ours)" = "taken refused refused refused refused refused refused refused taken " ]
    [ "$(refused theirs)" = "refused taken taken taken taken taken taken refused taken " ]
}
