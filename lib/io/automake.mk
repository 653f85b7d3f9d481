lib_libeverflow_a_SOURCES += \
	lib/io/capabilities.c lib/io/capabilities.h \
	lib/io/capture_pipe.c lib/io/capture_pipe.h \
	lib/io/copy_filter.c lib/io/copy_filter.h \
	lib/io/gre_silencer.c lib/io/gre_silencer.h \
	lib/io/netns.c lib/io/netns.h \
	lib/io/sink.c lib/io/sink.h lib/io/sink_class.h \
	lib/io/sink_ip.c \
	lib/io/sink_pcap.c \
	lib/io/source.c lib/io/source.h lib/io/source_class.h \
	lib/io/source_afpacket.c \
	lib/io/source_pcap.c \
	lib/io/spec.c lib/io/spec.h \
	lib/io/tick_line.c lib/io/tick_line.h
EXTRA_DIST += lib/io/README.md

# With DPDK's own compiler flags, which nothing else should have.
DPDK_SOURCES = lib/io/dpdk_clock.c lib/io/dpdk_clock.h lib/io/dpdk_port.c lib/io/dpdk_port.h lib/io/sink_dpdk.c lib/io/source_dpdk.c
if HAVE_DPDK
noinst_LIBRARIES += lib/io/libdpdk.a
lib_io_libdpdk_a_SOURCES = $(DPDK_SOURCES)
lib_io_libdpdk_a_CPPFLAGS = $(AM_CPPFLAGS) $(DPDK_CFLAGS)
else
lib_libeverflow_a_SOURCES += lib/io/no_dpdk.c
endif
EXTRA_DIST += $(DPDK_SOURCES) lib/io/no_dpdk.c
