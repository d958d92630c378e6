/* SPDX-License-Identifier: Apache-2.0
 *
 * The same build on the same device computes the same bytes with any number of threads and budget
 * of memory; any difference is then a fault. On another build or device, the tolerances that the
 * stages state apply.
 */
#include "program/record/rerun.h"

#include <math.h>
#include <string.h>

#include "program/record/inputs.h"
#include "stages/engine/traits.h"

double ts_rerun_tolerance(const void *chain, const char *image, double magnitude)
{
    static const double half_rounding = 0x1p-11;
    const struct ts_chain *recorded = chain;
    double sum = recorded->output.dtype == CHAIN_F16 ? half_rounding * magnitude : 0;
    (void)image;
    for (int32_t i = 0; i < recorded->n_stages; i++) {
        const struct stage_context context = {.stage = recorded->stages[i].stage,
                                              .set = &recorded->stages[i].set};
        const struct stage_tolerance tolerance = ts_stage_tolerance(&context);
        sum += tolerance.relative * magnitude + tolerance.absolute;
    }
    return 2 * sum;
}

/* Returns true if the fact says what computed the values, not what was computed. */
static bool is_of_build(const struct made_fact *fact)
{
    const char *name = strrchr(fact->path, '/');
    return strcmp(fact->path, "provenance/chain") != 0 &&
           strcmp(fact->path, "provenance/warnings") != 0 &&
           (!strncmp(fact->path, "provenance/", 11) ||
            (!strncmp(fact->path, "process_", 8) && name &&
             (!strcmp(name, "/device") || !strcmp(name, "/version") ||
              !strcmp(name, "/stage_version") || !strcmp(name, "/plugin_sha256"))));
}

/* Returns the name of an input, "ct", for "inputs/ct/slice_pixel_sha256" and other facts on which
   values depend; NULL for other facts. */
static const char *changed_input(const struct made_fact *fact, struct arena *arena)
{
    const char *name = strchr(fact->path, '/');
    const char *end = name && !strncmp(fact->path, "inputs/", 7) ? strchr(name + 1, '/') : NULL;
    return end && ts_inputs_is_of_values(end + 1)
               ? ts_arena_text(arena, name + 1, (size_t)(end - name - 1))
               : NULL;
}

enum rerun_verdict ts_rerun_judge(const struct comparison *comparison, const char **input)
{
    bool other_build = false, same = comparison->n_tables == 0;
    *input = NULL;
    for (size_t i = 0; i < comparison->n_differences; i++) {
        const struct made_difference *difference = &comparison->differences[i];
        const struct made_fact *fact = difference->sides[difference->sides[0] ? 0 : 1];
        other_build |= is_of_build(fact);
        *input = *input ? *input : changed_input(fact, comparison->arena);
    }
    for (size_t i = 0; i < comparison->n_images; i++)
        same &= comparison->images[i].state == COMPARED_EQUAL;
    if (same)
        return RERUN_SAME;
    if (comparison->state > COMPARED_WITHIN)
        return RERUN_BEYOND;
    return other_build ? RERUN_WITHIN : RERUN_UNEXPLAINED;
}
