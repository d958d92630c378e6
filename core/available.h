/* SPDX-License-Identifier: Apache-2.0
 *
 * This asks the system how much memory it can still give to programs without swapping.
 */
#ifndef CORE_AVAILABLE_H
#define CORE_AVAILABLE_H

#include <stdint.h>

/* Returns the free memory in bytes, or 0 where the system does not report it. */
int64_t ts_memory_available(void);

#endif
