# test/system: see test/unit/base/automake.mk for the pattern
EXTRA_DIST += test/system/reshuffler.bats
EXTRA_DIST += test/system/efctl.bats test/system/canned_http.py test/system/openapi.jq
EXTRA_DIST += test/system/tshark_encap.bats
EXTRA_DIST += test/system/controller.bats test/system/fake_analyzer.py
EXTRA_DIST += test/system/filter_oracle.bats test/system/filter_oracle/filters.txt test/vectors/real.pcapng test/vectors/real.md
EXTRA_DIST += test/system/analyzer.bats test/system/analyzer_flood.bats test/system/make_copies.py
