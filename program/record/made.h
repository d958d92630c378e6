/* SPDX-License-Identifier: Apache-2.0
 *
 * This lists what two results say about how they were made, and where that differs: inputs with the digests of their
 * slices, stages with their parameters and tables, device, versions, build and chain.
 */
#ifndef PROGRAM_RECORD_MADE_H
#define PROGRAM_RECORD_MADE_H

#include "core/arena.h"
#include "core/diag.h"
#include "io/hdf5/hdf5_list.h"

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

/* The facts by their paths, and the names of the images. All texts come from the file and may hold control
 * characters. */
struct made {
    struct made_fact *facts;
    size_t n_facts;
    struct made_image {
        const char *name, *same; /* same: the name under which the same image stands first, or NULL */
        const char *digest;      /* of its values; NULL beside `same` */
    } * images;
    size_t n_images;
    struct made_stage *stages; /* by their numbers */
    size_t n_stages;
    struct made_input *inputs; /* by their names */
    size_t n_inputs;
    const struct hdf5_listed *objects; /* everything that the file holds, in the order of the walk */
};

/* Reads what a result says; the arena owns it. Returns TS_BAD_INPUT where the file cannot be read, or is no result. */
enum ts_status ts_made_read(const char *path, struct arena *arena, struct made *made, struct ts_diag *diag);
/* Returns the fact of this path, or NULL. */
const struct made_fact *ts_made_find(const struct made *made, const char *path);
/* Returns the value of the fact of this path, "" where there is none. */
const char *ts_made_value(const struct made *made, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reads the text of the chain that the result holds; the arena owns it. Returns TS_BAD_INPUT where it holds none
 * (result-no-chain). */
enum ts_status ts_made_chain(const char *path, struct arena *arena, const char **chain, struct ts_diag *diag);
/* Returns the number of the stage to whose group, process_NUMBER_STAGE, the path of a fact leads, and the length of the
 * group's name; 0: it leads to no stage. */
int ts_made_stage(const char *fact, size_t *length);
/* Returns the image of this name, under whichever name it stands first; NULL: there is none. */
const struct made_image *ts_made_image(const struct made *made, const char *name);

/* The two results state this fact differently; a side is NULL where its result does not have it. */
struct made_difference {
    const struct made_fact *sides[2];
};
/* Lists them by their paths, in the arena. A stage is compared with the stage of its name that stands at its place
 * among those that both chains have, so that one stage more does not make others of all that follow it. Returns false
 * where memory is out. */
bool ts_made_compare(const struct made *a, const struct made *b, struct arena *arena, struct made_difference **list,
                     size_t *n);
/* Returns true for a table of a stage, which is a result and no cause. */
bool ts_made_is_table(const struct made_fact *fact);

#endif
