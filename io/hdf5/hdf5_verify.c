/* SPDX-License-Identifier: Apache-2.0
 *
 * Verifies a file: a sandboxed child lists it and finds where values are (libhdf5 runs nowhere else
 * on a foreign file), threads read all of it once, and the digests are compared. The writer's own
 * check at its end does the same, but takes chunks as proved that were checked as they were
 * written. A fault is reported for the smallest thing that shows it: a dataset, then the root,
 * whose digest covers attributes, links and structure, then the bytes.
 */
#include "io/hdf5/hdf5_verify.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "io/file/file_bytes.h"
#include "io/file/file_commit.h"
#include "io/file/regular_file.h"
#include "io/file/result_check.h"
#include "io/hdf5/hdf5_content.h"
#include "io/hdf5/hdf5_driver.h"
#include "io/hdf5/hdf5_session.h"
#include "io/hdf5/hdf5_verify_content.h"
#include "io/pool/pool.h"

/* ---- trailer --------------------------------------------------------------------------------- */

/* Every byte of the trailer has one right value, so each changed bit is found: the head is made
   again from the file's length and compared. */

enum { SUM_AT = TRAILER_BYTES - DIGEST_SUM_BYTES };

/* Writes all of the trailer but the digest. */
static void format_head(unsigned char trailer[TRAILER_BYTES], uint64_t bytes)
{
    static const char name[] = "tomostage result"; /* 16 bytes */
    memset(trailer, 0, TRAILER_BYTES);
    memcpy(trailer, name, sizeof name - 1);
    trailer[16] = 1;
    for (int i = 0; i < 8; i++)
        trailer[24 + i] = (unsigned char)(bytes >> (8 * i));
}

bool ts_hdf5_trailer_write(int fd, uint64_t bytes, const unsigned char sum[DIGEST_SUM_BYTES])
{
    unsigned char trailer[TRAILER_BYTES];
    format_head(trailer, bytes);
    memcpy(trailer + SUM_AT, sum, DIGEST_SUM_BYTES);
    return ts_file_write_at(fd, trailer, sizeof trailer, bytes);
}

/* Returns true if a file of so many bytes ends with a trailer that states its length, and writes
   its digest to `sum`. */
static bool hdf5_trailer_read(int fd, uint64_t file_bytes, unsigned char sum[DIGEST_SUM_BYTES])
{
    unsigned char expected[TRAILER_BYTES], found[TRAILER_BYTES];
    if (file_bytes < TRAILER_BYTES)
        return false;
    format_head(expected, file_bytes - TRAILER_BYTES);
    if (!ts_file_read_at(fd, found, sizeof found, file_bytes - TRAILER_BYTES) ||
        memcmp(found, expected, SUM_AT) != 0)
        return false;
    memcpy(sum, found + SUM_AT, DIGEST_SUM_BYTES);
    return true;
}

/* ---- descriptions of images ------------------------------------------------------------------ */

/* Directions must be at right angles, spacings positive and finite, units known
   (io/file/result_check.h). These checks are needed because whoever edits a file can compute its
   digests anew, and the first version of the digests did not cover attributes. An image is an
   NXdata group with the attribute "axes" and the dataset "data", which tables lack. Its description
   is put together from the lines of the listing, in which the axes and the values follow their
   group. */

enum { UNIT_BYTES = 32 };

struct sense {
    const char *group; /* path, which the line ends; NULL: no image */
    struct ts_image image;
    /* The object to which attributes belong: an axis (-1: none), the dataset "data", the group
       itself, or another. */
    int axis;
    bool values, itself;
    bool has_data;
    int parts; /* parts of the geometry */
    char unit[UNIT_BYTES], axis_units[TS_MAX_RANK][UNIT_BYTES];
};

/* Reads the value of an attribute of this name whose type begins so: at most `size` bytes. Returns
   their number; 0 if the line is not that attribute. */
static size_t get_value(const char *line, const char *name, const char *dtype, void *out,
                        size_t size)
{
    const size_t length = strlen(name);
    line += strlen("attribute\t");
    if (strncmp(line, name, length) != 0 || line[length] != '\t' ||
        strncmp(line + length + 1, dtype, strlen(dtype)) != 0)
        return 0;
    return ts_verify_hex(strrchr(line, '\t') + 1, out, size);
}

