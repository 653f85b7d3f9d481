EXTRA_DIST += test/soak/README.md test/soak/kill_loop.py

# kill -9 in a loop, for SECONDS; as root.
.PHONY: soak
soak: all
	$(top_srcdir)/test/soak/kill_loop.py --build $(abs_top_builddir) --seconds $(or $(SECONDS),600) --seed $(or $(SEED),1)
