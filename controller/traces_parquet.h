/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/traces?format=parquet: what one analyzer answers, as it is. Several
 * analyzers are asked one by one; efctl joins their files. */
#ifndef CONTROLLER_TRACES_PARQUET_H
#define CONTROLLER_TRACES_PARQUET_H

#include "controller/controller.h"
#include "controller/trace_query.h"

/* Replies to `req`, whose parameter `analyzer` says whom to ask; it may be left out
 * where there is one. An answer that breaks off has no footer, so it is no
 * Parquet file. */
void traces_parquet_reply(struct controller *controller, struct ef_http_request *req,
                          const struct trace_question *question);

#endif
