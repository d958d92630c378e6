/* SPDX-License-Identifier: Apache-2.0
 *
 * Boxes of a dataset by several threads: every storage, type and order of axes gives the values
 * that libhdf5 wrote, each chunk is read once whatever the slabs, and of several damages the first
 * is reported.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/available.h"
#include "io/file/digest.h"
#include "io/source/read_ahead.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/support/skip.h"
#include "tests/support/support.h"

TestSuite(hdf5_stack, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

enum { N0 = 12, N1 = 23, N2 = 17, ALL = N0 * N1 * N2 };

static const int n[3] = {N0, N1, N2};
static const hsize_t shape[3] = {N0, N1, N2};

static double value(int i, int j, int k)
{
    return (i * 7 + j * 31 + k * 3) % 251;
}

/* Makes /exchange/data in the order of the file. */
static void make_file(const struct scan_storage *storage)
{
    double values[ALL];
    const hid_t file = H5Fcreate(ts_scan_file.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                group = ts_scan_file_group(file, "exchange", NULL),
                space = H5Screate_simple(3, shape, NULL), list = H5Pcreate(H5P_DATASET_CREATE);
    for (int i = 0; i < ALL; i++)
        values[i] = value(i / (N1 * N2), i / N2 % N1, i % N2);
    if (storage->chunk[0])
        H5Pset_chunk(list, 3, storage->chunk);
    if (storage->chunk[0] && storage->shuffle)
        H5Pset_shuffle(list);
    if (storage->chunk[0] && storage->deflate)
        H5Pset_deflate(list, 1);
    if (storage->chunk[0] && storage->fletcher32)
        H5Pset_fletcher32(list);
    const hid_t dataset =
        H5Dcreate2(group, "data", storage->type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert(dataset >= 0 &&
              H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Pclose(list);
    H5Sclose(space);
    H5Gclose(group);
    cr_assert(H5Fclose(file) >= 0);
}

static struct source *open_source(const int order[3])
{
    static const char *const names[] = {"z", "view", "detector"};
    const char *axes[3];
    struct hdf5_params params;
    struct source *source = NULL;
    for (int d = 0; d < 3; d++)
        axes[order[d]] = names[d];
    const struct param_set set = ts_scan_file_hdf5(&params, axes, 180);
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), TS_OK);
    return source;
}

/* Reads all in slabs, and announces the next as a run does. */
static void check_slabs(struct source *source, const int order[3], int64_t slab)
{
    const int64_t nz = source->n_slices;
    const size_t count = ts_slice_count(&source->image), size = ts_dtype_bytes(source->image.dtype);
    unsigned char *out = malloc((size_t)slab * count * size);
    double *found = malloc((size_t)slab * count * sizeof *found);
    for (int64_t z = 0; z < nz; z += slab) {
        const int64_t here = nz - z < slab ? nz - z : slab, next = z + here, left = nz - next;
        cr_assert_eq(source->ops->read(source, z, here, out, ts_scan_file.diag), TS_OK);
        if (left > 0)
            source->ops->prefetch(source, next, left < slab ? left : slab);
        ts_load_f64(found, out, source->image.dtype, (size_t)here * count);
        for (int64_t p = 0; p < here * (int64_t)count; p++) {
            int at[3];
            at[order[0]] = (int)(z + p / (int64_t)count);
            at[order[1]] = (int)(p / n[order[2]] % n[order[1]]);
            at[order[2]] = (int)(p % n[order[2]]);
            cr_assert_eq(found[p], value(at[0], at[1], at[2]), "(%d, %d, %d)", at[0], at[1], at[2]);
        }
    }
    free(out);
    free(found);
}

Test(hdf5_stack, every_storage_order_and_slab, .timeout = 900)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    static const hsize_t chunks[][3] = {{0},       {1, N1, N2}, {5, 4, N2},
                                        {5, 4, 6}, {N0, 1, N2}, {N0, N1, N2}};
    const hid_t types[] = {H5T_STD_U16LE,  H5T_STD_U8LE,   H5T_STD_I32BE,
                           H5T_IEEE_F64LE, H5T_IEEE_F32LE, H5T_STD_U16BE};
    for (int kind = 0; kind < 6 * 6 * 3; kind++) {
        const int *order = orders[kind / 6 % 6], filters = kind / 36;
        struct scan_storage storage = {.type = types[(kind + kind / 6) % 6],
                                       .shuffle = filters == 1,
                                       .deflate = filters == 1,
                                       .fletcher32 = filters == 2};
        memcpy(storage.chunk, chunks[kind % 6], sizeof storage.chunk);
        make_file(&storage);
        for (int i = 0; i < 8; i++) {
            static const int64_t slabs[] = {1, 2, 5, 64};
            struct source *source = open_source(order);
            const int64_t slab = slabs[i % 4] < source->n_slices ? slabs[i % 4] : source->n_slices;
            if (i >= 4)
                source->ops->may_hold(source, 3 * ts_slice_bytes(&source->image));
            cr_assert_eq(source->ops->start(source, 1 + (i + kind) % 4, slab, ts_scan_file.diag),
                         TS_OK);
            check_slabs(source, order, slab);
            for (int64_t z = 0; z < source->n_slices; z++)
                cr_assert_eq(strlen(source->slices[z].pixel_sha256), 64);
            source->ops->close(source);
        }
    }
}

