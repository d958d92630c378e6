/* SPDX-License-Identifier: Apache-2.0
 *
 * `run --resume-from` from end to end: each chain is run whole and from the result of another one,
 * and both files are compared byte by byte.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/program/record/compare_program.h"

static void begin(void)
{
    ts_compare_program_begin("dicom study | median radius=1 | histogram name=before | statistics | "
                             "save name=smooth | box radius=1 | hdf5 a.h5");
}

TestSuite(resume, .init = begin, .fini = ts_compare_program_end);

static void path_of(char path[512], const char *name)
{
    snprintf(path, 512, "%s/%s", ts_compare_program.folder, name);
}

/* Runs the chain whole, to whole.h5, and from the result `from`, to resumed.h5, which prints
 * `text`. */
static void expect_same(const char *chain, const char *from, const char *text)
{
    ts_compare_program_run(ARGUMENTS("run", chain, "-o", "whole.h5", "--force"));
    ts_compare_program_expect(
        ARGUMENTS("run", chain, "-o", "resumed.h5", "--force", "--resume-from", from), 0,
        ARGUMENTS(text));
    ts_compare_program_run(ARGUMENTS("verify", "resumed.h5"));
    ts_compare_program_expect_same_bytes("whole.h5", "resumed.h5");
}

/* Changes one byte of a file. */
static void flip(const char *name, off_t at)
{
    char path[512];
    unsigned char byte;
    path_of(path, name);
    const int fd = open(path, O_RDWR);
    cr_assert(fd >= 0 && pread(fd, &byte, 1, at) == 1, "%s", path);
    byte ^= 1;
    cr_assert(pwrite(fd, &byte, 1, at) == 1 && close(fd) == 0, "%s", path);
}

#define BEFORE                                                                                     \
    "dicom study | median radius=1 | histogram name=before | statistics | save name=smooth | "

/* ---- the same bytes -------------------------------------------------------------------------- */

Test(resume, gives_the_bytes_of_a_whole_run)
{
    expect_same(BEFORE "box radius=2", "a.h5",
                "4 of 5 stages are taken from a.h5, which has the image of median; not taken is "
                "box: radius is 1 there, not 2");
    expect_same(BEFORE "gaussian sigma=2 | statistics", "a.h5",
                "not taken is gaussian: box stands there in its place");
    expect_same(BEFORE "box radius=1", "a.h5",
                "5 of 5 stages are taken from a.h5, which has the image of median, box");
    expect_same(BEFORE "box radius=1 | box radius=3", "a.h5", "5 of 6 stages are taken");
}

/* Stages before the saved image may come, go, and have others beside them. */
Test(resume, of_a_chain_with_more_before)
{
    expect_same("dicom study | statistics | median radius=1 | save name=other | histogram bins=16 "
                "| box radius=2",
                "a.h5", "has the image of median");
    expect_same("dicom study | gaussian sigma=1 | save name=y | median radius=1 input=input | save "
                "name=x | box radius=3",
                "a.h5",
                "2 of 5 stages are taken from a.h5, which has the image of median; not taken is "
                "gaussian: median stands there in its place");
}

/* The latest image is taken, and earlier ones are written again. */
Test(resume, of_several_saves)
{
    ts_compare_program_run(
        ARGUMENTS("run", "dicom study | median radius=1 | save name=one | box radius=1 | save "
                         "name=two | equalize | save name=three | hdf5 b.h5"));
    expect_same(
        "dicom study | median radius=1 | save name=one | box radius=1 | save name=two | equalize "
        "method=opencv",
        "b.h5",
        "has the image of median, box; not taken is equalize: method is skimage there, not opencv");
    expect_same("dicom study | median radius=1 | box radius=1 | equalize | box radius=2", "b.h5",
                "has the image of equalize; not taken is box#2");
    expect_same("dicom study | median radius=1 | save name=one | box radius=2 | save name=two",
                "b.h5", "has the image of median; not taken is box: radius is 1 there, not 2");
}

