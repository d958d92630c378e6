/* SPDX-License-Identifier: Apache-2.0
 *
 * The child's side asks libhdf5 for type, shape, layout and filters; the parent's side checks the
 * answers. The table of chunks is found by asking the library to read each chunk with a driver that
 * notes the address instead of reading. H5Dget_chunk_info_by_coord would do as well, but up to HDF5
 * 1.14 it goes through all chunks each time (half a minute for 16,000), and it ignores the user
 * block.
 */
#include "io/hdf5/hdf5_storage.h"

#include <stdlib.h>
#include <string.h>

#include "core/image.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

/* ---- the child: the description -------------------------------------------------------------- */

hid_t ts_hdf5_half_type(hid_t like)
{
    enum { SIGN = 15, EXPONENT = 10, EXPONENT_BITS = 5, FRACTION_BITS = 10, BIAS = 15 };
    const hid_t type = H5Tcopy(like);
    if (type >= 0 && H5Tset_fields(type, SIGN, EXPONENT, EXPONENT_BITS, 0, FRACTION_BITS) >= 0 &&
        H5Tset_size(type, 2) >= 0 && H5Tset_ebias(type, BIAS) >= 0)
        return type;
    TS_HDF5_CLOSE(type);
    return -1;
}

static bool is_half(hid_t type, hid_t like)
{
    const hid_t half = ts_hdf5_half_type(like);
    const bool same = half >= 0 && H5Tequal(type, half) > 0;
    TS_HDF5_CLOSE(half);
    return same;
}

