/* SPDX-License-Identifier: Apache-2.0 */
#include "io/source/drop_views.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ts_numbers *list_of(const struct param_set *set)
{
    size_t i;
    return ts_param_find(set->params, set->n_params, "drop_views", &i) ? ts_param_field(set, i)
                                                                       : NULL;
}

bool ts_drop_views_may(const struct param_set *set)
{
    const struct ts_numbers *list = list_of(set);
    return list && list->rows == 0;
}

/* Marks the views of a range. Returns false if it is no range of the n views. */
static bool mark(const double *range, bool single, int64_t n, bool *dropped)
{
    const double first = range[0], end = single ? first + 1 : range[1];
    if (first != rint(first) || end != rint(end) || first < 0 || first >= end || end > (double)n)
        return false;
    for (int64_t i = (int64_t)first; i < (int64_t)end; i++)
        dropped[i] = true;
    return true;
}

static enum ts_status list_kept(const struct param_set *set, const struct ts_numbers *list,
                                int64_t n, bool *dropped, int64_t *kept, int64_t *n_kept,
                                struct ts_diag *diag)
{
    const bool single = list->rows * list->columns == 1;
    *n_kept = 0;
    for (int64_t i = 0; i < list->rows; i++) {
        const double *range = list->values + i * list->columns;
        if ((single || list->columns == 2) && mark(range, single, n, dropped))
            continue;
        ts_param_error(set, "drop_views", "drop-views", diag,
                       "expected one number, [first, end], or a list of such ranges, of the "
                       "%" PRId64 " views 0 to %" PRId64,
                       n, n - 1);
        return ts_diag_hint(diag,
                            "drop_views: [[3, 4], [7, 9]] leaves out views 3, 7 and 8: 0 <= first "
                            "< end <= %" PRId64,
                            n);
    }
    for (int64_t i = 0; i < n; i++)
        if (!dropped[i])
            kept[(*n_kept)++] = i;
    return *n_kept > 0 ? TS_OK
                       : ts_param_error(set, "drop_views", "drop-views", diag,
                                        "all of the %" PRId64 " views are left out", n);
}

enum ts_status ts_drop_views(const struct param_set *set, int64_t n, struct arena *arena,
                             const int64_t **kept, int64_t *n_kept, struct ts_diag *diag)
{
    const struct ts_numbers *list = list_of(set);
    *kept = NULL;
    *n_kept = n;
    if (!list || list->rows == 0)
        return TS_OK;
    if (n == 0)
        return ts_param_error(set, "drop_views", "drop-views", diag,
                              "what is read has no views of its own to be left out");
    bool *dropped = calloc((size_t)n, sizeof *dropped);
    int64_t *numbers = ts_arena_alloc(arena, (size_t)n * sizeof *numbers);
    const enum ts_status status = dropped && numbers
                                      ? list_kept(set, list, n, dropped, numbers, n_kept, diag)
                                      : ts_diag_no_memory(diag, (size_t)n * sizeof *numbers);
    free(dropped);
    *kept = numbers;
    return status;
}

struct view_ranges ts_view_ranges(const bool *marks, int64_t n)
{
    struct view_ranges found = {.first = -1};
    size_t used = 0;
    for (int64_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && marks[end] == marks[i];)
            end++;
        if (!marks[i] && end - i > found.run_end - found.run_first)
            found.run_first = i, found.run_end = end;
        if (!marks[i])
            continue;
        found.count += end - i;
        found.first = found.first < 0 ? i : found.first;
        found.last = end - 1;
        if (used < sizeof found.ranges)
            used += (size_t)snprintf(found.ranges + used, sizeof found.ranges - used,
                                     "%s[%" PRId64 ", %" PRId64 "]", used ? ", " : "", i, end);
    }
    return found;
}

bool ts_drop_views_hint(const struct param_set *set, const struct view_ranges *views, int64_t n,
                        struct ts_diag *diag)
{
    if (!ts_drop_views_may(set) || views->count == 0 || views->count == n)
        return false;
    if (strlen(views->ranges) + 1 == sizeof views->ranges)
        ts_diag_hint(diag, "drop_views: [[first, end], ...] leaves them out");
    else
        ts_diag_hint(diag, "drop_views: %s%s%s leaves them out",
                     strchr(views->ranges, ']')[1] ? "[" : "", views->ranges,
                     strchr(views->ranges, ']')[1] ? "]" : "");
    return true;
}
