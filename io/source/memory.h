/* SPDX-License-Identifier: Apache-2.0
 *
 * The source format `memory` reads an array that a caller of the library has given to the chain. An
 * array in C order is not copied: the plan takes it for an image that is kept whole.
 */
#ifndef IO_SOURCE_MEMORY_H
#define IO_SOURCE_MEMORY_H

#include "core/arena.h"
#include "include/tomostage_array.h"
#include "io/source/source.h"

struct memory_input {
    struct ts_array array;
    struct ts_image image; /* data NULL */
};

struct memory_params {
    const char *memory;
    const struct memory_input *input; /* NULL: the caller has given none */
};

extern const struct source_format memory_format;

/* Returns why the array cannot be one of the caller's: a phrase such as "has 5 axes"; NULL: it can.
 * Writes strides where the caller left them out. */
const char *ts_array_refusal(struct ts_array *array);
/* Returns true if the bytes from the first to the last of one array reach into those of the other.
 * Both have strides. */
bool ts_array_meets(const struct ts_array *a, const struct ts_array *b);
/* Copies `packed` to slice i, counted through all axes before the last two. */
void ts_array_put(const struct ts_array *array, int64_t i, const void *packed);

/* Checks an array, and makes in the arena what a chain keeps of it. `name` is for messages. */
enum ts_status ts_memory_input(const char *name, const struct ts_array *array,
                               const struct ts_image *about, struct arena *arena,
                               struct memory_input **input, struct ts_diag *diag);

#endif
