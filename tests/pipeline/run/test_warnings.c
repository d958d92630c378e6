/* SPDX-License-Identifier: Apache-2.0
 *
 * A result keeps the warnings of its run: each once, sorted, and without the sentences that may
 * name files.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/arena.h"
#include "io/hdf5/hdf5_texts.h"
#include "pipeline/run/warnings.h"
#include "tests/files/output_fixture.h"
#include "tests/support/program.h"

static char folder[256], output[300];
static struct program_outcome outcome;

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/o.h5", folder);
    ts_program_run(folder, (const char *const[]){"phantom", "shepp-logan", "-o", "study", NULL},
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(warnings, .init = begin, .fini = end);

/* Runs the chain, and joins the warnings in its result with line feeds. */
static void run(const char *chain, char *text, size_t size)
{
    struct arena *arena = ts_arena_create();
    struct ts_diag *diag = ts_diag_create();
    const char *const *texts;
    size_t n = 0;
    ts_program_run(folder, (const char *const[]){"run", chain, "--force", "--device", "cpu", NULL},
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert_eq(ts_hdf5_read_texts(NULL, output, WARNINGS_PATH, arena, &texts, &n, diag), TS_OK);
    *text = '\0';
    for (size_t i = 0; i < n; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s\n", texts[i]);
    ts_diag_destroy(diag);
    ts_arena_destroy(arena);
}

Test(warnings, a_run_without_any_says_so)
{
    char text[4096];
    run("dicom study | box radius=1 | hdf5 o.h5", text, sizeof text);
    cr_expect_str_eq(text, WARNINGS_NONE "\n");
    ts_program_run(folder, (const char *const[]){"info", "o.h5", NULL}, &outcome);
    cr_expect_null(strstr(outcome.out, "The run warned"));
}

Test(warnings, those_of_stages_are_kept_and_info_shows_them)
{
    char text[4096];
    run("dicom study | radon views=4 | hdf5 o.h5", text, sizeof text);
    cr_expect(strstr(text, ": radon: the image is in HU"), "%s", text);
    cr_expect(strstr(text, "0 HU, which is water"), "%s", text);
    ts_program_run(folder, (const char *const[]){"info", "o.h5", NULL}, &outcome);
    const char *shown = strstr(outcome.out, "The run warned:");
    cr_expect(shown && strstr(shown, "0 HU, which is water"), "%s", outcome.out);
    ts_program_run(folder, (const char *const[]){"info", "o.h5", "--json", NULL}, &outcome);
    cr_expect(strstr(outcome.out, "\"warnings\": [\""), "%s", outcome.out);
}

/* Writes an array of NumPy: 1 x 1 x n elements of `bytes` bytes. */
static void write_npy(const char *type, const void *values, size_t n, size_t bytes)
{
    char path[400], header[118];
    snprintf(path, sizeof path, "%s/a.npy", folder);
    memset(header, ' ', sizeof header);
    const int used =
        snprintf(header, sizeof header,
                 "{'descr': '%s', 'fortran_order': False, 'shape': (1, 1, %zu), }", type, n);
    header[used] = ' ';
    header[sizeof header - 1] = '\n';
    FILE *file = fopen(path, "wb");
    cr_assert(file && fwrite("\x93NUMPY\1\0\x76\0", 1, 10, file) == 10 &&
              fwrite(header, 1, sizeof header, file) == sizeof header &&
              fwrite(values, bytes, n, file) == n && fclose(file) == 0);
}

/* 2^24 + 1 is the first integer that has no float, and 0.1 has none. */
Test(warnings, values_that_lose_digits_are_counted)
{
    static const int32_t integers[] = {0, 16777216, 16777217, -16777219, 2147483647, 33554432},
                         exact[] = {0, 16777216, -16777216, 33554432, 5, 6};
    static const double doubles[] = {0.5, 0.1, 3, 1.0 / 3}, short_doubles[] = {0.5, 1, 3, 0.25};
    static const char of_integers[] =
        "values-rounded: convolve: 3 values of input have no 32-bit float and are rounded where "
        "floats are made of them, by at most 1\n",
                      of_doubles[] = "values-rounded: input: 2 values of input have no 32-bit "
                                     "float and are rounded to one, by at most 9.93411e-09\n";
    char text[4096];
    write_npy("<i4", integers, 6, 4);
    run("npy a.npy | convolve kernel=custom weights=[1] | hdf5 o.h5", text, sizeof text);
    cr_expect_str_eq(text, of_integers);
    run("npy a.npy | box radius=1 | hdf5 o.h5", text, sizeof text);
    cr_expect_str_eq(text, WARNINGS_NONE "\n");
    write_npy("<i4", exact, 6, 4);
    run("npy a.npy | convolve kernel=custom weights=[1] | hdf5 o.h5", text, sizeof text);
    cr_expect_str_eq(text, WARNINGS_NONE "\n");
    write_npy("<f8", doubles, 4, 8);
    run("npy a.npy | box radius=1 | hdf5 o.h5", text, sizeof text);
    cr_expect_str_eq(text, of_doubles);
    write_npy("<f8", short_doubles, 4, 8);
    run("npy a.npy | box radius=1 | hdf5 o.h5", text, sizeof text);
    cr_expect_str_eq(text, WARNINGS_NONE "\n");
}

Test(warnings, sentences_that_name_files_are_left_out)
{
    char text[4096], path[400];
    snprintf(path, sizeof path, "%s/study/Doe_Jane.txt", folder);
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs("no image", file) >= 0 && fclose(file) == 0);
    run("dicom study | box radius=1 | hdf5 o.h5", text, sizeof text);
    cr_expect(strstr(outcome.err, "Doe_Jane"), "the user is told: %s", outcome.err);
    cr_expect_str_eq(text, "files-passed-over: the sentence is not kept, as it may name files\n");
    size_t bytes;
    char *result = (char *)ts_test_read_file(output, &bytes);
    cr_expect_null(memmem(result, bytes, "Doe_Jane", 8));
    free(result);
}
