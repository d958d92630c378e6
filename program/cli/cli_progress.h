/* SPDX-License-Identifier: Apache-2.0
 *
 * Shows how far a run is: on a terminal in one line that is redrawn, elsewhere in a line on
 * standard error every so many seconds, so that the log shows that the run goes on, and with --json
 * in one event a line.
 */
#ifndef PROGRAM_CLI_CLI_PROGRESS_H
#define PROGRAM_CLI_CLI_PROGRESS_H

#include "pipeline/plan/plan.h"

struct cli_progress {
    const struct ts_plan *plan; /* NULL before the plan exists, while a box is searched */
    bool json, quiet, terminal, drawn;
    double every, last; /* seconds between lines; when the last one was shown */
    char output[4096];  /* path of the result, once it is written */
    double seconds;     /* of the whole run, then */
};

void ts_cli_progress_init(struct cli_progress *progress, bool quiet, bool json, int every);
/* Shows an event. For on_event of struct ts_options, with a struct cli_progress as `user`. */
void ts_cli_progress_event(void *progress, const struct ts_event *event);
/* Erases the line from the terminal. */
void ts_cli_progress_clear(struct cli_progress *progress);

#endif
