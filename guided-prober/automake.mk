# ef-prober. Everything but main.c is a library of its own, which tests and benchmarks link, too.
noinst_LIBRARIES += guided-prober/libprober.a
guided_prober_libprober_a_SOURCES = \
	guided-prober/conf.c guided-prober/conf.h \
	guided-prober/craft.c guided-prober/craft.h \
	guided-prober/explain.c guided-prober/explain.h \
	guided-prober/format.c guided-prober/format.h \
	guided-prober/orders.c guided-prober/orders.h \
	guided-prober/output.c guided-prober/output.h \
	guided-prober/read_order.c guided-prober/read_order.h \
	guided-prober/resolve.c \
	guided-prober/serve.c guided-prober/serve.h \
	guided-prober/stream.c guided-prober/stream.h \
	guided-prober/targets.c guided-prober/targets.h

sbin_PROGRAMS += guided-prober/ef-prober
guided_prober_ef_prober_SOURCES = guided-prober/main.c
guided_prober_ef_prober_LDADD = guided-prober/libprober.a $(EF_LIBS)

EXTRA_DIST += guided-prober/README.md
dist_man_MANS += doc/man/ef-prober.8
