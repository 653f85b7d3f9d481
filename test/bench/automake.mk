# test/bench: see test/unit/base/automake.mk for the pattern
