# Small programs that the system tests call.
check_PROGRAMS += test/tools/make_copies test/tools/send_frames
test_tools_make_copies_SOURCES = test/tools/make_copies.c test/tools/copies.h
test_tools_make_copies_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_tools_make_copies_LDADD = $(EF_LIBS)
test_tools_send_frames_SOURCES = test/tools/send_frames.c
test_tools_send_frames_LDADD = $(EF_LIBS)
check_PROGRAMS += test/tools/make_encapsulations
test_tools_make_encapsulations_SOURCES = test/tools/make_encapsulations.c \
	test/unit/packet/samples.c test/unit/packet/samples.h
test_tools_make_encapsulations_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_tools_make_encapsulations_LDADD = $(EF_LIBS)
check_PROGRAMS += test/tools/craft_packets test/tools/filter_select
test_tools_craft_packets_SOURCES = test/tools/craft_packets.c test/tools/craft.c test/tools/craft.h
test_tools_craft_packets_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_tools_craft_packets_LDADD = $(EF_LIBS)
test_tools_filter_select_SOURCES = test/tools/filter_select.c
test_tools_filter_select_LDADD = $(EF_LIBS)
check_PROGRAMS += test/tools/cross_switches
test_tools_cross_switches_SOURCES = test/tools/cross_switches.c test/tools/packet_port.c test/tools/packet_port.h \
	test/tools/craft.c test/tools/craft.h test/tools/numbered_frame.c test/tools/numbered_frame.h
test_tools_cross_switches_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_tools_cross_switches_LDADD = $(EF_LIBS)
EXTRA_DIST += test/tools/capture_real test/tools/filter_tshark.lua
check_PROGRAMS += test/tools/parquet_rows
test_tools_parquet_rows_SOURCES = test/tools/parquet_rows.c test/unit/store/random_rows.c test/unit/store/random_rows.h
test_tools_parquet_rows_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/test
test_tools_parquet_rows_LDADD = $(EF_LIBS)
