/* SPDX-License-Identifier: Apache-2.0
 *
 * Parses the lines that io/hdf5/hdf5_content.c writes into datasets. Every length is checked
 * against the bytes that are there.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_verify_content.h"

bool ts_verify_wrong(struct verification *check, const char *at, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->problem, sizeof check->problem, format, arguments);
    va_end(arguments);
    snprintf(check->at, sizeof check->at, "%s", at);
    return false;
}

bool ts_verify_no_memory(struct verification *check)
{
    check->no_memory = true;
    return false;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool grow(void **array, size_t n, size_t element_bytes)
{
    if (n & (n - 1)) /* the capacity is a power of two, and doubles when it is reached */
        return true;
    void *grown = realloc(*array, (n ? 2 * n : 1) * element_bytes);
    if (grown)
        *array = grown;
    return grown;
}

size_t ts_verify_hex(const char *hex, void *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; i++) {
        const char *high = hex[2 * i] ? strchr(digits, hex[2 * i]) : NULL;
        const char *low = high && hex[2 * i + 1] ? strchr(digits, hex[2 * i + 1]) : NULL;
        if (!low)
            return i;
        ((unsigned char *)bytes)[i] = (unsigned char)((high - digits) << 4 | (low - digits));
    }
    return n;
}

/* A digest is 64 characters of text; the lines have these as hexadecimal digits. */
static void parse_digest(const char *hex, char digest[DIGEST_TEXT_BYTES])
{
    const size_t n = DIGEST_TEXT_BYTES - 1;
    digest[n] = '\0';
    if (strlen(hex) != 2 * n || ts_verify_hex(hex, digest, n) != n)
        digest[0] = '\0';
}

static bool take_dataset(struct verification *check, const char *line,
                         struct verify_dataset **dataset)
{
    const char *path = line + strlen("dataset\t");
    if (!grow((void **)&check->datasets, check->n_datasets, sizeof *check->datasets))
        return ts_verify_no_memory(check);
    *dataset = &check->datasets[check->n_datasets++];
    **dataset = (struct verify_dataset){
        .path = strndup(path, strcspn(path, "\t")), .line = check->n_lines - 1, .damaged = -1};
    (*dataset)->storage.rank = -1; /* not described yet */
    return (*dataset)->path || ts_verify_no_memory(check);
}

static bool no_sense(struct verification *check)
{
    return ts_verify_wrong(check, "", "is described in a way that makes no sense");
}

/* Takes the block that follows a line "=storage N" or "=chunks N". dataset NULL: the line belongs
 * to no dataset. */
static bool take_block(struct verification *check, bool table, const char *block, size_t bytes,
                       struct verify_dataset *dataset)
{
    int64_t outside;
    if (!dataset || dataset->chunks || (table && dataset->storage.rank < 0))
        return no_sense(check);
    if (!table)
        return ts_hdf5_storage_take(block, bytes, &dataset->storage, &dataset->compact) ||
               no_sense(check);
    dataset->chunks = malloc(bytes + 1);
    if (!dataset->chunks)
        return ts_verify_no_memory(check);
    memcpy(dataset->chunks, block, bytes);
    return ts_hdf5_storage_check_table(&dataset->storage, dataset->chunks, bytes,
                                       (int64_t)check->body_bytes, &outside) ||
           ts_verify_wrong(check, dataset->path, "has chunks outside of the file");
}

static void take_attribute(struct verification *check, const char *line,
                           struct verify_dataset *dataset, bool at_root)
{
    static const char tree[] = "attribute\tsha256_tree\t|S64\t\t",
                      flat[] = "attribute\tsha256\t|S64\t\t",
                      version[] = "attribute\tdigest_version\t";
    check->n_attributes++;
    if (at_root && strncmp(line, version, strlen(version)) == 0) {
        const char *number = line + strlen(version);
        const bool known =
            strcmp(number, "<i4\t\t02000000") == 0 || strcmp(number, "<i4\t\t03000000") == 0;
        check->version = known ? DIGEST_VERSION : 0; /* 2 is 3 without references */
    }
    if (dataset && strncmp(line, tree, strlen(tree)) == 0)
        parse_digest(line + strlen(tree), dataset->expected);
    if (dataset && !*dataset->expected && strncmp(line, flat, strlen(flat)) == 0)
        parse_digest(line + strlen(flat), dataset->expected);
}

static bool take_line(struct verification *check, char *line)
{
    if (!grow((void **)&check->lines, check->n_lines, sizeof *check->lines))
        return ts_verify_no_memory(check);
    check->lines[check->n_lines++] = line;
    return true;
}

static void take_mark(struct verification *check, const char *line)
{
    const char *hex = strchr(line, '\t') + 1;
    check->n_attributes++;
    if (strncmp(line, "=digest\t", 8) == 0)
        parse_digest(hex, check->expected);
    else /* a number of one byte or, little-endian, of up to four */
        check->complete = strlen(hex) <= 8 && strncmp(hex, "01", 2) == 0 &&
                          strspn(hex + 2, "0") == strlen(hex + 2);
}

