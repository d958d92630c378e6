/* SPDX-License-Identifier: Apache-2.0
 *
 * How many counts by label a plan may hold: what its memory budget has room for, up to what a device numbers.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "stages/histogram.h"
#include "tests/support/stage_check.h"

Test(histogram, thousands_of_labels_with_a_bin_for_each_16_bit_value)
{
    static const char *const rows[] = {"bins=65536 n_labels=4096 range=0,65536", "bins=65536 n_labels=8190",
                                       "bins=8000 n_labels=65536"};
    struct ts_image in = ts_test_image(2, 3, 4, TS_U16, VALUES_CONSTANT, 1),
                    labels = ts_test_image(2, 3, 4, TS_I32, VALUES_CONSTANT, 1);
    const struct ts_image *const references[STAGE_REFERENCES] = {NULL, &labels};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ts_diag *diag = ts_diag_create();
        struct param_set set;
        struct stage_context context;
        ts_test_params(&histogram_stage, rows[i], &set);
        cr_assert_eq(ts_stage_prepare(&histogram_stage, &set, &in, references, 1, NULL, diag, &context), TS_OK, "%s",
                     rows[i]);
        ts_test_params_clear(&set);
        ts_diag_destroy(diag);
    }
    free(in.data);
    free(labels.data);
}
