lib_libeverflow_a_SOURCES += \
	lib/filter/ast.h \
	lib/filter/compile.c \
	lib/filter/computed.c \
	lib/filter/eval.c \
	lib/filter/explain.c \
	lib/filter/fields.c lib/filter/fields.h \
	lib/filter/filter.c lib/filter/filter.h \
	lib/filter/names.c lib/filter/names.h \
	lib/filter/lexer.c lib/filter/lexer.h \
	lib/filter/normalise.c \
	lib/filter/parser.c \
	lib/filter/program.h \
	lib/filter/ranges.c lib/filter/ranges.h \
	lib/filter/typecheck.c \
	lib/filter/value.c lib/filter/value.h
EXTRA_DIST += lib/filter/README.md
