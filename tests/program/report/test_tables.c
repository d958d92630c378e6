/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of results as tables: rows and columns that were worked out by hand, in each form.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/files/npy.h"
#include "tests/support/program.h"

static struct program_outcome outcome;
static char folder[256];

/* Two slices of 2 x 4 values, and a label for each; label 2 has no pixel, and 9 has no row. */
static void make_files(void)
{
    static const short values[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 20, 30, 40, 50, 60, 70, 80};
    static const unsigned char labels[] = {0, 0, 1, 1, 0, 0, 3, 3, 1, 1, 1, 1, 0, 3, 3, 9};
    char path[512];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/v.npy", folder);
    ts_test_npy_write(path, "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2, 4), }",
                      values, sizeof values);
    snprintf(path, sizeof path, "%s/l.npy", folder);
    ts_test_npy_write(path, "{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2, 4), }",
                      labels, sizeof labels);
}

static void remove_folder(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(tables, .init = make_files, .fini = remove_folder);

static const char *run(const char *const *arguments)
{
    ts_program_run(folder, arguments, &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    return outcome.out;
}

#define ORGANS "npy v.npy | input seg npy l.npy | statistics labels=seg n_labels=5 name=organs"

Test(tables, a_label_is_a_row_and_percentiles_have_their_names)
{
    cr_expect_str_eq(
        run(ARGUMENTS("run", ORGANS " percentiles=[2.5,50]", "-o", "r.h5", "--quiet", "--table",
                      "organs")),
        "stage\tlabel\tother_labels\tcount\tinfinite\tmax\tmean\tmin\tnan\tp2.5\tp50\t"
        "standard_deviation\tsum\tvariance\tzeros\n"
        "organs\t\t1\t\t\t\t\t\t\t\t\t\t\t\t\n"
        "organs\t0\t\t5\t0\t50\t12.8\t1\t0\t1.1\t5\t18.69117438792972\t64\t349.36\t0\n"
        "organs\t1\t\t6\t0\t40\t17.833333333333332\t3\t0\t3.125\t15\t13.64327266050521\t107\t"
        "186.13888888888889\t0\n"
        "organs\t3\t\t4\t0\t70\t36.25\t7\t0\t7.075\t34\t28.968733144547414\t145\t839.1875\t0\n");
    char first[4096];
    snprintf(first, sizeof first, "%s", outcome.out);
    cr_expect_str_eq(run(ARGUMENTS("tables", "r.h5")), first);
    /* If no label is too high, no row says so. */
    run(ARGUMENTS("run", "npy v.npy | input seg npy l.npy | statistics labels=seg name=organs",
                  "-o", "all.h5", "--quiet"));
    cr_expect(!strstr(run(ARGUMENTS("tables", "all.h5")), "\norgans\t\t"), "%s", outcome.out);
}

Test(tables, a_slice_a_volume_and_a_bin_are_rows)
{
    run(ARGUMENTS("run",
                  "npy v.npy spacing=2,1,1 | statistics scope=slice | histogram bins=2 range=0,80 "
                  "| histogram bins=2 range=0,80 scope=slice | hdf5 r.h5",
                  "--quiet"));
    const char *text = run(ARGUMENTS("tables", "r.h5"));
    cr_expect_eq(strncmp(text, "stage\tslice\tbin\tz (mm)\tcount\t", 28), 0, "%s", text);
    cr_expect(strstr(text, "\nstatistics\t0\t\t0\t8\t0\t"), "%s", text);
    cr_expect(strstr(text, "\nstatistics\t1\t\t2\t8\t0\t"), "%s", text);
    cr_expect(strstr(text, "\nhistogram\t\t0\t\t"), "%s", text);
    cr_expect(strstr(text, "\t11\t0\t40\n"), "%s", text);
    cr_expect(strstr(text, "\t5\t40\t80\n"), "%s", text);
    cr_expect(strstr(text, "\nhistogram#2\t1\t1\t2\t"), "%s", text);
    run(ARGUMENTS("tables", "r.h5", "-o", "t.csv"));
    run(ARGUMENTS("tables", "r.h5", "-o", "t.json"));
    ts_program_run(folder, ARGUMENTS("tables", "r.h5", "-o", "t.csv"), &outcome);
    cr_expect_eq(outcome.code, 1);
    cr_expect(strstr(outcome.err, "[output-exists]"), "%s", outcome.err);
}

Test(tables, units_are_in_the_head_and_a_sweep_has_a_row_for_each_value)
{
    run(ARGUMENTS("phantom", "disc", "-o", "ct", "--size", "16", "--slices", "3"));
    const char *text = run(ARGUMENTS("run", "dicom ct | box radius={sweep 1 2} | statistics", "-o",
                                     "r.h5", "--quiet", "--table", "statistics"));
    cr_expect(strstr(text, "\tmean (HU)\t"), "%s", text);
    cr_expect(strstr(text, "\tvariance (HU^2)\t"), "%s", text);
    text = run(ARGUMENTS("tables", "r.h5"));
    cr_expect_eq(strncmp(text, "stage\tradius (pixel)\tcount\t", 27), 0, "%s", text);
    cr_expect(strstr(text, "\nstatistics[radius=1]\t1\t"), "%s", text);
    cr_expect(strstr(text, "\nstatistics[radius=2]\t2\t"), "%s", text);
    run(ARGUMENTS("run", "dicom ct | gaussian sigma={sweep 1 2} | statistics name=all", "-o",
                  "n.h5", "--quiet"));
    text = run(ARGUMENTS("tables", "n.h5"));
    cr_expect(strstr(text, "\nall[sigma=1]\t1\t"), "%s", text);
    cr_expect(strstr(text, "\nall[sigma=2]\t2\t"), "%s", text);
    text =
        run(ARGUMENTS("run", "dicom ct | box radius=1 border={sweep reflect nearest} | statistics",
                      "-o", "b.h5", "--quiet", "--table", "statistics"));
    cr_expect_eq(strncmp(text, "stage\tcount\t", 12), 0, "%s", text);
    cr_expect(strstr(text, "\nstatistics[border=reflect]\t"), "%s", text);
    cr_expect(strstr(text, "\nstatistics[border=nearest]\t"), "%s", text);
}

/* z of a table is that of the image, whatever was cut before. */
Test(tables, slices_are_where_they_are_in_the_patient)
{
    run(ARGUMENTS("phantom", "disc", "-o", "ct", "--size", "16", "--slices", "4"));
    run(ARGUMENTS("run",
                  "dicom ct | save name=all | statistics scope=slice name=a | crop z=[2,4] "
                  "| statistics scope=slice name=b | reorient to=LPI "
                  "| statistics scope=slice name=c",
                  "-o", "r.h5", "--quiet"));
    const char *text = run(ARGUMENTS("tables", "r.h5"));
    cr_expect(strstr(text, "\na\t0\t-3.75\t"), "%s", text);
    cr_expect(strstr(text, "\na\t3\t3.75\t"), "%s", text);
    cr_expect(strstr(text, "\nb\t0\t1.25\t"), "%s", text);
    cr_expect(strstr(text, "\nc\t0\t3.75\t"), "%s", text);
}

static void expect_wrong(const char *const *arguments, int code, const char *says)
{
    ts_program_run(folder, arguments, &outcome);
    cr_expect_eq(outcome.code, code, "%s", outcome.err);
    cr_expect(strstr(outcome.err, says), "%s", outcome.err);
}

Test(tables, what_has_no_numbers_says_so)
{
    run(ARGUMENTS("run", "npy v.npy | box radius=1 | hdf5 r.h5", "--quiet"));
    expect_wrong(ARGUMENTS("tables", "r.h5"), 3, "[tables-none]");
    expect_wrong(ARGUMENTS("tables", "v.npy"), 3, "v.npy");
    expect_wrong(ARGUMENTS("tables", "r.h5", "-o", "t.xls"), 2, "-o FILE.csv, FILE.tsv or");
    expect_wrong(ARGUMENTS("run", ORGANS, "-o", "o.h5", "--table", "box"), 2, "known: organs");
    expect_wrong(ARGUMENTS("run", ORGANS, "-o", "o.nii", "--table", "organs"), 2,
                 "only an HDF5 output");
    expect_wrong(ARGUMENTS("run", ORGANS, "-o", "o.h5", "--table", "organs", "--json"), 2,
                 "'--table' and '--json' do not go together");
}

/* The second name of a process leads to the same tables wherever the stage is in its chain. */
Test(tables, a_name_of_the_chain_is_a_name_in_the_file)
{
    static const char *const chains[] = {ORGANS, "npy v.npy | input seg npy l.npy | box radius=1 | "
                                                 "statistics labels=seg n_labels=5 name=organs"};
    for (size_t i = 0; i < 2; i++) {
        run(ARGUMENTS("run", chains[i], "-o", "r.h5", "--quiet", "--force"));
        cr_expect(strstr(run(ARGUMENTS("info", "r.h5", "--names")), "process_organs"), "%s",
                  outcome.out);
        run(ARGUMENTS("verify", "r.h5"));
    }
}
