/* SPDX-License-Identifier: Apache-2.0
 *
 * Types, attributes and values of a result, and chunked datasets that come in pieces: bytes are
 * appended to the chunk being filled, and full chunks go through the queue, whose threads write
 * them (io/hdf5/hdf5_chunk.c). Axis order: the image's; a chunk is one range of the row-major array
 * (io/file/chunks.h).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/half.h"
#include "core/path.h"
#include "io/hdf5/hdf5_writer.h"

/* Makes the types, spaces and attributes of a result, and writes its small values. Datasets of up
   to 32 KiB are in the object header (compact), if the metadata checksum covers them; larger ones
   are chunked like images. Text has a fixed length, in UTF-8: variable-length text would be in a
   heap without any checksum. */

enum { COMPACT_BYTES = 32 << 10, ATTRIBUTE_BYTES = 60 << 10 };

hid_t ts_hdf5_type(enum ts_dtype dtype)
{
    const hid_t types[] = {
        [TS_U8] = H5T_STD_U8LE,    [TS_I8] = H5T_STD_I8LE,   [TS_U16] = H5T_STD_U16LE,
        [TS_I16] = H5T_STD_I16LE,  [TS_U32] = H5T_STD_U32LE, [TS_I32] = H5T_STD_I32LE,
        [TS_F32] = H5T_IEEE_F32LE, [TS_U64] = H5T_STD_U64LE, [TS_F64] = H5T_IEEE_F64LE};
    return types[dtype];
}

hid_t ts_hdf5_create_properties(hid_t class_id)
{
    enum { MANY = 65535 }; /* the format's limit */
    hid_t list = H5Pcreate(class_id);
    bool done = list >= 0 && H5Pset_obj_track_times(list, false) >= 0 &&
                H5Pset_attr_phase_change(list, MANY, 0) >= 0;
    if (done && class_id != H5P_DATASET_CREATE)
        done = H5Pset_link_phase_change(list, MANY, 0) >= 0;
    if (done)
        return list;
    TS_HDF5_CLOSE(list);
    return -1;
}

/* Returns the type of a text of so many bytes, padded with zeros. The caller closes it. */
static hid_t text_type(size_t bytes)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, bytes) < 0 || H5Tset_strpad(type, H5T_STR_NULLPAD) < 0 ||
                      H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        TS_HDF5_CLOSE(type);
        return -1;
    }
    return type;
}

/* Returns the dataspace of a value, which the caller closes; negative if libhdf5 fails. */
static hid_t hdf5_value_space(const struct hdf5_value *value)
{
    hsize_t n[TS_MAX_RANK];
    for (int d = 0; d < value->rank; d++)
        n[d] = (hsize_t)value->n[d];
    return value->rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(value->rank, n, NULL);
}

static bool put_attribute(hid_t object, const char *name, const struct hdf5_value *value)
{
    hid_t space = hdf5_value_space(value), attribute = -1;
    if (space >= 0)
        attribute = H5Acreate2(object, name, value->type, space, H5P_DEFAULT, H5P_DEFAULT);
    bool done =
        attribute >= 0 && (value->bytes == 0 || H5Awrite(attribute, value->type, value->data) >= 0);
    if (attribute >= 0)
        done = H5Aclose(attribute) >= 0 && done;
    TS_HDF5_CLOSE(space);
    return done;
}

/* Writes the attribute sha256_tree of an open dataset; inside enter and leave. */
static bool hdf5_put_digest(hid_t dataset, const char *text)
{
    struct hdf5_value value = {
        .type = text_type(64), .element_bytes = 64, .bytes = 64, .data = text};
    bool done = value.type >= 0 && put_attribute(dataset, "sha256_tree", &value);
    TS_HDF5_CLOSE(value.type);
    return done;
}

/* Writes the value into the object header if it fits. A long scalar is stored outside of it, and
   only its digest guards it. */
