/* SPDX-License-Identifier: Apache-2.0
 *
 * A checkpoint is a folder beside a run that keeps what its slabs compute, until the run has
 * succeeded. A run that goes on from it walks over all slabs again, in the same order. The sources
 * are read again, but the images of a slab that is kept are loaded in place of being computed;
 * reductions, tables and outputs then get them as from the first run, and come out with the same
 * bytes. So nothing of reductions, of the output or of a device has to be saved, and a run that was
 * killed goes on as one that paused does.
 *
 *     run.txt                  which run it is: memory and threads, program, libraries, device,
 *                              chain, images
 *     vV-pP-dD-zZ.slab         a slab, by volume, pass, domain and first slice: a text that says
 *                              which slices of which nodes follow, the digest of the slices of the
 *                              inputs that it was computed from, the values, the bits of valid
 *                              pixels, the rows of tables, and the SHA-256 of all that
 *
 * Every file appears whole or not at all and survives a power cut (io/file/file_commit.h). A slab
 * of another cut of z, or a damaged one, is computed again. With several ranks each keeps its own
 * slabs in the one folder.
 */
#ifndef PIPELINE_RUN_RUN_CHECKPOINT_H
#define PIPELINE_RUN_RUN_CHECKPOINT_H

#include "pipeline/run/run.h"

struct run_checkpoint {
    char identity[DIGEST_TEXT_BYTES]; /* digest of run.txt without its first line */
    int lock;                         /* descriptor of run.txt, on rank 0; -1: not open */
    int64_t n_kept, n_loaded;         /* slabs, by this process */
    double slab_began,
        slab_seconds; /* when the current slab began; how long the longest one took */
    /* The slab at hand. */
    /* path of its file, and the text at the file's beginning; NULL: there is none */
    char *path, *key;
    /* digest of the slices of the inputs from which it is computed */
    char inputs[DIGEST_TEXT_BYTES];
    /* descriptor of its file, which is whole; -1: the slab is computed */
    int fd;
    /* RUN_PIECE_BYTES on the host, through which all bytes are copied */
    unsigned char *piece;
};

enum { RUN_PIECE_BYTES = 4 << 20 };

/* Makes or opens the checkpoint of a run that has one. TS_RUN_FAILED: it exists but the run is not
   resumed (checkpoint-exists), it is of a different run (checkpoint-differs), another process works
   in it (checkpoint-used), or its folder has other files (folder-not-empty) or cannot be used. */
enum ts_status ts_run_checkpoint_begin(struct run *run);
/* Removes the checkpoint if the run has succeeded, else tells where it is (checkpoint). Frees what
   was allocated. */
void ts_run_checkpoint_end(struct run *run, enum ts_status status);
/* Returns true if the run should stop before the next slab: it was asked to, or the time is over. A
   process that has kept no slab yet goes on, so that a run which is stopped again and again still
   progresses. */
bool ts_run_pauses(struct run *run);

/* ---- the slab at hand; without a checkpoint these do nothing -------------- */

/* Looks for the current slab once its slices of the inputs are read. TS_BAD_INPUT
   (checkpoint-inputs): they are not those from which it was computed. */
enum ts_status ts_run_find_slab(struct run *run, int32_t domain, int64_t z, int64_t n);
/* Returns true, from then on until the slab ends, if the checkpoint has the slab. */
bool ts_run_has_slab(const struct run *run);
/* Loads the images and rows of tables of the slab to their places. */
enum ts_status ts_run_load_slab(struct run *run);
/* Keeps the slab, unless it was loaded, and ends it. */
enum ts_status ts_run_keep_slab(struct run *run);

#endif
