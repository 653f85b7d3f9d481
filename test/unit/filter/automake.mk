# test/unit/filter: see test/unit/base/automake.mk for the pattern
