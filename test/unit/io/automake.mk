# test/unit/io: see test/unit/base/automake.mk for the pattern
