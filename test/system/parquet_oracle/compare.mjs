// SPDX-License-Identifier: Apache-2.0
// compare.mjs FILE ROWS: reads the Parquet file FILE with DuckDB and with
// hyparquet, and compares each value with those in ROWS, the JSON lines that
// parquet_rows prints. Exit status 0 if all agree.
import fs from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";
import { asyncBufferFromFile, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";

const hex = (bytes) => Buffer.from(bytes).toString("hex");

// Any library's value as parquet_rows prints it.
function plain(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === "bigint" || typeof value === "number") return value.toString();
  if (value instanceof Uint8Array) return hex(value);
  if (Array.isArray(value)) return value.map(plain);
  const kind = value.constructor?.name;
  if (kind === "DuckDBBlobValue") return hex(value.bytes);
  if (kind === "DuckDBTimestampNanosecondsValue") return (value.nanoseconds ?? value.nanos).toString();
  if (kind === "DuckDBListValue") return value.items.map(plain);
  if (kind === "DuckDBStructValue") return plain(value.entries);
  if (typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]));
  throw new Error(`a value of unknown kind: ${kind} ${value}`);
}

function compare(reader, found, expected) {
  if (found.length !== expected.length) {
    throw new Error(`${reader}: ${found.length} rows instead of ${expected.length}`);
  }
  for (let i = 0; i < expected.length; i++) {
    const a = JSON.stringify(plain(found[i])), b = JSON.stringify(expected[i]);
    if (a !== b) throw new Error(`${reader}: row ${i}\n  has      ${a}\n  not ours ${b}`);
  }
}

const [file, rows] = process.argv.slice(2);
const expected = fs.readFileSync(rows, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));

const connection = await (await DuckDBInstance.create()).connect();
const name = file.replaceAll("'", "''");
const result = await connection.runAndReadAll(`SELECT * FROM read_parquet('${name}', file_row_number = true) ORDER BY file_row_number`);
const duckdb = result.getRowObjects().map(({ file_row_number, ...row }) => row);
compare("DuckDB", duckdb, expected);

// DuckDB skips row groups by our statistics: no value may go missing by them.
const counts = await connection.runAndReadAll(`SELECT c0, count(*) AS n FROM read_parquet('${name}') GROUP BY c0 ORDER BY n DESC, c0 LIMIT 20`);
for (const { c0, n } of counts.getRowObjects()) {
  const again = await connection.runAndReadAll(
    `SELECT count(*) AS n FROM read_parquet('${name}') WHERE c0 = make_timestamp_ns(${plain(c0)})`);
  if (again.getRowObjects()[0].n !== n) throw new Error(`DuckDB: ${plain(c0)} is found ${again.getRowObjects()[0].n} times, not ${n}`);
}

const hyparquet = await parquetReadObjects({
  file: await asyncBufferFromFile(file),
  compressors,
  utf8: false,
  parsers: {
    timestampFromMilliseconds: (v) => v, timestampFromMicroseconds: (v) => v,
    timestampFromNanoseconds: (v) => v, dateFromDays: (v) => v, stringFromBytes: (v) => v,
  },
});
compare("hyparquet", hyparquet, expected);
console.log(`${expected.length} rows agree`);