/* Reads the attribute "axes" of an image: names of one width, filled up with zeros. `anterior` are
   other positions along y. */
static void take_axes(struct sense *sense, const char *line)
{
    char names[64 * TS_MAX_RANK + 1] = "";
    const size_t bytes = get_value(line, "axes", "|S", names, sizeof names - 1);
    const size_t width = bytes > 0 ? strtoull(line + strlen("attribute\taxes\t|S"), NULL, 10) : 0;
    if (width == 0 || bytes % width || bytes / width > TS_MAX_RANK)
        return;
    sense->image.rank = (int)(bytes / width);
    for (int d = 0; d < sense->image.rank; d++) {
        const bool front = strncmp(names + (size_t)d * width, "anterior", width) == 0;
        /* the values of a sweep have a name of their own */
        sense->image.axes[d].kind = front ? TS_AXIS_Y : TS_AXIS_ITEM;
        for (enum ts_axis_kind kind = TS_AXIS_Z; kind <= TS_AXIS_B; kind++)
            if (strlen(ts_axis_kind_name(kind)) == strnlen(names + (size_t)d * width, width) &&
                strncmp(names + (size_t)d * width, ts_axis_kind_name(kind), width) == 0)
                sense->image.axes[d].kind = kind;
    }
}

static void take_attribute(struct sense *sense, const char *line)
{
    struct ts_image *image = &sense->image;
    char quantity[UNIT_BYTES] = "";
    if (sense->axis >= 0) {
        (void)get_value(line, "units", "|S", sense->axis_units[sense->axis], UNIT_BYTES - 1);
        struct ts_axis *axis = &image->axes[sense->axis];
        double vector[3];
        (void)get_value(line, "spacing", "<f8", &axis->spacing, sizeof(double));
        /* y of an image without a place in the patient decreases with the row, and so do positions
           along an axis with a vector if it leads to the right, front or feet. */
        if (axis->kind == TS_AXIS_Y || get_value(line, "vector", "<f8", vector, sizeof vector) > 0)
            axis->spacing = fabs(axis->spacing);
    } else if (sense->values) {
        (void)get_value(line, "units", "|S", sense->unit, UNIT_BYTES - 1);
        (void)get_value(line, "quantity", "|S", quantity, UNIT_BYTES - 1);
        for (int i = TS_COUNTS; *quantity && i <= TS_INTENSITY; i++)
            if (strcmp(quantity, ts_quantity_name((enum ts_quantity)i)) == 0)
                image->quantity = (enum ts_quantity)i;
    } else if (sense->itself) {
        const struct {
            const char *name;
            double *values;
            size_t bytes;
        } parts[] = {{"origin_mm", image->origin_mm, sizeof image->origin_mm},
                     {"direction", image->direction, sizeof image->direction},
                     {"step_z_mm", image->step_z_mm, sizeof image->step_z_mm}};
        take_axes(sense, line);
        for (int i = 0; i < 3; i++)
            sense->parts += get_value(line, parts[i].name, "<f8", parts[i].values,
                                      parts[i].bytes) == parts[i].bytes;
    }
}

/* Notes a dataset of the group: the values, or an axis. */
static void take_dataset(struct sense *sense, const char *path)
{
    const size_t length = strlen(sense->group);
    sense->axis = -1;
    sense->values = sense->itself = false;
    if (strncmp(path, sense->group, length) != 0 || path[length] != '/')
        return;
    const char *name = path + length + 1;
    sense->values = strncmp(name, "data\t", 5) == 0;
    sense->has_data |= sense->values;
    for (int d = 0; d < sense->image.rank; d++) {
        const char *axis = ts_axis_name(&sense->image.axes[d]);
        if (strncmp(name, axis, strlen(axis)) != 0 || name[strlen(axis)] != '\t')
            continue;
        sense->axis = d;
        sense->image.axes[d].n = strtoll(strrchr(path, '\t') + 1, NULL, 10);
    }
}

