/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads YAML text into a tree. It must be one document of maps, lists and scalars; anchors,
 * aliases, tags, merge keys, directives and duplicate keys are refused with their place. Scalars
 * stay text: what a value means is its parameter's business.
 */
#ifndef PIPELINE_CHAIN_YAML_H
#define PIPELINE_CHAIN_YAML_H

#include "pipeline/chain/tree.h"

/* Reads tree->text into tree->root. Returns false if the text could not be read to its end. Errors
   in a text that was read to its end are only in tree->diag. */
bool ts_yaml_read(struct tree *tree);

#endif
