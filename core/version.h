/* SPDX-License-Identifier: Apache-2.0
 *
 * What this build is.
 */
#ifndef CORE_VERSION_H
#define CORE_VERSION_H

/* Compiler, build type, flags and commit on one line; no path, no date. */
const char *ts_build_text(void);

#endif
