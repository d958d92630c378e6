/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes the report of a result: one page of HTML that needs no other file and no network.
 */
#ifndef PROGRAM_REPORT_REPORT_H
#define PROGRAM_REPORT_REPORT_H

#include "core/diag.h"

struct report_request {
    const char *path;    /* of the result */
    const char *output;  /* of the page */
    const char *profile; /* NAME.json of `run --profile NAME`; NULL: the page says that no times
                            were given */
    bool force;          /* an existing page is replaced */
};

/* Verifies the result, and writes the page only where every digest is right. The same result and
 * profile give the same bytes. Returns TS_BAD_INPUT where the result is damaged or is none, or
 * where the profile cannot be read (profile-unreadable) or is that of another chain
 * (profile-foreign); TS_RUN_FAILED where the page cannot be written. */
enum ts_status ts_report_write(const struct report_request *request, struct ts_diag *diag);

#endif
