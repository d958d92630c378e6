/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of the caller's are given to the inputs of a chain that stand for them.
 */
#include <string.h>

#include "core/arguments.h"
#include "io/sandbox/sandbox.h"
#include "io/source/memory.h"
#include "pipeline/chain/chain.h"

bool ts_chain_is_of_caller(const struct ts_chain *chain)
{
    bool callers = !ts_sandbox_began();
    for (int32_t i = 0; i < chain->n_sources; i++)
        callers |= chain->sources[i].format == &memory_format;
    return callers;
}

static bool is_called(const struct chain_source *source, const char *name)
{
    return source->format == &memory_format &&
           strcmp(((const struct memory_params *)source->set.values)->memory, name) == 0;
}

static enum ts_status refuse_name(const struct ts_chain *chain, const char *name,
                                  struct ts_diag *diag)
{
    bool any = false;
    ts_diag_error(diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "memory-unknown", .stage = "memory"},
                  "the chain has no input 'memory %s'", name);
    for (int32_t i = 0; i < chain->n_sources; i++) {
        const struct chain_source *source = &chain->sources[i];
        if (source->format != &memory_format || any)
            continue;
        any = true;
        ts_diag_hint(diag, "it has '%s'",
                     ((const struct memory_params *)source->set.values)->memory);
    }
    return TS_BAD_CHAIN;
}

enum ts_status ts_chain_set_array(struct ts_chain *chain, const char *name,
                                  const struct ts_array *array, const struct ts_image *about,
                                  struct ts_diag *diag)
{
    struct memory_input *input;
    bool found = false;
    if (ts_arguments_lack(diag, "chain, name, array", chain, name, array))
        return TS_BAD_CHAIN;
    for (int32_t i = 0; i < chain->n_sources; i++)
        found = found || is_called(&chain->sources[i], name);
    if (!found)
        return refuse_name(chain, name, diag);
    const enum ts_status status = ts_memory_input(name, array, about, &input, diag);
    if (status != TS_OK)
        return status;
    for (int32_t i = 0; i < chain->n_sources; i++) {
        if (!is_called(&chain->sources[i], name))
            continue;
        struct memory_params *params = chain->sources[i].set.values;
        ts_memory_leave(params->input);
        params->input = ts_memory_share(input);
    }
    ts_memory_leave(input);
    return TS_OK;
}
