# doc: programs and files of this folder are added here
EXTRA_DIST += doc/wire-format.md
