/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunked datasets that come in pieces: bytes are appended to the chunk being filled, and full chunks go through the
 * queue, whose threads write them (io/hdf5/hdf5_chunk.c).
 * Axis order: the image's; a chunk is one range of the row-major array (io/file/chunks.h).
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/half.h"
#include "core/path.h"
#include "io/hdf5/hdf5_writer.h"

/* Returns the creation properties; -1 where the library fails. Floats get their fill value, and halves are noted. */
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
        memcpy(dataset->fill,
               dataset->half               ? (const void *)&nan_16
               : value->element_bytes == 4 ? (const void *)&nan_32
                                           : &nan_64,
               value->element_bytes);
        done = done && H5Pset_fill_value(list, value->type, dataset->fill) >= 0;
    }
    if (done && H5Pset_fill_time(list, H5D_FILL_TIME_ALLOC) >= 0)
        return list;
    TS_HDF5_CLOSE(list);
    return -1;
}

static bool create_dataset(struct hdf5_writer *writer, struct hdf5_dataset *dataset, const struct hdf5_value *value)
{
    ts_hdf5_enter();
    const hid_t list = dataset_properties(dataset, value), space = ts_hdf5_value_space(value);
    if (list >= 0 && space >= 0)
        dataset->dataset = H5Dcreate2(writer->h5, dataset->path, value->type, space, H5P_DEFAULT, list, H5P_DEFAULT);
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
        if (!ts_hdf5_chunk_place(writer, dataset, i, ts_chunk_bound(&dataset->filters, dataset->grid.chunk_bytes)))
            return false;
    return true;
}

/* Makes everything but its place in the writer's list. On failure the caller destroys it. */
static bool prepare(struct hdf5_writer *writer, struct hdf5_dataset *dataset, const char *path,
                    const struct hdf5_value *value)
{
    dataset->path = strdup(path);
    if (!ts_chunk_grid_init(&dataset->grid, value->rank, value->n, value->element_bytes))
        return ts_hdf5_fail(writer, "output-size", "the dataset '%s' has no elements or more than can be addressed",
                            path);
    if (value->frames)
        ts_chunk_grid_part(&dataset->grid);
    /* An array of rank 4 holds volumes one after the other: its slices are those of all of them. */
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
    if (dataset->scratching &&
        (dataset->scratch = ts_file_scratch(writer->file.folder, ts_base_name(writer->file.path))) < 0)
        return ts_hdf5_fail_system(writer, "cannot make a scratch file for", errno, path, 0);
    return create_dataset(writer, dataset, value) && (dataset->filters.level > 0 || place_stored(writer, dataset));
}

enum ts_status ts_hdf5_dataset_create(struct hdf5_writer *writer, const char *path, const struct hdf5_value *value,
                                      int *id)
{
    if (ts_hdf5_settle(writer) != TS_OK)
        return TS_RUN_FAILED;
    struct hdf5_dataset *dataset = malloc(sizeof *dataset);
    struct hdf5_dataset **list = realloc(writer->datasets, ((size_t)writer->n_datasets + 1) * sizeof *list);
    if (list)
        writer->datasets = list;
    if (dataset)
        *dataset = (struct hdf5_dataset){.dataset = -1, .scratch = -1};
    if (!dataset || !list)
        ts_hdf5_fail_memory(writer, sizeof *dataset);
    if (!dataset || !list || !prepare(writer, dataset, path, value)) {
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
        ts_hdf5_fail_system(writer, "cannot start a compressing thread for", error, writer->datasets[job->id]->path, 0);
}

/* Ends the chunk being filled: pads what lies outside the array and hands it to the queue. */
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

/* Puts the next `bytes` of the chunk into it. Rounding takes about as long as copying the floats would where vectors
 * are wide, because it writes half as much; so it is done here and not by the threads that encode, which then need no
 * memory for floats. Returns the bytes that were read. */
static size_t fill_chunk(struct hdf5_writer *writer, int id, const void *source, size_t bytes, bool rounds)
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

enum ts_status ts_hdf5_dataset_write(struct hdf5_writer *writer, int id, int64_t slices, const void *data, bool rounds)
{
    struct hdf5_dataset *dataset = writer->datasets[id];
    const unsigned char *source = data;
    size_t left = (size_t)slices * dataset->slice_bytes;
    while (left > 0 && !ts_hdf5_failed(writer)) {
        int64_t start[TS_MAX_RANK];
        size_t inside = ts_chunk_place(&dataset->grid, dataset->chunk_next, start);
        if (!dataset->chunk && !(dataset->chunk = malloc(dataset->grid.chunk_bytes + CHUNK_CHECKSUM_BYTES))) {
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

enum ts_status ts_hdf5_write_chunk_take(struct hdf5_writer *writer, int id, void *encoded, size_t bytes)
{
    struct hdf5_dataset *dataset = writer->datasets[id];
    const size_t bound = ts_chunk_bound(&dataset->filters, dataset->grid.chunk_bytes);
    int64_t start[TS_MAX_RANK];
    const bool fits = dataset->chunk_filled == 0 && dataset->chunk_next < dataset->grid.n_chunks && bytes <= bound;
    if (!fits)
        ts_hdf5_fail(writer, "output-order",
                     "%s got an encoded chunk of %zu bytes, %zu are possible, after %lld of its %lld chunks and %zu "
                     "bytes",
                     dataset->path, bytes, bound, (long long)dataset->chunk_next, (long long)dataset->grid.n_chunks,
                     dataset->chunk_filled);
    if (ts_hdf5_failed(writer)) {
        free(encoded);
        return ts_hdf5_state(writer);
    }
    const struct chunk_job job = {.id = id,
                                  .index = dataset->chunk_next,
                                  .filters = dataset->filters,
                                  .chunk_bytes = dataset->grid.chunk_bytes,
                                  .inside_bytes = ts_chunk_place(&dataset->grid, dataset->chunk_next, start),
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
        put_job(writer,
                &(struct chunk_job){
                    .id = id, .index = i, .filters = dataset->filters, .chunk_bytes = dataset->grid.chunk_bytes});
    return ts_hdf5_settle(writer) == TS_OK;
}

/* Writes the digest and closes. */
static bool finish(struct hdf5_writer *writer, int id)
{
    struct hdf5_dataset *dataset = writer->datasets[id];
    const uint64_t slices = ts_hdf5_dataset_bytes(dataset) / dataset->slice_bytes;
    if ((int64_t)slices != dataset->n_slices)
        return ts_hdf5_fail(writer, "output-incomplete", "'%s' got %lld of its %lld slices", dataset->path,
                            (long long)slices, (long long)dataset->n_slices);
    if (dataset->largest > 0)
        return ts_hdf5_fail_range(writer, dataset);
    if (dataset->scratching && !move_chunks(writer, id))
        return false;
    if (!ts_digest_tree_text(dataset->digest, dataset->text))
        return ts_hdf5_fail(writer, "digest", "the crypto library failed at SHA-256 of '%s'", dataset->path);
    ts_hdf5_enter();
    if (!ts_hdf5_put_digest(dataset->dataset, dataset->text))
        ts_hdf5_fail_library(writer, dataset->path, 0);
    if (H5Dclose(dataset->dataset) < 0)
        ts_hdf5_fail_library(writer, dataset->path, 0);
    dataset->dataset = -1;
    ts_hdf5_leave();
    return true;
}

enum ts_status ts_hdf5_dataset_finish(struct hdf5_writer *writer, int id)
{
    (void)finish(writer, id);
    return ts_hdf5_state(writer);
}
