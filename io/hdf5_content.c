/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a dataset back. Chunks of the shape and with the filters that this program writes are taken as they are and
 * decoded by own threads, about three times as fast as libhdf5 does and on all processors; all else goes through
 * H5Dread. Only integer, float and fixed text datasets whose chunks are all there are read.
 */
#include "io/hdf5_content.h"

#include <stdlib.h>
#include <string.h>

#include "io/chunk_queue.h"

/* The dataset while it is read. */
struct content {
    hid_t dataset, type, space, list;
    struct chunk_grid grid;
    struct chunk_filters filters;
    struct digest *digest;
    int64_t damaged; /* chunk that did not decode (set by the sink), */
    int64_t misfit;  /* chunk of impossible size (set by the reader); -1: none */
};

/* What may be read at all. NULL, or what is wrong. */
static const char *refuse_storage(hid_t list, hid_t space, hid_t dataset, const struct chunk_grid *grid)
{
    H5D_layout_t layout = H5Pget_layout(list);
    hsize_t chunk[TS_MAX_RANK], n_chunks = 0, expected = 1;
    if (layout == H5D_VIRTUAL || H5Pget_external_count(list) > 0)
        return "its values lie in other files";
    int n_filters = H5Pget_nfilters(list);
    for (int i = 0; i < n_filters; i++) {
        unsigned flags, config;
        size_t n_values = 0;
        H5Z_filter_t filter = H5Pget_filter2(list, (unsigned)i, &flags, &n_values, NULL, 0, NULL, &config);
        if (filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_FLETCHER32)
            return "its filters are not those of this program";
    }
    if (layout != H5D_CHUNKED)
        return NULL;
    size_t bytes = grid->element_bytes;
    if (H5Pget_chunk(list, TS_MAX_RANK, chunk) != grid->rank)
        return "its chunks cannot be told";
    for (int d = 0; d < grid->rank; d++) {
        if (chunk[d] == 0 || !ts_mul_size(bytes, (size_t)chunk[d], &bytes) || bytes > (64u << 20))
            return "its chunks are larger than 64 MiB";
        expected *= ((hsize_t)grid->n[d] + chunk[d] - 1) / chunk[d];
    }
    /* A chunk that is missing would read as fill values without any error. */
    if (H5Dget_num_chunks(dataset, space, &n_chunks) < 0 || n_chunks != expected)
        return "chunks are missing";
    return NULL;
}

static bool read_part(hid_t dataset, hid_t type, hid_t space, const struct chunk_grid *grid, int64_t i, void *buffer,
                      size_t *bytes)
{
    int64_t first[TS_MAX_RANK];
    hsize_t start[TS_MAX_RANK], count[TS_MAX_RANK];
    *bytes = ts_chunk_place(grid, i, first);
    for (int d = 0; d < grid->rank; d++) {
        int64_t left = grid->n[d] - first[d];
        start[d] = (hsize_t)first[d];
        count[d] = (hsize_t)(left < grid->chunk[d] ? left : grid->chunk[d]);
    }
    hid_t memory = H5Screate_simple(grid->rank, count, NULL);
    bool done = memory >= 0 && H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                H5Dread(dataset, type, memory, space, H5P_DEFAULT, buffer) >= 0;
    if (memory >= 0)
        H5Sclose(memory);
    return done;
}

/* Whether the chunks are such as this program writes; then content->filters says how to decode them. */
static bool has_own_chunks(struct content *content)
{
    hsize_t chunk[TS_MAX_RANK];
    H5Z_filter_t filters[3] = {0};
    unsigned flags, config, level = 0;
    int n = H5Pget_nfilters(content->list), next = 0;
    if (H5Pget_layout(content->list) != H5D_CHUNKED || n < 1 || n > 3 ||
        H5Pget_chunk(content->list, TS_MAX_RANK, chunk) != content->grid.rank)
        return false;
    for (int d = 0; d < content->grid.rank; d++)
        if ((int64_t)chunk[d] != content->grid.chunk[d])
            return false;
    for (int i = 0; i < n; i++) {
        size_t n_values = 1;
        filters[i] = H5Pget_filter2(content->list, (unsigned)i, &flags, &n_values, &level, 0, NULL, &config);
    }
    content->filters = (struct chunk_filters){.element_bytes = content->grid.element_bytes, .level = n > 1};
    if (n > 1 && content->grid.element_bytes > 1 && filters[next++] != H5Z_FILTER_SHUFFLE)
        return false;
    if (n > 1 && filters[next++] != H5Z_FILTER_DEFLATE)
        return false;
    return filters[next] == H5Z_FILTER_FLETCHER32 && next + 1 == n;
}

static bool digest_chunk(void *user, const struct chunk_job *job)
{
    struct content *content = user;
    if (!job->chunk)
        content->damaged = job->index;
    return job->chunk && ts_digest_add(content->digest, job->chunk, job->inside_bytes);
}

