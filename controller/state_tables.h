/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of the controller's state, as everflow.ovsschema has them (a test
 * compares both): each has `key` (unique), `document` (a JSON object as text, the
 * whole truth), and those columns named here, each a copy of the document's member
 * of that name if it is a string. Plain data; any thread. */
#ifndef CONTROLLER_STATE_TABLES_H
#define CONTROLLER_STATE_TABLES_H

enum state_table {
    STATE_SETTING,       /* What is set at run time; "active" is the active controller. */
    STATE_TOPOLOGY,      /* Topology documents put at run time. */
    STATE_SWITCH,        /* Switches added at run time. */
    STATE_COUNTER,       /* Counters by filter that analyzers should have. */
    STATE_DEBUG_SESSION, /* EnableDbg. */
    STATE_PROBE_ORDER,   /* Orders for guided probes, with what became of them. */
    STATE_DIAGNOSIS,
    STATE_ALERT,
    STATE_WEBHOOK,
    STATE_TOKEN, /* Their hashes. */
    STATE_AUDIT,
    STATE_RULE_SET, /* Rules for a time that operators asked for. After the switches, whose names they have. */
    STATE_N_TABLES,
};

enum { STATE_MAX_COLUMNS = 4 };

struct state_table_info {
    const char *name;
    const char *columns[STATE_MAX_COLUMNS + 1]; /* NULL-terminated. */
};

extern const struct state_table_info state_tables[STATE_N_TABLES];

#endif
