lib_libeverflow_a_SOURCES += \
	lib/base/byteorder.h \
	lib/base/control_socket.c lib/base/control_socket.h \
	lib/base/counter.h \
	lib/base/daemon.c lib/base/daemon.h \
	lib/base/drop_reason.c lib/base/drop_reason.h \
	lib/base/error.c lib/base/error.h \
	lib/base/hash.h \
	lib/base/histogram.c lib/base/histogram.h \
	lib/base/json.h \
	lib/base/log.c lib/base/log.h \
	lib/base/options.c lib/base/options.h \
	lib/base/options_file.c lib/base/options_file.h \
	lib/base/parse_number.c lib/base/parse_number.h \
	lib/base/privileges.c lib/base/privileges.h \
	lib/base/ring.h \
	lib/base/service_notify.c lib/base/service_notify.h \
	lib/base/signals.c lib/base/signals.h \
	lib/base/time.c lib/base/time.h \
	lib/base/util.h
EXTRA_DIST += lib/base/README.md