/* Returns how many reads of any kind this process has made; -1 where the kernel does not count. */
static long count_reads(void)
{
    FILE *file = fopen("/proc/self/io", "r");
    char line[128];
    long reads = -1;
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "syscr: ", 7))
            reads = strtol(line + 7, NULL, 10);
    if (file)
        fclose(file);
    return reads;
}

/* Rows in slabs of one, frames in chunks: every chunk is fetched from the file once, and what has
 * no filter is not fetched more often than it must. */
Test(hdf5_stack, each_chunk_is_fetched_once_in_slabs_of_one_row)
{
    static const int order[3] = {1, 0, 2};
    static const struct {
        struct scan_storage storage;
        long reads; /* expected, of a pass */
    } cases[] = {{{.chunk = {1, N1, N2}, .deflate = true}, N0},
                 {{.chunk = {4, 8, N2}, .deflate = true}, 3 * 3},
                 {{.chunk = {5, 4, 6}}, 3 * 6 * 3},
                 {{.chunk = {1, N1, N2}}, N0 * N1},
                 {{.chunk = {0}}, N0 * N1}};
    char digest[DIGEST_TEXT_BYTES];
    cr_assert(ts_digest_of(
        "", 0, digest)); /* the crypto library reads files of its own when it is first used */
    cr_assert_gt(ts_processors(), 0); /* and so does this */
    const long before = count_reads(), own = count_reads() - before;
    if (before < 0)
        ts_test_skip("this kernel does not count reads");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct scan_storage storage = cases[i].storage;
        storage.type = H5T_STD_U16LE;
        make_file(&storage);
        struct source *source = open_source(order);
        cr_assert_eq(source->ops->start(source, 3, 1, ts_scan_file.diag), TS_OK);
        const long from = count_reads();
        check_slabs(source, order, 1);
        const long reads = count_reads() - from - own;
        cr_assert_eq(reads, cases[i].reads, "case %zu: %ld reads, expected %ld", i, reads,
                     cases[i].reads);
        source->ops->close(source);
    }
}