static bool put_compact(struct hdf5_writer *writer, const char *path,
                        const struct hdf5_value *value)
{
    char digest[DIGEST_TEXT_BYTES];
    hid_t list = ts_hdf5_create_properties(H5P_DATASET_CREATE), space = hdf5_value_space(value),
          dataset = -1;
    bool done = list >= 0 && space >= 0 && ts_digest_tree_of(value->data, value->bytes, digest);
    if (value->bytes > 0 && value->bytes <= COMPACT_BYTES)
        done = done && H5Pset_layout(list, H5D_COMPACT) >= 0;
    if (done)
        dataset = H5Dcreate2(writer->h5, path, value->type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    done = dataset >= 0 &&
           (value->bytes == 0 ||
            H5Dwrite(dataset, value->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, value->data) >= 0) &&
           hdf5_put_digest(dataset, digest);
    if (dataset >= 0)
        done = H5Dclose(dataset) >= 0 && done;
    TS_HDF5_CLOSE(space, list);
    return done;
}

/* "object@name" is an attribute. */
static bool put_on_object(struct hdf5_writer *writer, const char *path, const char *at,
                          const struct hdf5_value *value)
{
    char object_path[1024];
    snprintf(object_path, sizeof object_path, "%.*s", (int)(at - path), path);
    hid_t object = H5Oopen(writer->h5, object_path, H5P_DEFAULT);
    bool done = object >= 0 && put_attribute(object, at + 1, value);
    if (object >= 0)
        done = H5Oclose(object) >= 0 && done;
    return done;
}

static enum ts_status put_value(struct hdf5_writer *writer, const char *path,
                                const struct hdf5_value *value)
{
    const char *at = strrchr(path, '@');
    int id;
    if (ts_hdf5_settle(writer) != TS_OK)
        return TS_RUN_FAILED;
    if (at && (value->bytes > ATTRIBUTE_BYTES || at - path > 1000)) {
        ts_hdf5_fail(writer, "output-attribute", "the attribute %s has %zu bytes, %d are possible",
                     path, value->bytes, ATTRIBUTE_BYTES);
    } else if (!at && value->rank > 0 && value->bytes > COMPACT_BYTES) {
        if (ts_hdf5_dataset_create(writer, path, value, &id) == TS_OK)
            (void)ts_hdf5_dataset_write(writer, id, writer->datasets[id]->n_slices, value->data,
                                        false);
        return ts_hdf5_settle(writer);
    } else {
        ts_hdf5_enter();
        if (!(at ? put_on_object(writer, path, at, value) : put_compact(writer, path, value)))
            ts_hdf5_fail_library(writer, path, (int64_t)value->bytes);
        ts_hdf5_leave();
    }
    return ts_hdf5_state(writer);
}

static enum ts_status put_text(struct hdf5_writer *writer, const char *path,
                               struct hdf5_value *value)
{
    ts_hdf5_enter();
    value->type = text_type(value->element_bytes);
    if (value->type < 0)
        ts_hdf5_fail_library(writer, path, 0);
    ts_hdf5_leave();
    const enum ts_status status = put_value(writer, path, value);
    ts_hdf5_enter();
    TS_HDF5_CLOSE(value->type);
    ts_hdf5_leave();
    return status;
}

enum ts_status ts_hdf5_text(struct hdf5_writer *writer, const char *path, const char *text)
{
    /* HDF5 has no text of length 0, so it gets one zero byte */
    const size_t bytes = *text ? strlen(text) : 1;
    struct hdf5_value value = {.element_bytes = bytes, .bytes = bytes, .data = text};
    return put_text(writer, path, &value);
}

enum ts_status ts_hdf5_texts(struct hdf5_writer *writer, const char *path, const char *axis,
                             const char *const *texts, size_t n)
{
    const struct ts_image shape = {.rank = 1,
                                   .axes = {{.kind = TS_AXIS_ITEM, .n = (int64_t)n, .name = axis}}};
    struct hdf5_value value = {.element_bytes = 1, .rank = 1, .n = {(int64_t)n}};
    for (size_t i = 0; i < n; i++)
        if (strlen(texts[i]) > value.element_bytes)
            value.element_bytes = strlen(texts[i]);
    char *cells = NULL;
    if (!ts_mul_size(n, value.element_bytes, &value.bytes) ||
        !(cells = calloc(1, value.bytes + 1))) {
        ts_hdf5_fail_memory(writer, value.bytes);
        return ts_hdf5_state(writer);
    }
    for (size_t i = 0; i < n; i++)
        memcpy(cells + i * value.element_bytes, texts[i], strlen(texts[i]));
    value.data = cells;
    enum ts_status status = put_text(writer, path, &value);
    free(cells);
    if (status == TS_OK && !strchr(path, '@'))
        status = ts_hdf5_scales_note(writer, path, &shape);
    return status;
}

enum ts_status ts_hdf5_values(struct hdf5_writer *writer, const char *path,
                              const struct ts_image *image)
{
    struct hdf5_value value = {.type = ts_hdf5_type(image->dtype),
                               .element_bytes = ts_dtype_bytes(image->dtype),
                               .rank = image->rank,
                               .bytes = image->rank == 0 ? ts_dtype_bytes(image->dtype)
                                                         : ts_image_bytes(image),
                               .data = image->data};
    for (int d = 0; d < image->rank; d++)
        value.n[d] = image->axes[d].n;
    enum ts_status status = put_value(writer, path, &value);
    if (status == TS_OK && !strchr(path, '@'))
        status = ts_hdf5_scales_note(writer, path, image);
    if (status != TS_OK || !image->unit || !*image->unit || strchr(path, '@'))
        return status;
    char attribute[1100];
    snprintf(attribute, sizeof attribute, "%.1000s@units", path);
    return ts_hdf5_text(writer, attribute, image->unit);
}

/* Returns the creation properties; -1 if the library fails. Sets the fill value of floats, and
   notes if they are halves. */
static hid_t dataset_properties(struct hdf5_dataset *dataset, const struct hdf5_value *value)
{
    const float nan_32 = NAN;
    const double nan_64 = (double)NAN;
    const uint16_t nan_16 = TS_HALF_NAN;
    const hid_t list = ts_hdf5_create_properties(H5P_DATASET_CREATE);
    hsize_t chunk[TS_MAX_RANK];
    for (int d = 0; d < value->rank; d++)
        chunk[d] = (hsize_t)dataset->grid.chunk[d];
    bool done = list >= 0 && H5Pset_chunk(list, value->rank, chunk) >= 0;
    if (dataset->filters.level > 0) {
        if (value->element_bytes > 1)
            done = done && H5Pset_shuffle(list) >= 0;
        done = done && H5Pset_deflate(list, (unsigned)dataset->filters.level) >= 0;
    }
    done = done && (dataset->filters.plain || H5Pset_fletcher32(list) >= 0);
    if (H5Tget_class(value->type) == H5T_FLOAT) {
        dataset->half = value->element_bytes == sizeof nan_16;
        const void *nan = value->element_bytes == 4 ? (const void *)&nan_32 : &nan_64;
        memcpy(dataset->fill, dataset->half ? &nan_16 : nan, value->element_bytes);
        done = done && H5Pset_fill_value(list, value->type, dataset->fill) >= 0;
    }
    if (done && H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC) >= 0)
        return list;
    TS_HDF5_CLOSE(list);
    return -1;
}

