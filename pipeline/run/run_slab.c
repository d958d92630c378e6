/* SPDX-License-Identifier: Apache-2.0
 *
 * A slab in a checkpoint. It is written and loaded by the same walk over its parts, so that both agree on their order.
 * ts_plan_step() says the same of a slab each time, and its answer stands at the beginning of the file: where it
 * differs, as with another memory budget, the file is not used.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/file_bytes.h"
#include "io/file/file_commit.h"
#include "io/source/source_slices.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/run/run_checkpoint.h"
#include "pipeline/run/run_finite.h"

enum { DIGEST_BYTES = DIGEST_TEXT_BYTES - 1 };

/* ---- what a slab is ------------------------------------------------------------------------------ */

/* Writes which slices of which nodes the slab at hand has. Returns NULL where memory is out. */
static char *key_of(const struct run *run, int32_t domain, int64_t z, int64_t n)
{
    const struct ts_plan *plan = run->plan;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fprintf(out, "tomostage slab 1\nrun %s\nvolume %lld, pass %d, domain %d, slices %lld to %lld\n",
            run->checkpoint->identity, (long long)run->volume, run->pass, (int)domain, (long long)z,
            (long long)(z + n));
    for (int32_t i = 0; i < plan->n_nodes; i++)
        for (int s = 0; ts_plan_stores(plan, run->now, i) && s < run->now[i].todo.n; s++)
            fprintf(out, "node %d: %lld to %lld\n", (int)i, (long long)run->now[i].todo.at[s].first,
                    (long long)run->now[i].todo.at[s].end);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static bool add_slice(const struct run *run, int32_t node, int64_t z, struct digest *digest)
{
    const struct source *source = run->plan->nodes[node].source;
    const struct source_slice *slice = &source->slices[ts_run_slice(run, node, z)];
    const double numbers[] = {slice->slope, slice->intercept};
    return ts_digest_add(digest, numbers, sizeof numbers) &&
           ts_digest_add(digest, slice->position_mm, sizeof slice->position_mm) &&
           ts_digest_add(digest, slice->pixel_sha256, strlen(slice->pixel_sha256)) &&
           (!source->image.masked ||
            ts_digest_add(digest, ts_run_read_valid(run, node, z), ts_valid_bytes(&source->image)));
}

/* Digests the slices of the sources that this slab needs. Which of them were kept before it depends on the ranks and
 * the devices that read them, and its images do not. */
static bool digest_inputs(const struct run *run, char text[DIGEST_TEXT_BYTES])
{
    struct digest *digest = ts_digest_create();
    bool complete = digest != NULL;
    for (int32_t i = 0; i < run->plan->n_sources; i++)
        for (int s = 0; s < run->now[i].need.n; s++)
            for (int64_t z = run->now[i].need.at[s].first; complete && z < run->now[i].need.at[s].end; z++)
                complete = add_slice(run, i, z, digest);
    complete = complete && ts_digest_end(digest, text);
    ts_digest_destroy(digest);
    return complete;
}

/* ---- its bytes ----------------------------------------------------------------------------------- */

/* The file of a slab, while it is written or loaded. */
struct slab_file {
    struct run *run;
    int fd;
    uint64_t at;
    struct digest *digest; /* NULL: the slab is loaded */
    bool failed;           /* the file cannot be read or written; errno says why */
};

/* Writes bytes from host memory, or reads them to it. */
static bool pass(struct slab_file *file, void *data, size_t bytes)
{
    const bool done =
        file->digest ? ts_digest_add(file->digest, data, bytes) && ts_file_write_at(file->fd, data, bytes, file->at)
                     : ts_file_read_at(file->fd, data, bytes, file->at);
    file->at += bytes;
    file->failed |= !done;
    return done;
}

/* Does the same for bytes where the device has its images. */
static enum ts_status pass_image(struct slab_file *file, void *data, size_t bytes)
{
    struct run *run = file->run;
    unsigned char *piece = run->checkpoint->piece;
    enum ts_status status = TS_OK;
    for (size_t at = 0, n; status == TS_OK && at < bytes; at += n) {
        n = bytes - at < RUN_PIECE_BYTES ? bytes - at : RUN_PIECE_BYTES;
        if (file->digest)
            status = run->back_end->fetch(run, piece, (char *)data + at, n);
        if (status == TS_OK && !pass(file, piece, n))
            status = TS_RUN_FAILED;
        if (status == TS_OK && !file->digest)
            status = run->back_end->load(run, (char *)data + at, piece, n);
    }
    return status;
}

static enum ts_status pass_node(struct slab_file *file, int32_t i)
{
    const struct run_node *node = &file->run->nodes[i];
    const struct spans *todo = &file->run->now[i].todo;
    enum ts_status status = TS_OK;
    for (int s = 0; status == TS_OK && s < todo->n; s++) {
        const struct ts_image *part = &node->parts[file->run->plan->nodes[i].keep ? 0 : s];
        const int64_t first = todo->at[s].first - part->z_first, n = todo->at[s].end - todo->at[s].first;
        status = pass_image(file, ts_slice_data(part, first), (size_t)n * ts_slice_bytes(part));
        if (status == TS_OK && part->masked)
            status = pass_image(file, ts_slice_valid(part, first), (size_t)n * ts_valid_bytes(part));
        const struct ts_image slices = ts_image_slices(part, first, n);
        if (status == TS_OK && !file->digest)
            status = ts_run_look(file->run, i, &slices, LOOK_LOADED);
    }
    return status;
}

/* Points *tables to the tables of which a slab writes the rows of its slices: those of the map, and of a reduction
 * slice by slice. Returns how many there are. */
static int rows_of(const struct run *run, int32_t i, const struct stage_table **tables)
{
    const struct stage_reduced *reduced = ts_run_reduced(run, i);
    if (!reduced)
        return 0;
    return ts_stage_reduces_slices(&run->plan->nodes[i].context) ? ts_stage_reduced_tables(reduced, tables)
                                                                 : ts_stage_reduced_map_tables(reduced, tables);
}

static enum ts_status pass_tables(struct slab_file *file, int32_t i)
{
    const struct run *run = file->run;
    const struct spans *todo = &run->now[i].todo;
    const struct stage_table *tables;
    const int n = todo->n > 0 ? rows_of(run, i, &tables) : 0;
    enum ts_status status = n > 0 && run->back_end->fetch_tables ? run->back_end->fetch_tables(file->run, i) : TS_OK;
    for (int t = 0; status == TS_OK && t < n; t++)
        for (int s = 0; status == TS_OK && s < todo->n; s++) {
            const struct ts_image rows =
                ts_image_slices(&tables[t].image, todo->at[s].first, todo->at[s].end - todo->at[s].first);
            status = pass(file, rows.data, ts_image_bytes(&rows)) ? TS_OK : TS_RUN_FAILED;
        }
    if (status == TS_OK && n > 0 && !file->digest && run->back_end->load_tables)
        status = run->back_end->load_tables(file->run, i);
    return status;
}

static enum ts_status pass_slab(struct slab_file *file)
{
    const struct ts_plan *plan = file->run->plan;
    enum ts_status status = TS_OK;
    for (int32_t i = 0; status == TS_OK && i < plan->n_nodes; i++) {
        if (ts_plan_stores(plan, file->run->now, i))
            status = pass_node(file, i);
        if (status == TS_OK && !ts_plan_reader(&plan->nodes[i]))
            status = pass_tables(file, i);
    }
    return status;
}

/* ---- finding one --------------------------------------------------------------------------------- */

/* Compares the digest at the end of a file with that of all before it. */
static bool is_whole(int fd, size_t bytes, unsigned char *piece)
{
    char stated[DIGEST_TEXT_BYTES] = "", found[DIGEST_TEXT_BYTES];
    struct digest *digest = ts_digest_create();
    bool whole = digest && bytes >= DIGEST_BYTES;
    const size_t end = whole ? bytes - DIGEST_BYTES : 0;
    for (size_t at = 0, n; whole && at < end; at += n) {
        n = end - at < RUN_PIECE_BYTES ? end - at : RUN_PIECE_BYTES;
        whole = ts_file_read_at(fd, piece, n, at) && ts_digest_add(digest, piece, n);
    }
    whole = whole && ts_file_read_at(fd, stated, DIGEST_BYTES, end) && ts_digest_end(digest, found) &&
            !strcmp(stated, found);
    ts_digest_destroy(digest);
    return whole;
}

/* Opens the file of the slab at hand where it is whole and of this cut. `inputs` becomes the digest that it has of
 * them.
 */
static bool open_slab(struct run *run, char inputs[DIGEST_TEXT_BYTES])
{
    struct run_checkpoint *checkpoint = run->checkpoint;
    const size_t length = strlen(checkpoint->key);
    struct stat found;
    checkpoint->fd = open(checkpoint->path, O_RDONLY | O_CLOEXEC);
    if (checkpoint->fd < 0)
        return false;
    char *key = calloc(1, length + 1);
    const bool whole = fstat(checkpoint->fd, &found) == 0 && found.st_size > 0 &&
                       is_whole(checkpoint->fd, (size_t)found.st_size, checkpoint->piece);
    const bool same = whole && key && ts_file_read_at(checkpoint->fd, key, length, 0) &&
                      !strcmp(key, checkpoint->key) && ts_file_read_at(checkpoint->fd, inputs, DIGEST_BYTES, length);
    free(key);
    inputs[DIGEST_BYTES] = '\0';
    if (!whole)
        ts_diag_note(run->diag, &(struct diag_site){.code = "checkpoint-damaged"},
                     "'%s' is damaged, and its slices are computed again", checkpoint->path);
    if (!same) {
        close(checkpoint->fd);
        checkpoint->fd = -1;
    }
    return same;
}

enum ts_status ts_run_find_slab(struct run *run, int32_t domain, int64_t z, int64_t n)
{
    struct run_checkpoint *checkpoint = run->checkpoint;
    char inputs[DIGEST_TEXT_BYTES];
    if (!checkpoint || run->survey >= 0)
        return TS_OK;
    checkpoint->key = key_of(run, domain, z, n);
    if (!checkpoint->key || asprintf(&checkpoint->path, "%s/v%lld-p%d-d%d-z%lld.slab", run->plan->checkpoint.folder,
                                     (long long)run->volume, run->pass, (int)domain, (long long)z) < 0) {
        checkpoint->path = NULL;
        return ts_diag_no_memory(run->diag, strlen(run->plan->checkpoint.folder));
    }
    if (!digest_inputs(run, checkpoint->inputs))
        return ts_diag_no_memory(run->diag, DIGEST_TEXT_BYTES);
    if (!run->plan->checkpoint.resume || !open_slab(run, inputs) || !strcmp(inputs, checkpoint->inputs))
        return TS_OK;
    ts_diag_error(run->diag, TS_BAD_INPUT, &(struct diag_site){.code = "checkpoint-inputs"},
                  "the inputs of slices %lld to %lld are not those from which '%s' was computed", (long long)z,
                  (long long)(z + n - 1), checkpoint->path);
    return ts_diag_hint(run->diag, "remove '%s', and everything is computed", run->plan->checkpoint.folder);
}

bool ts_run_has_slab(const struct run *run)
{
    return run->checkpoint && run->checkpoint->fd >= 0;
}

/* ---- loading and keeping ------------------------------------------------------------------------- */

enum ts_status ts_run_load_slab(struct run *run)
{
    if (!ts_run_has_slab(run))
        return TS_OK;
    struct slab_file file = {.run = run, .fd = run->checkpoint->fd, .at = strlen(run->checkpoint->key) + DIGEST_BYTES};
    const enum ts_status status = pass_slab(&file);
    run->checkpoint->n_loaded += status == TS_OK;
    if (file.failed)
        return ts_diag_error(run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "checkpoint-read"},
                             "'%s' cannot be read any more", run->checkpoint->path);
    return status;
}

