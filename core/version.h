/* SPDX-License-Identifier: Apache-2.0
 *
 * This describes how the program was built.
 */
#ifndef CORE_VERSION_H
#define CORE_VERSION_H

/* Returns compiler, build type, flags and commit in one line, without paths or dates. */
const char *ts_build_text(void);

#endif