static bool put_encoded(struct content *content, struct chunk_queue *queue, int64_t i)
{
    int64_t start[TS_MAX_RANK];
    hsize_t offset[TS_MAX_RANK], bytes = 0;
    uint32_t skipped_filters = 0;
    int error;
    struct chunk_job job = {.decode = true, .index = i, .filters = content->filters};
    job.inside_bytes = ts_chunk_place(&content->grid, i, start);
    job.chunk_bytes = content->grid.chunk_bytes;
    for (int d = 0; d < content->grid.rank; d++)
        offset[d] = (hsize_t)start[d];
    if (H5Dget_chunk_storage_size(content->dataset, offset, &bytes) < 0)
        return false;
    if (bytes == 0 || bytes > ts_chunk_bound(&content->filters, job.chunk_bytes)) {
        content->misfit = i;
        return false;
    }
    job.encoded_bytes = (size_t)bytes;
    job.encoded = malloc(job.encoded_bytes);
    if (!job.encoded)
        return false;
    if (H5Dread_chunk(content->dataset, H5P_DEFAULT, offset, &skipped_filters, job.encoded) < 0 || skipped_filters) {
        free(job.encoded);
        return false;
    }
    return ts_chunk_queue_put_take(queue, &job, &error);
}

static bool read_own_chunks(struct content *content, int threads)
{
    struct chunk_queue *queue = ts_chunk_queue_create(threads, digest_chunk, content);
    bool done = queue;
    for (int64_t i = 0; i < content->grid.n_chunks && done; i++)
        done = put_encoded(content, queue, i);
    if (queue)
        done = ts_chunk_queue_drain(queue) && done;
    ts_chunk_queue_destroy(queue);
    return done;
}

static bool read_parts(struct content *content)
{
    unsigned char *buffer = malloc(content->grid.chunk_bytes);
    bool done = buffer;
    for (int64_t i = 0; i < content->grid.n_chunks && done; i++) {
        size_t bytes = content->grid.chunk_bytes;
        if (content->grid.rank == 0)
            done = H5Dread(content->dataset, content->type, H5S_ALL, H5S_ALL, H5P_DEFAULT, buffer) >= 0;
        else
            done = read_part(content->dataset, content->type, content->space, &content->grid, i, buffer, &bytes);
        done = done && ts_digest_add(content->digest, buffer, bytes);
    }
    free(buffer);
    return done;
}

/* Sets the grid; NULL, or why the dataset is not read. */
static const char *describe(struct content *content)
{
    hsize_t n[H5S_MAX_RANK];
    int64_t length[TS_MAX_RANK];
    H5T_class_t class = H5Tget_class(content->type);
    int rank = H5Sget_simple_extent_dims(content->space, n, NULL);
    size_t element_bytes = H5Tget_size(content->type);
    if ((class != H5T_INTEGER && class != H5T_FLOAT && class != H5T_STRING) || H5Tis_variable_str(content->type) > 0)
        return "its type is not one of this program";
    if (rank < 0 || rank > TS_MAX_RANK)
        return "its rank is not one of this program";
    for (int d = 0; d < rank; d++)
        length[d] = (int64_t)n[d];
    content->grid = (struct chunk_grid){.n_chunks = 1, .element_bytes = element_bytes, .chunk_bytes = element_bytes};
    if (H5Sget_simple_extent_npoints(content->space) == 0) {
        content->grid.n_chunks = 0;
        return NULL;
    }
    if (rank > 0 && !ts_chunk_grid_init(&content->grid, rank, length, element_bytes))
        return "its size cannot be addressed";
    return refuse_storage(content->list, content->space, content->dataset, &content->grid);
}

/* A chunk's place in words: its first slice. */
static void name_chunk(const struct content *content, int64_t index, char *problem, size_t size)
{
    int64_t start[TS_MAX_RANK];
    ts_chunk_place(&content->grid, index, start);
    snprintf(problem, size, "the chunk at slice %lld is damaged", (long long)start[0]);
}

bool ts_hdf5_dataset_digest(hid_t dataset, int threads, char text[DIGEST_TEXT_BYTES], char *problem, size_t size)
{
    struct content content = {.dataset = dataset,
                              .type = H5Dget_type(dataset),
                              .space = H5Dget_space(dataset),
                              .list = H5Dget_create_plist(dataset),
                              .digest = ts_digest_create(),
                              .damaged = -1,
                              .misfit = -1};
    const char *refusal = NULL;
    bool done = content.type >= 0 && content.space >= 0 && content.list >= 0 && content.digest;
    if (done)
        refusal = describe(&content);
    if (done && !refusal) {
        bool own = content.grid.n_chunks > 0 && has_own_chunks(&content);
        done = own ? read_own_chunks(&content, threads) : read_parts(&content);
        done = done && ts_digest_end(content.digest, text);
    }
    snprintf(problem, size, "%s", refusal ? refusal : "");
    if (content.damaged >= 0 || content.misfit >= 0)
        name_chunk(&content, content.damaged >= 0 ? content.damaged : content.misfit, problem, size);
    ts_digest_destroy(content.digest);
    if (content.list >= 0)
        H5Pclose(content.list);
    if (content.space >= 0)
        H5Sclose(content.space);
    if (content.type >= 0)
        H5Tclose(content.type);
    return done && !refusal;
}
