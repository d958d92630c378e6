/* SPDX-License-Identifier: Apache-2.0
 *
 * The slabs of a checkpoint, and its folder: to which run it belongs, which process works in it,
 * and its end. A run is the same if the program, the libraries, the device, and the chain with its
 * resolved images are the same; the pixels of the inputs are compared for each slab.
 */
#include "pipeline/run/run_checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/memory.h"
#include "core/timing.h"
#include "core/version.h"
#include "io/file/file_bytes.h"
#include "io/file/file_commit.h"
#include "io/file/new_folder.h"
#include "io/file/whole_file.h"
#include "io/source/source_slices.h"
#include "pipeline/fleet/ranks/ranks.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/run/provenance.h"
#include "pipeline/run/run_finite.h"

/* ---- slabs ----------------------------------------------------------------------------------- */

/* A slab in a checkpoint. The same walk over its parts writes and loads it, so that both have one
   order. The file begins with what ts_plan_step() says of the slab's nodes: if that differs now,
   for example with a different memory budget, the file is not used. */

enum { DIGEST_BYTES = DIGEST_TEXT_BYTES - 1 };

/* ---- what a slab is -------------------------------------------------------------------------- */

/* Writes which slices of which nodes the current slab has. Returns NULL if memory is out. */
static char *key_of(const struct run *run, int32_t domain, int64_t z, int64_t n)
{
    const struct ts_plan *plan = run->plan;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return NULL;
    fprintf(out, "tomostage slab 3\nrun %s\nvolume %lld, pass %d, domain %d, slices %lld to %lld\n",
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

/* Digests the slices of the sources that this slab needs. They do not depend on what was kept from
   earlier slabs, which differs with the ranks and devices. */
static bool digest_inputs(const struct run *run, char text[DIGEST_TEXT_BYTES])
{
    struct digest *digest = ts_digest_create();
    bool complete = digest != NULL;
    for (int32_t i = 0; i < run->plan->n_sources; i++)
        for (int s = 0; s < run->now[i].need.n; s++)
            for (int64_t z = run->now[i].need.at[s].first;
                 complete && z < run->now[i].need.at[s].end; z++)
                complete = add_slice(run, i, z, digest);
    complete = complete && ts_digest_end(digest, text);
    ts_digest_destroy(digest);
    return complete;
}

/* ---- the bytes of a slab --------------------------------------------------------------------- */

/* The file of a slab, while it is written or loaded. */
struct slab_file {
    struct run *run;
    int fd;
    uint64_t at;
    struct digest *digest; /* NULL: the slab is loaded */
    bool failed;           /* the file cannot be read or written; errno says why */
};

/* Writes bytes from host memory to the file, or reads them from it. */
static bool pass(struct slab_file *file, void *data, size_t bytes)
{
    const bool done = file->digest ? ts_digest_add(file->digest, data, bytes) &&
                                         ts_file_write_at(file->fd, data, bytes, file->at)
                                   : ts_file_read_at(file->fd, data, bytes, file->at);
    file->at += bytes;
    file->failed |= !done;
    return done;
}

/* Does the same for bytes in the memory of the device's images. */
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
        const int64_t first = todo->at[s].first - part->z_first,
                      n = todo->at[s].end - todo->at[s].first;
        status = pass_image(file, ts_slice_data(part, first), (size_t)n * ts_slice_bytes(part));
        if (status == TS_OK && part->masked)
            status =
                pass_image(file, ts_slice_valid(part, first), (size_t)n * ts_valid_bytes(part));
        const struct ts_image slices = ts_image_slices(part, first, n);
        if (status == TS_OK && !file->digest)
            status = ts_run_look(file->run, i, &slices, LOOK_LOADED);
    }
    return status;
}

/* Points *tables to the tables of which a slab has rows: those of the map, and those of a reduction
   slice by slice. Returns how many there are. */