static bool end_image(struct verification *check, struct sense *sense)
{
    const char *code, *wrong = NULL;
    sense->image.unit = sense->unit;
    for (int d = 0; d < TS_MAX_RANK; d++)
        sense->image.axes[d].unit = sense->axis_units[d];
    sense->image.has_geometry = sense->parts == 3;
    if (sense->group && sense->has_data && sense->image.rank > 0)
        wrong = ts_result_wrong(&sense->image, &code);
    return !wrong || ts_verify_wrong(check, sense->group, "makes no sense: %s", wrong);
}

/* Checks that the descriptions of images in the listing make sense. Returns false with a
 * problem. */
static bool check_descriptions(struct verification *check)
{
    struct sense sense = {.axis = -1};
    for (size_t i = 0; i < check->n_lines; i++) {
        const char *line = check->lines[i];
        if (strncmp(line, "attribute\t", 10) == 0 && sense.group) {
            take_attribute(&sense, line);
        } else if (strncmp(line, "dataset\t", 8) == 0 && sense.group) {
            take_dataset(&sense, line + 8);
        } else if (strncmp(line, "group\t", 6) == 0) {
            if (!end_image(check, &sense))
                return false;
            sense = (struct sense){.axis = -1, .itself = true, .group = line + 6};
        }
    }
    return end_image(check, &sense);
}

/* ---- the pass over the file ------------------------------------------------------------------ */

/* The file is cut into parts (a chunk, a piece of a contiguous dataset, a piece of what is between
   them). Threads take part after part, read it with pread, and hash it as bytes of the file and as
   values of its dataset. Parts are in the order of the file, so that the disk is read at rising
   offsets. Chunks that the writer in this process has proved are parts too, so that the gaps
   between parts are known, but are not read. */

enum { PIECE_BYTES = 4 << 20 };

struct part {
    uint64_t offset, bytes;         /* in the file */
    struct verify_dataset *dataset; /* NULL: between datasets */
    int64_t index;                  /* number of the chunk or piece */
    uint64_t value_offset;          /* where its values begin in the dataset */
    uint64_t value_bytes;
};

struct pass {
    struct verification *check;
    struct part *parts;
    size_t n, capacity, largest, largest_chunk;
    struct scratch *scratch; /* of each thread */
    pthread_mutex_t lock;    /* guards all below, and what the pass sets in the check */
    int64_t failed;          /* the lowest part that failed; n if none did */
};

static bool add_part(struct pass *pass, const struct part *part)
{
    struct part *parts = ts_memory_grow(pass->parts, pass->n, &pass->capacity, sizeof *parts);
    if (!parts)
        return ts_verify_no_memory(pass->check);
    pass->parts = parts;
    pass->parts[pass->n++] = *part;
    if (part->bytes > pass->largest && !(part->dataset && part->dataset->proved))
        pass->largest = (size_t)part->bytes;
    return true;
}

static bool add_pieces(struct pass *pass, struct verify_dataset *dataset, uint64_t offset,
                       uint64_t bytes)
{
    struct part part = {.dataset = dataset, .offset = offset};
    for (; part.value_offset < bytes;
         part.value_offset += PIECE_BYTES, part.offset += PIECE_BYTES, part.index++) {
        const uint64_t left = bytes - part.value_offset;
        part.bytes = part.value_bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
        if (!add_part(pass, &part))
            return false;
    }
    return true;
}

static bool add_chunks(struct pass *pass, struct verify_dataset *dataset)
{
    struct part part = {.dataset = dataset};
    if (dataset->grid.chunk_bytes > pass->largest_chunk && !dataset->proved)
        pass->largest_chunk = dataset->grid.chunk_bytes;
    for (; part.index < dataset->grid.n_chunks;
         part.index++, part.value_offset += part.value_bytes) {
        int64_t start[TS_MAX_RANK];
        part.offset = dataset->chunks[part.index].offset;
        part.bytes = dataset->chunks[part.index].bytes;
        part.value_bytes = ts_chunk_place(&dataset->grid, part.index, start);
        if (!add_part(pass, &part))
            return false;
    }
    return true;
}

static int compare_parts(const void *a, const void *b)
{
    const struct part *one = a, *two = b;
    return one->offset < two->offset ? -1 : one->offset > two->offset;
}

