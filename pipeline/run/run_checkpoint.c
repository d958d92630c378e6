/* SPDX-License-Identifier: Apache-2.0
 *
 * The folder of a checkpoint: which run it is of, who is at work in it, and its end. A run is the same where the
 * program, the libraries, the device, the chain with its resolved images are; the pixels of the inputs are held against
 * each slab (pipeline/run/run_slab.c).
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
#include "io/file/new_folder.h"
#include "io/file/whole_file.h"
#include "pipeline/ranks/ranks.h"
#include "pipeline/run/provenance.h"

/* ---- which run it is ----------------------------------------------------------------------------- */

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
        if (axis->positions && ts_digest_of(axis->positions, (size_t)axis->n * sizeof *axis->positions, digest))
            fprintf(out, "%s: positions %d %s\n", node->label, d, digest);
    }
}

/* Writes all on which the values of a run depend, beside the pixels of its inputs. Returns NULL where memory is out. */
static char *identity_of(const struct ts_plan *plan)
{
    struct version versions[VERSIONS_MAX];
    char *text = NULL, *chain = ts_chain_canonical(plan->chain);
    size_t length;
    FILE *out = chain ? open_memstream(&text, &length) : NULL;
    if (out) {
        fprintf(out, "tomostage %s\nbuild %s\ndevice %s\n", ts_version(), ts_build_text(), plan->cuda ? "cuda" : "cpu");
        write_versions(out, versions, ts_versions(versions));
        write_versions(out, versions, ts_provenance_device(plan, versions));
        for (int32_t i = 0; i < plan->n_nodes; i++)
            write_image(out, &plan->nodes[i]);
        fputs(chain, out);
    }
    free(chain);
    if (out && fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

/* ---- the folder ---------------------------------------------------------------------------------- */

static enum ts_status make_folder(struct run *run, const char *path, const char *identity)
{
    const struct ts_plan *plan = run->plan;
    struct whole_file file;
    bool made;
    enum ts_status status = ts_new_folder(plan->checkpoint.folder, &made, run->diag);
    if (status == TS_OK && made)
        (void)chmod(plan->checkpoint.folder, S_IRWXU); /* it holds images that the output may not */
    if (status == TS_OK)
        status = ts_whole_file_open(&file, path, false, run->diag);
    if (status != TS_OK)
        return status;
    fprintf(file.stream, PLAN_CHECKPOINT_BUDGET, (long long)plan->budget_bytes, plan->threads, plan->writer_threads,
            ts_ranks().on_host);
    fputs(identity, file.stream);
    status = ts_whole_file_close(&file, run->diag);
    char *above = status == TS_OK ? ts_file_folder(plan->checkpoint.folder) : NULL;
    if (above)
        ts_file_sync_folder(above, plan->checkpoint.folder, run->diag);
    free(above);
    return status;
}

/* Compares what the folder says of its run with this one, line by line. */
static enum ts_status compare(struct run *run, int descriptor, const char *identity)
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
                      "the checkpoint in '%s' is of another run: here stands '%.*s'", run->plan->checkpoint.folder,
                      (int)strcspn(own, "\n"), own);
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
    const char *folder = run->plan->checkpoint.folder;
    bool resume = run->plan->checkpoint.resume;
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
        return ts_diag_error(run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "checkpoint-used"},
                             "another process is at work on the checkpoint in '%s'", folder);
    return compare(run, *lock, identity);
}

enum ts_status ts_run_checkpoint_begin(struct run *run)
{
    char path[PATH_MAX];
    enum ts_status status = TS_OK;
    if (!run->plan->checkpoint.folder)
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
    snprintf(path, sizeof path, "%s/" PLAN_CHECKPOINT_RUN, run->plan->checkpoint.folder);
    if (status == TS_OK && run->plan->rank == 0)
        status = lock_folder(run, path, identity);
    free(identity);
    return status;
}

bool ts_run_pauses(struct run *run)
{
    struct run_checkpoint *checkpoint = run->checkpoint;
    const double ends = run->plan->checkpoint.ends, now = ts_seconds();
    if (!checkpoint)
        return false;
    const double took = checkpoint->slab_began > 0 ? now - checkpoint->slab_began : 0;
    checkpoint->slab_seconds = took > checkpoint->slab_seconds ? took : checkpoint->slab_seconds;
    checkpoint->slab_began = now;
    return checkpoint->n_kept > 0 &&
           (atomic_load(&run->plan->pause) || (ends > 0 && now + checkpoint->slab_seconds > ends));
}

/* ---- its end ------------------------------------------------------------------------------------- */

static bool is_slab(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);
    return length > 5 && !strcmp(entry->d_name + length - 5, ".slab");
}

/* Counts the slabs in the folder, which are those of all ranks. */
static long long count_slabs(const struct run *run)
{
    DIR *directory = opendir(run->plan->checkpoint.folder);
    long long n = 0;
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        n += is_slab(entry);
    if (directory)
        closedir(directory);
    return n;
}

/* Removes the files of a checkpoint, and the folder where it holds nothing else. run.txt goes last: a folder without it
 * is no checkpoint. */
static void remove_folder(struct run *run)
{
    const char *folder = run->plan->checkpoint.folder;
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
                    "the output is complete, but its checkpoint in '%s' could not be removed whole", folder);
}

void ts_run_checkpoint_end(struct run *run, enum ts_status status)
{
    struct run_checkpoint *checkpoint = run->checkpoint;
    if (!checkpoint)
        return;
    ts_run_end_slab(checkpoint);
    /* This rank speaks for those that have kept a slab where it has not. */
    const bool used = checkpoint->n_kept + checkpoint->n_loaded > 0 || run->plan->n_ranks > 1;
    const long long n_slabs = used && status != TS_OK ? count_slabs(run) : 0;
    if (checkpoint->lock >= 0 && status == TS_OK)
        remove_folder(run);
    else if (n_slabs > 0)
        ts_diag_note(run->diag, &(struct diag_site){.code = "checkpoint"},
                     "%lld slab%s kept in '%s': the same command with --resume goes on from there", n_slabs,
                     n_slabs == 1 ? " is" : "s are", run->plan->checkpoint.folder);
    if (checkpoint->lock >= 0)
        close(checkpoint->lock);
    free(checkpoint->piece);
    free(checkpoint);
    run->checkpoint = NULL;
}
