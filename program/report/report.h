/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the report of a result: one page of HTML that needs no other file and no network.
 */
#ifndef PROGRAM_REPORT_REPORT_H
#define PROGRAM_REPORT_REPORT_H

#include "core/diag.h"

struct report_request {
    const char *path;   /* of the result */
    const char *output; /* of the page */
    /* NAME.json of `run --profile NAME`; NULL: the page says that there are no times */
    const char *profile;
    /* through so many slices of each image, evenly spread, the page can scroll; INT64_MAX: all */
    int64_t slices;
    bool force; /* replace an existing page */
};

/* Verifies the result, and writes the page only if every digest is right. Equal results and
   profiles give equal bytes. Returns TS_BAD_INPUT if the result is damaged or is none, or if the
   profile cannot be read (profile-unreadable) or is of a different chain (profile-foreign);
   TS_RUN_FAILED if the page cannot be written. */
enum ts_status ts_report_write(const struct report_request *request, struct ts_diag *diag);

#endif