/* Adds the gaps as parts, so that every byte of the body belongs to one part. */
static bool fill_gaps(struct pass *pass)
{
    const size_t n = pass->n;
    uint64_t end = 0;
    if (n > 0)
        qsort(pass->parts, n, sizeof *pass->parts, compare_parts);
    for (size_t i = 0; i < n; i++) {
        const struct part part = pass->parts[i];
        if (part.offset < end)
            return ts_verify_wrong(pass->check, part.dataset->path,
                                   "shares bytes of the file with another dataset");
        if (!add_pieces(pass, NULL, end, part.offset - end))
            return false;
        end = part.offset + part.bytes;
    }
    if (!add_pieces(pass, NULL, end, pass->check->body_bytes - end))
        return false;
    qsort(pass->parts, pass->n, sizeof *pass->parts, compare_parts);
    return true;
}

static bool add_values(const struct verify_dataset *dataset, uint64_t offset, const void *values,
                       size_t bytes)
{
    return dataset->tree ? ts_digest_tree_add(dataset->tree, offset, values, bytes)
                         : ts_digest_add(dataset->flat, values, bytes);
}

static bool make_parts(struct pass *pass)
{
    struct verification *check = pass->check;
    bool done = true;
    for (size_t i = 0; i < check->n_datasets && done; i++) {
        struct verify_dataset *dataset = &check->datasets[i];
        if (dataset->bytes == 0 || dataset->damaged >= 0)
            continue;
        if (dataset->storage.layout == STORAGE_CHUNKED)
            done = add_chunks(pass, dataset);
        else if (dataset->storage.layout == STORAGE_CONTIGUOUS)
            done = add_pieces(pass, dataset, (uint64_t)dataset->storage.offset, dataset->bytes);
        else if (!add_values(dataset, 0, dataset->compact, (size_t)dataset->bytes))
            done = ts_verify_no_memory(check);
    }
    return done && (!check->body || fill_gaps(pass));
}

/* Buffers of one thread, of the size of the largest part. */
struct scratch {
    struct chunk_coder *coder;
    unsigned char *stored, *chunk;
};

static void note_damage(struct pass *pass, const struct part *part)
{
    pthread_mutex_lock(&pass->lock);
    if (part->dataset->damaged < 0 || part->index < part->dataset->damaged)
        part->dataset->damaged = part->index;
    pthread_mutex_unlock(&pass->lock);
}

static enum ts_status fail_part(struct pass *pass, int64_t i, int read_error)
{
    pthread_mutex_lock(&pass->lock);
    if (i < pass->failed) {
        pass->failed = i;
        pass->check->read_error = read_error;
        pass->check->no_memory = !read_error;
    }
    pthread_mutex_unlock(&pass->lock);
    return TS_RUN_FAILED;
}

static bool make_scratch(const struct pass *pass, struct scratch *scratch)
{
    if (!scratch->coder)
        *scratch = (struct scratch){ts_chunk_coder_create(), malloc(pass->largest + 1),
                                    malloc(pass->largest_chunk + 1)};
    return scratch->coder && scratch->stored && scratch->chunk;
}

static enum ts_status check_part(void *user, int thread, int64_t i, struct ts_diag *diag)
{
    struct pass *pass = user;
    struct scratch *scratch = &pass->scratch[thread];
    const struct part *part = &pass->parts[i];
    const struct verify_dataset *dataset = part->dataset;
    const void *values;
    (void)diag;
    if (dataset && dataset->proved)
        return TS_OK;
    if (!make_scratch(pass, scratch))
        return fail_part(pass, i, 0);
    if (!ts_file_read_at(pass->check->fd, scratch->stored, (size_t)part->bytes, part->offset))
        return fail_part(pass, i, errno ? errno : -1);
    values = scratch->stored;
    bool done = !pass->check->body || ts_digest_tree_add(pass->check->body, part->offset,
                                                         scratch->stored, (size_t)part->bytes);
    errno = 0; /* the decoder leaves ENOMEM if memory is out */
    if (done && dataset && dataset->storage.layout == STORAGE_CHUNKED)
        values = ts_chunk_decode(scratch->coder, &dataset->filters, scratch->stored,
                                 (size_t)part->bytes, scratch->chunk, dataset->grid.chunk_bytes);
    if (!values && errno == ENOMEM)
        done = false;
    else if (!values)
        note_damage(pass, part);
    else if (done && dataset)
        done = add_values(dataset, part->value_offset, values, (size_t)part->value_bytes);
    return done ? TS_OK : fail_part(pass, i, 0);
}

