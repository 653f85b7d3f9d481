// SPDX-License-Identifier: Apache-2.0
// archive.mjs DIR TRACES: asks DuckDB for the traces in DIR, an analyzer's archive,
// with the arithmetic that doc/store.md gives for times and sequence numbers, and
// compares them with TRACES, the JSON lines of /v1/traces. Exit status 0 if all agree.
import fs from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";

const [dir, file] = process.argv.slice(2);

// A time of JSON in nanoseconds since 1970, as a number without loss.
const ns = (text) => BigInt(Date.parse(`${text.slice(0, 19)}Z`)) * 1000000n + BigInt(text.slice(20, 29));

const expected = new Map();
for (const line of fs.readFileSync(file, "utf8").split("\n").filter(Boolean)) {
  const trace = JSON.parse(line);
  if (trace.end === true) continue;
  expected.set(trace.id, trace.hops.map((h) =>
    [h.switch, ns(h.arrival), h.switch_time ? ns(h.switch_time) : null, h.sequence === null ? null : BigInt(h.sequence)]
      .join(" ")).join("; "));
}

const connection = await (await DuckDBInstance.create()).connect();
const result = await connection.runAndReadAll(`
  WITH rows AS (SELECT filename, file_row_number AS n, id, start, hops, sequences
                FROM read_parquet('${dir.replaceAll("'", "''")}/*.parquet', filename = true, file_row_number = true)),
       least AS (SELECT filename, n, unnest(sequences, recursive := true) FROM rows WHERE len(sequences) > 0),
       copies AS (SELECT filename, n, id, epoch_ns(start) + list_sum([coalesce(h.after_ns, 0) FOR h IN hops[1:i]]) AS arrival,
                         i, hops[i].switch AS switch, hops[i].delay_ns AS delay_ns, hops[i].sequence_above AS above
                  FROM (SELECT *, unnest(range(1, len(hops) + 1)) AS i FROM rows))
  SELECT format('{:016x}', c.id) AS id, c.i AS i, c.switch AS switch, c.arrival AS arrival,
         c.arrival - c.delay_ns AS clock, c.above + l.least AS sequence
  FROM copies c ASOF LEFT JOIN least l ON c.filename = l.filename AND c.switch = l.switch AND c.n >= l.n
  ORDER BY id, i`);

const found = new Map();
for (const { id, switch: address, arrival, clock, sequence } of result.getRowObjects()) {
  const hop = [[...address.bytes.slice(12)].join("."), arrival, clock, sequence].join(" ");
  found.set(id, found.has(id) ? `${found.get(id)}; ${hop}` : hop);
}
if (!expected.size || found.size !== expected.size) {
  throw new Error(`DuckDB has ${found.size} traces, not ${expected.size}`);
}
for (const [id, hops] of expected) {
  if (found.get(id) !== hops) throw new Error(`trace ${id}\n  has      ${found.get(id)}\n  not ours ${hops}`);
}
console.log(`${expected.size} traces agree`);
