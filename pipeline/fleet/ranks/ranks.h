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
#ifndef PIPELINE_FLEET_RANKS_RANKS_H
#define PIPELINE_FLEET_RANKS_RANKS_H

#include <stdbool.h>

#include "core/diag.h"

struct ranks {
    int number, count; /* number of this rank, counted from 0, and of all ranks */
    int on_host;       /* number of ranks on this machine */
    int local;         /* number of this rank among those of this machine */
    /* processors of this machine for each of its ranks; 0 if there is one rank in all */
    int processors;
    bool begun;       /* MPI runs: this process must not start the program again */
    bool some_failed; /* only some ranks had the failure that ended the run */
};

/* Starts MPI if the program was built with it and launched by it. The fork server of the sandboxes
   must run before. Returns TS_RUN_FAILED (ranks-start) if MPI cannot start. */
enum ts_status ts_ranks_begin(struct ts_diag *diag);
struct ranks ts_ranks(void);
/* Ends MPI. Returns the exit code for all ranks: that of the rank that prints
   (ts_ranks_speaker). */
int ts_ranks_end(int code);
/* Returns the rank that prints what happened: the one whose failure ended the run, else rank 0. */
int ts_ranks_speaker(void);
bool ts_ranks_speaks(void);
/* Warns (ranks-alone) if a launcher has started several processes of which this one does not
   know. */
void ts_ranks_warn_alone(struct ts_diag *diag);
/* Refuses a command that ranks cannot share (ranks-each), if a launcher has started several
   processes. */
enum ts_status ts_ranks_refuse_several(const char *command, struct ts_diag *diag);
/* Returns a copy of the environment without the variables of MPI, for a program that is started
   here and is no rank itself. The caller frees the list; NULL if memory is out. */
char **ts_ranks_environment_of_none(void);
/* Gives the rank that prints those warnings and notes of rank 0 that it lacks. All ranks call it
   before they end. */
void ts_ranks_hand_notes(struct ts_diag *diag);

/* Notes (ranks-one) which rank found the printed error, if not all have found it. */
void ts_ranks_name_speaker(struct ts_diag *diag);

/* Waits until all ranks call it. Returns TS_OK if the status of all is TS_OK, else that of the
   first rank that failed, or TS_PAUSED if one pauses and none failed. */
enum ts_status ts_ranks_agree(enum ts_status status);
/* Does the same, and sets each of the two numbers to the least that any rank has. */
enum ts_status ts_ranks_least(enum ts_status status, int64_t numbers[2]);

/* Send bytes to another rank; receive as many from it. Each waits for the other. */
void ts_ranks_send(int to, const void *data, size_t bytes);
void ts_ranks_receive(int from, void *data, size_t bytes);
/* Returns on how many ranks of this machine, including this one, the text is the same. It has at
   most RANKS_TEXT characters. All ranks call it. */
enum { RANKS_TEXT = 63 };
int ts_ranks_alike(const char *text);
/* Copies the bytes of rank 0 to all ranks. */
void ts_ranks_share(void *data, size_t bytes);
/* Sets on all ranks the bits that are set on any of them. It joins arrays of which each rank has
   filled in a part and left zeros elsewhere; parts of two ranks may overlap if their bytes are
   equal. */
void ts_ranks_unite(void *data, size_t bytes);

#endif