/* A digest of version 1 takes its parts in order, so one thread reads a file that has such
   digests. */
static bool check_parts(struct pass *pass)
{
    const size_t most = pass->check->version == DIGEST_VERSION ? (size_t)pass->check->threads : 1;
    const int threads = (int)(most < pass->n ? most : pass->n);
    struct pool *pool = ts_pool_create(threads);
    struct ts_diag *unused = ts_diag_create();
    pass->failed = (int64_t)pass->n;
    pass->scratch = calloc((size_t)threads + 1, sizeof *pass->scratch);
    const bool ready = pool && unused && pass->scratch;
    const bool done =
        ready && ts_pool_run(pool, threads, (int64_t)pass->n, check_part, pass, unused) == TS_OK;
    for (int i = 0; pass->scratch && i < threads; i++) {
        ts_chunk_coder_destroy(pass->scratch[i].coder);
        free(pass->scratch[i].stored);
        free(pass->scratch[i].chunk);
    }
    free(pass->scratch);
    ts_pool_destroy(pool);
    ts_diag_destroy(unused);
    return done || (!ready && ts_verify_no_memory(pass->check));
}

/* Ends the digests of all datasets except damaged ones. */
static bool end_digests(struct verification *check)
{
    bool done = true;
    for (size_t i = 0; i < check->n_datasets && done; i++) {
        struct verify_dataset *dataset = &check->datasets[i];
        if (dataset->damaged < 0 && !dataset->proved)
            done = dataset->tree ? ts_digest_tree_text(dataset->tree, dataset->found)
                                 : ts_digest_end(dataset->flat, dataset->found);
    }
    return done || ts_verify_no_memory(check);
}

/* Reads all of the body once, in threads, and ends the digests of datasets and body. Damaged chunks
 * are recorded in their datasets. Returns false with a problem if the pass itself fails. */
static bool pass_over_file(struct verification *check)
{
    struct pass pass = {.check = check};
    pthread_mutex_init(&pass.lock, NULL);
    const bool done = make_parts(&pass) && check_parts(&pass) && end_digests(check);
    pthread_mutex_destroy(&pass.lock);
    free(pass.parts);
    return done;
}

/* ---- the check ------------------------------------------------------------------------------- */

static void clear(struct verification *check)
{
    for (size_t i = 0; i < check->n_datasets; i++) {
        struct verify_dataset *dataset = &check->datasets[i];
        ts_digest_tree_destroy(dataset->tree);
        ts_digest_destroy(dataset->flat);
        free(dataset->chunks);
        free(dataset->path);
    }
    ts_digest_tree_destroy(check->body);
    free(check->datasets);
    free(check->lines);
    free(check->content);
}

/* ---- the root's digest ----------------------------------------------------------------------- */

static bool add_line(struct digest *digest, const char *line, const char *separator,
                     const char *last)
{
    return ts_digest_add(digest, line, strlen(line)) &&
           ts_digest_add(digest, separator, strlen(separator)) &&
           ts_digest_add(digest, last, strlen(last)) && ts_digest_add(digest, "\n", 1);
}

static bool add_listing(const struct verification *check, struct digest *digest)
{
    size_t next = 0;
    bool done = true;
    for (size_t i = 0; i < check->n_lines && done; i++) {
        const struct verify_dataset *dataset =
            next < check->n_datasets ? &check->datasets[next] : NULL;
        const bool is_dataset = dataset && dataset->line == i;
        done = add_line(digest, check->lines[i], is_dataset ? "\t" : "",
                        is_dataset ? dataset->found : "");
        next += is_dataset;
    }
    return done;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp((*(const struct verify_dataset *const *)a)->path,
                  (*(const struct verify_dataset *const *)b)->path);
}

