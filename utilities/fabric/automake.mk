# ef-fabric. Everything but main.c is a library of its own, which the tests link, too.
sbin_PROGRAMS += utilities/fabric/ef-fabric
noinst_LIBRARIES += utilities/fabric/libfabric.a

utilities_fabric_libfabric_a_SOURCES = \
	utilities/fabric/addressing.c utilities/fabric/addressing.h \
	utilities/fabric/command_exec.c \
	utilities/fabric/command_path.c \
	utilities/fabric/command_status.c \
	utilities/fabric/command_topology.c \
	utilities/fabric/command_up.c \
	utilities/fabric/commands.h \
	utilities/fabric/down.c \
	utilities/fabric/flows.c utilities/fabric/flows.h \
	utilities/fabric/link.c \
	utilities/fabric/memory.c utilities/fabric/memory.h \
	utilities/fabric/netns.c utilities/fabric/netns.h \
	utilities/fabric/ovs.c utilities/fabric/ovs.h \
	utilities/fabric/plan.c utilities/fabric/plan.h \
	utilities/fabric/process.c utilities/fabric/process.h \
	utilities/fabric/routes.c utilities/fabric/routes.h \
	utilities/fabric/run_command.c utilities/fabric/run_command.h \
	utilities/fabric/state.c utilities/fabric/state.h \
	utilities/fabric/topology.c utilities/fabric/topology.h \
	utilities/fabric/topology_addresses.c \
	utilities/fabric/topology_complete.c \
	utilities/fabric/topology_generate.c \
	utilities/fabric/topology_json.c \
	utilities/fabric/trace_path.c utilities/fabric/trace_path.h \
	utilities/fabric/unixctl.c utilities/fabric/unixctl.h \
	utilities/fabric/up.c utilities/fabric/up.h
utilities_fabric_libfabric_a_CPPFLAGS = $(AM_CPPFLAGS) -DEF_DEFAULT_OVS_PREFIX='"$(abs_top_builddir)/ovs/install"'

utilities_fabric_ef_fabric_SOURCES = utilities/fabric/main.c
utilities_fabric_ef_fabric_LDADD = utilities/fabric/libfabric.a $(EF_LIBS)

EXTRA_DIST += utilities/fabric/README.md
dist_man_MANS += doc/man/ef-fabric.8
EXTRA_DIST += test/system/fabric.bats
