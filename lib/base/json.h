/* SPDX-License-Identifier: Apache-2.0 */
/* How JSON is printed everywhere: real numbers with the digits that a person
 * wrote, 353.353 and not 353.35300000000001, which 15 digits give for every
 * value of up to 15 digits.
 *
 *     char *text = json_dumps(document, JSON_COMPACT | EF_JSON_REALS);
 */
#ifndef EF_BASE_JSON_H
#define EF_BASE_JSON_H

#include <jansson.h>

#define EF_JSON_REALS JSON_REAL_PRECISION(15)

#endif