static bool create_dataset(struct hdf5_writer *writer, struct hdf5_dataset *dataset,
                           const struct hdf5_value *value)
{
    ts_hdf5_enter();
    const hid_t list = dataset_properties(dataset, value), space = hdf5_value_space(value);
    if (list >= 0 && space >= 0)
        dataset->dataset = H5Dcreate2(writer->h5, dataset->path, value->type, space, H5P_DEFAULT,
                                      list, H5P_DEFAULT);
    if (dataset->dataset < 0)
        ts_hdf5_fail_library(writer, dataset->path, 0);
    TS_HDF5_CLOSE(space, list);
    ts_hdf5_leave();
    return dataset->dataset >= 0;
}

static bool allocate_chunks(struct hdf5_writer *writer, struct hdf5_dataset *dataset)
{
    const size_t n = (size_t)dataset->grid.n_chunks;
    dataset->chunks = calloc(n, sizeof *dataset->chunks);
    if (dataset->scratching)
        dataset->scratch_sums = calloc(n, sizeof *dataset->scratch_sums);
    return (dataset->chunks && (dataset->scratch_sums || !dataset->scratching)) ||
           ts_hdf5_fail_memory(writer, n * sizeof *dataset->chunks);
}

static bool place_stored(struct hdf5_writer *writer, struct hdf5_dataset *dataset)
{
    for (int64_t i = 0; i < dataset->grid.n_chunks; i++)
        if (!ts_hdf5_chunk_place(writer, dataset, i,
                                 ts_chunk_bound(&dataset->filters, dataset->grid.chunk_bytes)))
            return false;
    return true;
}