static int rows_of(const struct run *run, int32_t i, const struct stage_table **tables)
{
    const struct stage_reduced *reduced = ts_run_reduced(run, i);
    if (!reduced)
        return 0;
    return ts_stage_reduces_slices(&run->plan->nodes[i].context)
               ? ts_stage_reduced_tables(reduced, tables)
               : ts_stage_reduced_map_tables(reduced, tables);
}

static enum ts_status pass_tables(struct slab_file *file, int32_t i)
{
    const struct run *run = file->run;
    const struct spans *todo = &run->now[i].todo;
    const struct stage_table *tables;
    const int n = todo->n > 0 ? rows_of(run, i, &tables) : 0;
    enum ts_status status =
        n > 0 && run->back_end->fetch_tables ? run->back_end->fetch_tables(file->run, i) : TS_OK;
    for (int t = 0; status == TS_OK && t < n; t++)
        for (int s = 0; status == TS_OK && s < todo->n; s++) {
            const struct ts_image rows = ts_image_slices(&tables[t].image, todo->at[s].first,
                                                         todo->at[s].end - todo->at[s].first);
            status = pass(file, rows.data, ts_image_bytes(&rows)) ? TS_OK : TS_RUN_FAILED;
        }
    if (status == TS_OK && n > 0 && !file->digest && run->back_end->load_tables)
        status = run->back_end->load_tables(file->run, i);
    return status;
}

/* Writes or loads what was found in the input's rows, since a slab that is loaded is not
   examined. */
static enum ts_status pass_rows(struct slab_file *file, int32_t i)
{
    struct rows_found *seen = file->run->results[i].rows[0], stored[ROWS_PLACES * ROWS_KINDS];
    memcpy(stored, seen, sizeof stored);
    if (!pass(file, stored, sizeof stored))
        return TS_RUN_FAILED;
    for (int k = 0; k < ROWS_PLACES * ROWS_KINDS; k++)
        if (stored[k].amount > seen[k].amount)
            seen[k] = stored[k];
    return TS_OK;
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
        if (status == TS_OK && plan->nodes[i].context.stage)
            status = pass_rows(file, i);
    }
    return status;
}

/* ---- finding a slab -------------------------------------------------------------------------- */

/* Compares the digest at the end of a file with that of all before it. */
static bool is_whole(int fd, size_t bytes, unsigned char *piece)
{
    char stated[DIGEST_TEXT_BYTES] = "", found[DIGEST_TEXT_BYTES];
    struct digest *digest = ts_digest_create();
    bool whole = digest && bytes >= DIGEST_BYTES;
    const size_t end = whole ? bytes - DIGEST_BYTES : 0;
    whole = whole && ts_digest_add_file(digest, fd, end, piece, RUN_PIECE_BYTES) == 0 &&
            ts_file_read_at(fd, stated, DIGEST_BYTES, end) && ts_digest_end(digest, found) &&
            !strcmp(stated, found);
    ts_digest_destroy(digest);
    return whole;
}

/* Opens the file of the current slab if it is whole and has the same slices. `inputs` becomes its
   digest of the inputs. */
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
                      !strcmp(key, checkpoint->key) &&
                      ts_file_read_at(checkpoint->fd, inputs, DIGEST_BYTES, length);
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

/* Resets the current slab. */
static void end_slab(struct run_checkpoint *checkpoint)
{
    if (checkpoint->fd >= 0)
        close(checkpoint->fd);
    checkpoint->fd = -1;
    free(checkpoint->path);
    free(checkpoint->key);
    checkpoint->path = checkpoint->key = NULL;
}

