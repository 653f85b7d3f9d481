/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of analyzers that come and go while threads forward: what changes in the
 * plan and what does not, that plans are freed when nobody reads them and not
 * before, and that every copy is counted once whatever happens meanwhile. */
#include <config.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet/packet.h"
#include "reshuffler/forward.h"
#include "reshuffler/members.h"
#include "tools/copies.h"

#define VIP "10.255.255.1"

static uint64_t steered[EF_PLAN_MAX_ANALYZERS];

static uint64_t
steered_to(void *ctx, unsigned i)
{
    return steered[i];
}

static struct ef_member
member(const char *text)
{
    struct ef_member m;
    assert_int_equal(ef_member_parse(text, &m, NULL), 0);
    return m;
}

static void
make(struct ef_members *m)
{
    struct ef_plan *plan = calloc(1, sizeof *plan);
    assert_int_equal(ef_plan_add_vip(plan, VIP, NULL), 0);
    assert_int_equal(ef_plan_add_analyzer(plan, "a1=10.1.0.21", NULL), 0);
    assert_int_equal(ef_plan_add_analyzer(plan, "a2=10.2.0.21", NULL), 0);
    assert_int_equal(ef_plan_add_analyzer(plan, "a3=10.3.0.21,weight=50", NULL), 0);
    assert_int_equal(ef_plan_finish(plan, NULL), 0);
    ef_members_init(m, plan, steered_to, NULL);
}

static void
check_error(int rc, int expected, const struct ef_error *err, const char *text)
{
    assert_int_equal(rc, expected);
    if (!strstr(err->text, text)) {
        fail_msg("'%s' does not say '%s'", err->text, text);
    }
}

static void
added_changed_and_removed(void **state)
{
    struct ef_members m;
    struct ef_error err = EF_ERROR_INIT;
    make(&m);
    struct ef_member a4 = member("a4=10.4.0.21,weight=7,url=http://127.0.0.1:8784"), a2 = member("a2=10.2.0.99");
    assert_int_equal(ef_members_put(&m, &a4, &err), 0);
    assert_int_equal(ef_plan_find(ef_members_plan(&m), "a4"), 3);
    assert_string_equal(ef_members_plan(&m)->analyzers[3].url, "http://127.0.0.1:8784");
    assert_int_equal(ef_members_put(&m, &a2, &err), 0);
    assert_int_equal(ef_members_plan(&m)->analyzers[1].address[15], 99);
    assert_int_equal(ef_members_remove(&m, "a1", &err), 0);
    assert_int_equal(ef_plan_find(ef_members_plan(&m), "a1"), -1);
    check_error(ef_members_remove(&m, "a1", &err), -ENOENT, &err, "there is no 'a1'");
    struct ef_member twice = member("a5=10.2.0.99"), vip = member("a5=" VIP), other = member("a5=fd00::1");
    check_error(ef_members_put(&m, &twice, &err), -EEXIST, &err, "'a2' and 'a5' have the same address");
    check_error(ef_members_put(&m, &vip, &err), -EINVAL, &err, "copies would come back");
    check_error(ef_members_put(&m, &other, &err), -EINVAL, &err, "needs an IPv4 address");
    assert_int_equal(ef_plan_find(ef_members_plan(&m), "a5"), -1);
    /* One that comes back has its index, and so its counters, again. */
    struct ef_member a1 = member("a1=10.1.0.21");
    assert_int_equal(ef_members_put(&m, &a1, &err), 0);
    assert_int_equal(ef_plan_find(ef_members_plan(&m), "a1"), 0);
    ef_members_deinit(&m);
}

static void
replaced_as_a_whole(void **state)
{
    struct ef_members m;
    struct ef_error err = EF_ERROR_INIT;
    make(&m);
    /* Two exchange their addresses, one is new, one goes. */
    struct ef_member next[] = {member("a2=10.1.0.21"), member("b=10.9.0.1"), member("a1=10.2.0.21")};
    assert_int_equal(ef_members_replace(&m, next, 3, &err), 0);
    const struct ef_plan *plan = ef_members_plan(&m);
    assert_int_equal(ef_plan_find(plan, "a1"), 0);
    assert_int_equal(ef_plan_find(plan, "a2"), 1);
    assert_int_equal(ef_plan_find(plan, "a3"), -1);
    assert_int_equal(plan->analyzers[0].address[13], 2);
    assert_int_equal(plan->analyzers[ef_plan_find(plan, "b")].address[13], 9);
    struct ef_member bad[] = {member("x=10.1.0.1"), member("x=10.1.0.2")};
    check_error(ef_members_replace(&m, bad, 2, &err), -EEXIST, &err, "the name 'x' is there twice");
    bad[1] = member("y=10.1.0.1");
    check_error(ef_members_replace(&m, bad, 2, &err), -EEXIST, &err, "same address");
    assert_ptr_equal(ef_members_plan(&m), plan); /* Wholly or not at all. */
    assert_int_equal(ef_members_replace(&m, NULL, 0, &err), 0);
    assert_null(ef_members_plan(&m)->steer);
    ef_members_deinit(&m);
}

