#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# tshark decodes every packet and encapsulation that lib/packet builds down to
# the innermost layer, and what lib/packet writes as pcapng.

setup_file() {
    : "${EF_SOURCE:=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)}"
    : "${EF_BUILD:=$EF_SOURCE/_build}"
    export EF_SOURCE EF_BUILD
    make -C "$EF_BUILD" test/tools/make_encapsulations >/dev/null
    "$EF_BUILD/test/tools/make_encapsulations" pcapng "$BATS_FILE_TMPDIR/made.pcapng"
}

setup() {
    command -v tshark >/dev/null || skip "tshark is not installed"
}

made() { # TSHARK_ARGUMENT...
    tshark -n -r "$BATS_FILE_TMPDIR/made.pcapng" -o ip.defragment:FALSE -o ipv6.defragment:FALSE "$@" 2>/dev/null
}

@test "no frame is malformed" {
    run made -Y '_ws.malformed' -T fields -e frame.comment
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "the only complaint is about frames that say themselves that they are truncated" {
    run made -Y '_ws.expert.severity == error' -T fields -e frame.comment
    [ "$status" -eq 0 ]
    while IFS= read -r name; do
        [[ $name == *-truncated-* ]]
    done <<<"$output"
}

@test "all checksums are right" {
    run made -o ip.check_checksum:TRUE -o tcp.check_checksum:TRUE -o udp.check_checksum:TRUE \
        -Y 'ip.checksum.status == Bad || tcp.checksum.status == Bad || udp.checksum.status == Bad || icmp.checksum.status == Bad || icmpv6.checksum.status == Bad' \
        -T fields -e frame.comment
    [ "$status" -eq 0 ]
    # Of a truncated segment tshark sums what is left.
    while IFS= read -r name; do
        [[ -z $name || $name == *-truncated-* ]]
    done <<<"$output"
}

@test "each copy is decoded down to the original's transport header" {
    run made -Y 'frame.comment contains "copy-"' -T fields -e frame.comment -e frame.protocols
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 15 ]
    for line in "${lines[@]}"; do
        case $line in
        copy-gre-*) [[ $line == *:gre:eth:ethertype:ip:* ]] ;;
        copy-erspan*) [[ $line == *:gre:erspan:eth:ethertype:ip:* ]] ;;
        esac
        [[ $line == *:tcp* ]]
    done
}

@test "every frame's fields are those that the unit test compares with" {
    "$EF_SOURCE/test/tools/tshark_fields" "$BATS_FILE_TMPDIR/made.pcapng" >"$BATS_TEST_TMPDIR/made.tsv" 2>/dev/null
    diff "$EF_SOURCE/test/vectors/fields/made.tsv" "$BATS_TEST_TMPDIR/made.tsv"
}

@test "times have nanoseconds, interfaces their names" {
    run made -c 2 -T fields -e frame.interface_name -e frame.time_epoch
    [ "${lines[0]}" = $'made\t1795228200.123456789' ]
    [ "${lines[1]}" = $'made\t1795228200.123456790' ]
}

# What the patched Open vSwitch made of real and crafted packets (test/vectors/ovs).
@test "the switch's own copies are decoded to the innermost header, none malformed" {
    local file n
    for file in "$EF_SOURCE"/test/vectors/ovs/*.pcap; do
        n=$(tshark -n -r "$file" 2>/dev/null | wc -l)
        [ "$n" -gt 0 ]
        [ -z "$(tshark -n -r "$file" -Y _ws.malformed 2>/dev/null)" ]
        [ "$(tshark -n -r "$file" -Y 'gre && (tcp || udp || icmp || icmpv6)' 2>/dev/null | wc -l)" = "$n" ] ||
            { echo "$file"; tshark -n -r "$file" -T fields -e frame.number -e frame.protocols; return 1; }
    done
}
