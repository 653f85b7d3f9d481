/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libFuzzer where the build is without it: runs the fuzz target
 * once on each file of the directories (or on the files) given as arguments,
 * by default of the target's own corpus, so that `make check` replays every
 * find. Prints one TAP point per argument. Each input lies in a buffer of
 * exactly its size: a sanitizer sees a read one byte beyond it. */
#include <config.h>

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz/fuzz.h"

/* Runs one file; returns 1, or -1 if it cannot be read. */
static int
replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    if (!file || fstat(fileno(file), &st) < 0) {
        perror(path);
        if (file) {
            fclose(file);
        }
        return -1;
    }
    size_t size = (size_t) st.st_size;
    uint8_t *data = malloc(size ? size : 1);
    size_t got = data ? fread(data, 1, size, file) : 0;
    fclose(file);
    if (!data || got != size) {
        fprintf(stderr, "%s: cannot be read whole\n", path);
        free(data);
        return -1;
    }
    uint8_t *exact = size ? data : data + 1;
    LLVMFuzzerTestOneInput(exact, size);
    free(data);
    return 1;
}

/* Runs each file of the directory; returns their number or -1. */
static int
replay_directory(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir) {
        return replay_file(path);
    }
    int n = 0;
    for (struct dirent *entry; n >= 0 && (entry = readdir(dir));) {
        char name[4096];
        if (entry->d_name[0] == '.') {
            continue;
        }
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        n = replay_file(name) < 0 ? -1 : n + 1;
    }
    closedir(dir);
    return n;
}

int
main(int argc, char *argv[])
{
    char own[] = EF_FUZZ_CORPUS;
    char *only_own[] = {argv[0], own};
    if (argc < 2) {
        argc = 2;
        argv = only_own;
    }
    int failed = 0;
    printf("1..%d\n", argc - 1);
    for (int i = 1; i < argc; i++) {
        int n = replay_directory(argv[i]);
        failed |= n <= 0;
        printf("%s %d - %d inputs of %s\n", n > 0 ? "ok" : "not ok", i, n, argv[i]);
    }
    return failed;
}