static void
down_and_draining_are_states(void **state)
{
    struct ef_members m;
    struct ef_error err = EF_ERROR_INIT;
    make(&m);
    struct ef_member a1 = member("a1=10.1.0.21");
    a1.is_draining = true;
    assert_int_equal(ef_members_put(&m, &a1, &err), 0);
    assert_int_equal(ef_members_plan(&m)->states[0], EF_ANALYZER_DRAINING);
    assert_int_equal(ef_members_set_down(&m, 0, true), 0);
    assert_int_equal(ef_members_set_down(&m, 1, true), 0);
    assert_int_equal(ef_members_plan(&m)->states[0], EF_ANALYZER_DOWN);
    struct ef_member a2 = member("a2=10.2.0.21,weight=5"); /* A change does not make it healthy. */
    assert_int_equal(ef_members_put(&m, &a2, &err), 0);
    assert_int_equal(ef_members_plan(&m)->states[1], EF_ANALYZER_DOWN);
    assert_int_equal(ef_members_set_down(&m, 0, false), 0);
    assert_int_equal(ef_members_plan(&m)->states[0], EF_ANALYZER_DRAINING);
    assert_true(ef_members_plan(&m)->has_away);
    ef_members_deinit(&m);
}

/* More than fit come and go; each new one's copies begin at 0. */
static void
indexes_are_used_again(void **state)
{
    struct ef_members m;
    struct ef_error err = EF_ERROR_INIT;
    make(&m);
    struct ef_plan_reader *reader = ef_plan_cell_add_reader(&m.cell);
    for (unsigned k = 0; k < 2 * EF_PLAN_MAX_ANALYZERS; k++) {
        char text[64];
        snprintf(text, sizeof text, "n%u=10.9.%u.%u", k, k / 200, k % 200 + 1);
        struct ef_member added = member(text);
        ef_plan_cell_read(&m.cell, reader);
        assert_int_equal(ef_members_put(&m, &added, &err), 0);
        int i = ef_plan_find(ef_members_plan(&m), added.name);
        assert_int_equal(m.steered_before[i], steered[i]);
        steered[i] += 10;
        assert_int_equal(ef_members_remove(&m, added.name, &err), 0);
    }
    /* While somebody may still steer by the old plan, an index is not given away. */
    struct ef_member late = member("late=10.8.0.1");
    assert_int_equal(ef_members_put(&m, &late, &err), -EBUSY);
    ef_plan_cell_read(&m.cell, reader);
    assert_int_equal(ef_members_put(&m, &late, &err), 0);
    ef_plan_cell_leave(reader);
    ef_members_deinit(&m);
}

static void
plans_live_while_they_are_read(void **state)
{
    struct ef_members m;
    make(&m);
    struct ef_plan_reader *slow = ef_plan_cell_add_reader(&m.cell), *fast = ef_plan_cell_add_reader(&m.cell);
    const struct ef_plan *held = ef_plan_cell_read(&m.cell, slow);
    for (int i = 1; i <= 10; i++) {
        assert_int_equal(ef_members_set_down(&m, 0, i % 2), 0);
        assert_ptr_equal(ef_plan_cell_read(&m.cell, fast), ef_members_plan(&m));
        assert_int_equal(ef_plan_cell_reclaim(&m.cell), i);
        assert_int_equal(held->states[0], EF_ANALYZER_UP); /* ASan would tell. */
    }
    ef_plan_cell_read(&m.cell, slow);
    assert_int_equal(ef_plan_cell_reclaim(&m.cell), 0);
    ef_members_set_down(&m, 1, true);
    ef_plan_cell_leave(slow);
    ef_plan_cell_read(&m.cell, fast);
    assert_int_equal(ef_plan_cell_reclaim(&m.cell), 0);
    ef_members_deinit(&m);
}

/* --- While copies flow --------------------------------------------------------- */

enum { N_THREADS = 2, N_FRAMES = 256, N_CHANGES = 30 };

