/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions work on paths of files and of HDF5 objects as text.
 */
#ifndef CORE_PATH_H
#define CORE_PATH_H

#include <stdbool.h>
#include <string.h>

/* Returns the part behind the last slash, or all of a path that has none. */
static inline const char *ts_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static inline bool ts_ends_in(const char *path, const char *ending)
{
    const size_t length = strlen(path), end = strlen(ending);
    return length >= end && strcmp(path + length - end, ending) == 0;
}

#endif
