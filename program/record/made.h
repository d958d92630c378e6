/* SPDX-License-Identifier: Apache-2.0
 *
 * This lists what two results say about how they were made, and where that differs: inputs with the
 * digests of their slices, stages with their parameters and tables, device, versions, build and
 * chain.
 */
#ifndef PROGRAM_RECORD_MADE_H
#define PROGRAM_RECORD_MADE_H

#include "core/arena.h"
#include "core/diag.h"
#include "io/hdf5/hdf5_list.h"
#include "pipeline/chain/chain.h"

/* A result holds facts, each a dataset. */
struct made_fact {
    const char *path;   /* below /entry: "process_1_box/parameters/radius" */
    const char *value;  /* NULL where it is no short text or list of numbers */
    const char *digest; /* of its values */
};

/* A stage of the chain; what the file does not say of it is "". */
struct made_stage {
    int number;         /* as in /entry/process_NUMBER_STAGE */
    const char *group;  /* "process_3_box" */
    const char *stage;  /* "box" */
    const char *name;   /* that the chain gives */
    const char *input;  /* label of the stage, or name of the input, whose image it takes */
    const char *device; /* "cpu", "cuda" */
};

struct made_input {
    const char *name, *format; /* format: "" where it is not recorded */
    const char *digest;        /* of the list of its slices' digests; "" where there is none */
};

/* The facts by their paths, and the names of the images. All texts come from the file and may hold
 * control characters. */
struct made {
    struct made_fact *facts;
    size_t n_facts;
    struct made_image {
        const char *name,
            *same;          /* same: the name under which the same image stands first, or NULL */
        const char *digest; /* of its values; NULL beside `same` */
    } * images;
    size_t n_images;
    struct made_stage *stages; /* by their numbers */
    size_t n_stages;
    struct made_input *inputs; /* by their names */
    size_t n_inputs;
    const struct hdf5_listed
        *objects; /* everything that the file holds, in the order of the walk */
};

/* Reads what a result says; the arena owns it. Returns TS_BAD_INPUT where the file cannot be read,
 * or is no result. */
enum ts_status ts_made_read(const char *path, struct arena *arena, struct made *made,
                            struct ts_diag *diag);
/* Returns the fact of this path, or NULL. */
const struct made_fact *ts_made_find(const struct made *made, const char *path);
/* Returns the value of the fact of this path, "" where there is none. */
const char *ts_made_value(const struct made *made, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reads the text of the chain that the result holds; the arena owns it. Returns TS_BAD_INPUT where
 * it holds none (result-no-chain). */
enum ts_status ts_made_chain(const char *path, struct arena *arena, const char **chain,
                             struct ts_diag *diag);
/* Returns the image of this name, under whichever name it stands first; NULL: there is none. */
const struct made_image *ts_made_image(const struct made *made, const char *name);

/* The two results state this fact differently; a side is NULL where its result does not have it. */
struct made_difference {
    const struct made_fact *sides[2];
};
/* Lists them by their paths, in the arena. A stage is compared with the stage of its name that
 * stands at its place among those that both chains have, so that one stage more does not make
 * others of all that follow it. Returns false where memory is out. */
bool ts_made_compare(const struct made *a, const struct made *b, struct arena *arena,
                     struct made_difference **list, size_t *n);
/* Returns true for a table of a stage, which is a result and no cause. */
bool ts_made_is_table(const struct made_fact *fact);

/* ---- the chain of a result ------------------------------------------------------------------- */

/* A result holds the chain that it was computed with, every parameter as it was resolved, and no
 * path. This opens that chain again and puts the paths of its inputs in. */

struct recorded {
    struct arena *arena;
    const char *path; /* of the result */
    struct made made;
    struct ts_chain *chain;
    bool given[CHAIN_MAX_SOURCES]; /* which inputs have a path that was given */
};

/* Opens the chain of a result. Each of the n inputs is "NAME=PATH" for the input of that name, or a
 * path for all inputs that are not named; those of which nothing is said lie under their own names
 * in the result's folder. Returns TS_BAD_INPUT where the file is no result or holds no chain,
 * TS_BAD_CHAIN where two paths are for one input. ts_recorded_close releases what it made, whether
 * it fails or not. */
enum ts_status ts_recorded_open(const char *path, const char *const *inputs, int n,
                                struct recorded *recorded, struct ts_diag *diag);
/* Refuses an input of which nothing was said and that does not lie beside the result
 * (input-not-given). `option` is how the command takes paths, such as "--inputs". */
enum ts_status ts_recorded_check_inputs(const struct recorded *recorded, const char *option,
                                        struct ts_diag *diag);
void ts_recorded_close(struct recorded *recorded);

#endif
