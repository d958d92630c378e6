/* SPDX-License-Identifier: Apache-2.0
 *
 * Entries are collected in any order, sorted once and then found by binary search, because a folder may hold a hundred
 * thousand names. Equal entries become one with a count. Most names of a folder are alike but for a number, so that an
 * added entry is first compared with the last few, which keeps the list short before it is sorted.
 */
#include "io/dicom_series/dicom_name_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "core/search.h"

static struct name_entry entry_of(int folder, const char *text, size_t series)
{
    struct name_entry entry = {.folder = folder, .series = series, .n = 1};
    snprintf(entry.text, sizeof entry.text, "%s", text);
    return entry;
}

static int compare_keys(const void *a, const void *b)
{
    const struct name_entry *first = a, *second = b;
    return first->folder != second->folder ? (first->folder < second->folder ? -1 : 1)
                                           : strcmp(first->text, second->text);
}

static int compare_entries(const void *a, const void *b)
{
    const struct name_entry *first = a, *second = b;
    const int order = compare_keys(a, b);
    return order ? order : (first->series > second->series) - (first->series < second->series);
}

bool ts_name_add(struct name_index *index, int folder, const char *text, size_t series)
{
    const struct name_entry entry = entry_of(folder, text, series);
    /* Neighbors in a folder are mostly alike: merging with the last few keeps the list short. */
    for (size_t i = index->n; i > 0 && i + 8 > index->n; i--)
        if (compare_entries(&index->items[i - 1], &entry) == 0) {
            index->items[i - 1].n++;
            return true;
        }
    struct name_entry *grown = ts_memory_grow(index->items, index->n, &index->capacity, sizeof *grown);
    if (!grown)
        return false;
    index->items = grown;
    index->items[index->n++] = entry;
    return true;
}

void ts_name_sort(struct name_index *index)
{
    size_t kept = 0;
    if (index->n == 0)
        return;
    qsort(index->items, index->n, sizeof *index->items, compare_entries);
    for (size_t i = 1; i < index->n; i++)
        if (compare_entries(&index->items[kept], &index->items[i]) == 0)
            index->items[kept].n += index->items[i].n;
        else
            index->items[++kept] = index->items[i];
    index->n = kept + 1;
}

struct name_range ts_name_find(const struct name_index *index, int folder, const char *text)
{
    const struct name_entry wanted = entry_of(folder, text, 0);
    if (index->n == 0)
        return (struct name_range){NULL, NULL};
    const struct name_entry *end = index->items + index->n;
    struct name_range range;
    range.first = index->items + ts_lower_bound(&wanted, index->items, index->n, sizeof wanted, compare_keys);
    for (range.end = range.first; range.end < end && compare_keys(range.end, &wanted) == 0;)
        range.end++;
    return range;
}

bool ts_name_range_has(struct name_range range, size_t series)
{
    if (range.first == range.end)
        return false;
    struct name_entry wanted = *range.first;
    wanted.series = series;
    return bsearch(&wanted, range.first, (size_t)(range.end - range.first), sizeof wanted, compare_entries) != NULL;
}
