# ef-replay. Everything but main.c is a library of its own, which the tests link, too.
bin_PROGRAMS += utilities/replay/ef-replay
noinst_LIBRARIES += utilities/replay/libreplay.a
utilities_replay_libreplay_a_SOURCES = \
	utilities/replay/conf.c utilities/replay/conf.h \
	utilities/replay/frame.c utilities/replay/frame.h \
	utilities/replay/play.c utilities/replay/play.h \
	utilities/replay/stream.c utilities/replay/stream.h \
	utilities/replay/truth.c utilities/replay/truth.h \
	utilities/replay/workload.c utilities/replay/workload.h

utilities_replay_ef_replay_SOURCES = utilities/replay/main.c
utilities_replay_ef_replay_LDADD = utilities/replay/libreplay.a $(EF_LIBS) -lm

EXTRA_DIST += utilities/replay/README.md
dist_man_MANS += doc/man/ef-replay.1
