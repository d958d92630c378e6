/* SPDX-License-Identifier: Apache-2.0
 *
 * The studies radon-input and inverse-radon: the rows of their methods, held against the oracles, and errors of a known
 * phantom that tell the methods apart.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/study/study.h"
#include "tests/files/output_fixture.h"
#include "tests/support/oracles.h"
#include "tests/support/program.h"
#include "tests/support/stage_check.h"

/* Carries a study out on slices of 256 x 256 on the test's device, and draws it into a folder (NULL: does not); the
 * caller frees the rows. */
static char *rows_of(const struct study *study, const char *folder)
{
    const struct study_request request = {.device = ts_test_device ? "cuda" : "cpu",
                                          .most = 256 * 256,
                                          .runs = 1,
                                          .threads = 2,
                                          .json = true,
                                          .folder = folder,
                                          .compare = ts_oracle_compare};
    struct ts_diag *diag = ts_diag_create();
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    const enum ts_status status = ts_study_run(study, &request, stream, diag);
    fclose(stream);
    ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    cr_assert(ts_test_is_json(text, length), "%s", text);
    ts_diag_destroy(diag);
    return text;
}

/* Returns a number of the row of a method; NAN: there is no such row. */
static double number_of(const char *text, const char *method, const char *key)
{
    char name[64], member[32];
    double number = NAN;
    snprintf(name, sizeof name, "\"method\": \"%s\"", method);
    snprintf(member, sizeof member, "\"%s\": ", key);
    const char *row = strstr(text, name), *found = row ? strstr(row, member) : NULL;
    if (found)
        sscanf(found + strlen(member), "%lf", &number);
    return number;
}

TEST_ON_BOTH(radon_studies, by_input_and_by_output_agree_with_the_oracle)
{
    static const char *const on_cpu[] = {"row-fan-in", "joseph", NULL}, *const on_cuda[] = {"row-fan-in", "ray",
                                                                                            "stack", NULL};
    char *text = rows_of(&ts_radon_input_study, NULL);
    for (const char *const *method = ts_test_device ? on_cuda : on_cpu; *method; method++)
        cr_expect(number_of(text, *method, "error") <= 1e-5, "%s: %s", *method, text);
    free(text);
}

/* sinc keeps sharper edges than the lines of fbp and of linear, which differ by the corners of their lines alone. */
TEST_ON_BOTH(radon_studies, the_phantom_comes_back_by_every_method)
{
    char folder[256], path[300], *chart;
    size_t bytes;
    ts_test_folder(folder, sizeof folder);
    char *text = rows_of(&ts_inverse_radon_study, folder);
    const double fbp = number_of(text, "fbp", "rms"), linear = number_of(text, "fourier, linear", "rms"),
                 sinc = number_of(text, "fourier, sinc", "rms");
    cr_expect(fbp > 0.020 && fbp < 0.022, "%g", fbp);
    cr_expect(linear < fbp && linear > fbp - 2e-4, "%g", linear);
    cr_expect(sinc < 0.019 && sinc > 0.018, "%g", sinc);
    cr_expect(number_of(text, "fbp", "error") <= 1e-5 && number_of(text, "fourier, linear", "error") <= 1e-4, "%s",
              text);
    free(text);
    snprintf(path, sizeof path, "%s/inverse-radon.svg", folder);
    unsigned char *file = ts_test_read_file(path, &bytes);
    chart = strndup((const char *)file, bytes);
    cr_expect(strstr(chart, ">time (ms)</text>") && strstr(chart, ">RMS error of the phantom"), "%s", chart);
    free(chart);
    free(file);
    ts_test_remove_folder(folder);
}
