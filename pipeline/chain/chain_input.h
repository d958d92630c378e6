/* SPDX-License-Identifier: Apache-2.0
 *
 * Commands that look at an image without computing anything open it as the input of a chain, so
 * that formats, parameters and errors are the same as in runs.
 */
#ifndef PIPELINE_CHAIN_CHAIN_INPUT_H
#define PIPELINE_CHAIN_CHAIN_INPUT_H

#include "pipeline/chain/chain.h"

/* Makes a chain that has one input and does nothing with it. `input` is a format, or an input of a
   chain on one line: "tiff x pages=slices". `path` replaces its path (NULL: it stays). Messages
   call the text `name`. The caller destroys *chain. Returns TS_BAD_CHAIN if the text is wrong, or
   is more than an input (not-an-input). */
enum ts_status ts_chain_of_input(const char *input, const char *name, const char *path,
                                 struct ts_chain **chain, struct ts_diag *diag);
/* Chooses the image of a result that is the chain's input. */
enum ts_status ts_chain_choose_image(struct ts_chain *chain, const char *image,
                                     struct ts_diag *diag);

#endif
