# ef-fabric. Everything but main.c is a library of its own, which the tests link, too.
sbin_PROGRAMS += utilities/fabric/ef-fabric
noinst_LIBRARIES += utilities/fabric/libfabric.a

utilities_fabric_libfabric_a_SOURCES = \
	utilities/fabric/addressing.c utilities/fabric/addressing.h \
	utilities/fabric/command_exec.c \
	utilities/fabric/command_fault.c \
	utilities/fabric/command_path.c \
	utilities/fabric/command_status.c \
	utilities/fabric/command_topology.c \
	utilities/fabric/command_traffic.c \
	utilities/fabric/command_up.c \
	utilities/fabric/commands.h \
	utilities/fabric/down.c \
	utilities/fabric/fault.c utilities/fabric/fault.h \
	utilities/fabric/fault_bpf.h \
	utilities/fabric/fault_crash.c \
	utilities/fabric/fault_inject.c \
	utilities/fabric/fault_match.c utilities/fabric/fault_match.h \
	utilities/fabric/fault_params.h \
	utilities/fabric/fault_relay.c \
	utilities/fabric/fault_rules.c \
	utilities/fabric/fault_silent.c \
	utilities/fabric/fault_store.c \
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
	utilities/fabric/traffic.c utilities/fabric/traffic.h \
	utilities/fabric/up.c utilities/fabric/up.h \
	utilities/fabric/worker.c utilities/fabric/worker.h
utilities_fabric_libfabric_a_CPPFLAGS = $(AM_CPPFLAGS) $(LIBBPF_CFLAGS) -DEF_DEFAULT_OVS_PREFIX='"$(abs_top_builddir)/ovs/install"'

# Silent faults: a BPF program, which fault_bpf.c carries in it.
EXTRA_DIST += utilities/fabric/fault.bpf.c utilities/fabric/fault_bpf.c utilities/fabric/fault_no_bpf.c
if HAVE_BPF
utilities_fabric_libfabric_a_SOURCES += utilities/fabric/fault_bpf.c
utilities_fabric_libfabric_a_CPPFLAGS += -DEF_FAULT_OBJECT='"$(abs_top_builddir)/utilities/fabric/fault.bpf.o"'
CLEANFILES += utilities/fabric/fault.bpf.o
utilities/fabric/fault.bpf.o: utilities/fabric/fault.bpf.c utilities/fabric/fault_params.h
	$(AM_V_GEN)$(MKDIR_P) utilities/fabric && $(BPF_CLANG) -O2 -g -Wall -Wextra -ffreestanding -target bpf -mcpu=v3 \
	  -I$(top_srcdir) -idirafter /usr/include/$(BPF_MULTIARCH) -c -o $@ $(top_srcdir)/utilities/fabric/fault.bpf.c
utilities/fabric/libfabric_a-fault_bpf.$(OBJEXT): utilities/fabric/fault.bpf.o
else
utilities_fabric_libfabric_a_SOURCES += utilities/fabric/fault_no_bpf.c
endif

utilities_fabric_ef_fabric_SOURCES = utilities/fabric/main.c
utilities_fabric_ef_fabric_LDADD = utilities/fabric/libfabric.a $(EF_LIBS) $(LIBBPF_LIBS) -lm

EXTRA_DIST += utilities/fabric/README.md
dist_man_MANS += doc/man/ef-fabric.8
EXTRA_DIST += test/system/fabric.bats
EXTRA_DIST += test/system/fault_lab.bats test/system/pings.py
