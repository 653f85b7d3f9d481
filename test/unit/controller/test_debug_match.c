/* SPDX-License-Identifier: Apache-2.0 */
/* Filters as matches of rules: each case a filter and what it becomes, or why not. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "controller/debug_match.h"

#define TCP4 "dl_type=0x0800,nw_proto=6"
#define TCP6 "dl_type=0x86dd,nw_proto=6"

static void
test_matches(void **state)
{
    static const struct {
        const char *filter, *matches; /* Joined by spaces. */
    } cases[] = {
        {"", "dl_type=0x0800 dl_type=0x86dd"},
        {"ip", "dl_type=0x0800"},
        {"eth.type == 0x86dd", "dl_type=0x86dd"},
        {"eth.src == 02:00:00:00:00:01 && ip", "dl_src=02:00:00:00:00:01,dl_type=0x0800"},
        {"ip.dst == 10.4.0.0/16", "dl_type=0x0800,nw_dst=10.4.0.0/255.255.0.0"},
        {"ip.addr == 10.1.0.2", "dl_type=0x0800,nw_src=10.1.0.2 dl_type=0x0800,nw_dst=10.1.0.2"},
        {"ip.proto == 17", "dl_type=0x0800,nw_proto=17"},
        {"ip.dsfield.dscp == 10", "dl_type=0x0800,nw_tos=40"},
        {"ipv6.dst == fd00::1", "dl_type=0x86dd,ipv6_dst=fd00::1"},
        {"tcp", TCP4 " " TCP6},
        {"tcp.dstport == 80 && ip", TCP4 ",tp_dst=80"},
        {"tcp.port == 80 && ip", TCP4 ",tp_src=80 " TCP4 ",tp_dst=80"},
        {"tcp.dstport in {80, 443} && ip", TCP4 ",tp_dst=80 " TCP4 ",tp_dst=443"},
        {"udp.dstport >= 65532 && ip", "dl_type=0x0800,nw_proto=17,tp_dst=65532/65532"},
        {"udp.dstport in {5..7} && ip",
         "dl_type=0x0800,nw_proto=17,tp_dst=5 dl_type=0x0800,nw_proto=17,tp_dst=6/65534"},
        {"tcp.flags.syn == 1 && tcp.flags.ack == 0 && ip", TCP4 ",tcp_flags=0x0002/0x0012"},
        {"tcp.flags & 0x12 == 0x12 && ip", TCP4 ",tcp_flags=0x0012/0x0012"},
        {"tcp.flags & 0x5 && ip", TCP4 ",tcp_flags=0x0001/0x0001 " TCP4 ",tcp_flags=0x0004/0x0004"},
        {"icmp.type == 8", "dl_type=0x0800,nw_proto=1,icmp_type=8"},
        {"icmpv6", "dl_type=0x86dd,nw_proto=58"},
        {"(ip.src == 10.1.0.1 || ip.src == 10.1.0.2) && udp",
         "dl_type=0x0800,nw_proto=17,nw_src=10.1.0.1 dl_type=0x0800,nw_proto=17,nw_src=10.1.0.2"},
        {"udp.dstport == 53 || udp.dstport == 53",
         "dl_type=0x0800,nw_proto=17,tp_dst=53 dl_type=0x86dd,nw_proto=17,tp_dst=53"},
        {"ip.ttl < 2", "dl_type=0x0800,nw_ttl=0 dl_type=0x0800,nw_ttl=1"},
        {"ipv6.tclass.dscp > 62", "dl_type=0x86dd,nw_tos=252"},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_error err = EF_ERROR_INIT;
        json_t *matches = NULL, *match;
        char text[2000] = "";
        size_t k;
        if (debug_matches(cases[i].filter, &matches, &err)) {
            fail_msg("%s: %s", cases[i].filter, err.text);
        }
        json_array_foreach(matches, k, match)
        {
            strcat(strcat(text, k ? " " : ""), json_string_value(match));
        }
        assert_string_equal(text, cases[i].matches);
        json_decref(matches);
    }
}

static void
test_refusals(void **state)
{
    static const struct {
        const char *filter, *part;
        int offset;
    } cases[] = {
        {"tcp.dstport ==", "", 14},
        {"ip && tcp.len == 5", "'tcp.len'", 6},
        {"switch == 10.255.0.1", "'switch'", 0},
        {"ip && !tcp", "not", 7},
        {"tcp.port != 80", "differs", 9},
        {"ip.src == ip.dst", "one field against another", 0},
        {"arp", "'arp'", 0},
        {"eth.type == 0x0806", "no IP packet", 0},
        {"tcp && udp", "no IP packet", 0},
        {"ip.proto & 1", "under a mask", 0},
        {"ip.ttl >= 1", "more than 64 rules", 0},
        {"tcp.srcport in {1, 3, 5, 7, 9, 11, 13, 15, 17} && tcp.dstport in {1, 3, 5, 7, 9, 11, 13, 15, 17}",
         "more than 64 rules", -1},
    };
    for (size_t i = 0; i < EF_ARRAY_SIZE(cases); i++) {
        struct ef_error err = EF_ERROR_INIT;
        json_t *matches = NULL;
        assert_int_equal(debug_matches(cases[i].filter, &matches, &err), -EINVAL);
        if (!strstr(err.text, cases[i].part) || (cases[i].offset >= 0 && err.offset != cases[i].offset)) {
            fail_msg("%s: at %d: %s", cases[i].filter, err.offset, err.text);
        }
        assert_null(matches);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matches),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