bool ts_verify_content(struct verification *check, size_t bytes)
{
    /* the dataset to which the lines belong; NULL: another object */
    struct verify_dataset *dataset = NULL;
    bool at_root = false, done = true;
    char *at = check->content, *end = at + bytes;
    check->version = 1; /* the version, if the root states none */
    while (done && at < end) {
        char *line = at, *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return no_sense(check);
        *newline = '\0';
        at = newline + 1;
        if (strncmp(line, "=storage\t", 9) == 0 || strncmp(line, "=chunks\t", 8) == 0) {
            const size_t block = strtoull(strchr(line, '\t') + 1, NULL, 10);
            if (block > (size_t)(end - at))
                return no_sense(check);
            done = take_block(check, line[1] == 'c', at, block, dataset);
            at += block;
        } else if (strncmp(line, "=digest\t", 8) == 0 || strncmp(line, "=complete\t", 10) == 0) {
            take_mark(check, line);
        } else if (!take_line(check, line)) {
            return false;
        } else if (strncmp(line, "attribute\t", 10) == 0) {
            take_attribute(check, line, dataset, at_root);
        } else {
            dataset = NULL;
            at_root = strcmp(line, "group\t/") == 0;
            done = strncmp(line, "dataset\t", 8) != 0 || take_dataset(check, line, &dataset);
        }
    }
    return done;
}

/* ---- datasets -------------------------------------------------------------------------------- */

/* Checks that this program could have written such chunks and filters. Returns NULL, or a text
 * about the fault. */
static const char *describe_chunks(struct verify_dataset *dataset)
{
    const struct hdf5_storage *storage = &dataset->storage;
    const size_t width = dataset->grid.element_bytes;
    const int32_t expected[] = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32};
    const bool deflated = storage->n_filters > 1,
               plain = storage->n_filters == 0 && storage->chunk[0] == 1;
    int first = 2; /* of those expected */
    if (deflated)
        first = width > 1 ? 0 : 1;
    bool ours = (plain || storage->n_filters == 3 - first) && !storage->edges_unfiltered;
    for (int i = first; i < 3 && ours && !plain; i++)
        ours = storage->filters[i - first].filter.id == expected[i];
    if (!ours)
        return "its filters are not those of this program";
    dataset->filters =
        (struct chunk_filters){.element_bytes = width, .level = deflated, .plain = plain};
    for (int d = 0; d < storage->rank; d++)
        if (storage->chunk[d] != dataset->grid.chunk[d])
            return "its chunks are not those of this program";
    if (!dataset->chunks || storage->n_chunks != dataset->grid.n_chunks)
        return "chunks are missing";
    for (int64_t i = 0; i < dataset->grid.n_chunks; i++) {
        const struct storage_chunk *chunk = &dataset->chunks[i];
        if (chunk->bytes == 0)
            return "chunks are missing";
        if (chunk->skipped ||
            chunk->bytes > ts_chunk_bound(&dataset->filters, dataset->grid.chunk_bytes)) {
            dataset->damaged = i;
            return NULL;
        }
    }
    return NULL;
}

/* Sets bytes and grid. Returns NULL, or why the dataset cannot be read. */
static const char *hdf5_verify_content_describe(struct verify_dataset *dataset, uint64_t body_bytes)
{
    const struct hdf5_storage *storage = &dataset->storage;
    size_t bytes = storage->element_bytes;
    if (storage->rank < 0 || storage->class == STORAGE_OTHER || storage->variable)
        return "its type is not one of this program";
    if (storage->rank > TS_MAX_RANK)
        return "its rank is not one of this program";
    for (int d = 0; d < storage->rank; d++)
        if (!ts_mul_size(bytes, (size_t)storage->n[d], &bytes) || bytes > INT64_MAX)
            return "its size cannot be addressed";
    dataset->bytes = bytes;
    if (bytes == 0)
        return NULL;
    if (storage->layout == STORAGE_VIRTUAL || storage->layout == STORAGE_EXTERNAL)
        return "its values lie in other files";
    if (storage->layout == STORAGE_COMPACT)
        return storage->compact_bytes == bytes ? NULL : "values are missing";
    if (storage->layout == STORAGE_CONTIGUOUS)
        return storage->offset >= 0 && (uint64_t)storage->offset <= body_bytes &&
                       bytes <= body_bytes - (uint64_t)storage->offset
                   ? NULL
                   : "values are missing";
    if (storage->rank == 0 ||
        !ts_chunk_grid_init(&dataset->grid, storage->rank, storage->n, storage->element_bytes))
        return "its size cannot be addressed";
    if (storage->layout == STORAGE_CHUNKED &&
        storage->chunk[0] == 1) /* as ts_hdf5_frames makes them */
        ts_chunk_grid_part(&dataset->grid);
    return describe_chunks(dataset);
}

bool ts_verify_describe(struct verification *check)
{
    for (size_t i = 0; i < check->n_datasets; i++) {
        struct verify_dataset *dataset = &check->datasets[i];
        const char *refusal = hdf5_verify_content_describe(dataset, check->body_bytes);
        if (!*dataset->expected)
            return ts_verify_wrong(check, dataset->path, "has no SHA-256");
        if (refusal)
            return ts_verify_wrong(check, dataset->path, "cannot be checked: %s", refusal);
        if (check->version == DIGEST_VERSION)
            dataset->tree = ts_digest_tree_create(dataset->bytes);
        else
            dataset->flat = ts_digest_create();
        if (!dataset->tree && !dataset->flat)
            return ts_verify_no_memory(check);
    }
    return true;
}