/* Adds what digests of version 1 cover: only datasets, by path. */
static bool add_paths(const struct verification *check, struct digest *digest)
{
    const struct verify_dataset **sorted = calloc(check->n_datasets + 1, sizeof *sorted);
    bool done = sorted;
    for (size_t i = 0; i < check->n_datasets && done; i++)
        sorted[i] = &check->datasets[i];
    if (done)
        qsort(sorted, check->n_datasets, sizeof *sorted, compare_paths);
    for (size_t i = 0; i < check->n_datasets && done; i++)
        done = add_line(digest, sorted[i]->path, " ", sorted[i]->found);
    free(sorted);
    return done;
}

static bool root_digest(const struct verification *check, char text[DIGEST_TEXT_BYTES])
{
    struct digest *digest = ts_digest_create();
    const bool done =
        digest && (check->version == 1 ? add_paths(check, digest) : add_listing(check, digest)) &&
        ts_digest_end(digest, text);
    ts_digest_destroy(digest);
    return done;
}

/* Writes the content of `file` to check->content; called between enter and leave. */
static bool list(hid_t file, bool places, struct verification *check, size_t *bytes)
{
    char at[HDF5_WALK_PATH] = "", problem[160];
    FILE *out = open_memstream(&check->content, bytes);
    if (!out)
        return ts_verify_no_memory(check);
    const bool done = ts_hdf5_content(file, places, out, at, problem, sizeof problem);
    if (fclose(out) != 0)
        return ts_verify_no_memory(check);
    return done || ts_verify_wrong(check, at, "%s", problem);
}

