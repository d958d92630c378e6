/* SPDX-License-Identifier: Apache-2.0
 *
 * One machine cannot make a result of another program, library or device. The facts of a result are
 * therefore changed in memory, as they would stand in its file.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/plan/plan_sweep.h"
#include "program/record/resume.h"
#include "tests/program/record/compare_program.h"
#include "tests/support/chain_text.h"

static void begin(void)
{
    ts_compare_program_begin("dicom study | median radius=1 | save name=smooth | hdf5 auto.h5");
    ts_compare_program_run(
        ARGUMENTS("rerun", "auto.h5", "-i", "study", "--device", "cpu", "-o", "a.h5"));
}

TestSuite(resume_match, .init = begin, .fini = ts_compare_program_end);

/* Matches the chain of the result with itself. `path` names the fact that becomes `value`, NULL for
 * none. */
static void match(const char *path, const char *value, bool same, const char *label)
{
    static struct plan_reused nodes[8];
    static int32_t matches[8];
    static bool computed[8];
    char text[600], result[300];
    struct ts_chain *chain;
    struct ts_plan *plan;
    struct ts_diag *diag = ts_diag_create();
    const struct ts_options options = {.size = sizeof options, .device = "cpu"};
    snprintf(text, sizeof text, "dicom %s/study | median radius=1 | save name=smooth",
             ts_compare_program.folder);
    snprintf(result, sizeof result, "%s/a.h5", ts_compare_program.folder);
    cr_assert_eq(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag), TS_OK, "%s",
                 ts_test_errors(diag));
    cr_assert_eq(ts_plan_create(chain, &options, &plan, diag), TS_OK, "%s", ts_test_errors(diag));
    struct resume resume = {.plan = plan,
                            .arena = ts_arena_create(),
                            .match = matches,
                            .computed = computed,
                            .reuse.nodes = nodes};
    resume.old.arena = ts_arena_create();
    cr_assert_eq(ts_recorded_open(NULL, result, NULL, 0, &resume.recorded, diag), TS_OK, "%s",
                 ts_test_errors(diag));
    cr_assert_eq(ts_plan_expand(&resume.old, resume.recorded.chain, diag), TS_OK);
    struct made_fact *fact =
        path ? (struct made_fact *)(void *)(size_t)ts_made_find(&resume.recorded.made, path) : NULL;
    cr_assert(fact || !path, "no %s", path);
    if (fact)
        fact->value = value;
    cr_assert_eq(ts_resume_match(&resume, diag), TS_OK, "%s", ts_test_errors(diag));
    cr_assert_eq(matches[1] == 1, same, "%s: %s", path, resume.why);
    cr_assert(label ? resume.label && !strcmp(resume.label, label) : !resume.label, "%s: %s", path,
              resume.label);
    ts_recorded_close(&resume.recorded);
    ts_arena_destroy(resume.old.arena);
    ts_arena_destroy(resume.arena);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

Test(resume_match, finds_another_program_or_device)
{
    static const char *const facts[][2] = {{"provenance/build", "the program"},
                                           {"provenance/hdf5", "the program"},
                                           {"provenance/tomostage", "the program"},
                                           {"process_1_median/version", "median"},
                                           {"process_1_median/device", "median"}};
    match(NULL, NULL, true, NULL);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        match(facts[i][0], "another", false, facts[i][1]);
    match("process_1_median/device", "cuda:0", false, "median");
}
