/* SPDX-License-Identifier: Apache-2.0
 *
 * `info` describes HDF5 files: own ones, foreign ones, and such as would lead a reader astray.
 */
#define H5_USE_110_API
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "io/hdf5/hdf5_list.h"
#include "io/hdf5/hdf5_session.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/scan/hdf5_info.h"
#include "tests/files/output_fixture.h"

static char *info_of(const char *path, bool json, bool names, enum ts_status expected,
                     struct ts_diag *diag)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    cr_assert_eq(ts_hdf5_info(path, json, names, stream, diag), expected, "%s",
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    fclose(stream);
    return text;
}

static char *info(const char *path, bool json, enum ts_status expected, struct ts_diag *diag)
{
    return info_of(path, json, true, expected, diag);
}

static void expect_parts(const char *text, const char *const *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cr_assert_not_null(strstr(text, parts[i]), "no '%s' in:\n%s", parts[i], text);
}

#define EXPECT_PARTS(text, ...)                                                                    \
    do {                                                                                           \
        const char *const parts[] = {__VA_ARGS__};                                                 \
        expect_parts(text, parts, sizeof parts / sizeof *parts);                                   \
    } while (0)

static void add_text(hid_t group, const char *name, const char *value)
{
    const hid_t text = H5Tcopy(H5T_C_S1), scalar = H5Screate(H5S_SCALAR);
    H5Tset_size(text, strlen(value) + 1);
    const hid_t dataset =
        H5Dcreate2(group, name, text, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Dwrite(dataset, text, H5S_ALL, H5S_ALL, H5P_DEFAULT, value);
    H5Dclose(dataset);
    H5Sclose(scalar);
    H5Tclose(text);
}

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
                 "/entry/data/data  i16  5 x 47 x 51  HU  hu  chunked 5 x 47 x 51, ",
                 "shuffle, deflate 6, fletcher32", "/entry/title  text[6]  = a test",
                 "How it was made:", "  17  tomostage", "matrix: [1, 2, 3, 4, 5, null]",
                 "texts: [one, , three]", "/entry/process/large  another name of an object above");
    free(text);
    text = info(path, true, TS_OK, diag);
    EXPECT_PARTS(text, "\"state\": \"complete, all digests right\"",
                 "\"path\": \"/entry/data/data\"", "\"shape\": [5, 47, 51]", "\"units\": \"HU\"",
                 "\"sequence_index\": 17", "\"program\": \"tomostage\"",
                 "\"matrix\": [1, 2, 3, 4, 5, null]", "\"texts\": \"[one, , three]\"",
                 "\"empty\": \"\"");
    free(text);
    cr_assert_eq(ts_diag_count(diag), 0);
    text = info_of(path, false, false, TS_OK, diag);
    EXPECT_PARTS(text, "/entry/title  text[6]  = a test", "texts: [one, , three]");
    free(text);
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    add_text(file, "sample_name", "DOE^JANE");
    H5Fclose(file);
    text = info_of(path, false, false, TS_BAD_INPUT, diag);
    EXPECT_PARTS(text, "damaged or not complete", "/sample_name  text[9]  ",
                 "matrix: [1, 2, 3, 4, 5, null]");
    cr_expect_null(strstr(text, "DOE^JANE"), "%s", text);
    free(text);
    ts_test_content_clear(&content);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

