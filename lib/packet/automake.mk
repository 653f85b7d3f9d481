lib_libeverflow_a_SOURCES += \
	lib/packet/address.c \
	lib/packet/build.c lib/packet/build.h \
	lib/packet/copy.c lib/packet/copy.h lib/packet/copy_build.c \
	lib/packet/copy_sequence.c lib/packet/copy_sequence.h \
	lib/packet/cursor.h \
	lib/packet/headers.h \
	lib/packet/hole_finder.c lib/packet/hole_finder.h \
	lib/packet/identity.c lib/packet/identity.h \
	lib/packet/integrity.c lib/packet/integrity.h \
	lib/packet/ipv6_chain.c lib/packet/ipv6_chain.h \
	lib/packet/loss_report.c lib/packet/loss_report.h \
	lib/packet/packet.c lib/packet/packet.h lib/packet/packet_internal.h \
	lib/packet/pcapng.c lib/packet/pcapng.h \
	lib/packet/probe_signature.c lib/packet/probe_signature.h \
	lib/packet/summary.c \
	lib/packet/switch_drop.c lib/packet/switch_drop.h
EXTRA_DIST += lib/packet/README.md
