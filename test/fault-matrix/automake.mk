EXTRA_DIST += test/fault-matrix/README.md test/fault-matrix/run test/fault-matrix/matrix.py \
	test/fault-matrix/placements.py test/fault-matrix/plan.py test/fault-matrix/suite.py test/fault-matrix/table.py \
	test/fault-matrix/delays test/fault-matrix/delays.py

# Every kind of fault against the whole suite; needs root and a built Open vSwitch.
.PHONY: fault-matrix
fault-matrix: all
	EF_BUILD=$(abs_top_builddir) $(top_srcdir)/test/fault-matrix/run

# Small delays of links, and how exactly they are found; needs the same.
.PHONY: delays
delays: all
	EF_BUILD=$(abs_top_builddir) $(top_srcdir)/test/fault-matrix/delays
