/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of files, known by device and inode, which finds a file without a look at each of them:
 * before an output replaces a folder of many files, it is checked if one of as many inputs is
 * there.
 */
#ifndef IO_FILE_FILE_SET_H
#define IO_FILE_FILE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct file_number {
    dev_t device;
    ino_t inode;
};

struct file_set {
    struct file_number *files; /* rising, once ts_file_set_sort has been called */
    size_t n, capacity;
};

/* Adds a file. Returns false if memory is out. */
bool ts_file_set_add(struct file_set *set, const struct stat *file);
void ts_file_set_sort(struct file_set *set);
/* Returns true if the sorted set has this file. */
bool ts_file_set_has(const struct file_set *set, dev_t device, ino_t inode);
void ts_file_set_clear(struct file_set *set);

#endif