/* Every chunk but the first is damaged: the second is reported, whichever thread was faster. */
Test(hdf5_stack, the_first_damage_is_reported)
{
    static const int order[3] = {1, 0, 2};
    const struct scan_storage storage = {
        .type = H5T_STD_U16LE, .chunk = {1, N1, N2}, .fletcher32 = true};
    make_file(&storage);
    const hid_t file = H5Fopen(ts_scan_file.path, H5F_ACC_RDONLY, H5P_DEFAULT),
                dataset = H5Dopen2(file, "/exchange/data", H5P_DEFAULT);
    const int fd = open(ts_scan_file.path, O_WRONLY);
    for (hsize_t i = 1; i < N0; i++) {
        const hsize_t at[3] = {i, 0, 0};
        haddr_t offset;
        cr_assert(H5Dget_chunk_info_by_coord(dataset, at, NULL, &offset, NULL) >= 0);
        cr_assert_eq(pwrite(fd, "\xff\xee\xdd", 3, (off_t)offset), 3);
    }
    close(fd);
    H5Dclose(dataset);
    H5Fclose(file);
    for (int i = 0; i < 50; i++) {
        uint16_t out[N0 * N2];
        struct source *source = open_source(order);
        cr_assert_eq(source->ops->start(source, 1 + i % 4, 1, ts_scan_file.diag), TS_OK);
        if (i % 2)
            source->ops->prefetch(source, 0, 1);
        cr_assert_eq(source->ops->read(source, 0, 1, out, ts_scan_file.diag), TS_BAD_INPUT);
        ts_test_expect(ts_scan_file.diag, "hdf5-damaged",
                       "the chunk at (1, 0, 0) of /exchange/data is damaged");
        cr_assert_eq(ts_diag_count(ts_scan_file.diag), 1);
        ts_diag_clear(ts_scan_file.diag);
        source->ops->close(source);
    }
}

/* A file that is cut while it is read is an error in every thread. */
Test(hdf5_stack, a_file_that_becomes_shorter_is_an_error)
{
    static const int order[3] = {1, 0, 2};
    static const hsize_t chunks[][3] = {{0}, {1, N1, N2}};
    for (int i = 0; i < 4; i++) {
        struct scan_storage storage = {.type = H5T_STD_U16LE, .deflate = i == 3};
        uint16_t out[2 * N0 * N2];
        memcpy(storage.chunk, chunks[i > 1], sizeof storage.chunk);
        make_file(&storage);
        struct source *source = open_source(order);
        cr_assert_eq(source->ops->start(source, 3, 2, ts_scan_file.diag), TS_OK);
        cr_assert_eq(truncate(ts_scan_file.path, 3000), 0);
        if (i % 2)
            source->ops->prefetch(source, 0, 2);
        cr_assert_eq(source->ops->read(source, 0, 2, out, ts_scan_file.diag), TS_BAD_INPUT);
        ts_test_expect(ts_scan_file.diag, "hdf5-unreadable", "the file has become shorter");
        ts_diag_clear(ts_scan_file.diag);
        source->ops->close(source);
    }
}

/* Planned memory grows with the memory allowed, and never past it by more than the buffers of the
 * threads. */
Test(hdf5_stack, memory_is_stated)
{
    static const int order[3] = {1, 0, 2};
    const struct scan_storage storage = {
        .type = H5T_STD_U16LE, .chunk = {1, N1, N2}, .deflate = true};
    make_file(&storage);
    struct source *source = open_source(order);
    const size_t slice = ts_slice_bytes(&source->image);
    source->ops->may_hold(source, 0);
    const size_t least = source->ops->memory_bytes(source, 1, 4);
    cr_assert_gt(source->ops->memory_bytes(source, 2, 4), least);
    source->ops->may_hold(source, 3 * slice);
    cr_assert_gt(source->ops->memory_bytes(source, 1, 4), least);
    cr_assert_leq(source->ops->memory_bytes(source, 1, 4), least + 3 * slice + 4096);
    source->ops->may_hold(source, READ_AHEAD_BYTES);
    cr_assert_geq(source->ops->memory_bytes(source, 1, 4), least + N1 * slice);
    cr_assert_leq(source->ops->memory_bytes(source, 1, 100), least + N1 * slice + 4096);
    source->ops->close(source);
}
