# test/unit/store: see test/unit/base/automake.mk for the pattern