/* Prepares all of a dataset but its place in the writer's list. After a failure the caller destroys
   it. */
static bool hdf5_dataset_prepare(struct hdf5_writer *writer, struct hdf5_dataset *dataset,
                                 const char *path, const struct hdf5_value *value)
{
    dataset->path = strdup(path);
    if (!ts_chunk_grid_init(&dataset->grid, value->rank, value->n, value->element_bytes))
        return ts_hdf5_fail(writer, "output-size",
                            "the dataset '%s' has no elements or more than can be addressed", path);
    if (value->frames)
        ts_chunk_grid_part(&dataset->grid);
    /* An array of rank 4 holds volumes one after the other; its slices are those of all volumes. */
    const int first = value->rank == TS_MAX_RANK ? 2 : 1;
    dataset->slice_bytes = value->element_bytes;
    for (int d = first; d < value->rank; d++)
        dataset->slice_bytes *= (size_t)value->n[d];
    dataset->n_slices = value->n[0] * (first == 2 ? value->n[1] : 1);
    dataset->filters = (struct chunk_filters){.element_bytes = value->element_bytes,
                                              .level = value->frames ? 0 : writer->options.level,
                                              .plain = value->frames};
    dataset->digest = ts_digest_tree_create((uint64_t)dataset->n_slices * dataset->slice_bytes);
    dataset->scratching = !value->data && writer->n_images > 0 && dataset->filters.level > 0;
    if (!dataset->path || !dataset->digest)
        return ts_hdf5_fail_memory(writer, strlen(path));
    if (!allocate_chunks(writer, dataset))
        return false;
    if (dataset->scratching && (dataset->scratch = ts_file_scratch(
                                    writer->file->folder, ts_base_name(writer->file->path))) < 0)
        return ts_hdf5_fail_system(writer, "cannot make a scratch file for", errno, path, 0);
    return create_dataset(writer, dataset, value) &&
           (dataset->filters.level > 0 || place_stored(writer, dataset));
}

enum ts_status ts_hdf5_dataset_create(struct hdf5_writer *writer, const char *path,
                                      const struct hdf5_value *value, int *id)
{
    if (ts_hdf5_settle(writer) != TS_OK)
        return TS_RUN_FAILED;
    struct hdf5_dataset *dataset = malloc(sizeof *dataset);
    struct hdf5_dataset **list =
        realloc(writer->datasets, ((size_t)writer->n_datasets + 1) * sizeof *list);
    if (list)
        writer->datasets = list;
    if (dataset)
        *dataset = (struct hdf5_dataset){.dataset = -1, .scratch = -1};
    if (!dataset || !list)
        ts_hdf5_fail_memory(writer, sizeof *dataset);
    if (!dataset || !list || !hdf5_dataset_prepare(writer, dataset, path, value)) {
        ts_hdf5_dataset_destroy(dataset);
        return ts_hdf5_state(writer);
    }
    *id = writer->n_datasets++;
    writer->datasets[*id] = dataset;
    writer->n_images += !value->data;
    return TS_OK;
}

