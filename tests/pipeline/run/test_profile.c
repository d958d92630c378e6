/* SPDX-License-Identifier: Apache-2.0
 *
 * The profile of a run: sums of known stretches, and the files of a run of the program.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/profile.h"
#include "tests/files/output_fixture.h"
#include "tests/support/program.h"
#include "tests/support/support.h"

static char folder[256];

static void begin(void)
{
    ts_test_folder(folder, sizeof folder);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(profile, .init = begin, .fini = end);

/* The rest of the line of this part. */
static const char *row_of(const char *table, const char *part)
{
    for (const char *line = table; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL)
        if (!strncmp(line, part, strlen(part)) && line[strlen(part)] == ' ')
            return line + strlen(part);
    return NULL;
}

/* Compressing by two threads at once, with a gap: busy counts each moment once, `threads` each
 * thread. */
Test(profile, moments_count_once_and_threads_each)
{
    char *table = NULL;
    size_t bytes = 0;
    double first, last, busy, threads, megabytes, rate;
    int percent;
    struct trace *trace = ts_trace_create();
    FILE *stream = open_memstream(&table, &bytes);
    ts_trace_add_stretch(trace, TRACE_COMPRESS, 6, 8, 1000000000);
    ts_trace_add_stretch(trace, TRACE_COMPRESS, 1, 4, 2000000000);
    ts_trace_add_stretch(trace, TRACE_COMPRESS, 2, 3, 1000000000);
    ts_trace_add_stretch(trace, TRACE_COMPRESS, 2, 5, 4000000000);
    ts_trace_add_stretch(trace, TRACE_READ, 0, 10, 0);
    ts_profile_print(trace, stream);
    fclose(stream);
    const char *row = row_of(table, "compress");
    cr_assert(row, "%s", table);
    cr_assert_eq(sscanf(row, "%lf %lf %lf %d%% %lf %lf %lf", &first, &last, &busy, &percent,
                        &threads, &megabytes, &rate),
                 7, "%s", row);
    cr_expect_eq(first, 1);
    cr_expect_eq(last, 8);
    cr_expect_eq(busy, 6);
    cr_expect_eq(percent, 60);
    cr_expect_eq(threads, 9);
    cr_expect_eq(megabytes, 8000);
    cr_expect_float_eq(rate, 1.33, 0.005);
    cr_expect_null(row_of(table, "upload"), "nothing was uploaded");
    cr_expect(row_of(table, "all") && strstr(row_of(table, "all"), "10.000"), "%s", table);
    free(table);
    ts_trace_destroy(trace);
}

/* The program reads what it wrote: the parts with their bytes, the stages, the memory, the digest
 * that `verify` prints. */
static void expect_read(const char *path, const char *of_result)
{
    struct arena *arena = ts_arena_create();
    struct ts_diag *diag = ts_diag_create();
    struct trace *trace;
    struct profile_memory memory;
    char digest[DIGEST_TEXT_BYTES];
    struct profile_sum sums[TRACE_PARTS];
    size_t n, n_boxes = 0;
    cr_assert_eq(ts_profile_read(path, arena, &trace, &memory, digest, diag), TS_OK);
    cr_expect(strstr(of_result, digest) && strlen(digest) == DIGEST_TEXT_BYTES - 1, "%s in %s",
              digest, of_result);
    cr_expect(memory.planned > 0 && memory.budget >= memory.planned && memory.peak > 0 &&
              memory.gpu_planned == 0);
    cr_expect(ts_profile_sums(trace, sums) > 0);
    cr_expect(sums[TRACE_READ].bytes > 0 && sums[TRACE_COMPUTE].n > 1 && sums[TRACE_UPLOAD].n == 0);
    const struct trace_stretch *stretches = ts_trace_stretches(trace, &n);
    for (size_t i = 0; i < n; i++) {
        cr_expect_eq(stretches[i].stage != NULL, stretches[i].part == TRACE_COMPUTE);
        n_boxes += stretches[i].stage && !strcmp(stretches[i].stage, "box");
    }
    cr_expect(n_boxes > 0);
    ts_trace_destroy(trace);
    ts_diag_destroy(diag);
    ts_arena_destroy(arena);
}

/* The parts of a run end before the run does, and both files are there and parse. */
Test(profile, a_run_writes_table_picture_and_events)
{
    static struct program_outcome outcome;
    char path[400];
    ts_program_run(folder, (const char *const[]){"phantom", "shepp-logan", "-o", "study", NULL},
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    ts_program_run(folder,
                   (const char *const[]){"run", "dicom study | box radius=1 | equalize | hdf5 o.h5",
                                         "--profile", "p", "--device", "cpu", NULL},
                   &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    static const char *const parts[] = {"plan",     "prepare", "read",  "compute",
                                        "compress", "write",   "check", "finish"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_expect(row_of(outcome.out, parts[i]), "%s in %s", parts[i], outcome.out);
    size_t bytes;
    snprintf(path, sizeof path, "%s/p.json", folder);
    char *text = (char *)ts_test_read_file(path, &bytes);
    cr_assert(text && ts_test_is_json(text, bytes));
    cr_expect(memmem(text, bytes, "\"ph\": \"X\"", 9));
    free(text);
    ts_program_run(folder, (const char *const[]){"verify", "o.h5", NULL}, &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    expect_read(path, outcome.out);
    snprintf(path, sizeof path, "%s/p.svg", folder);
    text = (char *)ts_test_read_file(path, &bytes);
    cr_assert(text && bytes > 7 && !strncmp(text, "<svg ", 5) &&
              !strncmp(text + bytes - 7, "</svg>\n", 7));
    free(text);
}

/* A name that cannot be written is refused before anything runs. */
Test(profile, a_name_that_cannot_be_written_is_refused)
{
    static struct program_outcome outcome;
    ts_program_run(folder, (const char *const[]){"phantom", "shepp-logan", "-o", "study", NULL},
                   &outcome);
    ts_program_run(folder,
                   (const char *const[]){"run", "dicom study | box radius=1 | hdf5 o.h5",
                                         "--profile", "missing/p", NULL},
                   &outcome);
    cr_expect_eq(outcome.code, 1);
    cr_expect(strstr(outcome.err, "missing/p.svg"), "%s", outcome.err);
    char names[256];
    ts_program_folder_list(folder, names, sizeof names);
    cr_expect_str_eq(names, "study ");
}
