/* SPDX-License-Identifier: Apache-2.0
 *
 * The source format `memory` reads an array that a caller of the library has given to the chain. An
 * array in C order is not copied: the plan takes it for an image that is kept whole.
 */
#ifndef IO_SOURCE_MEMORY_H
#define IO_SOURCE_MEMORY_H

#include <stdatomic.h>

#include "core/arena.h"
#include "core/description.h"
#include "include/tomostage_array.h"
#include "io/source/source.h"

/* Chains and sources share it. */
struct memory_input {
    struct ts_array array;
    struct ts_image image; /* data NULL */
    struct arena *arena;   /* holds all of it */
    atomic_int users;
};

struct memory_params {
    const char *memory;
    struct memory_input *input; /* NULL: the caller has given none */
};

extern const struct source_format memory_format;

enum { ARRAY_WRONG = DESCRIPTION_WRONG };
/* Returns why the array cannot be one of the caller's: a phrase such as "has no data", which may be
 * written to `text`; NULL: it can. Writes strides that the caller left out, and those of axes with
 * one element. */
const char *ts_array_refusal(struct ts_array *array, char text[ARRAY_WRONG]);
/* Returns true if an element of one array overlaps one of the other. Both have strides. Arrays that
 * only interleave do not; of strides that do not nest it may say so nevertheless. */
bool ts_array_meets(const struct ts_array *a, const struct ts_array *b);
/* Returns true if elements of the array, which has strides, overlap each other. */
bool ts_array_meets_itself(const struct ts_array *array);
/* What is wrong with an array for results that does, and the way out. */
extern const char ts_array_overlap[], ts_array_overlap_hint[];
/* Returns the place of slice i, counted through all axes before the last two, if slices from there
 * on can be used as those of an image, else NULL. */
unsigned char *ts_array_slice(const struct ts_array *array, int64_t i);
/* Copies `packed` to slice i, unless it is there. */
void ts_array_put(const struct ts_array *array, int64_t i, const void *packed);

/* Checks an array and its description, and makes what a chain keeps of them, for one user. `name`
 * is for messages. */
enum ts_status ts_memory_input(const char *name, const struct ts_array *array,
                               const struct ts_image *about, struct memory_input **input,
                               struct ts_diag *diag);
/* Returns the array that the source reads; NULL if it is no array. */
const struct ts_array *ts_memory_array(const struct source *source);
/* Returns the input with one user more. */
struct memory_input *ts_memory_share(struct memory_input *input);
/* Ends the use of an input (NULL: none), and frees it after the last one. */
void ts_memory_leave(struct memory_input *input);

#endif
