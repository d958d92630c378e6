/* SPDX-License-Identifier: Apache-2.0
 *
 * Paths of files and of HDF5 objects, as text.
 */
#ifndef CORE_PATH_H
#define CORE_PATH_H

#include <string.h>

/* The part behind the last slash; all of a path that has none. */
static inline const char *ts_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

#endif
