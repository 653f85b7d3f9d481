include utilities/efctl/automake.mk
include utilities/fabric/automake.mk
EXTRA_DIST += utilities/quickstart
