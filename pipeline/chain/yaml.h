/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads YAML text into a tree. It must be one document of maps, lists and scalars; anchors,
 * aliases, tags, merge keys, directives and duplicate keys are refused with their place. Scalars
 * stay text: what a value means is its parameter's business.
 */
#ifndef PIPELINE_CHAIN_YAML_H
#define PIPELINE_CHAIN_YAML_H

#include "pipeline/chain/tree.h"

/* Reads tree->text into tree->root. False where the text could not be read to its end; refusals
 * along the way are in tree->diag alone. */
bool ts_yaml_read(struct tree *tree);

#endif
