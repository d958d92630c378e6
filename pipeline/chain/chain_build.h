/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a chain from the tree of its text, and finds the parameters and nodes that later changes
 * of it need.
 */
#ifndef PIPELINE_CHAIN_CHAIN_BUILD_H
#define PIPELINE_CHAIN_CHAIN_BUILD_H

#include "pipeline/chain/chain.h"
#include "pipeline/chain/load.h"

/* Returns the index of the parameter that holds the paths of the source's format, or -1. */
int ts_chain_path_param(const struct source_format *format);
/* Replaces the path of a source, as ts_chain_set_input replaces that of the first one. */
enum ts_status ts_chain_set_path(struct ts_chain *chain, struct chain_source *source,
                                 const char *path, struct ts_diag *diag);
/* Sets the nodes of the references that a stage is given. Returns false if one does not name a node
   before the stage (reported). */
bool ts_chain_resolve_references(const struct ts_chain *chain, int32_t stage, struct ts_diag *diag);
/* Returns the parameters of the output; their values are in the chain. */
struct param_set ts_chain_output_set(struct ts_chain *chain);
/* Builds sources, stages and output from a tree. Reports all errors to diag. */
void ts_chain_build(struct ts_chain *chain, const struct node *root, const char *folder,
                    struct ts_diag *diag);

#endif
