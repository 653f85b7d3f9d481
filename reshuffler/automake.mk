# All but main.c is a library, which tests and benchmarks link too.
noinst_LIBRARIES += reshuffler/libreshuffler.a
reshuffler_libreshuffler_a_SOURCES = \
	reshuffler/analyzers.c reshuffler/analyzers.h \
	reshuffler/answer.c reshuffler/answer.h \
	reshuffler/congestion.c reshuffler/congestion.h \
	reshuffler/conf.c reshuffler/conf.h \
	reshuffler/explain.c reshuffler/explain.h \
	reshuffler/forward.c reshuffler/forward.h \
	reshuffler/health.c reshuffler/health.h \
	reshuffler/ledger.c reshuffler/ledger.h \
	reshuffler/loss_reporter.c reshuffler/loss_reporter.h \
	reshuffler/member.c reshuffler/member.h \
	reshuffler/members.c reshuffler/members.h \
	reshuffler/outer_ip.c reshuffler/outer_ip.h \
	reshuffler/plan.c reshuffler/plan.h \
	reshuffler/plan_cell.c reshuffler/plan_cell.h \
	reshuffler/port_responder.c reshuffler/port_responder.h \
	reshuffler/reach.c reshuffler/reach.h \
	reshuffler/responder.c reshuffler/responder.h \
	reshuffler/status.c reshuffler/status.h \
	reshuffler/steer.c reshuffler/steer.h \
	reshuffler/switch_accounts.c reshuffler/switch_accounts.h \
	reshuffler/tally.c reshuffler/tally.h \
	reshuffler/watch.c reshuffler/watch.h \
	reshuffler/worker.c reshuffler/worker.h

sbin_PROGRAMS += reshuffler/ef-reshuffler
reshuffler_ef_reshuffler_SOURCES = reshuffler/main.c
reshuffler_ef_reshuffler_LDADD = reshuffler/libreshuffler.a $(EF_LIBS)

EXTRA_DIST += reshuffler/README.md
dist_man_MANS += doc/man/ef-reshuffler.8
