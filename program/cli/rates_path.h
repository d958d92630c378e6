/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the rates of this machine are kept: in the file that $TOMOSTAGE_RATES names (empty:
 * nowhere), or in tomostage/rates.json in $XDG_CACHE_HOME, or in ~/.cache.
 */
#ifndef PROGRAM_CLI_RATES_PATH_H
#define PROGRAM_CLI_RATES_PATH_H

#include <stdbool.h>

#include "core/diag.h"

enum { RATES_PATH_BYTES = 4096 };

/* Writes the file's path. Returns false if rates are kept nowhere. */
bool ts_rates_path(char path[RATES_PATH_BYTES]);
/* Makes the folders of the path that are missing. TS_RUN_FAILED (code not-written) if one cannot be
 * made. */
enum ts_status ts_rates_path_make(const char *path, struct ts_diag *diag);
/* Returns the path if a file is there, which may be damaged; else NULL. The text is valid until the
   next call. */
const char *ts_rates_path_found(void);

#endif