/* Nothing in such a chain makes an image, so only tables can be taken. */
Test(resume, of_a_chain_that_only_passes_its_input_on)
{
#define PASSES "dicom study | histogram bins=4 | save name=mid"
    ts_compare_program_run(ARGUMENTS("run", PASSES " | hdf5 b.h5"));
    expect_same(PASSES, "b.h5", "2 of 2 stages are taken from b.h5, which has their tables");
    expect_same(PASSES " | statistics", "b.h5",
                "2 of 3 stages are taken from b.h5, which has their tables; not taken");
    expect_same("dicom study | histogram bins=5 | save name=mid", "b.h5",
                "1 of 2 stages are taken from b.h5, which has their tables; not taken is "
                "histogram: bins is 4 there");
}

/* The rotation axis that the first run found is not searched for again, and later stages are
 * resolved with it. */
Test(resume, of_a_scan)
{
    ts_compare_program_run(ARGUMENTS("phantom", "scan", "-o", "scan.nxs", "--size", "64",
                                     "--slices", "2", "--views", "48"));
    ts_compare_program_run(ARGUMENTS("run", "nexus scan.nxs quantity=line_integral | center | fbp "
                                            "| save name=recon | box radius=1 | hdf5 b.h5"));
    expect_same(
        "nexus scan.nxs quantity=line_integral | center | fbp | save name=recon | box radius=2",
        "b.h5", "3 of 4 stages are taken");
    ts_compare_program_run(ARGUMENTS("run", "nexus scan.nxs quantity=line_integral | box radius=0 "
                                            "| save name=s | center | fbp | hdf5 c.h5"));
    expect_same("nexus scan.nxs quantity=line_integral | box radius=0 | save name=s | center | fbp "
                "filter=hann",
                "c.h5", "not taken is fbp: filter is ramp there, not hann");
    expect_same("nexus scan.nxs quantity=line_integral | center | fbp | box radius=2", "b.h5",
                "2 of 3 stages are taken");
    ts_compare_program_expect(ARGUMENTS("run",
                                        "nexus scan.nxs quantity=line_integral | center "
                                        "method=opposite | fbp | save name=recon | box radius=2",
                                        "-o", "d.h5", "--resume-from", "b.h5"),
                              2, ARGUMENTS("cannot start from b.h5: center: method is "));
}

/* Invalid pixels come from the file's mask; where a masked image has none, the file has no mask. */
Test(resume, of_masked_images)
{
    ts_compare_program_run(
        ARGUMENTS("run", "dicom study | threshold above=0 name=m | save name=mask input=m | "
                         "apply_mask mask=m input=input | save name=cut | statistics | hdf5 b.h5"));
    expect_same("dicom study | threshold above=0 name=m | save name=mask input=m | apply_mask "
                "mask=m input=input | save name=cut | box radius=1 | statistics",
                "b.h5", "has the image of threshold, apply_mask");
    ts_compare_program_run(
        ARGUMENTS("run", "dicom study | threshold above=-5000 name=m | apply_mask mask=m "
                         "input=input | save name=cut | statistics | hdf5 c.h5"));
    expect_same("dicom study | threshold above=-5000 name=m | apply_mask mask=m input=input | save "
                "name=cut | box radius=1 | statistics",
                "c.h5", "has the image of apply_mask");
}

Test(resume, with_sweeps)
{
    expect_same(BEFORE "box radius={sweep 1 2 3}", "a.h5", "5 of 7 stages are taken");
    ts_compare_program_run(ARGUMENTS("run", "dicom study | median radius=1 | box radius={sweep 1 "
                                            "2} | save name=s | statistics | hdf5 b.h5"));
    expect_same("dicom study | median radius=1 | box radius={sweep 1 2} | save name=s | histogram",
                "b.h5", "has the image of box, box[radius=2]");
    expect_same("dicom study | median radius=1 | box radius={sweep 2 1 3} | save name=s", "b.h5",
                "not taken is box[radius=3]: radius is 1 there, not 3");
    expect_same("dicom study | median radius=1 | box radius=2 | histogram", "b.h5",
                "has the image of box");
}

/* A search runs the stages before it, and the run that follows takes the image. */
Test(resume, with_a_search)
{
    expect_same(BEFORE "crop above=-500 | box radius=2", "a.h5", "4 of 6 stages are taken");
    ts_compare_program_run(ARGUMENTS("run", "dicom study | crop above=-500 | median radius=1 | "
                                            "save name=s | box radius=1 | hdf5 b.h5"));
    expect_same("dicom study | crop above=-500 | median radius=1 | save name=s | box radius=3",
                "b.h5", "3 of 4 stages are taken");
}

