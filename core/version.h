/* SPDX-License-Identifier: Apache-2.0
 *
 * The version and the build of this program.
 */
#ifndef CORE_VERSION_H
#define CORE_VERSION_H

/* Returns compiler, build type, flags and commit in one line; no path and no date. */
const char *ts_build_text(void);

#endif