static bool is_standard(hid_t type)
{
    const hid_t types[] = {H5T_STD_U8LE,   H5T_STD_I8LE,   H5T_STD_U16LE,  H5T_STD_I16LE,
                           H5T_STD_U32LE,  H5T_STD_I32LE,  H5T_STD_U64LE,  H5T_STD_I64LE,
                           H5T_STD_U8BE,   H5T_STD_I8BE,   H5T_STD_U16BE,  H5T_STD_I16BE,
                           H5T_STD_U32BE,  H5T_STD_I32BE,  H5T_STD_U64BE,  H5T_STD_I64BE,
                           H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (H5Tequal(type, types[i]) > 0)
            return true;
    return H5Tget_size(type) == 2 &&
           (is_half(type, H5T_IEEE_F32LE) || is_half(type, H5T_IEEE_F32BE));
}

void ts_hdf5_storage_type(hid_t type, struct hdf5_storage *storage)
{
    const H5T_class_t class = H5Tget_class(type);
    const bool number = class == H5T_INTEGER || class == H5T_FLOAT;
    if (class == H5T_INTEGER)
        storage->class = STORAGE_INTEGER;
    else if (class == H5T_FLOAT)
        storage->class = STORAGE_FLOAT;
    else if (class == H5T_STRING)
        storage->class = STORAGE_TEXT;
    else
        storage->class = STORAGE_OTHER;
    storage->element_bytes = (uint32_t)H5Tget_size(type);
    storage->standard = number && is_standard(type);
    storage->big_endian = number && H5Tget_order(type) == H5T_ORDER_BE;
    storage->has_sign = class == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_2;
    storage->variable = class == H5T_STRING && H5Tis_variable_str(type) > 0;
}

static bool describe_type(hid_t dataset, struct hdf5_storage *storage)
{
    hid_t type = H5Dget_type(dataset);
    if (type >= 0 &&
        H5Tget_class(type) == H5T_ENUM) { /* h5py writes bool as an enumeration of bytes */
        const hid_t whole = type;
        type = H5Tget_super(whole);
        H5Tclose(whole);
    }
    if (type >= 0)
        ts_hdf5_storage_type(type, storage);
    return type >= 0 && H5Tclose(type) >= 0;
}

static bool describe_shape(hid_t dataset, struct hdf5_storage *storage)
{
    hsize_t n[STORAGE_RANK];
    const hid_t space = H5Dget_space(dataset);
    if (space < 0)
        return false;
    storage->rank = H5Sget_simple_extent_dims(space, n, NULL);
    if (H5Sget_simple_extent_type(space) == H5S_NULL) { /* no elements at all */
        storage->rank = 1;
        n[0] = 0;
    }
    for (int d = 0; d < storage->rank; d++)
        storage->n[d] = n[d] < INT64_MAX ? (int64_t)n[d] : INT64_MAX;
    return H5Sclose(space) >= 0 && storage->rank >= 0;
}

static bool describe_filters(hid_t list, struct hdf5_storage *storage)
{
    unsigned options = 0;
    storage->n_filters = H5Pget_nfilters(list);
    for (int i = 0; i < storage->n_filters && i < STORAGE_FILTERS; i++) {
        struct storage_filter *stored = &storage->filters[i];
        unsigned flags, config;
        size_t n_values = FILTER_VALUES;
        stored->filter.id =
            H5Pget_filter2(list, (unsigned)i, &flags, &n_values, stored->filter.values,
                           sizeof stored->name, stored->name, &config);
        stored->filter.n_values = (uint32_t)(n_values < FILTER_VALUES ? n_values : FILTER_VALUES);
        stored->name[sizeof stored->name - 1] = '\0';
    }
    if (storage->n_filters < 0 || H5Pget_chunk_opts(list, &options) < 0)
        return false;
    storage->edges_unfiltered = options != 0;
    return true;
}

/* Returns how many chunks cover the dataset; INT64_MAX if there are more. */
static int64_t count_chunks(const struct hdf5_storage *storage)
{
    int64_t n_chunks = 1;
    for (int d = 0; d < storage->rank; d++) {
        const int64_t n =
            storage->n[d] / storage->chunk[d] + (storage->n[d] % storage->chunk[d] != 0);
        if (n != 0 && n_chunks > INT64_MAX / n)
            return INT64_MAX;
        n_chunks *= n;
    }
    return n_chunks;
}

static bool describe_chunks(hid_t list, struct hdf5_storage *storage)
{
    hsize_t chunk[STORAGE_RANK];
    if (H5Pget_chunk(list, STORAGE_RANK, chunk) != storage->rank)
        return false;
    for (int d = 0; d < storage->rank; d++) {
        if (chunk[d] == 0)
            return false;
        storage->chunk[d] = chunk[d] < INT64_MAX ? (int64_t)chunk[d] : INT64_MAX;
    }
    storage->n_chunks = count_chunks(storage);
    return describe_filters(list, storage);
}

static bool describe_layout(hid_t dataset, struct hdf5_storage *storage)
{
    const hid_t list = H5Dget_create_plist(dataset);
    if (list < 0)
        return false;
    const H5D_layout_t layout = H5Pget_layout(list);
    bool done = layout >= 0;
    if (layout == H5D_VIRTUAL)
        storage->layout = STORAGE_VIRTUAL;
    else if (H5Pget_external_count(list) != 0)
        storage->layout = STORAGE_EXTERNAL;
    else if (layout == H5D_CHUNKED)
        storage->layout = STORAGE_CHUNKED;
    else if (layout == H5D_CONTIGUOUS)
        storage->layout = STORAGE_CONTIGUOUS;
    else
        storage->layout = STORAGE_COMPACT;
    if (storage->layout == STORAGE_CHUNKED)
        done = describe_chunks(list, storage);
    if (storage->layout == STORAGE_CONTIGUOUS) {
        const haddr_t offset = H5Dget_offset(
            dataset); /* counts from the start of the file, including the user block */
        storage->offset = offset <= INT64_MAX ? (int64_t)offset : -1;
    }
    if (storage->layout == STORAGE_CONTIGUOUS || storage->layout == STORAGE_COMPACT)
        storage->stored_bytes = (int64_t)H5Dget_storage_size(dataset);
    H5Pclose(list);
    return done;
}

/* Writes the bytes as they are stored: the memory type is the file's. */
static bool write_compact(hid_t dataset, const struct hdf5_storage *storage, FILE *out)
{
    unsigned char *bytes = calloc(1, storage->compact_bytes);
    const hid_t type = H5Dget_type(dataset);
    const bool done =
        bytes && type >= 0 && H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) >= 0;
    if (done)
        fwrite(bytes, 1, storage->compact_bytes, out);
    TS_HDF5_CLOSE(type);
    free(bytes);
    return done;
}

