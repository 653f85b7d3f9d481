# Everything but main() is a library, so that the unit tests link it.
noinst_LIBRARIES += utilities/efctl/libefctl.a
utilities_efctl_libefctl_a_CPPFLAGS = $(AM_CPPFLAGS) -DEF_SBINDIR='"$(sbindir)"'
utilities_efctl_libefctl_a_SOURCES = \
	utilities/efctl/alert.c utilities/efctl/alert_view.c \
	utilities/efctl/client.c utilities/efctl/client.h \
	utilities/efctl/command.c utilities/efctl/command.h \
	utilities/efctl/counters.c \
	utilities/efctl/daemon.c \
	utilities/efctl/debug.c utilities/efctl/debug_view.c \
	utilities/efctl/diagnose.c utilities/efctl/diagnose_view.c \
	utilities/efctl/pki.c \
	utilities/efctl/json_get.c utilities/efctl/json_get.h \
	utilities/efctl/load.c utilities/efctl/load_view.c \
	utilities/efctl/neighbours.c utilities/efctl/neighbours.h \
	utilities/efctl/output.c utilities/efctl/output.h \
	utilities/efctl/probe.c utilities/efctl/probe_view.c \
	utilities/efctl/audit.c \
	utilities/efctl/config.c \
	utilities/efctl/config_check.c utilities/efctl/config_check.h \
	utilities/efctl/token.c \
	utilities/efctl/webhook.c \
	utilities/efctl/status.c \
	utilities/efctl/store.c \
	utilities/efctl/store_parquet.c utilities/efctl/store_parquet.h \
	utilities/efctl/store_view.c utilities/efctl/store_view.h \
	utilities/efctl/switch.c \
	utilities/efctl/switches.c \
	utilities/efctl/table.c utilities/efctl/table.h \
	utilities/efctl/text.c utilities/efctl/text.h \
	utilities/efctl/topology.c \
	utilities/efctl/trace.c \
	utilities/efctl/trace_details.c utilities/efctl/trace_details.h \
	utilities/efctl/trace_errors.c utilities/efctl/trace_errors.h \
	utilities/efctl/trace_export.c utilities/efctl/trace_export.h \
	utilities/efctl/trace_fetch.c utilities/efctl/trace_fetch.h \
	utilities/efctl/trace_follow.c utilities/efctl/trace_follow.h \
	utilities/efctl/trace_options.c utilities/efctl/trace_options.h \
	utilities/efctl/trace_view.c utilities/efctl/trace_view.h \
	utilities/efctl/views.h

bin_PROGRAMS += utilities/efctl/efctl
utilities_efctl_efctl_SOURCES = utilities/efctl/main.c
utilities_efctl_efctl_LDADD = utilities/efctl/libefctl.a $(EF_LIBS) -lm

EXTRA_DIST += utilities/efctl/README.md
dist_man_MANS += doc/man/efctl.1

# bash loads a completion by the command's name; see bash-completion(7).
bashcompletiondir = $(datadir)/bash-completion/completions
EXTRA_DIST += utilities/efctl/efctl.bash-completion
install-data-local: install-bash-completion
uninstall-local: uninstall-bash-completion
.PHONY: install-bash-completion uninstall-bash-completion
install-bash-completion:
	$(MKDIR_P) "$(DESTDIR)$(bashcompletiondir)"
	$(INSTALL_DATA) $(srcdir)/utilities/efctl/efctl.bash-completion "$(DESTDIR)$(bashcompletiondir)/efctl"
uninstall-bash-completion:
	rm -f "$(DESTDIR)$(bashcompletiondir)/efctl"