void ts_hdf5_dataset_destroy(struct hdf5_dataset *dataset)
{
    if (!dataset)
        return;
    if (dataset->scratch >= 0)
        close(dataset->scratch);
    ts_digest_tree_destroy(dataset->digest);
    free(dataset->chunks);
    free(dataset->scratch_sums);
    free(dataset->chunk);
    free(dataset->path);
    free(dataset);
}

static void put_job(struct hdf5_writer *writer, const struct chunk_job *job)
{
    int error = 0;
    if (!ts_chunk_queue_put_take(writer->queue, job, &error) && error)
        ts_hdf5_fail_system(writer, "cannot start a compressing thread for", error,
                            writer->datasets[job->id]->path, 0);
}

/* Ends the chunk that is being filled: pads what is outside the array and gives the chunk to the
   queue. */
static void put_chunk(struct hdf5_writer *writer, int id)
{
    struct hdf5_dataset *dataset = writer->datasets[id];
    size_t width = dataset->grid.element_bytes, bytes = dataset->grid.chunk_bytes;
    if (width <= sizeof dataset->fill)
        for (size_t at = dataset->chunk_filled; at < bytes; at += width)
            memcpy(dataset->chunk + at, dataset->fill, width);
    else
        memset(dataset->chunk + dataset->chunk_filled, 0, bytes - dataset->chunk_filled);
    const struct chunk_job job = {.id = id,
                                  .index = dataset->chunk_next++,
                                  .filters = dataset->filters,
                                  .chunk = dataset->chunk,
                                  .chunk_bytes = bytes,
                                  .inside_bytes = dataset->chunk_filled,
                                  .digest = dataset->digest,
                                  .offset = dataset->offset};
    dataset->offset += job.inside_bytes;
    dataset->chunk = NULL;
    dataset->chunk_filled = 0;
    put_job(writer, &job);
}

void ts_hdf5_note_largest(struct hdf5_writer *writer, int id, float largest)
{
    struct hdf5_dataset *dataset = writer->datasets[id];
    dataset->largest = largest > dataset->largest ? largest : dataset->largest;
}

/* Puts the next `bytes` into the chunk. With wide vectors, rounding takes about as long as copying,
   because it writes half as much; so it is done here and not by the threads that encode, which then
   need no memory for floats. Returns how many bytes were taken. */
static size_t fill_chunk(struct hdf5_writer *writer, int id, const void *source, size_t bytes,
                         bool rounds)
{
    struct hdf5_dataset *dataset = writer->datasets[id];
    unsigned char *to = dataset->chunk + dataset->chunk_filled;
    const size_t n = bytes / sizeof(uint16_t);
    dataset->chunk_filled += bytes;
    if (rounds)
        ts_hdf5_note_largest(writer, id, ts_half_round((uint16_t *)to, source, n));
    else
        memcpy(to, source, bytes);
    return rounds ? n * sizeof(float) : bytes;
}

enum ts_status ts_hdf5_dataset_write(struct hdf5_writer *writer, int id, int64_t slices,
                                     const void *data, bool rounds)
{
    struct hdf5_dataset *dataset = writer->datasets[id];
    const unsigned char *source = data;
    size_t left = (size_t)slices * dataset->slice_bytes;
    while (left > 0 && !ts_hdf5_failed(writer)) {
        int64_t start[TS_MAX_RANK];
        size_t inside = ts_chunk_place(&dataset->grid, dataset->chunk_next, start);
        if (!dataset->chunk &&
            !(dataset->chunk = malloc(dataset->grid.chunk_bytes + CHUNK_CHECKSUM_BYTES))) {
            ts_hdf5_fail_memory(writer, dataset->grid.chunk_bytes);
            break;
        }
        size_t part = inside - dataset->chunk_filled < left ? inside - dataset->chunk_filled : left;
        source += fill_chunk(writer, id, source, part, rounds);
        left -= part;
        if (dataset->chunk_filled == inside)
            put_chunk(writer, id);
    }
    return ts_hdf5_state(writer);
}

uint64_t ts_hdf5_dataset_bytes(const struct hdf5_dataset *dataset)
{
    return dataset->offset + dataset->chunk_filled;
}

