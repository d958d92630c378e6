/* SPDX-License-Identifier: Apache-2.0
 *
 * A page that is lost from a folder of TIFF files is never passed over in silence.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/scan/tiff.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/files/tiff_fixture.h"

#define SLICES "pages: slices, pixel_size: 0.5, spacing_z: 2"
#define VIEWS "pages: views, pixel_size: 0.5, "

enum { FILES = 6 };

struct stack {
    char folder[256], path[300];
};

static const char *path_of(struct stack *stack, const char *name)
{
    snprintf(stack->path, sizeof stack->path, "%s/%s", stack->folder, name);
    return stack->path;
}

/* Pages p1.tif to p6.tif. */
static struct stack begin(void)
{
    struct stack stack;
    ts_test_folder_in_memory(stack.folder, sizeof stack.folder);
    for (int i = 0; i < FILES; i++) {
        struct tiff_writing page = ts_tiff_plain;
        char name[16];
        page.n_pages = 1;
        page.first_page = i;
        snprintf(name, sizeof name, "p%d.tif", i + 1);
        ts_tiff_write(path_of(&stack, name), &page);
    }
    return stack;
}

static void expect_attribute(const struct source *source, const char *name, const char *value)
{
    const char *found = "";
    for (size_t i = 0; i < source->n_attributes; i++)
        if (!strcmp(source->attributes[i].name, name))
            found = source->attributes[i].value;
    cr_expect_str_eq(found, value);
}

static void expect_slices(const struct stack *stack, const char *rest, int64_t n,
                          const char *skipped, const char *code)
{
    struct ts_diag *diag = ts_diag_create();
    struct source *source = NULL;
    cr_assert_eq(ts_tiff_chain_open(rest, stack->folder, &source, diag), TS_OK);
    cr_expect_eq(source->n_slices, n);
    expect_attribute(source, "files_skipped", skipped);
    if (code)
        ts_test_expect_warning(diag, code, "");
    else
        cr_expect_eq(ts_diag_count(diag), 0);
    source->ops->close(source);
    ts_diag_destroy(diag);
}

Test(tiff_lost, links_to_files_are_followed_and_broken_ones_refuse)
{
    struct stack stack = begin();
    cr_assert_eq(mkdir(path_of(&stack, "kept"), 0755), 0);
    char kept[300];
    snprintf(kept, sizeof kept, "%s/kept/6", stack.folder);
    cr_assert_eq(rename(path_of(&stack, "p6.tif"), kept), 0);
    cr_assert_eq(symlink("kept/6", stack.path), 0);
    expect_slices(&stack, SLICES, FILES, "", "files-passed-over"); /* of the folder `kept` */
    cr_assert_eq(unlink(kept), 0);
    ts_tiff_refused(SLICES, stack.folder, "input-unreadable",
                    "p6.tif, a link to kept/6: No such file or directory");
    expect_slices(&stack, SLICES ", unreadable: skip", FILES - 1, "1", "slice-unreadable");
    ts_test_remove_folder(stack.folder);
}

Test(tiff_lost, empty_and_damaged_files_refuse)
{
    for (int kind = 0; kind < 3; kind++) {
        struct stack stack = begin();
        const int fd = open(path_of(&stack, "p6.tif"), O_RDWR);
        cr_assert(fd >= 0);
        if (kind == 2)
            cr_assert_eq(pwrite(fd, "XX", 2, 0), 2);
        else
            cr_assert_eq(ftruncate(fd, kind == 0 ? 0 : 6), 0);
        close(fd);
        ts_tiff_refused(SLICES, stack.folder, "tiff-unreadable",
                        "p6.tif: not a TIFF file that can be read");
        expect_slices(&stack, SLICES ", unreadable: skip", FILES - 1, "1", "slice-unreadable");
        /* Views that divide a range would all have other angles. */
        ts_tiff_refused(VIEWS "angle_start: 0, angle_stop: 180, unreadable: skip", stack.folder,
                        "page-missing", "1 file was skipped");
        expect_slices(&stack,
                      VIEWS "angle_start: 0, angle_stop: 180, unreadable: skip, gaps: accept", 23,
                      "1", "slice-unreadable");
        ts_test_remove_folder(stack.folder);
    }
}

Test(tiff_lost, a_number_that_is_missing_among_slices_is_warned_of)
{
    struct stack stack = begin();
    expect_slices(&stack, SLICES, FILES, "", NULL);
    cr_assert_eq(unlink(path_of(&stack, "p3.tif")), 0);
    expect_slices(&stack, SLICES, FILES - 1, "", "page-missing");
    ts_fixture_write_bytes(path_of(&stack, "p3"), "", 0);
    struct ts_diag *diag = ts_diag_create();
    struct source *source = NULL;
    cr_assert_eq(ts_tiff_chain_open(SLICES, stack.folder, &source, diag), TS_OK);
    cr_expect_str_eq(ts_diag_get(diag, 0)->message, "1 name passed over: not TIFF (p3)");
    expect_attribute(source, "files_passed_over", "1");
    expect_attribute(source, "warnings", "numbers are missing among the names of the files");
    source->ops->close(source);
    ts_diag_destroy(diag);
    ts_test_remove_folder(stack.folder);
}

/* Something else than a file stands where one was, under its name, or nearly. */
Test(tiff_lost, what_is_no_file_refuses)
{
    static const char *const codes[] = {"input-unreadable", "input-unreadable", "input-unreadable",
                                        "tiff-unreadable"};
    for (int kind = 0; kind < 4; kind++) {
        char part[300];
        struct stack stack = begin();
        snprintf(part, sizeof part, "%s/p6.tif.part", stack.folder);
        const char *path = path_of(&stack, "p6.tif");
        cr_assert_eq(kind == 3 ? rename(path, part) : unlink(path), 0);
        cr_assert_eq(kind == 0   ? mkdir(path, 0755)
                     : kind == 1 ? mkfifo(path, 0600)
                     : kind == 2 ? symlink("/dev/null", path)
                                 : 0,
                     0);
        ts_tiff_refused(SLICES, stack.folder, codes[kind], "p6.tif");
        expect_slices(&stack, SLICES ", unreadable: skip", FILES - 1, "1", "slice-unreadable");
        ts_test_remove_folder(stack.folder);
    }
    struct stack stack = begin();
    ts_fixture_write_bytes(path_of(&stack, "p6.tif.xml"), "<a/>", 4); /* beside its file */
    expect_slices(&stack, SLICES, FILES, "", "files-passed-over");
    ts_test_remove_folder(stack.folder);
}

Test(tiff_lost, two_names_of_a_file_and_late_numbers_are_warned_of)
{
    struct stack stack = begin();
    cr_assert_eq(unlink(path_of(&stack, "p6.tif")), 0);
    cr_assert_eq(symlink("p5.tif", stack.path), 0);
    expect_slices(&stack, SLICES, FILES, "", "same-file");
    cr_assert_eq(unlink(stack.path), 0);
    cr_assert_eq(unlink(path_of(&stack, "p1.tif")), 0);
    expect_slices(&stack, SLICES, FILES - 2, "", "page-missing");
    ts_test_remove_folder(stack.folder);
}
