/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage batch` runs from end to end on phantoms: lists, names, refusals, results that are
 * found, tables and exit codes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/diag.h"
#include "program/batch/batch.h"
#include "tests/program/batch/batch_folder.h"
#include "tests/support/allocations.h"
#include "tests/support/skip.h"

/* The folder of the tests before anything is written into it. */
#define FILES "chain.yaml st "

TestSuite(batch, .init = ts_batch_folder_begin, .fini = ts_compare_program_end);

/* Fails the test unless the file of the folder has this text, or with `is` false has it not. */
static void expect_text(const char *name, const char *text, bool is)
{
    char path[300], content[16384] = "";
    snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, name);
    FILE *file = fopen(path, "r");
    cr_assert(file, "%s", path);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    cr_assert_eq(strstr(content, text) != NULL, is, "'%s' in %s:\n%s", text, name, content);
}

Test(batch, makes_what_single_runs_make)
{
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "st/*", "-o", "out", "--jobs", "2"), 0,
        ARGUMENTS("p1.h5: done in ", "wrote out/batch.tsv: 3 studies, 3 done\n"));
    ts_batch_folder_expect("out",
                           "batch-files batch.html batch.numbers.tsv batch.tsv p1.h5 p2.h5 p3.h5 ");
    ts_compare_program_run(ARGUMENTS("run", "chain.yaml", "-i", "st/p2", "-o", "single.h5"));
    ts_compare_program_expect(ARGUMENTS("rerun", "out/p2.h5", "-i", "st/p2"), 0,
                              ARGUMENTS("the same: "));
    ts_compare_program_expect(ARGUMENTS("diff", "out/p2.h5", "single.h5"), 0,
                              ARGUMENTS("\nequal\n"));
    ts_compare_program_expect(ARGUMENTS("verify", "single.h5"), 0, ARGUMENTS("digest "));
    char digest[80];
    cr_assert_eq(sscanf(strstr(ts_compare_program.outcome.out, "digest "), "digest %79s", digest),
                 1);
    expect_text("out/batch.tsv", digest, true);
    expect_text("out/batch.tsv", "\tst/p2\t\n", true);
    expect_text("out/batch.html", "<p>3 studies, 3 done</p>", true);
    expect_text("out/batch.html", "http", false);
    expect_text("out/batch.html", "<a href=\"batch-files/p1.html\"><img alt=\"report\"", true);
    ts_batch_folder_expect("out/batch-files", "p1.html p1.png p2.html p2.png p3.html p3.png ");
}

/* Fails the test unless both sides of a PNG have more pixels than a study has slices. */
static void expect_slice(const char *name)
{
    char path[300];
    unsigned char head[24] = {0};
    snprintf(path, sizeof path, "%s/%s", ts_compare_program.folder, name);
    FILE *file = fopen(path, "rb");
    cr_assert(file && fread(head, 1, sizeof head, file) == sizeof head, "%s", path);
    fclose(file);
    cr_expect_gt(head[19], 6);
    cr_expect_gt(head[23], 6);
}

/* A link is the study that its user named, "." is the folder, and a picture shows a stored slice.
 */
Test(batch, names_of_links_and_pictures_of_slices)
{
    char link[300];
    snprintf(link, sizeof link, "%s/anna", ts_compare_program.folder);
    cr_assert_eq(symlink("st/p1", link), 0);
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "anna/", "st/p2/.", "st/p3/../p3//", "-o", "out"), 0,
        ARGUMENTS("anna.h5: done in ", "wrote out/batch.tsv: 3 studies, 3 done\n"));
    ts_batch_folder_expect(
        "out", "anna.h5 batch-files batch.html batch.numbers.tsv batch.tsv p2.h5 p3.h5 ");
    expect_slice("out/batch-files/anna.png");
}

/* The shell gives a folder that is named like the pattern as it is, and the others with it, or none
 * of them. */
Test(batch, a_folder_named_like_a_pattern_hides_no_other)
{
    char folder[300];
    static const char *const names[] = {"*", "p?", "p[12]"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char pattern[32], to[16];
        snprintf(folder, sizeof folder, "%s/st/%s", ts_compare_program.folder, names[i]);
        snprintf(pattern, sizeof pattern, "st/%s", names[i]);
        snprintf(to, sizeof to, "out%zu", i);
        cr_assert_eq(mkdir(folder, 0777), 0);
        ts_compare_program_expect(
            ARGUMENTS("batch", "chain.yaml", pattern, "st/p1", "-o", to, "--keep-going"), 3,
            ARGUMENTS(i == 2 ? ": 3 studies, " : ": 4 studies, "));
        cr_assert_eq(rmdir(folder), 0);
    }
}

Test(batch, tells_programs_what_happens)
{
    ts_compare_program_run(ARGUMENTS("batch", "chain.yaml", "st/p1", "-o", "out"));
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "st/p1", "st/p2", "none", "-o", "out", "--resume",
                  "--keep-going", "--json"),
        3,
        ARGUMENTS("{\"event\": \"started\", \"studies\": 3, \"jobs\": 1",
                  "\"state\": \"found\", \"output\": \"out/p1.h5\"",
                  "\"state\": \"running\", \"output\": \"out/p2.h5\"",
                  "\"state\": \"done\", \"output\": \"out/p2.h5\"",
                  "\"state\": \"refused\", \"output\": \"out/none.h5\"",
                  "\"message\": \"cannot read",
                  "{\"event\": \"finished\", \"table\": \"out/batch.tsv\", \"studies\": 3, \"not "
                  "run\": 0, \"refused\": 1, \"done\": 1, \"found\": 1,"));
    for (char *rest = ts_compare_program.outcome.out, *line; (line = strsep(&rest, "\n"));)
        cr_assert(!*line || ts_test_is_json(line, strlen(line)), "%s", line);
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "none", "st/p3", "-o", "out", "--resume", "--json"), 3,
        ARGUMENTS("\"state\": \"refused\"", "\"state\": \"not run\", \"output\": \"out/p3.h5\"",
                  "{\"event\": \"finished\", \"studies\": 2"));
}

/* Plain lists and tables give paths relative to themselves. */
Test(batch, takes_lists_and_tables)
{
    ts_compare_program_write("st/list.txt", "# two of them\r\np1\r\n\r\np3\n");
    ts_compare_program_write(
        "table.tsv",
        "input\toutput\tbox.radius\nst/p1\tfirst\t2\nst/p1\t\t1\nst/p1\t\t3\nst/p2\t\t\n");
    ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "st/list.txt", "-o", "list"), 0,
                              ARGUMENTS("2 done"));
    ts_batch_folder_expect("list",
                           "batch-files batch.html batch.numbers.tsv batch.tsv p1.h5 p3.h5 ");
    ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "table.tsv", "-o", "table"), 0,
                              ARGUMENTS("4 done"));
    char names[512];
    ts_batch_folder_list("table", names, sizeof names);
    cr_assert(strstr(names, "first.h5 p1-") && strstr(names, "p2.h5 "), "%s", names);
    ts_compare_program_expect(ARGUMENTS("diff", "list/p1.h5", "table/first.h5"), 1,
                              ARGUMENTS("radius: 1 and 2"));
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "table.tsv", "-o", "table", "--resume"), 0,
        ARGUMENTS("4 found"));
}

Test(batch, refuses_lists_that_are_malformed)
{
#define TABS_16 "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t"
    static const struct {
        const char *text, *message;
    } cases[] = {{"path\nst/p1\n", "line 1: the first row names no column 'input'"},
                 {"input\tbox.radius\nst/p1\n", "line 2: the row has not as many cells"},
                 {"input\toutput\nst/p1\t../a\n", "'../a' is no plain file name"},
                 {"input\toutput\nst/p1\ta\nst/p2\tA.h5\n", "would both be written to"},
                 {"input\toutput\nst/p1\t\nst/p1\t\n", "would both be written to"},
                 {"input\tbax.radius\nst/p1\t2\n", "unknown stage 'bax'; did you mean 'box'?"},
                 {"input\tbox.radius\nst/p1\tx\n", "box.radius: 'x' is not an integer"},
                 {"input" TABS_16 TABS_16 TABS_16 TABS_16 "\nst/p1\n", "names too many columns"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ts_compare_program_write("wrong.tsv", cases[i].text);
        ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "wrong.tsv", "-o", "out"), 2,
                                  ARGUMENTS(cases[i].message));
    }
    ts_compare_program_write("wrong.tsv", "input\n");
    ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "wrong.tsv", "-o", "out"), 3,
                              ARGUMENTS("no study"));
    ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "nothing*", "-o", "out"), 3,
                              ARGUMENTS("nothing fits"));
    ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "st/*"), 2,
                              ARGUMENTS("-o FOLDER is missing"));
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "st/*", "-o", "out", "--shard", "3/2"), 2,
        ARGUMENTS("no part such as 1/4"));
    ts_compare_program_expect(ARGUMENTS("batch", "none.yaml", "st/*", "-o", "out"), 2,
                              ARGUMENTS("none.yaml"));
    ts_batch_folder_expect(".", FILES "wrong.tsv ");
}

/* Everything wrong is said before anything runs; with --keep-going the others run. */
Test(batch, reports_all_that_is_wrong_first)
{
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "none", "st/p1", "nil", "-o", "out"), 3,
        ARGUMENTS("none:\n", "nil:\n", "2 of 3 studies are refused; nothing was run\n"));
    ts_batch_folder_expect(".", FILES);
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "none", "st/p1", "nil", "-o", "out", "--keep-going"), 3,
        ARGUMENTS("3 studies, 2 refused, 1 done\n"));
    ts_batch_folder_expect("out", "batch-files batch.html batch.numbers.tsv batch.tsv p1.h5 ");
    expect_text("out/batch.tsv", "refused\tnone.h5\t\t\t\tnone\tcannot read none", true);
}

/* That no pixel is above a value is found by the run alone: the plan reads headers. */
Test(batch, a_run_that_fails_ends_the_batch)
{
    ts_compare_program_write("table.tsv", "input\tcrop.above\nst/p1\t9000\nst/p2\t\nst/p3\t\n");
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "table.tsv", "-o", "out"), 2,
        ARGUMENTS("st/p1:\n", "p1.h5: failed in ", "3 studies, 2 not run, 1 failed\n"));
    ts_batch_folder_expect("out", "batch.html batch.tsv ");
    expect_text("out/batch.tsv", "\tcrop.above: chooses no pixel, so that there is no box\n",
                true); /* no code */
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "table.tsv", "-o", "out", "--resume", "--keep-going"), 2,
        ARGUMENTS("3 studies, 2 done, 1 failed\n"));
    ts_batch_folder_expect("out",
                           "batch-files batch.html batch.numbers.tsv batch.tsv p2.h5 p3.h5 ");
}

Test(batch, resumes_what_is_the_same_alone)
{
    ts_compare_program_run(ARGUMENTS("batch", "chain.yaml", "st/*", "-o", "out"));
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "st/*", "-o", "out"), 1,
        ARGUMENTS("'out/p1.h5' already exists", "'out/p3.h5' already exists", "--resume"));
    ts_batch_folder_remove("out/p2.h5");
    ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "st/*", "-o", "out", "--resume"), 0,
                              ARGUMENTS("3 studies, 1 done, 2 found\n"));
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "st/*", "-o", "out", "--resume", "--set", "box.radius=2"),
        1,
        ARGUMENTS("out/p1.h5 exists, and was made by another chain: box.radius is 1 there, not 2"));
    ts_compare_program_expect(
        ARGUMENTS("batch", "dicom x | box radius=1 | invert | hdf5 y.h5", "st/*", "-o", "out",
                  "--resume"),
        1, ARGUMENTS("out/p3.h5 exists, and was made by a chain of other inputs or stages"));
    ts_compare_program_run(
        ARGUMENTS("phantom", "disc", "-o", "disc", "--size", "48", "--slices", "6"));
    ts_batch_folder_make("single");
    ts_compare_program_write("other.tsv", "input\toutput\ndisc\tp1\n");
    ts_compare_program_run(ARGUMENTS("run", "dicom st/p1 | box radius=1 | hdf5 single/p1.h5"));
    ts_compare_program_expect(ARGUMENTS("batch", "dicom x | box radius=1 | hdf5 y.h5", "other.tsv",
                                        "-o", "single", "--resume"),
                              3, ARGUMENTS("changed, the first: "));
    ts_batch_folder_cut("out/p1.h5");
    ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "st/*", "-o", "out", "--resume"), 3,
                              ARGUMENTS("st/p1:\n", "1 of 3 studies are refused"));
}

/* A sweep is found by its values. What fbp derives from its input may be another for each of
 * them. */
Test(batch, resumes_sweeps)
{
    static const char chain[] =
        "dicom x | box radius=1 | median radius={sweep 1 2} | save name=m | statistics | hdf5 y.h5",
                      derived[] = "dicom x | radon views={sweep 8 16} | fbp | hdf5 y.h5";
    const char *const same[] = {chain, derived},
                      *const others[][2] = {
                          {"median radius={sweep 1 3}",
                           "made by another chain: median[radius=3].radius is 2 there, not 3"},
                          {"median radius={sweep 2 1}",
                           "made by another chain: median.radius is 1 there, not 2"},
                          {"median radius={sweep 1 2 3}",
                           "made by a chain of other inputs or stages"},
                          {"median radius=1", "made by a chain of other inputs or stages"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const char *folder = i ? "derived" : "out";
        ts_compare_program_expect(ARGUMENTS("batch", same[i], "st/p1", "-o", folder), 0,
                                  ARGUMENTS("1 done"));
        ts_compare_program_expect(ARGUMENTS("batch", same[i], "st/p1", "-o", folder, "--resume"), 0,
                                  ARGUMENTS("1 study, 1 found\n"));
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char text[200];
        snprintf(text, sizeof text,
                 "dicom x | box radius=1 | %s | save name=m | statistics | hdf5 y.h5",
                 others[i][0]);
        ts_compare_program_expect(ARGUMENTS("batch", text, "st/p1", "-o", "out", "--resume"), 1,
                                  ARGUMENTS(others[i][1]));
    }
}

/* The shards of one list have each study once, and names that do not depend on the shard. */
Test(batch, shards_part_the_list)
{
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "st/*", "-o", "out", "--shard", "2/2"), 0,
        ARGUMENTS("wrote out/batch-2-of-2.tsv: 1 study, 1 done\n"));
    ts_batch_folder_expect(
        "out", "batch-2-of-2.html batch-2-of-2.numbers.tsv batch-2-of-2.tsv batch-files p2.h5 ");
    ts_compare_program_expect(
        ARGUMENTS("batch", "chain.yaml", "st/*", "-o", "out", "--shard", "1/2"), 0,
        ARGUMENTS("2 done"));
    ts_compare_program_expect(ARGUMENTS("batch", "chain.yaml", "st/*", "-o", "out", "--resume"), 0,
                              ARGUMENTS("3 found"));
}

/* Each study gets all outputs of the chain under its own name; the HDF5 file is made in any case,
   since it is what --resume proves. */
Test(batch, keeps_the_outputs_of_the_chain)
{
    static const char chain[] =
        "dicom x | invert | nifti y.nii.gz | png pages window=40,400 | dicom d";
    static const char names[] = "batch-files batch.html batch.tsv p1-dicom p1-png "
                                "p1.h5 p1.json p1.nii.gz ";
    ts_compare_program_expect(ARGUMENTS("batch", chain, "st/p1", "-o", "out"), 0,
                              ARGUMENTS("1 study, 1 done\n"));
    ts_batch_folder_expect("out", names);
    ts_compare_program_run(ARGUMENTS("run", "dicom st/p1 | invert | nifti one.nii.gz"));
    ts_compare_program_expect_same_bytes("one.nii.gz", "out/p1.nii.gz");
    ts_compare_program_expect(ARGUMENTS("batch", chain, "st/p1", "-o", "out", "--resume"), 0,
                              ARGUMENTS("1 found\n"));
    ts_batch_folder_remove("out/p1.nii.gz");
    ts_compare_program_expect(ARGUMENTS("batch", chain, "st/p1", "-o", "out", "--resume"), 0,
                              ARGUMENTS("1 done\n"));
    ts_batch_folder_expect("out", names);
    ts_compare_program_run(ARGUMENTS("verify", "out/p1.h5", "--inputs", "st/p1"));
}

/* Copies the lines of this study, and returns their length. */
static size_t numbers_of(const char *path, const char *study, char *text, size_t size)
{
    char line[512];
    size_t n = 0;
    FILE *file = fopen(path, "r");
    *text = '\0';
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, study, strlen(study)) && n + strlen(line) < size)
            n += (size_t)snprintf(text + n, size - n, "%s", line);
    if (file)
        fclose(file);
    return n;
}

/* Numbers that memory lacks for are an error, whichever allocation fails, by itself or with all
 * that follow. What is in the table is whole. */
Test(batch, no_study_of_two_is_lost_without_a_word)
{
    static const char *const names[] = {"p1", "p2"};
    char folder[300], outputs[2][320], files[2][16], inputs[2][16], numbers[340], whole[2][8192];
    struct batch_study studies[2];
    if (!ts_allocations_can_fail())
        ts_test_skip("allocations cannot be made to fail");
    ts_batch_folder_make("tables");
    snprintf(folder, sizeof folder, "%s/tables", ts_compare_program.folder);
    snprintf(numbers, sizeof numbers, "%s/batch.numbers.tsv", folder);
    for (int i = 0; i < 2; i++) {
        snprintf(files[i], sizeof files[i], "%s.h5", names[i]);
        snprintf(inputs[i], sizeof inputs[i], "st/%s", names[i]);
        ts_compare_program_run(ARGUMENTS("run", "chain.yaml", "-i", inputs[i], "-o", files[i]));
        snprintf(outputs[i], sizeof outputs[i], "%s/%s", ts_compare_program.folder, files[i]);
        studies[i] = (struct batch_study){
            .input = inputs[i], .name = files[i], .output = outputs[i], .state = STUDY_DONE};
    }
    const struct batch batch = {.folder = folder, .studies = {.items = studies, .n = 2}};
    struct ts_diag *diag = ts_diag_create();
    cr_assert_eq(ts_batch_write_tables(&batch, diag), TS_OK);
    for (int i = 0; i < 2; i++)
        cr_assert_gt(numbers_of(numbers, names[i], whole[i], sizeof whole[i]), 0);
    for (int forever = 0; forever < 2; forever++) {
        bool failed = true;
        for (int64_t after = 0; failed; after += after >= 64 ? 127 : forever ? 9 : 1) {
            char found[8192];
            bool complete = true;
            ts_diag_clear(diag);
            unlink(numbers);
            ts_allocations_fail(after, forever);
            const enum ts_status status = ts_batch_write_tables(&batch, diag);
            failed = ts_allocations_restore() > 0;
            for (int i = 0; i < 2; i++) {
                const size_t n = numbers_of(numbers, names[i], found, sizeof found);
                complete &= n > 0;
                cr_expect(n == 0 || !strcmp(found, whole[i]), "allocation %lld: a part of %s",
                          (long long)after, names[i]);
            }
            cr_expect(complete || (status != TS_OK && ts_diag_error_count(diag) > 0),
                      "allocation %lld, %d: status %d, %zu errors", (long long)after, forever,
                      (int)status, ts_diag_error_count(diag));
            cr_expect(failed || (complete && status == TS_OK && ts_diag_count(diag) == 0));
        }
    }
    ts_diag_destroy(diag);
}

/* A column may name a mask or a reference of each study, as seen from the list. */
Test(batch, a_list_names_masks_and_references_beside_itself)
{
    ts_batch_folder_make("lists");
    for (int i = 1; i <= 2; i++) {
        char chain[128];
        snprintf(chain, sizeof chain, "dicom st/p%d | threshold above=%d | nifti lists/m%d.nii", i,
                 100 * i, i);
        ts_compare_program_run(ARGUMENTS("run", chain));
    }
    ts_compare_program_write("lists/list.tsv", "input\tseg.mask\toutput\n../st/p1\tm1.nii\tone\n"
                                               "../st/p2\tm2.nii\ttwo\n");
    ts_compare_program_expect(
        ARGUMENTS("batch", "dicom x | input seg mask y | statistics labels=seg n_labels=2",
                  "lists/list.tsv", "-o", "out"),
        0, ARGUMENTS("2 studies, 2 done\n"));
    for (int i = 0; i < 2; i++)
        expect_text("out/batch.numbers.tsv",
                    i ? "two\tstatistics\t1\tmean\t" : "one\tstatistics\t1\tmean\t", true);
    ts_compare_program_write("lists/wrong.tsv", "input\tseg.mask\n../st/p1\tnone.nii\n");
    ts_compare_program_expect(ARGUMENTS("batch",
                                        "dicom x | input seg mask y | statistics labels=seg",
                                        "lists/wrong.tsv", "-o", "out2"),
                              3, ARGUMENTS("lists/none.nii"));
}