const struct chunk_grid *ts_hdf5_grid(const struct hdf5_writer *writer, int id)
{
    return &writer->datasets[id]->grid;
}

const struct chunk_filters *ts_hdf5_filters(const struct hdf5_writer *writer, int id)
{
    return &writer->datasets[id]->filters;
}

enum ts_status ts_hdf5_write_chunk_take(struct hdf5_writer *writer, int id, void *encoded,
                                        size_t bytes)
{
    struct hdf5_dataset *dataset = writer->datasets[id];
    const size_t bound = ts_chunk_bound(&dataset->filters, dataset->grid.chunk_bytes);
    int64_t start[TS_MAX_RANK];
    const bool fits = dataset->chunk_filled == 0 && dataset->chunk_next < dataset->grid.n_chunks &&
                      bytes <= bound;
    if (!fits)
        ts_hdf5_fail(writer, "output-order",
                     "%s got an encoded chunk of %zu bytes, %zu are possible, after %lld of its "
                     "%lld chunks and %zu bytes",
                     dataset->path, bytes, bound, (long long)dataset->chunk_next,
                     (long long)dataset->grid.n_chunks, dataset->chunk_filled);
    if (ts_hdf5_failed(writer)) {
        free(encoded);
        return ts_hdf5_state(writer);
    }
    const struct chunk_job job = {.id = id,
                                  .index = dataset->chunk_next,
                                  .filters = dataset->filters,
                                  .chunk_bytes = dataset->grid.chunk_bytes,
                                  .inside_bytes =
                                      ts_chunk_place(&dataset->grid, dataset->chunk_next, start),
                                  .digest = dataset->digest,
                                  .offset = dataset->offset,
                                  .encoded = encoded,
                                  .encoded_bytes = bytes};
    dataset->chunk_next++;
    dataset->offset += job.inside_bytes;
    put_job(writer, &job);
    return ts_hdf5_state(writer);
}

/* Moves the chunks from the scratch file to the output. */
static bool move_chunks(struct hdf5_writer *writer, int id)
{
    struct hdf5_dataset *dataset = writer->datasets[id];
    dataset->scratching = false;
    for (int64_t i = 0; i < dataset->grid.n_chunks && !ts_hdf5_failed(writer); i++)
        put_job(writer, &(struct chunk_job){.id = id,
                                            .index = i,
                                            .filters = dataset->filters,
                                            .chunk_bytes = dataset->grid.chunk_bytes});
    return ts_hdf5_settle(writer) == TS_OK;
}

/* Writes the digest and closes. */
static bool hdf5_dataset_finish(struct hdf5_writer *writer, int id)
{
    struct hdf5_dataset *dataset = writer->datasets[id];
    const uint64_t slices = ts_hdf5_dataset_bytes(dataset) / dataset->slice_bytes;
    if ((int64_t)slices != dataset->n_slices)
        return ts_hdf5_fail(writer, "output-incomplete", "'%s' got %lld of its %lld slices",
                            dataset->path, (long long)slices, (long long)dataset->n_slices);
    if (dataset->largest > 0)
        return ts_hdf5_fail_range(writer, dataset);
    if (dataset->scratching && !move_chunks(writer, id))
        return false;
    if (!ts_digest_tree_text(dataset->digest, dataset->text))
        return ts_hdf5_fail(writer, "digest", "the crypto library failed at SHA-256 of '%s'",
                            dataset->path);
    ts_hdf5_enter();
    if (!hdf5_put_digest(dataset->dataset, dataset->text))
        ts_hdf5_fail_library(writer, dataset->path, 0);
    if (H5Dclose(dataset->dataset) < 0)
        ts_hdf5_fail_library(writer, dataset->path, 0);
    dataset->dataset = -1;
    ts_hdf5_leave();
    return true;
}

enum ts_status ts_hdf5_dataset_finish(struct hdf5_writer *writer, int id)
{
    (void)hdf5_dataset_finish(writer, id);
    return ts_hdf5_state(writer);
}
