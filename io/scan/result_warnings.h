/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads the warnings of the run that wrote a result, which pipeline/run/warnings.c keeps
 * there.
 */
#ifndef IO_SCAN_RESULT_WARNINGS_H
#define IO_SCAN_RESULT_WARNINGS_H

#include "core/arena.h"
#include "core/diag.h"

#define WARNINGS_PATH "/entry/provenance/warnings" /* a list of texts "CODE: STAGE: SENTENCE" */
#define WARNINGS_NONE                                                                              \
    "none" /* the only text of the list if a run warned of nothing; each warning contains a colon  \
              \ / */

struct result_warnings {
    const char *const *texts; /* in the arena; untrusted, and may hold control characters */
    size_t n;
    bool kept; /* the file has the list; files of older versions have none */
};

/* Reads the list. Returns TS_BAD_INPUT if the file cannot be read. */
enum ts_status ts_result_warnings(const char *path, struct arena *arena,
                                  struct result_warnings *warnings, struct ts_diag *diag);

#endif
