/* SPDX-License-Identifier: Apache-2.0 */
/* Loading and attaching fault.bpf.c; see fault_bpf.h. */
#include <config.h>

#include "utilities/fabric/fault_bpf.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

/* The object file that clang made of fault.bpf.c is part of this program. */
extern const char ef_fault_object[], ef_fault_object_end[];
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "ef_fault_object:\n"
        ".incbin \"" EF_FAULT_OBJECT "\"\n"
        "ef_fault_object_end:\n"
        ".byte 0\n"
        ".popsection\n");

/* Where and as which number it is attached. */
struct place {
    struct bpf_tc_hook hook;
    struct bpf_tc_opts opts;
};

static int
find_place(const char *interface, uint32_t id, struct place *place)
{
    *place = (struct place){
        .hook = {.sz = sizeof place->hook, .ifindex = (int) if_nametoindex(interface), .attach_point = BPF_TC_EGRESS},
        .opts = {.sz = sizeof place->opts, .handle = 1, .priority = id},
    };
    return place->hook.ifindex ? 0 : -ENODEV;
}

static int
say_nothing(enum libbpf_print_level level, const char *fmt, va_list args)
{
    return 0;
}

/* The object with its parameters set, in the kernel. */
static int
load(const struct ef_fault_params *params, struct bpf_object **object)
{
    libbpf_set_print(say_nothing); /* Its errors are returned as well. */
    *object = bpf_object__open_mem(ef_fault_object, (size_t) (ef_fault_object_end - ef_fault_object), NULL);
    if (!*object) {
        return -errno;
    }
    struct bpf_map *constants = bpf_object__find_map_by_name(*object, ".rodata");
    int rc = constants ? bpf_map__set_initial_value(constants, params, sizeof *params) : -ENOENT;
    if (!rc) {
        rc = bpf_object__load(*object);
    }
    if (rc) {
        bpf_object__close(*object);
    }
    return rc;
}

int
ef_fault_bpf_attach(const char *interface, const struct ef_fault_params *params, struct ef_error *err)
{
    struct bpf_object *object;
    struct place place;
    int rc = find_place(interface, params->id, &place);
    if (!rc) {
        rc = load(params, &object);
    }
    if (rc) {
        return ef_error_set(err, rc, "cannot load the fault's program for %s: %s", interface, strerror(-rc));
    }
    rc = bpf_tc_hook_create(&place.hook);
    if (!rc || rc == -EEXIST) {
        place.opts.prog_fd = bpf_program__fd(bpf_object__find_program_by_name(object, "ef_fault"));
        rc = bpf_tc_attach(&place.hook, &place.opts);
    }
    bpf_object__close(object); /* The link keeps the program. */
    return rc ? ef_error_set(err, rc, "cannot attach the fault's program to %s: %s", interface, strerror(-rc)) : 0;
}

int
ef_fault_bpf_detach(const char *interface, uint32_t id, struct ef_error *err)
{
    struct place place;
    int rc = find_place(interface, id, &place);
    if (!rc) {
        libbpf_set_print(say_nothing);
        rc = bpf_tc_detach(&place.hook, &place.opts);
    }
    return !rc || rc == -ENOENT || rc == -ENODEV || rc == -EINVAL
               ? 0 /* -EINVAL: the link has not even the place for programs. */
               : ef_error_set(err, rc, "cannot detach the fault's program from %s: %s", interface, strerror(-rc));
}

/* --- Counters --------------------------------------------------------------- */

/* Reads the counters of map `map_id` if that is the program's .bss. */
static int
read_map(uint32_t map_id, struct ef_fault_counters *counters)
{
    struct bpf_map_info info = {0};
    uint32_t size = sizeof info, key = 0;
    int rc = -ENOENT, fd = bpf_map_get_fd_by_id(map_id);
    if (fd < 0) {
        return -errno;
    }
    if (!bpf_obj_get_info_by_fd(fd, &info, &size) && strstr(info.name, ".bss") && info.value_size == sizeof *counters) {
        rc = bpf_map_lookup_elem(fd, &key, counters) ? -errno : 0;
    }
    close(fd);
    return rc;
}

static int
read_program(uint32_t program_id, struct ef_fault_counters *counters)
{
    uint32_t maps[4] = {0}, size;
    struct bpf_prog_info info = {.map_ids = (uint64_t) (uintptr_t) maps, .nr_map_ids = EF_ARRAY_SIZE(maps)};
    int rc = -ENOENT, fd = bpf_prog_get_fd_by_id(program_id);
    if (fd < 0) {
        return -errno;
    }
    size = sizeof info;
    if (!bpf_obj_get_info_by_fd(fd, &info, &size)) {
        for (uint32_t i = 0; rc && i < EF_MIN(info.nr_map_ids, EF_ARRAY_SIZE(maps)); i++) {
            rc = read_map(maps[i], counters);
        }
    }
    close(fd);
    return rc;
}

int
ef_fault_bpf_count(const char *interface, uint32_t id, struct ef_fault_counters *counters)
{
    struct ef_fault_counters own = {0};
    struct place place;
    int rc = find_place(interface, id, &place);
    if (!rc) {
        libbpf_set_print(say_nothing);
        rc = bpf_tc_query(&place.hook, &place.opts);
    }
    if (!rc) {
        rc = read_program(place.opts.prog_id, &own);
    }
    if (!rc) {
        counters->matched += own.matched;
        counters->hit += own.hit;
        if (own.first_hit && (!counters->first_hit || own.first_hit < counters->first_hit)) {
            counters->first_hit = own.first_hit;
        }
    }
    return rc;
}