/* Returns the bytes of all values; -1 if that exceeds a 64-bit number. */
static int64_t value_bytes(const struct hdf5_storage *storage)
{
    size_t bytes = storage->element_bytes;
    for (int d = 0; d < storage->rank; d++)
        if (!ts_mul_size(bytes, (size_t)storage->n[d], &bytes))
            return -1;
    return bytes <= INT64_MAX ? (int64_t)bytes : -1;
}

bool ts_hdf5_storage_find(hid_t dataset, struct hdf5_storage *storage)
{
    if (!describe_type(dataset, storage) || !describe_shape(dataset, storage) ||
        !describe_layout(dataset, storage))
        return false;
    const int64_t bytes = value_bytes(storage);
    if (storage->layout == STORAGE_COMPACT && !storage->variable && bytes >= 0 &&
        bytes <= STORAGE_COMPACT_BYTES)
        storage->compact_bytes = (uint32_t)bytes;
    return true;
}

bool ts_hdf5_storage_write(hid_t dataset, const struct hdf5_storage *storage, FILE *out)
{
    fwrite(storage, sizeof *storage, 1, out);
    return storage->compact_bytes == 0 || write_compact(dataset, storage, out);
}

/* ---- the child: the table -------------------------------------------------------------------- */

/* The last read that the library asked for. */
static struct {
    herr_t (*read)(H5FD_t *, H5FD_mem_t, hid_t, haddr_t, size_t, void *);
    uint64_t offset;
    size_t bytes;
    int n;
} noted;

/* The address that a driver gets counts from the start of the file. */
static herr_t note_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t offset, size_t bytes,
                        void *buffer)
{
    if (type != H5FD_MEM_DRAW)
        return noted.read(file, type, transfer, offset, bytes, buffer);
    noted.offset = offset;
    noted.bytes = bytes;
    noted.n++;
    return 0;
}

/* Returns true if the chunk was never written; H5Dget_chunk_storage_size then fails for chunks
   without filters. */
static bool is_unwritten(hid_t dataset, const hsize_t *at)
{
    haddr_t address = 0;
    hsize_t bytes = 0;
    unsigned skipped = 0;
    return H5Dget_chunk_info_by_coord(dataset, at, &skipped, &address, &bytes) >= 0 &&
           address == HADDR_UNDEF;
}

static bool find_chunk(hid_t dataset, const hsize_t *at, struct storage_chunk *chunk)
{
    hsize_t bytes = 0;
    herr_t sized;
    char nothing;
    *chunk = (struct storage_chunk){0};
    H5E_BEGIN_TRY /* it is decided below if this is a failure */
    {
        sized = H5Dget_chunk_storage_size(dataset, at, &bytes);
    }
    H5E_END_TRY
    if (sized < 0)
        return is_unwritten(dataset, at);
    if (bytes > UINT32_MAX)
        return false;
    if (bytes == 0)
        return true;
    noted.n = 0;
    if (H5Dread_chunk(dataset, H5P_DEFAULT, at, &chunk->skipped, &nothing) < 0 || noted.n != 1 ||
        noted.bytes != bytes)
        return false;
    chunk->offset = noted.offset;
    chunk->bytes = (uint32_t)bytes;
    return true;
}

