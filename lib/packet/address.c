/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text. Declared in packet.h. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "packet/headers.h"
#include "packet/packet.h"

char *
ef_address_format(const uint8_t address[16], char *buf)
{
    if (ef_address_is_ipv4(address)) {
        inet_ntop(AF_INET, address + 12, buf, INET6_ADDRSTRLEN);
    } else {
        inet_ntop(AF_INET6, address, buf, INET6_ADDRSTRLEN);
    }
    return buf;
}

int
ef_address_parse(const char *text, uint8_t address[16])
{
    uint8_t ipv4[4];
    if (inet_pton(AF_INET, text, ipv4) == 1) {
        ef_address_from_ipv4(address, ipv4);
        return 0;
    }
    return inet_pton(AF_INET6, text, address) == 1 ? 0 : -EINVAL;
}