enum ts_status ts_run_find_slab(struct run *run, int32_t domain, int64_t z, int64_t n)
{
    struct run_checkpoint *checkpoint = run->checkpoint;
    char inputs[DIGEST_TEXT_BYTES];
    if (!checkpoint || run->survey >= 0)
        return TS_OK;
    checkpoint->key = key_of(run, domain, z, n);
    if (!checkpoint->key ||
        asprintf(&checkpoint->path, "%s/v%lld-p%d-d%d-z%lld.slab", run->options->checkpoint.folder,
                 (long long)run->volume, run->pass, (int)domain, (long long)z) < 0) {
        checkpoint->path = NULL;
        return ts_diag_no_memory(run->diag, strlen(run->options->checkpoint.folder));
    }
    if (!digest_inputs(run, checkpoint->inputs))
        return ts_diag_no_memory(run->diag, DIGEST_TEXT_BYTES);
    if (!run->options->checkpoint.resume || !open_slab(run, inputs) ||
        !strcmp(inputs, checkpoint->inputs))
        return TS_OK;
    ts_diag_error(run->diag, TS_BAD_INPUT, &(struct diag_site){.code = "checkpoint-inputs"},
                  "the inputs of slices %lld to %lld are not those from which '%s' was computed",
                  (long long)z, (long long)(z + n - 1), checkpoint->path);
    return ts_diag_hint(run->diag, "remove '%s', and everything is computed",
                        run->options->checkpoint.folder);
}

bool ts_run_has_slab(const struct run *run)
{
    return run->checkpoint && run->checkpoint->fd >= 0;
}

/* ---- loading and keeping --------------------------------------------------------------------- */

