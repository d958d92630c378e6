/* SPDX-License-Identifier: Apache-2.0
 *
 * The studies radon-input and inverse-radon: the rows of their methods, held against the oracles,
 * and errors of a known phantom that tell the methods apart.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/files/output_fixture.h"
#include "tests/lab/study/study_text.h"
#include "tests/support/oracles.h"
#include "tests/support/stage_check.h"

static const struct study_request small = {
    .most = 256 * 256, .threads = 2, .json = true, .compare = ts_oracle_compare};

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
    static const char *const on_cpu[] = {"row-fan-in", "joseph", NULL}, *const on_cuda[] = {
                                                                            "row-fan-in", "ray",
                                                                            "stack", NULL};
    char *text = ts_test_study(&ts_radon_input_study, small);
    for (const char *const *method = ts_test_device ? on_cuda : on_cpu; *method; method++)
        cr_expect(number_of(text, *method, "error") <= 1e-5, "%s: %s", *method, text);
    free(text);
}

/* sinc keeps sharper edges than the lines of fbp and of linear, which differ by the corners of
 * their lines alone. */
TEST_ON_BOTH(radon_studies, the_phantom_comes_back_by_every_method)
{
    char folder[256], path[300], *chart;
    size_t bytes;
    ts_test_folder(folder, sizeof folder);
    struct study_request request = small;
    request.folder = folder;
    char *text = ts_test_study(&ts_inverse_radon_study, request);
    const double fbp = number_of(text, "fbp", "rms"),
                 linear = number_of(text, "fourier, linear", "rms"),
                 sinc = number_of(text, "fourier, sinc", "rms");
    cr_expect(fbp > 0.020 && fbp < 0.022, "%g", fbp);
    cr_expect(linear < fbp && linear > fbp - 2e-4, "%g", linear);
    cr_expect(sinc < 0.019 && sinc > 0.018, "%g", sinc);
    cr_expect(number_of(text, "fbp", "error") <= 1e-5 &&
                  number_of(text, "fourier, linear", "error") <= 1e-4,
              "%s", text);
    free(text);
    snprintf(path, sizeof path, "%s/inverse-radon.svg", folder);
    unsigned char *file = ts_test_read_file(path, &bytes);
    chart = strndup((const char *)file, bytes);
    cr_expect(strstr(chart, ">time (ms)</text>") && strstr(chart, ">RMS error of the phantom"),
              "%s", chart);
    free(chart);
    free(file);
    ts_test_remove_folder(folder);
}
