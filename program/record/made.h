/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists what two results say about how they were made, and the differences: inputs with the digests
 * of their slices, stages with their parameters and tables, device, versions, build and chain.
 */
#ifndef PROGRAM_RECORD_MADE_H
#define PROGRAM_RECORD_MADE_H

#include "core/arena.h"
#include "core/diag.h"
#include "io/hdf5/hdf5_list.h"
#include "pipeline/chain/chain.h"

/* A fact of a result; each is a dataset. */
struct made_fact {
    const char *path;   /* below /entry, such as "process_1_box/parameters/radius" */
    const char *value;  /* NULL if it is not a short text or list of numbers */
    const char *digest; /* of its values */
};

/* A stage of the chain; "" for what the file does not state. */
struct made_stage {
    int number;         /* number in /entry/process_NUMBER_STAGE */
    const char *group;  /* "process_3_box" */
    const char *stage;  /* "box" */
    const char *name;   /* that the chain gives */
    const char *input;  /* label of the stage, or name of the input, whose image it takes */
    const char *device; /* "cpu", "cuda" */
};

struct made_input {
    const char *name, *format; /* format: "" if it is not recorded */
    const char *digest;        /* digest of the list of its slices' digests; "" if there is none */
};

/* The facts, sorted by path, and the names of the images. All texts come from the file and may
   contain control characters. */
struct made {
    struct made_fact *facts;
    size_t n_facts;
    struct made_image {
        const char *name, *same; /* same: an earlier name of the same image, or NULL */
        const char *digest;      /* digest of its values; NULL if there is `same` */
    } * images;
    size_t n_images;
    struct made_stage *stages; /* by their numbers */
    size_t n_stages;
    struct made_input *inputs; /* by their names */
    size_t n_inputs;
    const struct hdf5_listed
        *objects; /* everything in the file, in the order in which it was listed */
};

/* Reads what a result says; the arena owns it. Returns TS_BAD_INPUT if the file cannot be read or
   is no result. */
enum ts_status ts_made_read(struct sandbox *sandbox, const char *path, struct arena *arena,
                            struct made *made, struct ts_diag *diag);
/* Returns the fact of this path, or NULL. */
const struct made_fact *ts_made_find(const struct made *made, const char *path);
/* Returns the value of the fact of this path, "" if there is none. */
const char *ts_made_value(const struct made *made, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reads the text of the chain in the result; the arena owns it. Returns TS_BAD_INPUT if there is
   none (result-no-chain). */
enum ts_status ts_made_chain(struct sandbox *sandbox, const char *path, struct arena *arena,
                             const char **chain, struct ts_diag *diag);
/* Returns the image of this name, under its first name; NULL if there is none. */
const struct made_image *ts_made_image(const struct made *made, const char *name);

/* A fact that two results state differently; a side is NULL if its result does not have it. */
struct made_difference {
    const struct made_fact *sides[2];
};
/* Lists the differences by path, in the arena. Stages that both chains have are compared in their
   order, so that one more stage does not make all later ones differ. Returns false if memory is
   out. */
bool ts_made_compare(const struct made *a, const struct made *b, struct arena *arena,
                     struct made_difference **list, size_t *n);
/* Returns true for a table of a stage, which is computed and not a cause of differences. */
bool ts_made_is_table(const struct made_fact *fact);

/* ---- the chain of a result ------------------------------------------------------------------- */

/* A result holds the chain by which it was computed, with every parameter resolved, but without
   paths. This is that chain, opened again, with the paths of its inputs. */

struct recorded {
    struct arena *arena;
    const struct ts_context *context; /* in which the chain is opened */
    struct sandbox *sandbox;          /* that reads the result, as in ts_sandbox_start() */
    const char *path;                 /* of the result */
    struct made made;
    struct ts_chain *chain;
    bool given[CHAIN_MAX_SOURCES]; /* for each input: its path was given */
};

/* Opens the chain of a result. Each of the n inputs is "NAME=PATH" for the input of that name, or a
   path for all inputs that are not named. Inputs without a path are looked for under their own
   names in the result's folder. Returns TS_BAD_INPUT if the file is no result or holds no chain,
   TS_BAD_CHAIN if two paths are for one input, or if the context lacks a stage from outside
   (plugin-missing). ts_recorded_close must follow, even after a
   failure. */
enum ts_status ts_recorded_open(const struct ts_context *context, const char *path,
                                const char *const *inputs, int n, struct recorded *recorded,
                                struct ts_diag *diag);
/* Refuses an input without a given path that is not beside the result (input-not-given). `option`
   is the command's option for paths, such as "--inputs". */
enum ts_status ts_recorded_check_inputs(const struct recorded *recorded, const char *option,
                                        struct ts_diag *diag);
void ts_recorded_close(struct recorded *recorded);

#endif
