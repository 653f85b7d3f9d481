lib_libeverflow_a_SOURCES += \
	lib/io/copy_filter.c lib/io/copy_filter.h \
	lib/io/gre_silencer.c lib/io/gre_silencer.h \
	lib/io/netns.c lib/io/netns.h \
	lib/io/sink.c lib/io/sink.h lib/io/sink_class.h \
	lib/io/sink_ip.c \
	lib/io/sink_pcap.c \
	lib/io/source.c lib/io/source.h lib/io/source_class.h \
	lib/io/source_afpacket.c \
	lib/io/source_pcap.c \
	lib/io/spec.c lib/io/spec.h
EXTRA_DIST += lib/io/README.md
