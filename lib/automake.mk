noinst_LIBRARIES += lib/libeverflow.a
lib_libeverflow_a_SOURCES =

include lib/base/automake.mk
include lib/packet/automake.mk
include lib/filter/automake.mk
include lib/trace/automake.mk
include lib/store/automake.mk
include lib/store/archive/automake.mk
include lib/io/automake.mk
include lib/net/automake.mk
