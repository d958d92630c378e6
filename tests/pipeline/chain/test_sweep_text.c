/* SPDX-License-Identifier: Apache-2.0
 *
 * Sweeps are read in both forms, on one line and in YAML, are recorded, and are made and replaced
 * by assignments. Those that are refused stand in tests/chains/sweep.yaml.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chain_text.h"

TestSuite(sweep_text);

/* Fails unless the canonical text of the chain holds the part. */
static void expect_recorded(const struct ts_chain *chain, const char *part)
{
    char *canonical = ts_chain_canonical(chain);
    cr_expect(canonical && strstr(canonical, part), "%s is not in %s", part, canonical);
    free(canonical);
}

Test(sweep_text, both_forms_in_both_grammars)
{
    static const struct {
        const char *text, *recorded;
    } rows[] = {
        {"dicom a | box radius={sweep 1 2 4}", "  - box: {radius: {sweep: [1, 2, 4]}, "},
        {"dicom a | box radius={sweep: [1, 2, 4]}", "  - box: {radius: {sweep: [1, 2, 4]}, "},
        {"dicom a | box radius={sweep 1, 2, 4} border=wrap",
         "  - box: {radius: {sweep: [1, 2, 4]}, "},
        {"dicom a | box radius={from 0 to 10 step 5}", "  - box: {radius: {sweep: [0, 5, 10]}, "},
        {"dicom a | box radius={from: 4, to: 1, step: -2}", "  - box: {radius: {sweep: [4, 2]}, "},
        {"dicom a | radon | fbp filter={sweep ramp Hann}",
         "  - fbp: {filter: {sweep: [ramp, hann]}, "},
        {"dicom a | window center=0 width={from 0.1 to 0.3 step 0.1}",
         "width: {sweep: [0.1, 0.2, 0.3]}"},
        {"tomostage: 2\ninput: {dicom: a}\nstages:\n  - box: {radius: {sweep: [1, 2]}}\n",
         "  - box: {radius: {sweep: [1, 2]}, "},
        {"tomostage: 2\ninput: {dicom: a}\nstages:\n  - box: {radius: {from: 1, to: 2, step: 1}}\n",
         "  - box: {radius: {sweep: [1, 2]}, "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_chain *chain;
        struct ts_diag *diag;
        cr_assert_eq(ts_test_parse(rows[i].text, &chain, &diag), TS_OK, "%s: %s", rows[i].text,
                     ts_test_errors(diag));
        expect_recorded(chain, rows[i].recorded);
        ts_chain_destroy(chain);
        ts_diag_destroy(diag);
    }
}

Test(sweep_text, assignments_make_and_replace_it)
{
    struct ts_chain *chain;
    struct ts_diag *diag;
    cr_assert_eq(ts_test_parse("dicom a | median radius=1 | box radius={sweep 1 2}", &chain, &diag),
                 TS_OK);
    cr_assert_eq(ts_chain_set(chain, "box.radius={sweep 3 4 5}", diag), TS_OK, "%s",
                 ts_test_errors(diag));
    expect_recorded(chain, "box: {radius: {sweep: [3, 4, 5]}, ");
    cr_assert_eq(ts_chain_set(chain, "median.radius={sweep 1 2}", diag), TS_BAD_CHAIN);
    cr_assert_eq(ts_chain_set(chain, "box.radius={sweep 3 x}", diag), TS_BAD_CHAIN);
    expect_recorded(chain, "box: {radius: {sweep: [3, 4, 5]}, ");
    cr_assert_eq(ts_chain_set(chain, "box.radius=7", diag), TS_OK);
    expect_recorded(chain, "box: {radius: 7, ");
    cr_assert_eq(ts_chain_set(chain, "median.radius={sweep 1 2}", diag), TS_OK);
    expect_recorded(chain, "median: {radius: {sweep: [1, 2]}, ");
    cr_assert_eq(ts_chain_set(chain, "input.series={sweep 1 2}", diag),
                 TS_BAD_CHAIN); /* inputs cannot */
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}
