/* SPDX-License-Identifier: Apache-2.0
 *
 * Compressors of others: every dataset of a file that hdf5plugin wrote has its values, with whole
 * chunks and with cut ones. Chunks that are cut, longer or changed decode to their own size or are
 * refused, and no byte outside of a buffer is read or written, which a build with sanitizers sees.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "io/hdf5/hdf5_decoder.h"
#include "io/hdf5/hdf5_slice.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/support/support.h"

TestSuite(hdf5_filters, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

enum { N0 = 5, N1 = 11, N2 = 19, ALL = N0 * N1 * N2, NAMES = 128, NAME = 64 };

struct names {
    int n;
    char names[NAMES][NAME];
};

static herr_t add_name(hid_t group, const char *name, const H5L_info_t *link, void *data)
{
    struct names *names = data;
    (void)group, (void)link;
    snprintf(names->names[names->n++], NAME, "%s", name);
    return 0;
}

static double expected(const char *name, int i, int j, int k)
{
    const int plain = (7 * i + 31 * j + 3 * k) % 251;
    const int64_t noise = INT64_C(40503) * (plain + 1) * (1 + k + N2 * (j + N1 * i)) % 65521;
    if (!strcmp(name, "blosc2_zeros"))
        return 0;
    if (ts_ends_in(name, "_i1"))
        return (int8_t)plain;
    return strncmp(name, "noise_", 6) == 0 ? (double)noise : plain;
}

/* Reads the dataset as a volume by so many threads, and returns the source's status. */
static enum ts_status read_volume(const char *path, const char *name, int threads, double *values)
{
    static const char *const axes[] = {"z", "y", "x"};
    char dataset[NAME + 1];
    struct hdf5_params params;
    struct source *source = NULL;
    const struct param_set set = ts_scan_file_hdf5(&params, axes, 0);
    snprintf(dataset, sizeof dataset, "/%s", name);
    params.hdf5 = path;
    params.path = dataset;
    enum ts_status status = hdf5_format.open(&set, &source, ts_scan_file.diag);
    if (status != TS_OK)
        return status;
    unsigned char *out = malloc(ts_image_bytes(&source->image));
    status = source->ops->start(source, threads, source->n_slices, ts_scan_file.diag);
    if (status == TS_OK)
        status = source->ops->read(source, 0, source->n_slices, out, ts_scan_file.diag);
    cr_assert_eq(ts_image_count(&source->image), ALL);
    if (status == TS_OK)
        ts_load_f64(values, out, source->image.dtype, ALL);
    source->ops->close(source);
    free(out);
    return status;
}

Test(hdf5_filters, what_others_compress_is_read)
{
    const char *path = ts_test_path("files/foreign/codecs.nxs");
    struct names names = {0};
    double values[ALL];
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert(file >= 0 &&
              H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, add_name, &names) >= 0);
    H5Fclose(file);
    cr_assert_gt(names.n, 50);
    for (int f = 0; f < names.n; f++) {
        cr_assert_eq(read_volume(path, names.names[f], 1 + f % 2, values), TS_OK, "%s: %s",
                     names.names[f], ts_diag_first_error(ts_scan_file.diag));
        for (int p = 0; p < ALL; p++)
            cr_assert_eq(values[p], expected(names.names[f], p / (N1 * N2), p / N2 % N1, p % N2),
                         "%s: %d", names.names[f], p);
    }
}

/* Pictures of a file are read by libhdf5, which gets the filters from the program. */
Test(hdf5_filters, single_slices_are_read)
{
    const char *path = ts_test_path("files/foreign/codecs.nxs");
    static const char *const names[] = {
        "lz4_le_f4",       "lzf_le_u2", "zstd_i1",      "bitshuffle_lz4_16_le_f8",
        "blosc_lz4_be_i4", "noise_lzf", "noise_blosc2", "shuffle_lz4_deflate"};
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        struct hdf5_slice slice;
        cr_assert_eq(ts_hdf5_read_slice(path, names[f], 3, &slice, ts_scan_file.diag), TS_OK, "%s",
                     names[f]);
        for (int p = 0; p < N1 * N2; p++)
            cr_assert_eq(slice.values[p], (float)expected(names[f], 3, p / N2, p % N2), "%s: %d",
                         names[f], p);
        free(slice.values);
    }
}

/* ---- chunks ---------------------------------------------------------------------------------- */

struct chunk {
    struct hdf5_pipeline pipeline;
    uint32_t skipped;
    size_t bytes;
    unsigned char *encoded;
};

