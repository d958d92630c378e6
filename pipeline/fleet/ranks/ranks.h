/* SPDX-License-Identifier: Apache-2.0
 *
 * Ranks are processes that carry out one run together, each a part of its slabs. Rank 0 writes the
 * outputs and speaks to the user. In a build without MPI, and in a program that MPI has not
 * launched, there is one rank: nothing is sent then, and every call returns at once.
 *
 * Ranks that wait for one another must learn when one of them has failed. So they meet often, in
 * ts_ranks_agree(), and send nothing between two meetings that could fail on the way: a rank with
 * an error says so at the next meeting. After a meeting at which one had failed all of them give
 * up, and no call communicates any more but ts_ranks_end(). All calls come from the thread that
 * called ts_ranks_begin().
 */
#ifndef PIPELINE_RANKS_RANKS_H
#define PIPELINE_RANKS_RANKS_H

#include <stdbool.h>

#include "core/diag.h"

struct ranks {
    int number, count; /* of this rank, counted from 0, and of all */
    int on_host;       /* ranks of this machine */
    int local;         /* number of this one among them */
    int processors;   /* of this machine, for each of its ranks; 0 where there is one rank in all */
    bool begun;       /* MPI runs: this process must not start anew */
    bool some_failed; /* not all ranks had the failure that ended the run */
};

/* Starts MPI where the program was built with it and launched by it. The fork server of the
 * sandboxes must run by then. Returns TS_RUN_FAILED (ranks-start) where MPI refuses to start. */
enum ts_status ts_ranks_begin(struct ts_diag *diag);
struct ranks ts_ranks(void);
/* Ends MPI. Returns the exit code of the rank that speaks, which is that of all. */
int ts_ranks_end(int code);
/* Returns the rank that prints what happened: the one whose failure ended the run, else rank 0. */
int ts_ranks_speaker(void);
bool ts_ranks_speaks(void);
/* Warns (ranks-alone) where a launcher has started several processes, and this one does not know of
 * the others. */
void ts_ranks_warn_alone(struct ts_diag *diag);
/* Refuses a command that no ranks share (ranks-each), where a launcher has started several
 * processes. */
enum ts_status ts_ranks_refuse_several(const char *command, struct ts_diag *diag);
/* Returns the environment without what makes a rank of a program, for one that is started here and
 * is none, even where MPI has launched this one. The caller frees the list; NULL where memory is
 * out. */
char **ts_ranks_environment_of_none(void);
/* Gives the rank that speaks the warnings and notes of rank 0 that it has not made itself. All
 * ranks call it before they end. */
void ts_ranks_hand_notes(struct ts_diag *diag);

/* Notes (ranks-one) which rank has found the error that it tells, where not all have. */
void ts_ranks_name_speaker(struct ts_diag *diag);

/* Waits until all ranks meet. Returns TS_OK where all of them do, else the status of the first one
 * that failed, or of the first that pauses where none failed. */
enum ts_status ts_ranks_agree(enum ts_status status);
/* Does the same, and makes each of two numbers the least that any rank has. */
enum ts_status ts_ranks_least(enum ts_status status, int64_t numbers[2]);

/* Send bytes to another rank, and receive as many from it. Both wait for the other. */
void ts_ranks_send(int to, const void *data, size_t bytes);
void ts_ranks_receive(int from, void *data, size_t bytes);
/* Returns how many ranks of this machine, this one included, give the same text of at most
 * RANKS_TEXT characters. All ranks call it. */
enum { RANKS_TEXT = 63 };
int ts_ranks_alike(const char *text);
/* Gives all ranks the bytes of rank 0. */
void ts_ranks_share(void *data, size_t bytes);
/* Gives all ranks the bits that are set on any of them. So they join arrays of which each rank has
 * filled in a part, or the same part, with the same bytes, and left zeros elsewhere. */
void ts_ranks_unite(void *data, size_t bytes);

#endif
