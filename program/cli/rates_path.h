/* SPDX-License-Identifier: Apache-2.0
 *
 * This is where the rates of this machine are kept: the file that $TOMOSTAGE_RATES names (empty:
 * nowhere), or tomostage/rates.json in $XDG_CACHE_HOME, or in ~/.cache.
 */
#ifndef PROGRAM_CLI_RATES_PATH_H
#define PROGRAM_CLI_RATES_PATH_H

#include <stdbool.h>

#include "core/diag.h"

enum { RATES_PATH_BYTES = 4096 };

/* Writes the file's path. Returns false where rates are kept nowhere. */
bool ts_rates_path(char path[RATES_PATH_BYTES]);
/* Makes the folders of the path that are missing. TS_RUN_FAILED (code not-written) where one cannot
 * be made. */
enum ts_status ts_rates_path_make(const char *path, struct ts_diag *diag);
/* Returns the path if there is a file, which may be damaged, and NULL if not; it stays valid until
 * the next call. */
const char *ts_rates_path_found(void);

#endif
