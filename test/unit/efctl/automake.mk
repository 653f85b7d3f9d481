if HAVE_CMOCKA
check_PROGRAMS += test/unit/efctl/test_golden test/unit/efctl/test_text
TESTS += test/unit/efctl/test_golden test/unit/efctl/test_text
test_unit_efctl_test_golden_SOURCES = test/unit/efctl/test_golden.c
test_unit_efctl_test_golden_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_efctl_test_golden_LDADD = utilities/efctl/libefctl.a $(EF_TEST_LDADD) -lm
test_unit_efctl_test_text_SOURCES = test/unit/efctl/test_text.c
test_unit_efctl_test_text_CPPFLAGS = $(EF_TEST_CPPFLAGS)
test_unit_efctl_test_text_LDADD = utilities/efctl/libefctl.a $(EF_TEST_LDADD) -lm
endif
EXTRA_DIST += test/golden

# Writes the expected texts anew; look at the difference before committing it.
.PHONY: golden-update
golden-update: test/unit/efctl/test_golden
	EF_GOLDEN_UPDATE=1 test/unit/efctl/test_golden
