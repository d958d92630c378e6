/* SPDX-License-Identifier: Apache-2.0
 *
 * What is said about HDF5 files: own ones, foreign ones, and such as would lead a reader astray.
 */
#define H5_USE_110_API
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5_read.h"
#include "pipeline/image.h"
#include "tests/support/output_fixture.h"

static char *info(const char *path, bool json, enum ts_status expected, struct ts_diag *diag)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(ts_hdf5_info(path, json, stream, diag), expected, "%s",
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    fclose(stream);
    return text;
}

static void expect_parts(const char *text, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_not_null(strstr(text, parts[i]), "no '%s' in:\n%s", parts[i], text);
}

#define EXPECT_PARTS(text, ...)                                                                                        \
    do {                                                                                                               \
        const char *const parts[] = {__VA_ARGS__};                                                                     \
        expect_parts(text, parts, sizeof parts / sizeof *parts);                                                       \
    } while (0)

Test(hdf5_info, own_files)
{
    struct output_content content = ts_test_content(5, 47, 51);
    struct ts_diag *diag = ts_diag_create();
    struct hdf5_options options = {.level = 6, .threads = 1};
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    cr_assert_eq(ts_test_write_output(path, &options, &content, 2, diag), TS_OK);
    char *text = info(path, false, TS_OK, diag);
    EXPECT_PARTS(text, "complete, all digests right",
                 "/entry/data/data  i16  5 x 47 x 51  HU  hu  chunked 5 x 47 x 51, ", "shuffle, deflate 6, fletcher32",
                 "/entry/title  text[6]  = a test", "How it was made:", "  17  tomostage",
                 "matrix: [1, 2, 3, 4, 5, null]", "texts: [one, , three]",
                 "/entry/process/large  another name of an object above");
    free(text);
    text = info(path, true, TS_OK, diag);
    EXPECT_PARTS(text, "\"state\": \"complete, all digests right\"", "\"path\": \"/entry/data/data\"",
                 "\"shape\": [5, 47, 51]", "\"units\": \"HU\"", "\"sequence_index\": 17", "\"program\": \"tomostage\"",
                 "\"matrix\": [1, 2, 3, 4, 5, null]", "\"texts\": \"[one, , three]\"", "\"empty\": \"\"");
    free(text);
    cr_assert_eq(ts_diag_count(diag), 0);
    ts_test_content_clear(&content);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

static void add_foreign_datasets(hid_t file)
{
    hsize_t n[2] = {4, 6};
    hid_t space = H5Screate_simple(2, n, NULL), scalar = H5Screate(H5S_SCALAR), text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, H5T_VARIABLE);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(list, "/etc/passwd", 0, 24 * 8);
    H5Dclose(H5Dcreate2(file, "elsewhere", H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_virtual(list, space, "/etc/passwd", "/data", space);
    H5Dclose(H5Dcreate2(file, "virtual", H5T_IEEE_F64LE, space, H5P_DEFAULT, list, H5P_DEFAULT));
    H5Pclose(list);
    H5Dclose(H5Dcreate2(file, "big", H5T_STD_U16BE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    hid_t dataset = H5Dcreate2(file, "note", text, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const char *note = "two\nlines \"quoted\"";
    H5Dwrite(dataset, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, &note);
    hid_t attribute = H5Acreate2(dataset, "units", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
    const char *unit = "mm";
    H5Awrite(attribute, text, &unit);
    H5Aclose(attribute);
    H5Dclose(dataset);
    H5Tclose(text);
    H5Sclose(scalar);
    H5Sclose(space);
}

Test(hdf5_info, foreign_files_are_listed_and_nothing_is_followed)
{
    struct ts_diag *diag = ts_diag_create();
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/foreign.h5", folder);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    add_foreign_datasets(file);
    hid_t group = H5Gcreate2(file, "group", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file, "/group", group, "itself", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_hard(file, "/", group, "root", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/no\x01where", group, "soft", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/data", group, "outside", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
    H5Fclose(file);
    char *text = info(path, false, TS_OK, diag);
    EXPECT_PARTS(text, "not a file of this program", "/elsewhere  f64  4 x 6  external: its values lie in other files",
                 "/virtual  f64  4 x 6  virtual: its values lie in other files", "/big  u16be  4 x 6  contiguous",
                 "/note  text  mm  = two\\x0Alines", "/group/soft  soft link, not followed to /no\\x01where",
                 "/group/outside  external link, not followed", "/group/itself  another name",
                 "/group/root  another name");
    free(text);
    text = info(path, true, TS_OK, diag);
    EXPECT_PARTS(text, "\"value\": \"two\\nlines \\\"quoted\\\"\"", "\"kind\": \"external-link\"",
                 "\"target\": \"/no\\u0001where\"");
    free(text);
    cr_assert_eq(ts_hdf5_verify(path, diag), TS_BAD_INPUT);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

Test(hdf5_info, deep_and_wide_files_end)
{
    struct ts_diag *diag = ts_diag_create();
    char folder[256], path[300], name[32];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/deep.h5", folder);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), group = file;
    for (int depth = 0; depth < 300; depth++) {
        hid_t inner = H5Gcreate2(group, "g", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        if (group != file)
            H5Gclose(group);
        group = inner;
    }
    H5Gclose(group);
    H5Fclose(file);
    free(info(path, false, TS_OK, diag));
    cr_assert(ts_test_has_code(diag, "hdf5-large"));
    ts_diag_clear(diag);
    file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    for (int i = 0; i < 10100; i++) {
        snprintf(name, sizeof name, "link%d", i);
        H5Lcreate_soft("/nowhere", file, name, H5P_DEFAULT, H5P_DEFAULT);
    }
    H5Fclose(file);
    free(info(path, true, TS_OK, diag));
    cr_assert(ts_test_has_code(diag, "hdf5-large"));
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

Test(hdf5_info, what_is_no_hdf5_file_is_refused)
{
    struct ts_diag *diag = ts_diag_create();
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    free(info(folder, false, TS_BAD_INPUT, diag));
    snprintf(path, sizeof path, "%s/text.h5", folder);
    free(info(path, false, TS_BAD_INPUT, diag));
    FILE *stream = fopen(path, "w");
    fputs("nothing of the kind", stream);
    fclose(stream);
    free(info(path, false, TS_BAD_INPUT, diag));
    cr_assert(ts_test_has_text(diag, "is not an HDF5 file"));
    stream = fopen(path, "w");
    fputs("\x89HDF\r\n\x1a\n and then nothing of the kind", stream);
    fclose(stream);
    free(info(path, false, TS_BAD_INPUT, diag));
    cr_assert_eq(ts_diag_error_count(diag), 4);
    /* What has the signature and is damaged is told apart, with the library's reason. */
    const char *last = ts_diag_get(diag, 3)->message;
    cr_assert(!strstr(last, "is not an HDF5 file") && !strstr(last, "gave no reason"), "%s", last);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}
