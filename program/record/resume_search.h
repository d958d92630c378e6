/* SPDX-License-Identifier: Apache-2.0
 *
 * A search looks in the pixels before a plan is made, for the box of a region for example; it can use saved images.
 */
#ifndef PROGRAM_RECORD_RESUME_SEARCH_H
#define PROGRAM_RECORD_RESUME_SEARCH_H

#include "include/tomostage.h"

/* Does what ts_chain_search() does, and lets the stages before a search start from the result at `path` (NULL: none)
 * where that can be. The pixels of the inputs are not compared: the run that follows does so. */
enum ts_status ts_resume_search(struct ts_chain *chain, const struct ts_options *options, const char *path,
                                struct ts_diag *diag);

#endif
