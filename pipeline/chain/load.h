/* SPDX-License-Identifier: Apache-2.0
 *
 * Loads values of a chain's tree into a parameter struct, as its table says: kinds, ranges,
 * choices, unknown and missing names. Every function reports all errors that it finds, and leaves a
 * value that it cannot load unchanged.
 */
#ifndef PIPELINE_CHAIN_LOAD_H
#define PIPELINE_CHAIN_LOAD_H

#include "core/params.h"
#include "pipeline/chain/sweep.h"
#include "pipeline/chain/tree.h"

struct load {
    struct arena *arena; /* owns what is loaded */
    struct ts_diag *diag;
    const char *folder; /* folder to which the value of the parameter `path` is relative; NULL or
                           "": none */
    const char *path;   /* name of the parameter that holds paths, or NULL */
    /* keys of the map that are no parameters and are read elsewhere */
    const char *const *other_keys;
    size_t n_other_keys;
    int32_t version;           /* version of the chain; 0: the newest */
    struct chain_sweep *sweep; /* takes the sweep of a parameter; NULL: sweeps are not allowed */
};

/* Prepares *set for a table of parameters: allocates and fills the parameter struct. Returns false
 * if memory is out (reported). */
bool ts_load_begin(const struct load *load, const struct param *params, size_t n_params,
                   size_t bytes, const char *owner, struct ts_span span, struct param_set *set);
/* Loads the entries of a map of parameters, and then reports which required ones are missing. `map`
   may be an empty scalar. */
void ts_load_params(const struct load *load, const struct node *map, struct param_set *set);
/* Reports in one message the required parameters whose bit is not in `seen`, such as set->given.
   Returns true if none is missing. */
bool ts_load_check_missing(struct ts_diag *diag, const struct param_set *set, uint32_t seen);
/* Loads one value into parameter i. Returns false if it was refused (reported). */
bool ts_load_value(const struct load *load, const struct node *value, struct param_set *set,
                   size_t i);
/* Reports a name that is none of `names`, at its place and with the nearest of them: "unknown
   parameter 'x'; did you mean 'y'?" Returns the nearest one, or NULL. */
const char *ts_load_unknown(struct ts_diag *diag, const char *name, struct ts_span span,
                            const char *owner, const char *what, const char *const *names,
                            size_t n);
/* Reports, as the function above does, a name that is neither a parameter of the set nor one of the
   other keys. The hint says which other stages, or which other formats of an input, have it. */
const char *ts_load_unknown_param(struct ts_diag *diag, const char *name, struct ts_span span,
                                  const struct param_set *set, const char *const *other_keys,
                                  size_t n_other_keys);
/* Reports that the node is not `what` was expected, unless the node was refused already. */
void ts_load_expected(struct ts_diag *diag, const struct node *node, const char *owner,
                      const char *what);
/* Returns a path as seen from the chain's folder, to which it is joined unless it is absolute. NULL
   if memory is out (reported). */
const char *ts_load_path(const struct load *load, const char *path);
/* Returns the text of a scalar; NULL if it is `null`, empty or no scalar (reported as `owner`:
   ...). */
const char *ts_load_text(struct ts_diag *diag, const struct node *node, const char *owner,
                         const char *expected);

#endif
