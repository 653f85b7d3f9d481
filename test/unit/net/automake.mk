# test/unit/net: see test/unit/base/automake.mk for the pattern