enum ts_status ts_run_load_slab(struct run *run)
{
    if (!ts_run_has_slab(run))
        return TS_OK;
    struct slab_file file = {
        .run = run, .fd = run->checkpoint->fd, .at = strlen(run->checkpoint->key) + DIGEST_BYTES};
    const enum ts_status status = pass_slab(&file);
    run->checkpoint->n_loaded += status == TS_OK;
    if (file.failed)
        return ts_diag_error(run->diag, TS_RUN_FAILED,
                             &(struct diag_site){.code = "checkpoint-read"},
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
        status = pass(&file, checkpoint->key, strlen(checkpoint->key)) &&
                         pass(&file, checkpoint->inputs, DIGEST_BYTES)
                     ? pass_slab(&file)
                     : TS_RUN_FAILED;
    if (status == TS_OK && !(ts_digest_end(file.digest, text) &&
                             ts_file_write_at(commit->fd, text, DIGEST_BYTES, file.at))) {
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
    /* A slab about which a warning is due is computed again, so that the warning is repeated. */
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
    end_slab(checkpoint);
    return status;
}

/* ---- which run it is ------------------------------------------------------------------------- */

static void write_versions(FILE *out, const struct version *versions, int n)
{
    for (int i = 0; i < n; i++)
        fprintf(out, "%s %s\n", versions[i].name, versions[i].text);
}

static void write_image(FILE *out, const struct plan_node *node)
{
    char grid[SOURCE_GRID_BYTES], digest[DIGEST_TEXT_BYTES];
    ts_source_grid_text(&node->out, grid);
    fprintf(out, "%s: %s\n", node->label, grid);
    for (int d = 0; d < node->out.rank; d++) {
        const struct ts_axis *axis = &node->out.axes[d];
        if (axis->positions &&
            ts_digest_of(axis->positions, (size_t)axis->n * sizeof *axis->positions, digest))
            fprintf(out, "%s: positions %d %s\n", node->label, d, digest);
    }
}

static void write_origin(FILE *out, const struct stage *stage)
{
    if (stage->origin)
        fprintf(out, "%s %s %s\n", stage->name, stage->origin->version,
                stage->origin->sha256 ? stage->origin->sha256 : "");
}

/* Writes all on which the values of a run depend, except the pixels of its inputs. Returns NULL if
   memory is out. */
static char *identity_of(const struct ts_plan *plan)
{
    struct version versions[VERSIONS_MAX];
    char *text = NULL, *chain = ts_chain_canonical(plan->chain);
    size_t length;
    FILE *out = chain ? open_memstream(&text, &length) : NULL;
    if (out) {
        fprintf(out, "tomostage %s\nbuild %s\ndevice %s\n", ts_version(), ts_build_text(),
                plan->cuda ? "cuda" : "cpu");
        write_versions(out, versions, ts_versions(versions));
        write_versions(out, versions, ts_provenance_device(plan, versions));
        for (int32_t i = 0; i < plan->n_nodes; i++)
            write_image(out, &plan->nodes[i]);
        for (int32_t i = 0; i < plan->chain->n_stages; i++)
            write_origin(out, plan->chain->stages[i].stage);
        fputs(chain, out);
    }
    free(chain);
    if (out && fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- the folder ------------------------------------------------------------------------------ */

static enum ts_status make_folder(struct run *run, const char *path, const char *identity)
{
    const struct ts_plan *plan = run->plan;
    struct whole_file file;
    bool made;
    enum ts_status status = ts_new_folder(run->options->checkpoint.folder, &made, run->diag);
    if (status == TS_OK && made)
        (void)chmod(run->options->checkpoint.folder,
                    S_IRWXU); /* only for this user: it holds images that others may not see */
    if (status == TS_OK)
        status = ts_whole_file_open(&file, path, false, run->diag);
    if (status != TS_OK)
        return status;
    fprintf(file.stream, PLAN_CHECKPOINT_BUDGET, (long long)plan->budget_bytes, plan->threads,
            plan->writer_threads, ts_ranks().on_host);
    fputs(identity, file.stream);
    status = ts_whole_file_close(&file, run->diag);
    char *above = status == TS_OK ? ts_file_folder(run->options->checkpoint.folder) : NULL;
    if (above)
        ts_file_sync_folder(above, run->options->checkpoint.folder, run->diag);
    free(above);
    return status;
}

/* Compares, line by line, what the folder says of its run with this run. */
static enum ts_status run_checkpoint_compare(struct run *run, int descriptor, const char *identity)
{
    FILE *file = fdopen(dup(descriptor), "re");
    char *line = NULL;
    size_t size = 0;
    const char *own = identity;
    bool same = file && getline(&line, &size, file) > 0; /* the budget */
    ssize_t length = 0;
    while (same && (length = getline(&line, &size, file)) > 0) {
        same = !strncmp(own, line, (size_t)length);
        own += same ? length : 0;
    }
    same = same && !*own;
    if (!same) {
        ts_diag_error(run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "checkpoint-differs"},
                      "the checkpoint in '%s' is of another run: here stands '%.*s'",
                      run->options->checkpoint.folder, (int)strcspn(own, "\n"), own);
        ts_diag_hint(run->diag, "remove it, or name another folder with --checkpoint");
    }
    if (file)
        fclose(file);
    free(line);
    return same ? TS_OK : TS_RUN_FAILED;
}

/* Locks the checkpoint, on rank 0. The lock ends with the process. */
static enum ts_status lock_folder(struct run *run, const char *path, const char *identity)
{
    const char *folder = run->options->checkpoint.folder;
    bool resume = run->options->checkpoint.resume;
    int *lock = &run->checkpoint->lock;
    *lock = open(path, O_RDONLY | O_CLOEXEC);
    if (*lock < 0 && resume)
        ts_diag_note(run->diag, &(struct diag_site){.code = "checkpoint-none"},
                     "no checkpoint is in '%s': everything is computed", folder);
    if (*lock >= 0 && !resume) {
        ts_diag_error(run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "checkpoint-exists"},
                      "a checkpoint is in '%s' already", folder);
        return ts_diag_hint(run->diag, "go on from it with --resume, or remove it");
    }
    if (*lock < 0) {
        const enum ts_status status = make_folder(run, path, identity);
        *lock = status == TS_OK ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (status != TS_OK)
            return status;
    }
    if (flock(*lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return ts_diag_error(run->diag, TS_RUN_FAILED,
                             &(struct diag_site){.code = "checkpoint-used"},
                             "another process is at work on the checkpoint in '%s'", folder);
    return run_checkpoint_compare(run, *lock, identity);
}

enum ts_status ts_run_checkpoint_begin(struct run *run)
{
    char path[PATH_MAX];
    enum ts_status status = TS_OK;
    if (!run->options->checkpoint.folder)
        return TS_OK;
    char *identity = identity_of(run->plan);
    run->checkpoint = calloc(1, sizeof *run->checkpoint);
    if (run->checkpoint) {
        run->checkpoint->lock = run->checkpoint->fd = -1;
        run->checkpoint->piece = ts_memory_aligned(RUN_PIECE_BYTES);
    }
    if (!identity || !run->checkpoint || !run->checkpoint->piece ||
        !ts_digest_of(identity, strlen(identity), run->checkpoint->identity))
        status = ts_diag_no_memory(run->diag, RUN_PIECE_BYTES);
    snprintf(path, sizeof path, "%s/" PLAN_CHECKPOINT_RUN, run->options->checkpoint.folder);
    if (status == TS_OK && run->plan->rank == 0)
        status = lock_folder(run, path, identity);
    free(identity);
    return status;
}

bool ts_run_pauses(struct run *run)
{
    struct run_checkpoint *checkpoint = run->checkpoint;
    const double ends = run->options->checkpoint.ends, now = ts_seconds();
    if (!checkpoint)
        return false;
    const double took = checkpoint->slab_began > 0 ? now - checkpoint->slab_began : 0;
    checkpoint->slab_seconds = took > checkpoint->slab_seconds ? took : checkpoint->slab_seconds;
    checkpoint->slab_began = now;
    return checkpoint->n_kept > 0 &&
           (atomic_load(&run->state->pause) || (ends > 0 && now + checkpoint->slab_seconds > ends));
}

/* ---- the end of a checkpoint ----------------------------------------------------------------- */

static bool is_slab(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return length > 5 && !strcmp(entry->d_name + length - 5, ".slab");
}

/* Counts the slabs in the folder, which are those of all ranks. */
static long long count_slabs(const struct run *run)
{
    DIR *directory = opendir(run->options->checkpoint.folder);
    long long n = 0;
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        n += is_slab(entry);
    if (directory)
        closedir(directory);
    return n;
}

/* Removes the files of a checkpoint, and the folder if nothing else is in it. run.txt is removed
   last: a folder without it is no checkpoint. */
static void remove_folder(struct run *run)
{
    const char *folder = run->options->checkpoint.folder;
    DIR *directory = opendir(folder);
    bool removed = directory != NULL;
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (is_slab(entry))
            removed &= unlinkat(dirfd(directory), entry->d_name, 0) == 0;
    if (directory) {
        removed = unlinkat(dirfd(directory), PLAN_CHECKPOINT_RUN, 0) == 0 && removed;
        closedir(directory);
    }
    if (rmdir(folder) == 0 && removed)
        return;
    ts_diag_warning(run->diag, &(struct diag_site){.code = "checkpoint-left"},
                    "the output is complete, but its checkpoint in '%s' could not be removed whole",
                    folder);
}

void ts_run_checkpoint_end(struct run *run, enum ts_status status)
{
    struct run_checkpoint *checkpoint = run->checkpoint;
    if (!checkpoint)
        return;
    end_slab(checkpoint);
    /* The rank that prints counts slabs of others, too, since it may have kept none itself. */
    const bool used = checkpoint->n_kept + checkpoint->n_loaded > 0 || run->plan->n_ranks > 1;
    const long long n_slabs = used && status != TS_OK ? count_slabs(run) : 0;
    if (checkpoint->lock >= 0 && status == TS_OK)
        remove_folder(run);
    else if (n_slabs > 0) {
        ts_diag_note(run->diag, &(struct diag_site){.code = "checkpoint"},
                     "%lld slab%s kept in '%s'", n_slabs, n_slabs == 1 ? " is" : "s are",
                     run->options->checkpoint.folder);
        ts_diag_hint(run->diag, "the same again with --resume goes on from there");
    }
    if (checkpoint->lock >= 0)
        close(checkpoint->lock);
    free(checkpoint->piece);
    free(checkpoint);
    run->checkpoint = NULL;
}