bool ts_hdf5_root_digest(hid_t file, char text[DIGEST_TEXT_BYTES])
{
    struct verification check = {0};
    size_t bytes = 0;
    bool done = list(file, false, &check, &bytes) && ts_verify_content(&check, bytes);
    for (size_t i = 0; i < check.n_datasets; i++)
        memcpy(check.datasets[i].found, check.datasets[i].expected, DIGEST_TEXT_BYTES);
    done = done && root_digest(&check, text);
    clear(&check);
    return done;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

static bool judge_datasets(struct verification *check)
{
    for (size_t i = 0; i < check->n_datasets; i++) {
        const struct verify_dataset *dataset = &check->datasets[i];
        int64_t start[TS_MAX_RANK] = {0};
        if (dataset->damaged >= 0 && dataset->storage.layout == STORAGE_CHUNKED)
            ts_chunk_place(&dataset->grid, dataset->damaged, start);
        if (dataset->damaged >= 0)
            return ts_verify_wrong(check, dataset->path,
                                   "cannot be checked: the chunk at slice %lld is damaged",
                                   (long long)start[0]);
        if (strcmp(dataset->found, dataset->expected) != 0)
            return ts_verify_wrong(check, dataset->path,
                                   "has other values than were written (SHA-256 differs)");
    }
    return true;
}

/* Finds the dataset whose first chunk is there. Its path may differ from the writer's: if there are
   hard links, the listing has the first one. */
static const struct hdf5_proved *find_written(const struct hdf5_written *written, uint64_t offset)
{
    for (size_t i = 0; i < written->n_datasets; i++)
        if (written->datasets[i].chunks[0].offset == offset)
            return &written->datasets[i];
    return NULL;
}

/* Takes over what the writer has proved: every chunked dataset is one of its own, and its chunks
   are where they were written. */
static bool match_written(struct verification *check)
{
    size_t n = 0;
    for (size_t i = 0; i < check->n_datasets; i++) {
        struct verify_dataset *dataset = &check->datasets[i];
        if (dataset->bytes == 0 || dataset->storage.layout != STORAGE_CHUNKED)
            continue;
        const struct hdf5_proved *proved = find_written(check->written, dataset->chunks[0].offset);
        if (!proved || proved->n_chunks != dataset->grid.n_chunks)
            return ts_verify_wrong(check, dataset->path, "has chunks where none were written");
        for (int64_t k = 0; k < proved->n_chunks; k++)
            if (proved->chunks[k].offset != dataset->chunks[k].offset ||
                proved->chunks[k].bytes != dataset->chunks[k].bytes || dataset->chunks[k].skipped)
                return ts_verify_wrong(check, dataset->path, "has chunks where none were written");
        memcpy(dataset->found, proved->digest, sizeof dataset->found);
        dataset->proved = true;
        n++;
    }
    return n == check->written->n_datasets ||
           ts_verify_wrong(check, "/", "lacks a dataset that was written");
}

/* Reads all of the file, and compares all digests but that of the trailer. */
static bool judge(struct verification *check, size_t content_bytes)
{
    char found[DIGEST_TEXT_BYTES];
    if (!ts_verify_content(check, content_bytes))
        return false;
    if (!check->complete)
        return ts_verify_wrong(check, "/", "is not marked complete: the writer was stopped");
    if (!*check->expected)
        return ts_verify_wrong(check, "/", "has no digest");
    if (check->version == 0)
        return ts_verify_wrong(check, "/",
                               "has digests of a version that this program does not know");
    if (check->version == DIGEST_VERSION && !check->body &&
        !(check->body = ts_digest_tree_create(check->body_bytes)))
        return ts_verify_no_memory(check);
    if (!ts_verify_describe(check) || (check->written && !match_written(check)) ||
        !pass_over_file(check) || !judge_datasets(check))
        return false;
    if (!root_digest(check, found))
        return ts_verify_no_memory(check);
    return strcmp(found, check->expected) == 0 ||
           ts_verify_wrong(check, "/", "has a digest that does not fit its %s",
                           check->version == DIGEST_VERSION ? "attributes, links and structure"
                                                            : "datasets");
}

/* Compares the digest of the body with the trailer's; NULL: the file has no trailer. */
static bool judge_body(struct verification *check, const unsigned char *expected)
{
    unsigned char found[DIGEST_SUM_BYTES];
    if (check->version != DIGEST_VERSION)
        return true;
    if (!expected)
        return ts_verify_wrong(
            check, "", "does not end with its trailer: it was cut, added to or written again");
    if (!ts_digest_tree_end(check->body, found))
        return ts_verify_no_memory(check);
    return memcmp(found, expected, sizeof found) == 0 ||
           ts_verify_wrong(check, "",
                           "has changed: bytes outside of values, attributes and structure differ");
}

static enum ts_status hdf5_verify_report(const struct verification *check, const char *shown,
                                         enum ts_status failed, struct ts_diag *diag)
{
    char at[256];
    if (check->no_memory)
        return ts_diag_no_memory(diag, (size_t)check->body_bytes);
    if (check->read_error)
        return ts_diag_error(
            diag, failed, &(struct diag_site){.code = "hdf5-read"}, "cannot read '%s': %s", shown,
            check->read_error < 0 ? "it became shorter" : strerror(check->read_error));
    ts_text_escape(at, sizeof at, check->at);
    /* A file that this run wrote may be right although reading it failed. */
    const char *code = check->written ? "output-check" : "hdf5-damaged";
    return ts_diag_error(diag, failed, &(struct diag_site){.code = code}, "'%s'%s %s%s%s", shown,
                         *at ? ":" : "", at, *at ? " " : "", check->problem);
}

/* ---- whose file it is ------------------------------------------------------------------------ */

enum ts_status ts_hdf5_seal(int fd, const char *shown, int threads,
                            const struct hdf5_written *written, struct ts_diag *diag)
{
    struct stat status = {0};
    struct hdf5_failure failure;
    unsigned char sum[DIGEST_SUM_BYTES];
    struct verification check = {
        .fd = fd, .threads = threads, .body = written->body, .written = written};
    size_t bytes = 0;
    check.read_error = fstat(fd, &status) != 0 ? errno : 0;
    check.body_bytes = (uint64_t)status.st_size;
    ts_hdf5_enter();
    const hid_t file = check.read_error ? -1 : ts_hdf5_open_descriptor(fd, &failure);
    bool done = file >= 0 && list(file, true, &check, &bytes);
    if (file >= 0)
        H5Fclose(file);
    else if (!check.read_error)
        ts_verify_wrong(&check, "", "cannot be opened: %.100s", failure.text);
    ts_hdf5_leave();
    if (done && !ts_digest_tree_set_bytes(check.body, check.body_bytes))
        done = ts_verify_wrong(&check, "", "is shorter than what was written");
    done = done && judge(&check, bytes);
    if (done && !ts_digest_tree_end(check.body, sum))
        done = ts_verify_no_memory(&check);
    enum ts_status result = done ? TS_OK : hdf5_verify_report(&check, shown, TS_RUN_FAILED, diag);
    if (done && !ts_hdf5_trailer_write(fd, check.body_bytes, sum))
        result =
            ts_file_failed(diag, "output-write", errno, "cannot write the trailer of '%s'", shown);
    check.body = NULL; /* the writer's */
    clear(&check);
    return result;
}

static enum ts_status list_task(struct hdf5_child *child, const void *request, FILE *out,
                                struct ts_diag *diag)
{
    char at[HDF5_WALK_PATH] = "", escaped[256], problem[160];
    (void)request;
    if (H5Aexists(child->files[0], "complete") <= 0 && H5Aexists(child->files[0], "digest") <= 0) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "result-foreign"},
                      "'%s' was not written by tomostage, or not to its end: it is not marked "
                      "complete and has no digest",
                      child->path);
        return ts_diag_hint(
            diag, "`tomostage info FILE` lists what is in the file, and says which input reads it");
    }
    if (ts_hdf5_content(child->files[0], true, out, at, problem, sizeof problem))
        return TS_OK;
    ts_text_escape(escaped, sizeof escaped, at);
    return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-damaged"},
                         "'%s': %s %s", child->path, escaped, problem);
}