/* The output may replace the result that it starts from. */
Test(resume, onto_itself)
{
    ts_compare_program_run(ARGUMENTS("run", BEFORE "box radius=2 | hdf5 whole.h5"));
    ts_compare_program_expect(
        ARGUMENTS("run", BEFORE "box radius=2", "-o", "a.h5", "--resume-from", "a.h5"), 1,
        ARGUMENTS("'a.h5' already exists"));
    ts_compare_program_expect(
        ARGUMENTS("run", BEFORE "box radius=2", "-o", "a.h5", "--resume-from", "a.h5", "--force"),
        0, ARGUMENTS("4 of 5 stages are taken"));
    ts_compare_program_expect_same_bytes("a.h5", "whole.h5");
}

/* Whenever the run is killed, the old file or the new one has the name, and either serves the next
 * run. */
Test(resume, survives_being_killed)
{
    struct program_outcome *outcome = &ts_compare_program.outcome;
    char names[1024];
    ts_compare_program_run(ARGUMENTS("run", BEFORE "nlm | hdf5 whole.h5"));
    for (useconds_t after = 2000; after < 200000; after *= 2) {
        const pid_t pid = ts_program_start(
            ts_compare_program.folder,
            ARGUMENTS("run", BEFORE "nlm", "-o", "a.h5", "--resume-from", "a.h5", "--force"), -1);
        usleep(after);
        kill(pid, SIGKILL);
        ts_program_wait(pid, ts_compare_program.folder, outcome);
        ts_compare_program_run(ARGUMENTS("verify", "a.h5"));
    }
    ts_compare_program_run(
        ARGUMENTS("run", BEFORE "nlm", "-o", "a.h5", "--resume-from", "a.h5", "--force"));
    ts_compare_program_expect_same_bytes("a.h5", "whole.h5");
    ts_program_folder_list(ts_compare_program.folder, names, sizeof names);
    cr_assert(strstr(names, "a.h5 study whole.h5 "), "%s", names);
}

/* ---- what is refused ------------------------------------------------------------------------- */

Test(resume, shows_in_check_where_it_starts)
{
    ts_compare_program_expect(
        ARGUMENTS("check", BEFORE "box radius=2 | hdf5 b.h5", "--resume-from", "a.h5"), 0,
        ARGUMENTS("which has the image of median; not taken is box: radius is 1 there, not 2",
                  "read from a.h5\n", "taken from a.h5\n"));
    ts_compare_program_expect(
        ARGUMENTS("check", BEFORE "box radius=2 | hdf5 b.h5", "--resume-from", "a.h5", "--json"), 0,
        ARGUMENTS("\"taken\": \"image\"", "\"taken\": \"tables\"", "\"taken\": \"no\""));
}

Test(resume, refuses_what_changed)
{
    ts_compare_program_expect(
        ARGUMENTS("run", "dicom study | median radius=2 | save name=smooth | hdf5 b.h5",
                  "--resume-from", "a.h5"),
        2, ARGUMENTS("cannot start from a.h5: median: radius is 1 there, not 2"));
    ts_compare_program_run(ARGUMENTS("phantom", "head", "-o", "other", "--size", "48", "--slices",
                                     "6", "--noise", "5"));
    ts_compare_program_expect(
        ARGUMENTS("run", BEFORE "box radius=2 | hdf5 b.h5", "-i", "other", "--resume-from", "a.h5"),
        3, ARGUMENTS("slice 0 has other pixels than the one that a.h5 was computed from"));
    ts_compare_program_run(
        ARGUMENTS("phantom", "head", "-o", "fewer", "--size", "48", "--slices", "5"));
    ts_compare_program_expect(
        ARGUMENTS("run", BEFORE "box radius=2 | hdf5 b.h5", "-i", "fewer", "--resume-from", "a.h5"),
        2, ARGUMENTS("cannot start from a.h5: input: "));
    ts_compare_program_run(ARGUMENTS(
        "run",
        "dicom study | gaussian sigma=1 | save name=g | box radius=2 | hdf5 half.h5 dtype=f16"));
    ts_compare_program_expect(
        ARGUMENTS("run", "dicom study | gaussian sigma=1 | save name=g | box radius=3 | hdf5 b.h5",
                  "--resume-from", "half.h5"),
        2, ARGUMENTS("is stored as f16, which rounds its values"));
}

