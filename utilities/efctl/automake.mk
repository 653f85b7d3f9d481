# utilities/efctl
