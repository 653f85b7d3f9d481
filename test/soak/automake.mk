EXTRA_DIST += test/soak/README.md test/soak/kill_loop.py test/soak/kill_everything.py test/soak/requests.py test/soak/suite_lab.py

# kill -9 in loops: for SECONDS with traffic, then KILLS times of any daemon with changes; then requests of
# all kinds for SECONDS; as root.
.PHONY: soak
soak: all test/tools/make_copies
	$(top_srcdir)/test/soak/kill_loop.py --build $(abs_top_builddir) --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1)
	$(top_srcdir)/test/soak/kill_everything.py --build $(abs_top_builddir) --ovs $(or $(EF_OVS_PREFIX),$(abs_top_builddir)/ovs/install) \
	    --kills $(or $(KILLS),200) --seed $(or $(SEED),1)
	$(top_srcdir)/test/soak/requests.py --build $(abs_top_builddir) --seconds $(or $(SECONDS),1800) --seed $(or $(SEED),1)