static bool write_table(hid_t dataset, const struct hdf5_storage *storage, FILE *out)
{
    struct storage_chunk chunk;
    hsize_t at[STORAGE_RANK] = {0};
    for (int64_t i = 0; i < storage->n_chunks; i++) {
        if (!find_chunk(dataset, at, &chunk))
            return false;
        fwrite(&chunk, sizeof chunk, 1, out);
        for (int d = storage->rank - 1; d >= 0; d--) { /* the next one in row-major order */
            at[d] += (hsize_t)storage->chunk[d];
            if (at[d] < (hsize_t)storage->n[d])
                break;
            at[d] = 0;
        }
    }
    return true;
}

static H5FD_t *driver_of(hid_t dataset)
{
    void *driver = NULL;
    const hid_t file = H5Iget_file_id(dataset);
    if (file >= 0 && H5Fget_vfd_handle(file, H5P_DEFAULT, &driver) < 0)
        driver = NULL;
    if (file >= 0)
        H5Fclose(file);
    return driver;
}

bool ts_hdf5_storage_write_table(hid_t dataset, const struct hdf5_storage *storage, FILE *out)
{
    H5FD_t *driver = storage->n_chunks <= STORAGE_CHUNKS ? driver_of(dataset) : NULL;
    if (!driver)
        return false;
    const H5FD_class_t *usual = driver->cls;
    H5FD_class_t noting = *usual;
    noted.read = usual->read;
    noting.read = note_read;
    driver->cls = &noting;
    const bool done = write_table(dataset, storage, out);
    driver->cls = usual;
    return done;
}

/* ---- the parent ------------------------------------------------------------------------------ */

bool ts_hdf5_storage_take(const void *answer, size_t bytes, struct hdf5_storage *storage,
                          const void **compact)
{
    if (bytes < sizeof *storage)
        return false;
    memcpy(storage, answer, sizeof *storage);
    *compact = (const unsigned char *)answer + sizeof *storage;
    if (storage->compact_bytes != bytes - sizeof *storage || storage->rank < 0 ||
        storage->rank > STORAGE_RANK || storage->element_bytes == 0 || storage->class < 0 ||
        storage->class > STORAGE_OTHER || storage->layout < 0 ||
        storage->layout > STORAGE_EXTERNAL || storage->stored_bytes < 0 || storage->offset < -1 ||
        storage->n_filters < 0)
        return false;
    for (int d = 0; d < storage->rank; d++)
        if (storage->n[d] < 0 || (storage->layout == STORAGE_CHUNKED && storage->chunk[d] <= 0))
            return false;
    for (int i = 0; i < STORAGE_FILTERS; i++) {
        storage->filters[i].name[sizeof storage->filters[i].name - 1] = '\0';
        if (storage->filters[i].filter.n_values > FILTER_VALUES)
            return false;
    }
    storage->n_chunks = storage->layout == STORAGE_CHUNKED ? count_chunks(storage) : 0;
    return storage->compact_bytes == 0 || storage->compact_bytes == value_bytes(storage);
}

bool ts_hdf5_storage_check_table(const struct hdf5_storage *storage, const void *answer,
                                 size_t bytes, int64_t file_bytes, int64_t *outside)
{
    const struct storage_chunk *chunks = answer;
    *outside = -1;
    if (storage->n_chunks > STORAGE_CHUNKS || bytes != (size_t)storage->n_chunks * sizeof *chunks)
        return false;
    for (int64_t i = 0; i < storage->n_chunks && *outside < 0; i++)
        if (chunks[i].bytes > 0 && (chunks[i].offset > (uint64_t)file_bytes ||
                                    chunks[i].bytes > (uint64_t)file_bytes - chunks[i].offset))
            *outside = i;
    return *outside < 0;
}

int64_t ts_hdf5_storage_chunk_at(const struct hdf5_storage *storage, const int64_t *at)
{
    int64_t i = 0;
    for (int d = 0; d < storage->rank; d++)
        i = i * ((storage->n[d] - 1) / storage->chunk[d] + 1) + at[d] / storage->chunk[d];
    return i;
}