/* A slice in the middle of a file of the input changes, and nothing else does. */
Test(resume, finds_one_changed_pixel)
{
    char names[4096], file[300];
    struct stat found;
    char path[512];
    snprintf(path, sizeof path, "%s/study", ts_compare_program.folder);
    ts_program_folder_list(path, names, sizeof names);
    snprintf(file, sizeof file, "study/%.200s", strtok(names, " "));
    path_of(path, file);
    cr_assert_eq(stat(path, &found), 0, "%s", path);
    flip(file, found.st_size - 1000);
    ts_compare_program_expect(
        ARGUMENTS("run", BEFORE "box radius=2 | hdf5 b.h5", "--resume-from", "a.h5"), 3,
        ARGUMENTS("has other pixels than the one that a.h5 was computed from"));
    ts_compare_program_expect(
        ARGUMENTS("run",
                  "dicom study | median radius=1 | save name=smooth | box radius=2 input=input | "
                  "hdf5 b.h5",
                  "--resume-from", "a.h5"),
        3, ARGUMENTS("has other pixels than the one that a.h5 was computed from"));
}

/* The same pixels with another Pixel Padding Value are other measured values. */
Test(resume, finds_another_padding)
{
    static const char head[] =
        "\x28\0\x20\1SS\2"; /* and the zero behind it: tag, type and length */
    char names[4096], path[512], bytes[4096];
    ts_compare_program_run(ARGUMENTS(
        "run",
        "dicom study | threshold above=0 name=m | apply_mask input=input mask=m | dicom padded"));
    ts_compare_program_run(
        ARGUMENTS("run", "dicom padded | median radius=1 | save name=smooth | hdf5 p.h5"));
    path_of(path, "padded");
    ts_program_folder_list(path, names, sizeof names);
    for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
        char file[512], of[300];
        snprintf(of, sizeof of, "padded/%.200s", name);
        path_of(file, of);
        FILE *stream = fopen(file, "r+b");
        const size_t n = stream ? fread(bytes, 1, sizeof bytes, stream) : 0;
        const char *found = memmem(bytes, n, head, sizeof head);
        cr_assert(found && fseek(stream, found - bytes + (long)sizeof head, SEEK_SET) == 0);
        cr_assert(fputc(5, stream) == 5 && fclose(stream) == 0);
    }
    ts_compare_program_expect(
        ARGUMENTS("run",
                  "dicom padded | median radius=1 | save name=smooth | box radius=1 | hdf5 q.h5",
                  "--resume-from", "p.h5"),
        3, ARGUMENTS("it has another number of padding pixels than the one that p.h5 was"));
}

Test(resume, refuses_a_damaged_result)
{
    struct stat found;
    char path[512];
    path_of(path, "a.h5");
    cr_assert_eq(stat(path, &found), 0);
    for (off_t at = found.st_size / 7; at < found.st_size; at += found.st_size / 7) {
        flip("a.h5", at);
        ts_compare_program_expect(
            ARGUMENTS("run", BEFORE "box radius=2 | hdf5 b.h5", "--resume-from", "a.h5"), 3,
            ARGUMENTS("a.h5"));
        flip("a.h5", at);
    }
    cr_assert_eq(truncate(path, found.st_size - 100), 0);
    ts_compare_program_expect(
        ARGUMENTS("run", BEFORE "box radius=2 | hdf5 b.h5", "--resume-from", "a.h5"), 3,
        ARGUMENTS("a.h5"));
    ts_compare_program_expect(
        ARGUMENTS("run", BEFORE "box radius=2 | hdf5 b.h5", "--resume-from", "none.h5"), 3,
        ARGUMENTS("none.h5"));
    ts_compare_program_expect(
        ARGUMENTS("run", BEFORE "box radius=2 | hdf5 b.h5", "--resume-from", "study"), 3,
        ARGUMENTS("study"));
}