/* Reads the first chunk of a dataset as it is stored. */
static void take_chunk(hid_t file, const char *name, struct chunk *chunk)
{
    const hsize_t at[3] = {0};
    hsize_t shape[3], bytes;
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT), list = H5Dget_create_plist(dataset),
                type = H5Dget_type(dataset);
    cr_assert(dataset >= 0 && H5Pget_chunk(list, 3, shape) == 3);
    chunk->pipeline = (struct hdf5_pipeline){.n_filters = H5Pget_nfilters(list),
                                             .element_bytes = (uint32_t)H5Tget_size(type)};
    chunk->pipeline.chunk_bytes = shape[0] * shape[1] * shape[2] * chunk->pipeline.element_bytes;
    for (int i = 0; i < chunk->pipeline.n_filters; i++) {
        struct hdf5_filter *filter = &chunk->pipeline.filters[i];
        size_t n_values = FILTER_VALUES;
        unsigned flags, config;
        filter->id =
            H5Pget_filter2(list, (unsigned)i, &flags, &n_values, filter->values, 0, NULL, &config);
        filter->n_values = (uint32_t)n_values;
    }
    cr_assert(H5Dget_chunk_storage_size(dataset, at, &bytes) >= 0);
    chunk->bytes = bytes;
    chunk->encoded = malloc(bytes);
    cr_assert(H5Dread_chunk(dataset, H5P_DEFAULT, at, &chunk->skipped, chunk->encoded) >= 0);
    H5Tclose(type);
    H5Pclose(list);
    H5Dclose(dataset);
}

/* Undoes the filters of these bytes, which are copied to memory of just their size. */
static bool undo(const struct chunk *chunk, struct hdf5_undoer *undoer,
                 const unsigned char *encoded, size_t bytes)
{
    const size_t block = ts_hdf5_pipeline_block(&chunk->pipeline);
    unsigned char *in = malloc(bytes > 0 ? bytes : 1), *out = malloc(block), *other = malloc(block);
    memcpy(in, encoded, bytes);
    const bool done =
        ts_hdf5_pipeline_undo(&chunk->pipeline, undoer, in, bytes, chunk->skipped, out, other);
    free(in);
    free(out);
    free(other);
    return done;
}

/* Cuts the chunk everywhere, and changes single bytes, those of headers above all. */
static void damage_chunk(struct chunk *chunk, struct hdf5_undoer *undoer, uint64_t *state)
{
    static const unsigned char changes[] = {0xFF, 0x80, 0x01};
    cr_assert(undo(chunk, undoer, chunk->encoded, chunk->bytes));
    for (size_t bytes = 0; bytes < chunk->bytes; bytes += bytes < 40 ? 1 : 61)
        cr_assert_not(undo(chunk, undoer, chunk->encoded, bytes), "%zu", bytes);
    for (int i = 0; i < 120; i++) {
        const size_t at = i < 60 ? (size_t)i / 2 : ts_random_next(state) % chunk->bytes;
        if (at >= chunk->bytes)
            continue;
        const unsigned char before = chunk->encoded[at];
        chunk->encoded[at] ^= changes[i % 3];
        (void)undo(chunk, undoer, chunk->encoded, chunk->bytes);
        chunk->encoded[at] = before;
    }
}

Test(hdf5_filters, damaged_chunks_are_refused_within_their_bounds)
{
    struct names names = {0};
    struct hdf5_undoer *undoer = ts_hdf5_undoer_create();
    uint64_t state = 1;
    const hid_t file =
        H5Fopen(ts_test_path("files/foreign/codecs.nxs"), H5F_ACC_RDONLY, H5P_DEFAULT);
    cr_assert(file >= 0 &&
              H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, add_name, &names) >= 0);
    for (int f = 0; f < names.n; f++) {
        struct chunk chunk;
        take_chunk(file, names.names[f], &chunk);
        damage_chunk(&chunk, undoer, &state);
        free(chunk.encoded);
    }
    ts_hdf5_undoer_destroy(undoer);
    H5Fclose(file);
}

