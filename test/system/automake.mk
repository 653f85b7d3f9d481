# test/system: see test/unit/base/automake.mk for the pattern
