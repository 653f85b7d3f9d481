# test/unit/trace: see test/unit/base/automake.mk for the pattern