/* Lengths in the bytes that are larger than the chunk, than what follows, or nothing. */
Test(hdf5_filters, lengths_are_not_believed)
{
    static const struct {
        int32_t id;
        uint32_t values[5];
        unsigned char bytes[24];
    } cases[] = {
        {FILTER_LZ4, {0}, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 1}},
        {FILTER_LZ4, {0}, {0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0}},
        {FILTER_LZ4, {0}, {0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 64, 0xFF, 0xFF, 0xFF, 0xFF}},
        {FILTER_LZ4, {0}, {0, 0, 0, 0, 0, 0, 0, 64, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 64}},
        {FILTER_BITSHUFFLE,
         {0, 4, 2, 0, 2},
         {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE, 0, 0, 32, 0}},
        {FILTER_BITSHUFFLE, {0, 4, 2, 0, 2}, {0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 3}},
        {FILTER_BITSHUFFLE,
         {0, 4, 2, 0, 3},
         {0, 0, 0, 0, 0, 0, 0, 64, 0xFF, 0xFF, 0xFF, 0xF0, 0, 0, 0, 9}},
        {FILTER_BITSHUFFLE, {0, 4, 0, 0, 0}, {0}},
        {FILTER_BITSHUFFLE, {0, 4, 0xFFFFFFFF, 0xFFFFFFFF, 0}, {0}},
        {FILTER_LZF, {0}, {0xFF, 0xFF, 0xFF, 0xFF}},
        {FILTER_LZF, {0}, {0, 1, 0x20, 1}},
        {FILTER_BLOSC, {0}, {2, 1, 1, 1, 0xFF, 0xFF, 0xFF, 0x7F, 64, 0, 0, 0, 24}},
        {H5Z_FILTER_NBIT, {0}, {0}},
    };
    struct hdf5_undoer *undoer = ts_hdf5_undoer_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct chunk chunk = {.pipeline = {.n_filters = 1, .element_bytes = 2, .chunk_bytes = 64}};
        chunk.pipeline.filters[0] = (struct hdf5_filter){.id = cases[i].id, .n_values = 5};
        memcpy(chunk.pipeline.filters[0].values, cases[i].values, sizeof cases[i].values);
        for (size_t bytes = 1; bytes <= sizeof cases[i].bytes; bytes++)
            cr_assert_not(undo(&chunk, undoer, cases[i].bytes, bytes), "%zu, %zu bytes", i, bytes);
    }
    ts_hdf5_undoer_destroy(undoer);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Writes /d of u16 whose one chunk has these bytes, by this filter. */
static void make_file(int32_t filter, const void *bytes, size_t n)
{
    const hsize_t shape[3] = {N0, N1, N2}, at[3] = {0};
    const unsigned options[5] = {0, 4, 2, 0, 2};
    const hid_t file = H5Fcreate(ts_scan_file.path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                list = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(3, shape, NULL);
    H5Pset_chunk(list, 3, shape);
    H5Pset_filter(list, filter, H5Z_FLAG_OPTIONAL, 5, options);
    const hid_t dataset =
        H5Dcreate2(file, "d", H5T_STD_U16LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert(dataset >= 0 && H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, at, n, bytes) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(list);
    cr_assert(H5Fclose(file) >= 0);
}

Test(hdf5_filters, damaged_files_are_refused_by_name)
{
    static const int32_t filters[] = {FILTER_LZF,  FILTER_LZ4,   FILTER_BITSHUFFLE,
                                      FILTER_ZSTD, FILTER_BLOSC, FILTER_BLOSC2};
    double values[ALL];
    char bytes[100];
    memset(bytes, 0x5A, sizeof bytes);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        make_file(filters[i], bytes, sizeof bytes);
        cr_assert_eq(read_volume(ts_scan_file.path, "d", 2, values), TS_BAD_INPUT);
        ts_test_expect(ts_scan_file.diag, "hdf5-damaged",
                       "the chunk at (0, 0, 0) of /d is damaged");
        ts_diag_destroy(ts_scan_file.diag);
        ts_scan_file.diag = ts_diag_create();
    }
}

/* Chunks at the edges may skip the filters: 3 of 5 frames, 4 of 11 rows. */
Test(hdf5_filters, edges_without_filters_are_read)
{
    const hsize_t shape[3] = {N0, N1, N2}, chunk[3] = {3, 4, N2};
    uint16_t stored[ALL];
    double values[ALL];
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), list = H5Pcreate(H5P_DATASET_CREATE),
                space = H5Screate_simple(3, shape, NULL);
    H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
    const hid_t file = H5Fcreate(ts_scan_file.path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    H5Pset_chunk(list, 3, chunk);
    H5Pset_chunk_opts(list, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
    H5Pset_shuffle(list);
    H5Pset_deflate(list, 1);
    for (int p = 0; p < ALL; p++)
        stored[p] = (uint16_t)(p * 13);
    const hid_t dataset =
        H5Dcreate2(file, "d", H5T_STD_U16LE, space, H5P_DEFAULT, list, H5P_DEFAULT);
    cr_assert(H5Dwrite(dataset, H5T_NATIVE_UINT16, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(list);
    H5Pclose(access);
    cr_assert(H5Fclose(file) >= 0);
    cr_assert_eq(read_volume(ts_scan_file.path, "d", 2, values), TS_OK);
    for (int p = 0; p < ALL; p++)
        cr_assert_eq(values[p], stored[p], "%d", p);
}

Test(hdf5_filters, other_filters_are_refused_by_name)
{
    static const int32_t filters[] = {307, 32013, 32012, 32023, H5Z_FILTER_NBIT};
    double values[ALL];
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        char text[40];
        make_file(filters[i], "nothing", 8);
        snprintf(text, sizeof text, "the filter %d ", (int)filters[i]);
        cr_assert_eq(read_volume(ts_scan_file.path, "d", 1, values), TS_BAD_INPUT);
        ts_test_expect(ts_scan_file.diag, "hdf5-filter", text);
        ts_diag_destroy(ts_scan_file.diag);
        ts_scan_file.diag = ts_diag_create();
    }
}