struct thread {
    pthread_t thread;
    struct ef_members *members;
    struct ef_plan_reader *reader;
    struct ef_forwarder forwarder;
    atomic_bool *stop;
    uint64_t n_given;
};

/* The same frames for all threads, made before they start. */
static uint8_t bytes[N_FRAMES][TEST_COPY_MAX_BYTES];
static struct ef_frame frames[N_FRAMES];

static void
make_frames(void)
{
    for (unsigned i = 0; i < N_FRAMES; i++) {
        struct test_copy c = {.encapsulation = EF_ENCAP_ERSPAN3, .flow = i, .packet = i, .vip = VIP};
        uint32_t len = (uint32_t) test_copy_build(&c, bytes[i]);
        frames[i] = (struct ef_frame){.data = bytes[i], .len = len, .wire_len = len};
    }
}

static void *
forward(void *arg)
{
    struct thread *t = arg;
    do {
        t->forwarder.plan = ef_plan_cell_read(&t->members->cell, t->reader);
        for (unsigned i = 0; i < N_FRAMES; i += EF_BURST) {
            ef_forward_burst(&t->forwarder, frames + i, EF_BURST);
        }
        t->n_given += N_FRAMES;
    } while (!atomic_load(t->stop));
    ef_plan_cell_leave(t->reader);
    return NULL;
}

static void
change(struct ef_members *m, unsigned k)
{
    struct ef_member a4 = member("a4=10.4.0.21"), a2 = member(k % 2 ? "a2=10.2.0.21,weight=300" : "a2=10.2.0.21");
    a2.is_draining = k % 5 == 0;
    assert_int_equal(k % 2 ? ef_members_put(m, &a4, NULL) : ef_members_remove(m, "a4", NULL), 0);
    assert_int_equal(ef_members_put(m, &a2, NULL), 0);
    assert_int_equal(ef_members_set_down(m, 0, k % 3 == 0), 0);
    assert_int_equal(ef_members_set_down(m, 2, k % 7 == 0), 0);
}

static void
no_copy_is_lost_in_a_change(void **state)
{
    static struct thread threads[N_THREADS];
    struct ef_members m;
    atomic_bool stop = false;
    struct ef_member a4 = member("a4=10.4.0.21");
    struct ef_totals sum = {0};
    uint64_t n_given = 0, n_steered = 0;
    make(&m);
    make_frames();
    assert_int_equal(ef_members_put(&m, &a4, NULL), 0);
    for (unsigned i = 0; i < N_THREADS; i++) {
        threads[i] = (struct thread){.members = &m, .reader = ef_plan_cell_add_reader(&m.cell), .stop = &stop};
        assert_int_equal(ef_ledger_init(&threads[i].forwarder.ledger), 0);
        assert_int_equal(ef_sink_open("pcap:/dev/null", &threads[i].forwarder.sink, NULL), 0);
        assert_int_equal(pthread_create(&threads[i].thread, NULL, forward, &threads[i]), 0);
    }
    for (unsigned k = 0; k < N_CHANGES; k++) {
        change(&m, k);
    }
    atomic_store(&stop, true);
    for (unsigned i = 0; i < N_THREADS; i++) {
        pthread_join(threads[i].thread, NULL);
        n_given += threads[i].n_given;
        ef_tally_add_to(&threads[i].forwarder.tally, &sum);
        ef_sink_close(threads[i].forwarder.sink);
        ef_ledger_deinit(&threads[i].forwarder.ledger);
    }
    for (unsigned i = 0; i < EF_PLAN_MAX_ANALYZERS; i++) {
        n_steered += sum.steered[i];
    }
    print_message("# %u changes, %llu copies, %llu redirected\n", 4 * N_CHANGES, (unsigned long long) n_given,
                  (unsigned long long) (sum.redirected[0] + sum.redirected[1]));
    assert_int_equal(sum.received, n_given);
    assert_int_equal(sum.sent, n_given - sum.drops[EF_DROP_ANALYZERS_DOWN]);
    assert_int_equal(n_steered, sum.sent);
    assert_int_equal(ef_plan_cell_reclaim(&m.cell), 0);
    ef_members_deinit(&m);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_changed_and_removed),      cmocka_unit_test(replaced_as_a_whole),
        cmocka_unit_test(down_and_draining_are_states),   cmocka_unit_test(indexes_are_used_again),
        cmocka_unit_test(plans_live_while_they_are_read), cmocka_unit_test(no_copy_is_lost_in_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
