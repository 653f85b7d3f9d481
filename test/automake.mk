# Unit tests are cmocka programs that print TAP; `make check` runs them.
EF_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(CMOCKA_CFLAGS) -DEF_TEST_SRCDIR='"$(abs_top_srcdir)/test"'
EF_TEST_LDADD = $(EF_LIBS) $(CMOCKA_LIBS)
TEST_EXTENSIONS = .sh
LOG_COMPILER = $(top_srcdir)/test/bounded
AM_LOG_FLAGS = 900
SH_LOG_COMPILER = $(top_srcdir)/test/bounded
AM_SH_LOG_FLAGS = 900
AM_TESTS_ENVIRONMENT = CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1; export ASAN_OPTIONS; \
	UBSAN_OPTIONS=print_stacktrace=1; export UBSAN_OPTIONS;

# A benchmark links what the programs link; `make bench` runs it.
noinst_PROGRAMS += $(BENCHES)
check_PROGRAMS += $(FUZZ_TARGETS)

include test/unit/base/automake.mk
include test/unit/packet/automake.mk
include test/unit/filter/automake.mk
include test/unit/trace/automake.mk
include test/unit/store/automake.mk
include test/unit/io/automake.mk
include test/unit/net/automake.mk
include test/unit/fabric/automake.mk
include test/unit/controller/automake.mk
include test/unit/reshuffler/automake.mk
include test/unit/analyzer/automake.mk
include test/unit/efctl/automake.mk
include test/unit/replay/automake.mk
include test/unit/prober/automake.mk
include test/tools/automake.mk
include test/system/automake.mk
include test/fault-matrix/automake.mk
include test/soak/automake.mk
include test/fuzz/automake.mk
include test/bench/automake.mk

# The programs that the system tests use.
.PHONY: test-tools
test-tools: $(filter test/tools/%,$(check_PROGRAMS))
