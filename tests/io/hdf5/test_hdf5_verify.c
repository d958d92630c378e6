/* SPDX-License-Identifier: Apache-2.0
 *
 * `verify` finds every changed, missing and added byte of a result, also after edits that keep
 * HDF5's own checksums right, and knows the digests of older files.
 */
#define H5_USE_110_API
#include <criterion/criterion.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/image.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/hdf5/hdf5_write.h"
#include "tests/files/output_fixture.h"
#include "tests/support/support.h"

static char folder[256], path[300];
static struct ts_diag *diag;
static struct hdf5_proof proof;

static void set_up(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/out.h5", folder);
    diag = ts_diag_create();
}

static void tear_down(void)
{
    ts_diag_destroy(diag);
    ts_test_remove_folder(folder);
}

TestSuite(hdf5_verify, .init = set_up, .fini = tear_down, .timeout = 900);

/* The result, and its size. */
static off_t write_result(void)
{
    struct output_content content = ts_test_content(5, 47, 51);
    const struct hdf5_options options = {.level = 1, .threads = 2, .force = true};
    struct stat status;
    cr_assert_eq(ts_test_write_output(path, &options, &content, 2, diag), TS_OK);
    ts_test_content_clear(&content);
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(ts_hdf5_verify(NULL, path, &proof, diag), TS_OK, "%s",
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    return status.st_size;
}

static void expect_damage(const char *text)
{
    ts_diag_clear(diag);
    cr_assert_eq(ts_hdf5_verify(NULL, path, &proof, diag), TS_BAD_INPUT, "%s was not found", text);
    cr_assert(ts_test_has_text(diag, text), "'%s' is not in '%s'", text,
              ts_diag_get(diag, 0)->message);
}

static void overwrite(off_t at, const void *data, size_t bytes)
{
    const int fd = open(path, O_WRONLY);
    cr_assert_eq(pwrite(fd, data, bytes, at), (ssize_t)bytes);
    close(fd);
}

Test(hdf5_verify, says_what_it_proved)
{
    (void)write_result();
    cr_assert_eq(proof.version, 3);
    cr_assert_gt(proof.datasets, 8);
    cr_assert_gt(proof.attributes, proof.datasets);
    cr_assert_gt(proof.value_bytes, 5 * 47 * 51 * 2);
}

/* Heaps, B-trees of names and attributes, and free-space managers are where a damaged byte makes
 * the library crash. */
Test(hdf5_verify, results_have_no_structures_that_break)
{
    static const char *const signatures[] = {"FRHP", "FHDB", "FHIB", "BTHD", "BTIN",
                                             "BTLF", "FSHD", "FSSE", "SMTB", "SMLI",
                                             "HEAP", "GCOL", "TREE", "SNOD"};
    const struct hdf5_options options = {.level = 1, .threads = 1, .force = true};
    struct hdf5_writer *writer;
    size_t bytes;
    cr_assert_eq(ts_hdf5_create(path, &options, &writer, diag), TS_OK);
    cr_assert_eq(ts_hdf5_group(writer, "/entry", "NXentry"), TS_OK);
    for (int i = 0; i < 300; i++) { /* many children, and many attributes of one object */
        char name[64], text[200];
        snprintf(name, sizeof name, "/entry/child_with_a_long_name_%d", i);
        memset(text, 'a' + i % 26, sizeof text);
        text[sizeof text - 1] = '\0';
        cr_assert_eq(i % 2 ? ts_hdf5_text(writer, name, text)
                           : ts_hdf5_group(writer, name, "NXcollection"),
                     TS_OK);
        snprintf(name, sizeof name, "/entry@attribute_%d", i);
        cr_assert_eq(ts_hdf5_text(writer, name, text), TS_OK);
    }
    cr_assert_eq(ts_hdf5_commit(writer), TS_OK);
    cr_assert_eq(ts_hdf5_verify(NULL, path, &proof, diag), TS_OK);
    cr_assert_eq(proof.datasets, 150);
    unsigned char *data = ts_test_read_file(path, &bytes);
    for (size_t i = 0; i < sizeof signatures / sizeof *signatures; i++)
        cr_assert_null(memmem(data, bytes, signatures[i], 4), "%s", signatures[i]);
    cr_assert_not_null(memmem(data, bytes, "OCHK", 4), "the search finds what is there");
    free(data);
}

Test(hdf5_verify, every_byte_of_the_end_counts)
{
    const off_t size = write_result();
    for (off_t at = size - 200; at < size; at++)
        for (int bit = 0; bit < 8; bit += at >= size - TRAILER_BYTES ? 1 : 7) {
            unsigned char byte, flipped;
            const int fd = open(path, O_RDONLY);
            cr_assert_eq(pread(fd, &byte, 1, at), 1);
            close(fd);
            flipped = byte ^ (unsigned char)(1 << bit);
            overwrite(at, &flipped, 1);
            expect_damage(path);
            overwrite(at, &byte, 1);
        }
    cr_assert_eq(ts_hdf5_verify(NULL, path, &proof, diag), TS_OK);
}

Test(hdf5_verify, what_is_cut_or_added_is_found)
{
    const off_t size = write_result();
    static const char more[100];
    for (size_t n = 1; n <= sizeof more; n += 33) {
        overwrite(size, more, n);
        expect_damage("does not end with its trailer");
        cr_assert_eq(truncate(path, size), 0);
    }
    for (off_t cut = 1; cut < 64; cut += 31) {
        cr_assert_eq(truncate(path, size - cut), 0);
        expect_damage("does not end with its trailer");
    }
    cr_assert_eq(truncate(path, size - TRAILER_BYTES), 0);
    expect_damage("does not end with its trailer");
    for (off_t left = size - TRAILER_BYTES - 1; left > 0; left -= size / 7) {
        cr_assert_eq(truncate(path, left), 0);
        expect_damage(path);
    }
}

/* The library keeps its checksums right; the trailer is put back, so that only the root's digest
 * can tell. */
static void edit(void (*change)(hid_t file))
{
    struct stat status;
    unsigned char sum[DIGEST_SUM_BYTES];
    size_t bytes;
    (void)write_result();
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    cr_assert_geq(file, 0);
    change(file);
    cr_assert_geq(H5Fclose(file), 0);
    expect_damage(path); /* the trailer is gone */
    unsigned char *data = ts_test_read_file(path, &bytes);
    struct digest_tree *tree = ts_digest_tree_create(bytes);
    cr_assert(ts_digest_tree_add(tree, 0, data, bytes) && ts_digest_tree_end(tree, sum));
    const int fd = open(path, O_RDWR);
    cr_assert(fstat(fd, &status) == 0 && ts_hdf5_trailer_write(fd, bytes, sum));
    close(fd);
    ts_digest_tree_destroy(tree);
    free(data);
}

static void edit_attribute(hid_t file)
{
    const hid_t dataset = H5Dopen2(file, "/entry/data/data", H5P_DEFAULT),
                attribute = H5Aopen(dataset, "units", H5P_DEFAULT), type = H5Aget_type(attribute);
    cr_assert_geq(H5Awrite(attribute, type, "mm"), 0);
    H5Tclose(type);
    H5Aclose(attribute);
    H5Dclose(dataset);
}

static void add_group(hid_t file)
{
    H5Gclose(H5Gcreate2(file, "/entry/more", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
}

static void add_soft_link(hid_t file)
{
    cr_assert_geq(H5Lcreate_soft("/entry/data", file, "/entry/soft", H5P_DEFAULT, H5P_DEFAULT), 0);
}

static void add_hard_link(hid_t file)
{
    cr_assert_geq(
        H5Lcreate_hard(file, "/entry/data/data", file, "/entry/again", H5P_DEFAULT, H5P_DEFAULT),
        0);
}

static void rename_dataset(hid_t file)
{
    cr_assert_geq(H5Lmove(file, "/entry/data/x", file, "/entry/data/w", H5P_DEFAULT, H5P_DEFAULT),
                  0);
}

Test(hdf5_verify, edits_of_attributes_links_and_names_are_found)
{
    void (*const edits[])(hid_t) = {edit_attribute, add_group, add_soft_link, add_hard_link,
                                    rename_dataset};
    for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
        edit(edits[i]);
        expect_damage("has a digest that does not fit its attributes, links and structure");
    }
}

/* ---- version 1 ------------------------------------------------------------------------------- */

static void put_text(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    H5Tset_size(type, strlen(text));
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert_geq(H5Awrite(attribute, type, text), 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

enum { OLD_ROWS = 40, OLD_COLUMNS = 100000 }; /* one chunk of this program */

/* A dataset as the first version wrote it: fletcher32 alone, or a contiguous one. */
static void put_old(hid_t file, const char *name, bool chunked, const unsigned char *values,
                    char *lines)
{
    const hsize_t n[2] = {OLD_ROWS, OLD_COLUMNS}, chunk[2] = {OLD_ROWS, OLD_COLUMNS};
    char digest[DIGEST_TEXT_BYTES];
    const hid_t list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(2, n, NULL);
    if (chunked)
        cr_assert(H5Pset_chunk(list, 2, chunk) >= 0 && H5Pset_fletcher32(list) >= 0);
    const hid_t dataset =
        H5Dcreate2(file, name, H5T_STD_U8LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert_geq(H5Dwrite(dataset, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
    cr_assert(ts_digest_of(values, (size_t)OLD_ROWS * OLD_COLUMNS, digest));
    put_text(dataset, "sha256", digest);
    sprintf(lines + strlen(lines), "%s %s\n", name, digest);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(list);
}

Test(hdf5_verify, older_files_still_verify)
{
    unsigned char *values = malloc((size_t)OLD_ROWS * OLD_COLUMNS);
    uint64_t seed = 3;
    char lines[1000] = "", digest[DIGEST_TEXT_BYTES];
    const int32_t one = 1;
    for (size_t i = 0; i < (size_t)OLD_ROWS * OLD_COLUMNS; i++)
        values[i] = (unsigned char)(ts_random_next(&seed) >> 20);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                space = H5Screate(H5S_SCALAR);
    put_old(file, "/chunked", true, values, lines);
    put_old(file, "/plain", false, values, lines);
    cr_assert(ts_digest_of(lines, strlen(lines), digest));
    put_text(file, "digest", digest);
    const hid_t complete =
        H5Acreate2(file, "complete", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(complete, H5T_NATIVE_INT32, &one);
    H5Aclose(complete);
    H5Sclose(space);
    H5Fclose(file);
    cr_assert_eq(ts_hdf5_verify(NULL, path, &proof, diag), TS_OK, "%s",
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    cr_assert_eq(proof.version, 1);
    cr_assert_eq(proof.datasets, 2);
    size_t bytes;
    unsigned char *data = ts_test_read_file(path, &bytes);
    for (int i = 0; i < 2; i++) {
        const unsigned char *found = memmem(data, bytes, values + 1000 * 1000, 32);
        cr_assert_not_null(found);
        const off_t at = found - data;
        const unsigned char flipped = *found ^ 1;
        overwrite(at, &flipped, 1);
        expect_damage(i == 0 ? "/chunked cannot be checked: the chunk at slice 0 is damaged"
                             : "/plain has other values than were written");
        overwrite(at, found, 1);
        memset(data + at, 0, 32); /* so that the search finds the other dataset */
        overwrite(at, values + 1000 * 1000, 32);
    }
    cr_assert_eq(ts_hdf5_verify(NULL, path, &proof, diag), TS_OK);
    free(data);
    free(values);
}

/* A path that leads to no file is an error at once. */
Test(hdf5_verify, what_is_no_file_is_refused_at_once)
{
    cr_assert_eq(mkfifo(path, 0600), 0);
    const time_t start = time(NULL);
    expect_damage("FIFO");
    cr_assert_leq(time(NULL) - start, 2);
    snprintf(path, sizeof path, "/dev/zero");
    expect_damage("device");
    snprintf(path, sizeof path, "%s", folder);
    expect_damage("folder");
    snprintf(path, sizeof path, "%s/out.h5", folder);
}
