/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/file_set.h"

#include <stdlib.h>

#include "core/memory.h"

static int file_set_compare(const void *a, const void *b)
{
    const struct file_number *one = a, *other = b;
    if (one->device != other->device)
        return one->device < other->device ? -1 : 1;
    return one->inode < other->inode ? -1 : one->inode > other->inode;
}

bool ts_file_set_add(struct file_set *set, const struct stat *file)
{
    struct file_number *files = ts_memory_grow(set->files, set->n, &set->capacity, sizeof *files);
    if (!files)
        return false;
    set->files = files;
    set->files[set->n++] = (struct file_number){file->st_dev, file->st_ino};
    return true;
}

void ts_file_set_sort(struct file_set *set)
{
    if (set->n > 1)
        qsort(set->files, set->n, sizeof *set->files, file_set_compare);
}

bool ts_file_set_has(const struct file_set *set, dev_t device, ino_t inode)
{
    const struct file_number file = {device, inode};
    return set->n > 0 && bsearch(&file, set->files, set->n, sizeof file, file_set_compare) != NULL;
}

void ts_file_set_clear(struct file_set *set)
{
    free(set->files);
    *set = (struct file_set){0};
}