static void add_foreign_datasets(hid_t file)
{
    hsize_t n[2] = {4, 6};
    hid_t space = H5Screate_simple(2, n, NULL), scalar = H5Screate(H5S_SCALAR),
          text = H5Tcopy(H5T_C_S1);
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
    H5Lcreate_soft("/\xC2\x9B"
                   "2J\x1B[2J",
                   group, "trap", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external("other.h5", "/data", group, "outside", H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(group);
    H5Fclose(file);
    char *text = info(path, false, TS_BAD_INPUT, diag);
    cr_assert(ts_test_has_code(diag, "hdf5-no-input")); /* nothing in it has three axes */
    EXPECT_PARTS(text, "not a file of this program",
                 "/elsewhere  f64  4 x 6  external: its values lie in other files",
                 "/virtual  f64  4 x 6  virtual: its values lie in other files",
                 "/big  u16be  4 x 6  contiguous", "/note  text  mm  = two\\x0Alines",
                 "/group/soft  soft link, not followed to /no\\x01where",
                 "/group/trap  soft link, not followed to /\\xC2\\x9B2J\\x1B[2J",
                 "/group/outside  external link, not followed", "/group/itself  another name",
                 "/group/root  another name");
    free(text);
    text = info(path, true, TS_BAD_INPUT, diag);
    EXPECT_PARTS(text, "\"value\": \"two\\nlines \\\"quoted\\\"\"", "\"kind\": \"external-link\"",
                 "\"target\": \"/no\\u0001where\"", "\"target\": \"/\\u009b2J\\u001b[2J\"");
    free(text);
    cr_assert_eq(ts_hdf5_verify(NULL, path, NULL, diag), TS_BAD_INPUT);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

/* Adds a process of one parameter to a file, and returns its group. */
static hid_t add_process(hid_t file)
{
    const hid_t process = H5Gcreate2(file, "process", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t text = H5Tcopy(H5T_C_S1), scalar = H5Screate(H5S_SCALAR);
    H5Tset_size(text, 9);
    const hid_t class = H5Acreate2(process, "NX_class", text, scalar, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(class, text, "NXprocess");
    H5Aclose(class);
    H5Dclose(
        H5Dcreate2(process, "sigma", H5T_STD_I16LE, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(scalar);
    H5Tclose(text);
    return process;
}

/* The names of users and samples say whose scan it is, and so do the paths that a process was
 * given. */
Test(hdf5_info, texts_of_other_programs_need_names)
{
    struct ts_diag *diag = ts_diag_create();
    char folder[256], path[300];
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/foreign.h5", folder);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t process = add_process(file);
    add_text(process, "sequence_index", "1");
    add_text(process, "raw", "/data/DOE^JANE/scan.h5");
    add_text(file, "sample_name", "DOE^JANE");
    H5Gclose(process);
    H5Fclose(file);
    for (int i = 0; i < 4; i++) {
        const bool json = i % 2, names = i / 2;
        char *shown = info_of(path, json, names, TS_BAD_INPUT, diag);
        EXPECT_PARTS(shown, "sample_name", "sigma");
        cr_expect_eq(strstr(shown, "/sample_name  text[9]  = DOE^JANE") != NULL, names && !json,
                     "%s", shown);
        cr_expect_eq(strstr(shown, "DOE^JANE") != NULL, names, "%s", shown);
        cr_expect_eq(strstr(shown, "DOE^JANE/scan.h5") != NULL, names, "%s", shown);
        free(shown);
    }
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

/* A file of one dataset, two links and a process with a parameter, as the child lists it. */
static void *list(const char *path, size_t *bytes, struct ts_diag *diag)
{
    struct hdf5_session *session;
    void *answer;
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(add_process(file));
    add_foreign_datasets(file);
    H5Fclose(file);
    cr_assert_eq(
        ts_hdf5_session_open(&(struct hdf5_session_options){.path = path}, &session, NULL, diag),
        TS_OK);
    cr_assert_eq(ts_hdf5_session_call(session, ts_hdf5_task_list, NULL, 0, &answer, bytes, diag),
                 TS_OK);
    ts_hdf5_session_end(session);
    return answer;
}

static enum ts_status take(const char *answer, size_t bytes, bool *whole)
{
    struct hdf5_listing listing = {.arena = ts_arena_create()};
    const enum ts_status status = ts_hdf5_list_take(answer, bytes, &listing, whole);
    size_t read = 0;
    for (const struct hdf5_listed *entry = listing.objects; entry; entry = entry->next)
        read += strlen(entry->path) + (size_t)entry->rank +
                (entry->kind == HDF5_DATASET ? strlen(entry->storage) : 0);
    for (const struct hdf5_process *process = listing.processes; process; process = process->next)
        for (const struct hdf5_member *member = process->parameters; member; member = member->next)
            read += strlen(member->name) + strlen(member->value);
    cr_assert_leq(read, bytes * H5S_MAX_RANK);
    ts_arena_destroy(listing.arena);
    return status;
}

Test(hdf5_info, listings_that_lie_are_not_believed)
{
    struct ts_diag *diag = ts_diag_create();
    char folder[256], path[300];
    size_t bytes;
    bool whole;
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/a.h5", folder);
    char *answer = list(path, &bytes, diag);
    cr_assert(take(answer, bytes, &whole) == TS_OK && whole);
    cr_assert_eq(take(answer, bytes - 1, &whole), TS_BAD_INPUT);
    for (size_t i = 0; i < bytes; i++) {
        char *copy = malloc(bytes); /* of its own, so that a sanitizer sees where it ends */
        memcpy(copy, answer, bytes);
        const char right = copy[i];
        for (int k = 0; k < 4; k++) {
            copy[i] = "\x00\x01\x7F\xFF"[k];
            (void)take(copy, bytes, &whole);
        }
        copy[i] = right;
        copy = realloc(copy, i + 1);
        (void)take(copy, i + 1, &whole);
        free(copy);
    }
    free(answer);
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
    /* A file that has the signature and is damaged is reported as such, with the library's
     * reason. */
    const char *last = ts_diag_get(diag, 3)->message;
    cr_assert(!strstr(last, "is not an HDF5 file") && !strstr(last, "gave no reason"), "%s", last);
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}