static enum ts_status write_slab(struct run *run, const struct file_commit *commit)
{
    struct run_checkpoint *checkpoint = run->checkpoint;
    char text[DIGEST_TEXT_BYTES];
    struct slab_file file = {.run = run, .fd = commit->fd, .digest = ts_digest_create()};
    enum ts_status status = file.digest ? TS_OK : ts_diag_no_memory(run->diag, DIGEST_TEXT_BYTES);
    if (status == TS_OK)
        status = pass(&file, checkpoint->key, strlen(checkpoint->key)) && pass(&file, checkpoint->inputs, DIGEST_BYTES)
                     ? pass_slab(&file)
                     : TS_RUN_FAILED;
    if (status == TS_OK &&
        !(ts_digest_end(file.digest, text) && ts_file_write_at(commit->fd, text, DIGEST_BYTES, file.at))) {
        status = TS_RUN_FAILED;
        file.failed = true;
    }
    if (file.failed) {
        ts_diag_error(run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "checkpoint-write"},
                      "'%s' cannot be written: %s", checkpoint->path, ts_errno_text(errno));
        ts_diag_hint(run->diag, "the slabs before it are kept: make room and go on with --resume");
    }
    ts_digest_destroy(file.digest);
    return status == TS_OK ? ts_file_sync(commit, run->diag) : status;
}

enum ts_status ts_run_keep_slab(struct run *run)
{
    struct run_checkpoint *checkpoint = run->checkpoint;
    struct file_commit commit;
    enum ts_status status = TS_OK;
    if (!checkpoint || run->survey >= 0)
        return TS_OK;
    /* A slab that a warning will be about is computed again, so that the warning comes again. */
    bool found = false;
    if (checkpoint->fd < 0)
        status = ts_run_finds_not_finite(run, &found);
    if (status == TS_OK && checkpoint->fd < 0 && !found) {
        status = ts_file_create(&commit, checkpoint->path, true, run->diag);
        if (status == TS_OK)
            status = write_slab(run, &commit);
        if (status == TS_OK)
            status = ts_file_publish(&commit, run->diag);
        ts_file_clear(&commit);
        checkpoint->n_kept += status == TS_OK;
    }
    ts_run_end_slab(checkpoint);
    return status;
}

void ts_run_end_slab(struct run_checkpoint *checkpoint)
{
    if (checkpoint->fd >= 0)
        close(checkpoint->fd);
    checkpoint->fd = -1;
    free(checkpoint->path);
    free(checkpoint->key);
    checkpoint->path = checkpoint->key = NULL;
}
