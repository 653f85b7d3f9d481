/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the pcapng writer: what libpcap reads back, the blocks' structure,
 * errors. (tshark reads it in test/system/tshark_encap.bats.) */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "packet/packet.h"
#include "packet/pcapng.h"

static const uint8_t frame[61] = {[12] = 0x88, [13] = 0xb5};

/* A file with two interfaces and three packets. */
static struct ef_pcapng *
write_sample(ef_pcapng_write_cb *write, void *ctx)
{
    uint8_t ipv4[16], ipv6[16];
    struct ef_pcapng *w = ef_pcapng_create(write, ctx);
    ef_address_parse("10.255.0.1", ipv4);
    ef_address_parse("2001:db8::1", ipv6);
    assert_int_equal(ef_pcapng_section(w, "ip.dst == 10.4.0.3; complete"), 0);
    assert_int_equal(ef_pcapng_interface(w, &(struct ef_pcapng_interface){"leaf1", "a leaf", ipv4}), 0);
    struct ef_pcapng_packet packet = {.time = {1795228200123456789},
                                      .data = frame,
                                      .len = 60,
                                      .wire_len = 1500,
                                      .direction = EF_PCAPNG_INBOUND,
                                      .packet_id = 0x1122334455667788,
                                      .comment = "hop 1 of 2"};
    assert_int_equal(ef_pcapng_packet(w, &packet), 0);
    assert_int_equal(ef_pcapng_interface(w, &(struct ef_pcapng_interface){"spine1", NULL, ipv6}), 1);
    packet = (struct ef_pcapng_packet){.interface = 1, .time = {1795228200123456790}, .data = frame, .len = 61};
    assert_int_equal(ef_pcapng_packet(w, &packet), 0);
    packet.len = 0;
    assert_int_equal(ef_pcapng_packet(w, &packet), 0);
    return w;
}

static uint32_t
word(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Each block has its length at both ends, and they fill the file. */
static void
blocks_fill_the_file(void **state)
{
    static const uint32_t types[] = {0x0a0d0d0a, 1, 6, 1, 6, 6};
    struct ef_pcapng *w = write_sample(NULL, NULL);
    size_t len, n = 0;
    const uint8_t *data = ef_pcapng_data(w, &len);
    for (size_t at = 0; at < len; n++) {
        uint32_t block_len = word(data + at + 4);
        assert_true(n < EF_ARRAY_SIZE(types));
        assert_int_equal(word(data + at), types[n]);
        assert_int_equal(block_len % 4, 0);
        assert_true(block_len >= 12 && block_len <= len - at);
        assert_int_equal(word(data + at + block_len - 4), block_len);
        at += block_len;
    }
    assert_int_equal(n, EF_ARRAY_SIZE(types));
    ef_pcapng_destroy(w);
}

static void
libpcap_reads_it_back(void **state)
{
    static const struct {
        uint32_t len, wire_len;
        long ns;
    } want[] = {{60, 1500, 123456789}, {61, 61, 123456790}, {0, 0, 123456790}};
    struct ef_pcapng *w = write_sample(NULL, NULL);
    size_t len, n = 0;
    char error[PCAP_ERRBUF_SIZE];
    const void *data = ef_pcapng_data(w, &len);
    pcap_t *pcap =
        pcap_fopen_offline_with_tstamp_precision(fmemopen((void *) data, len, "rb"), PCAP_TSTAMP_PRECISION_NANO, error);
    assert_non_null(pcap);
    struct pcap_pkthdr *hdr;
    for (const uint8_t *bytes; pcap_next_ex(pcap, &hdr, &bytes) == 1; n++) {
        assert_int_equal(hdr->caplen, want[n].len);
        assert_int_equal(hdr->len, want[n].wire_len);
        assert_int_equal(hdr->ts.tv_sec, 1795228200);
        assert_int_equal(hdr->ts.tv_usec, want[n].ns);
        assert_memory_equal(bytes, frame, hdr->caplen);
    }
    assert_int_equal(n, EF_ARRAY_SIZE(want));
    pcap_close(pcap);
    ef_pcapng_destroy(w);
}

struct collected {
    uint8_t data[4096];
    size_t len;
    int calls, fail_at;
};

static int
collect(void *ctx, const void *data, size_t len)
{
    struct collected *c = ctx;
    if (++c->calls == c->fail_at) {
        return -EPIPE;
    }
    memcpy(c->data + c->len, data, len);
    c->len += len;
    return 0;
}

static void
a_callback_gets_the_same_bytes(void **state)
{
    struct collected c = {.fail_at = -1};
    struct ef_pcapng *in_memory = write_sample(NULL, NULL), *streamed = write_sample(collect, &c);
    size_t len;
    const void *data = ef_pcapng_data(in_memory, &len);
    assert_int_equal(c.len, len);
    assert_memory_equal(c.data, data, len);
    assert_int_equal(c.calls, 6);
    ef_pcapng_destroy(in_memory);
    ef_pcapng_destroy(streamed);
}

static void
errors_are_told(void **state)
{
    struct ef_pcapng *w = ef_pcapng_create(NULL, NULL);
    struct ef_pcapng_packet packet = {.data = frame, .len = 60};
    struct ef_pcapng_interface interface = {.name = "leaf1"};
    assert_int_equal(ef_pcapng_interface(w, &interface), -EINVAL);
    assert_int_equal(ef_pcapng_idle(w), -EINVAL);
    assert_int_equal(ef_pcapng_section(w, NULL), 0);
    assert_int_equal(ef_pcapng_packet(w, &packet), -EINVAL);
    assert_int_equal(ef_pcapng_interface(w, &interface), 0);
    assert_int_equal(ef_pcapng_idle(w), 0);
    assert_int_equal(ef_pcapng_section(w, NULL), 0); /* Another one, whose interfaces begin anew. */
    assert_int_equal(ef_pcapng_packet(w, &packet), -EINVAL);
    assert_int_equal(ef_pcapng_interface(w, &interface), 0);
    packet.len = UINT32_MAX;
    assert_int_equal(ef_pcapng_packet(w, &packet), -E2BIG);
    packet.len = 60;
    char *text = malloc(65537);
    memset(text, 'x', 65536);
    text[65536] = '\0';
    packet.comment = text;
    assert_int_equal(ef_pcapng_packet(w, &packet), -E2BIG);
    packet.comment = text + 1;
    assert_int_equal(ef_pcapng_packet(w, &packet), 0);
    packet.interface = 1;
    assert_int_equal(ef_pcapng_packet(w, &packet), -EINVAL);
    free(text);
    ef_pcapng_destroy(w);
    ef_pcapng_destroy(NULL);
}

static void
a_failed_callback_ends_the_writer(void **state)
{
    struct collected c = {.fail_at = 2};
    struct ef_pcapng *w = ef_pcapng_create(collect, &c);
    struct ef_pcapng_interface interface = {.name = "leaf1"};
    assert_int_equal(ef_pcapng_section(w, NULL), 0);
    assert_int_equal(ef_pcapng_interface(w, &interface), -EPIPE);
    assert_int_equal(ef_pcapng_interface(w, &interface), -EPIPE);
    assert_int_equal(c.calls, 2);
    ef_pcapng_destroy(w);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_fill_the_file),
        cmocka_unit_test(libpcap_reads_it_back),
        cmocka_unit_test(a_callback_gets_the_same_bytes),
        cmocka_unit_test(errors_are_told),
        cmocka_unit_test(a_failed_callback_ends_the_writer),
    };
    return cmocka_run_group_tests_name("pcapng", tests, NULL, NULL);
}
