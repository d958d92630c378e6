/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains over images in memory, for tests of plan and run: no file is read, and reading can be made
 * to fail.
 */
#ifndef TESTS_SUPPORT_MEMORY_CHAIN_H
#define TESTS_SUPPORT_MEMORY_CHAIN_H

#include "pipeline/chain/chain.h"
#include "pipeline/plan/plan.h"

enum { MEMORY_MAX = 12 };

struct memory_chain {
    struct ts_chain chain;
    struct chain_stage stages[MEMORY_MAX];
    struct ts_image images[2]; /* sources 0 (input) and 1 (atlas) */
    int64_t n_volumes;         /* of source 0, whose image holds them one after the other; 0: one */
    int64_t fail_at;           /* reading this slice of source 0 fails; -1: never */
    struct ts_plan *stop_at_plan; /* with stop_slice: reading that slice asks this plan to stop */
    int64_t stop_slice;
    struct invalid_range invalid; /* values of masked sources that are invalid */
    int64_t slices_read;
    void (*at_read)(void); /* called by every read; NULL: none */
};

/* atlas may be NULL. The images stay the caller's. */
void memory_chain_init(struct memory_chain *memory, const struct ts_image *input,
                       const struct ts_image *atlas, const char *output);
/* Adds "box radius=2", named `name` (or NULL), on the value before it. A reference parameter is
 * given as "reference=atlas". */
void memory_chain_add(struct memory_chain *memory, const char *stage_and_parameters,
                      const char *name);
/* The same with a stage that need not be in the registry. */
void memory_chain_add_stage(struct memory_chain *memory, const struct stage *stage,
                            const char *parameters, const char *name);
void memory_chain_clear(struct memory_chain *memory);

#endif
