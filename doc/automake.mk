# Manual pages (doc/man) are named in the automake.mk of what they describe.
dist_doc_DATA += doc/architecture.md doc/filter-language.md doc/openapi.json doc/operations.md doc/performance.md doc/rest-api.md doc/runbook-performance.md doc/runbook.md doc/store.md doc/testing.md doc/wire-format.md
