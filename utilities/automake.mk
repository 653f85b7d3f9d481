include utilities/efctl/automake.mk
include utilities/fabric/automake.mk
