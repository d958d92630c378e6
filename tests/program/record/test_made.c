/* SPDX-License-Identifier: Apache-2.0
 *
 * Facts of two results that are made up: names of stages that another program could have written,
 * and more stages than a chain has.
 */
#include "program/record/made.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 4096 };

static struct arena *arena;

static void begin(void)
{
    arena = ts_arena_create();
}

static void end(void)
{
    ts_arena_destroy(arena);
}

TestSuite(made, .init = begin, .fini = end);

/* Facts of which each is "PATH DIGEST", in the order of their paths. */
static struct made made_of(const char *const *texts)
{
    static struct made_fact facts[2][16];
    static int next;
    struct made made = {.facts = facts[next++ % 2]};
    for (; texts[made.n_facts]; made.n_facts++) {
        const char *space = strchr(texts[made.n_facts], ' ');
        const size_t length = (size_t)(space - texts[made.n_facts]);
        made.facts[made.n_facts] = (struct made_fact){
            .path = ts_arena_text(arena, texts[made.n_facts], length), .digest = space + 1};
    }
    return made;
}

/* Writes what differs as "PATH<PATH" lines, with nothing for a side that has none. */
static void compare(const char *const *a, const char *const *b, char out[2048])
{
    const struct made sides[] = {made_of(a), made_of(b)};
    struct made_difference *list;
    size_t n, used = 0;
    *out = '\0';
    cr_assert(ts_made_compare(&sides[0], &sides[1], arena, &list, &n));
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(out + used, 2048 - used, "%s<%s\n",
                                 list[i].sides[0] ? list[i].sides[0]->path : "",
                                 list[i].sides[1] ? list[i].sides[1]->path : "");
}

#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(made, stages_are_paired_by_their_names)
{
    char out[2048];
    compare(TEXTS("inputs/i/x 1", "process_1_box/a 1", "process_1_box/sequence_index 1",
                  "process_2_median/a 1"),
            TEXTS("inputs/i/x 2", "process_1_save/a 1", "process_2_box/a 2",
                  "process_2_box/sequence_index 2", "process_3_median/a 1"),
            out);
    cr_expect_str_eq(out,
                     "inputs/i/x<inputs/i/x\nprocess_1_box/a<process_2_box/a\n<process_1_save/a\n");
    compare(TEXTS("process_1_box/sequence_index 1"), TEXTS("process_1_box/sequence_index 2"), out);
    cr_expect_str_eq(out, "process_1_box/sequence_index<process_1_box/sequence_index\n");
    /* The tenth stage stands behind the ninth, and comes before it in the order of the paths. */
    compare(TEXTS("process_10_box/a 1", "process_9_median/a 1"),
            TEXTS("process_1_median/a 1", "process_2_box/a 1"), out);
    cr_expect_str_eq(out, "");
}

Test(made, names_that_no_program_writes)
{
    char out[2048];
    compare(
        TEXTS("process_0001_boxes/a 1", "process_01_box/a 1", "process_1_/a 1", "process_1_b/a 1"),
        TEXTS("process_0001_boxes/a 2", "process_1_b/a 1", "process_x/a 1"), out);
    cr_expect(strstr(out, "process_0001_boxes/a<process_0001_boxes/a\n"), "%s", out);
    cr_expect(strstr(out, "process_01_box/a<\n") && strstr(out, "process_1_/a<\n"), "%s", out);
    cr_expect(strstr(out, "<process_x/a\n") && !strstr(out, "process_1_b/a"), "%s", out);
}

Test(made, more_stages_than_a_chain_has)
{
    static struct made_fact facts[2][MOST];
    struct made sides[2];
    struct made_difference *list;
    size_t n;
    for (int side = 0; side < 2; side++) {
        for (int i = 0; i < MOST; i++)
            facts[side][i] =
                (struct made_fact){.path = ts_arena_printf(arena, "process_%d_box/a", 10000 + i),
                                   .digest = side && i == 77 ? "2" : "1"};
        sides[side] = (struct made){.facts = facts[side], .n_facts = MOST};
    }
    cr_assert(ts_made_compare(&sides[0], &sides[1], arena, &list, &n));
    cr_assert_eq(n, 1);
    cr_expect_str_eq(list[0].sides[0]->path, "process_10077_box/a");
}
