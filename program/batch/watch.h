/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds what arrives in a folder. A folder or file there is complete when nothing of it has changed
 * for some seconds: neither its files, nor their sizes and times.
 */
#ifndef PROGRAM_BATCH_WATCH_H
#define PROGRAM_BATCH_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct arrival {
    char *name;
    unsigned long long seen[3]; /* files, bytes, the newest time of change */
    double since;               /* when it was last seen to change */
    bool complete;
};

struct watch {
    struct arrival *items;
    size_t n, capacity;
};

/* Looks at the folder, and writes the path of an entry that has become complete; the entry `own`,
   such as the folder of the results, and hidden ones do not count. Returns false if there is none
   now. An entry is given once. */
bool ts_watch_next(struct watch *watch, const char *folder, const char *own, int settle, char *path,
                   size_t size);
void ts_watch_end(struct watch *watch);

#endif
