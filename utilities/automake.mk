include utilities/efctl/automake.mk
include utilities/fabric/automake.mk
include utilities/replay/automake.mk
EXTRA_DIST += utilities/quickstart test/system/quickstart.bats test/system/tcp_traffic.py
