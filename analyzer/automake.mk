# All but main(), so that tests and benchmarks can link it.
noinst_LIBRARIES += analyzer/libanalyzer.a
analyzer_libanalyzer_a_SOURCES = \
	analyzer/assemble.c analyzer/assemble.h \
	analyzer/copy_record.c analyzer/copy_record.h \
	analyzer/open_table.c analyzer/open_table.h \
	analyzer/refused_set.c analyzer/refused_set.h \
	analyzer/region.h
EXTRA_DIST += analyzer/README.md