static int count_threads(void)
{
    enum { MOST = 32 }; /* each uses up to 24 MiB */
    cpu_set_t set;
    const int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < MOST ? n : MOST;
}

enum ts_status ts_hdf5_verify_open(struct hdf5_session *session, int fd, const char *path,
                                   struct hdf5_proof *proof, struct ts_diag *diag)
{
    struct verification check = {.fd = fd, .threads = count_threads()};
    struct stat found = {0};
    unsigned char sum[DIGEST_SUM_BYTES];
    size_t bytes = 0;
    errno = 0;
    const bool has_trailer = fstat(fd, &found) == 0 &&
                             hdf5_trailer_read(fd, check.body_bytes = (uint64_t)found.st_size, sum);
    check.read_error = has_trailer ? 0 : errno;
    check.body_bytes -= has_trailer ? TRAILER_BYTES : 0;
    enum ts_status status = check.read_error
                                ? hdf5_verify_report(&check, path, TS_BAD_INPUT, diag)
                                : ts_hdf5_session_call(session, list_task, NULL, 0,
                                                       (void **)&check.content, &bytes, diag);
    if (status == TS_OK && !(judge(&check, bytes) && judge_body(&check, has_trailer ? sum : NULL) &&
                             check_descriptions(&check)))
        status = hdf5_verify_report(&check, path, TS_BAD_INPUT, diag);
    if (proof) {
        *proof = (struct hdf5_proof){.version = check.version,
                                     .datasets = check.n_datasets,
                                     .attributes = check.n_attributes};
        memcpy(proof->digest, check.expected, sizeof proof->digest);
        for (size_t i = 0; i < check.n_datasets; i++)
            proof->value_bytes += check.datasets[i].bytes;
    }
    clear(&check);
    return status;
}

enum ts_status ts_hdf5_verify(struct sandbox *sandbox, const char *path, struct hdf5_proof *proof,
                              struct ts_diag *diag)
{
    const struct hdf5_session_options options = {.sandbox = sandbox, .path = path};
    struct hdf5_session *session = NULL;
    struct stat found;
    char reason[200];
    int64_t root;
    const int fd = ts_regular_file_open(path, &found, reason, sizeof reason);
    if (fd < 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-open"},
                             "'%s' %s", path, reason);
    enum ts_status status = ts_hdf5_session_start(&options, &session, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_add(session, fd, &root, diag);
    if (status == TS_OK)
        status = ts_hdf5_verify_open(session, fd, path, proof, diag);
    ts_hdf5_session_end(session);
    close(fd);
    return status;
}
