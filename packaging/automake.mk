EF_UNITS = packaging/systemd/ef-analyzer.service packaging/systemd/ef-controller.service packaging/systemd/ef-prober.service packaging/systemd/ef-reshuffler.service packaging/systemd/ef-state.service
systemdsystemunitdir = $(SYSTEMD_UNIT_DIR)
nodist_systemdsystemunit_DATA = $(EF_UNITS)
CLEANFILES += $(EF_UNITS)
sysusersdir = $(prefix)/lib/sysusers.d

$(EF_UNITS): %.service: %.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && sed -e 's|@sbindir[@]|$(sbindir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' \
	  -e 's|@datadir[@]|$(datadir)|g' -e 's|@libexecdir[@]|$(libexecdir)|g' $< >$@.tmp && mv $@.tmp $@

# What an operator has changed stays as it is.
EF_CONFIGURATION = analyzer.conf controller.conf controller.json prober.conf reshuffler.conf state.conf topology.json

install-data-local: install-configuration
uninstall-local: uninstall-configuration
.PHONY: install-configuration uninstall-configuration
install-configuration:
	$(MKDIR_P) '$(DESTDIR)$(sysconfdir)/everflow' '$(DESTDIR)$(sysusersdir)'
	for f in $(EF_CONFIGURATION); do \
	  [ -e '$(DESTDIR)$(sysconfdir)/everflow/'$$f ] || \
	    $(INSTALL_DATA) $(srcdir)/packaging/conf/$$f '$(DESTDIR)$(sysconfdir)/everflow/'$$f || exit 1; \
	done
	$(INSTALL_DATA) $(srcdir)/packaging/systemd/everflow.sysusers '$(DESTDIR)$(sysusersdir)/everflow.conf'

uninstall-configuration:
	for f in $(EF_CONFIGURATION); do \
	  ! cmp -s $(srcdir)/packaging/conf/$$f '$(DESTDIR)$(sysconfdir)/everflow/'$$f || \
	    rm '$(DESTDIR)$(sysconfdir)/everflow/'$$f; \
	done
	rm -f '$(DESTDIR)$(sysusersdir)/everflow.conf'

# Those that make what a service needs before it starts.
dist_pkglibexec_SCRIPTS = packaging/libexec/make-admin-token packaging/libexec/prepare-state

dist_pkgdata_DATA += packaging/prometheus/everflow.rules.yml packaging/prometheus/grafana-dashboard.json packaging/prometheus/prometheus.yml

logrotatedir = $(sysconfdir)/logrotate.d
dist_logrotate_DATA = packaging/logrotate/everflow

dist_man_MANS += doc/man/everflow.conf.5

EXTRA_DIST += packaging/README.md packaging/systemd/everflow.sysusers $(EF_UNITS:=.in) \
	$(addprefix packaging/conf/,$(EF_CONFIGURATION)) $(EF_DEBIAN)
EF_DEBIAN = debian/changelog debian/control debian/copyright debian/rules debian/source/format \
	debian/everflow-collector.install debian/everflow-collector.prerm debian/everflow-common.install \
	debian/everflow-collector.postrm \
	debian/everflow-controller.install debian/everflow-controller.postinst debian/everflow-controller.postrm
