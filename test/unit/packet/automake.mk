# test/unit/packet: see test/unit/base/automake.mk for the pattern
