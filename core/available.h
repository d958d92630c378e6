/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory that the system can still give to programs without swapping.
 */
#ifndef CORE_AVAILABLE_H
#define CORE_AVAILABLE_H

#include <stdint.h>

/* Bytes; 0 where the system does not report them. */
int64_t ts_memory_available(void);

#endif
