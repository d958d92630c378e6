/* SPDX-License-Identifier: Apache-2.0
 *
 * Some scans change their spacing on the way, or pause and go on elsewhere. Each part is a volume of its own, and no
 * slice has to be made up for it. A stack begins at the first slice. It goes on while the step to the next slice is
 * that between its first two; the slice behind another step begins the next stack. The steps of rounded positions
 * differ by up to four times the distance of a position from its place, so that is how much they may differ.
 */
#include "io/dicom_series/dicom_stacks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/vector3.h"

enum { LEAST_SLICES = 3, MAX_LISTED = 4, TEXT_BYTES = 320 };

static void step_behind(const struct dicom_series *series, size_t i, double step[3])
{
    for (int k = 0; k < 3; k++)
        step[k] = series->images[i + 1]->position_mm[k] - series->images[i]->position_mm[k];
}

/* Returns the end of the stack that begins at slice `first`. */
static size_t end_of_stack(const struct dicom_series *series, const struct dicom_rules *rules, size_t first)
{
    double begin[3], step[3];
    size_t end = first + 1;
    if (end == series->n_slices)
        return end;
    step_behind(series, first, begin);
    const double tolerance =
        fmax(ts_dicom_same_position(series->images[0]), rules->spacing_tolerance / 100 * ts_length(begin));
    for (; end < series->n_slices; end++) {
        step_behind(series, end - 1, step);
        for (int k = 0; k < 3; k++)
            step[k] -= begin[k];
        if (ts_length(step) > 4 * tolerance)
            break;
    }
    return end;
}

void ts_dicom_take_stack(struct dicom_series *series, const struct dicom_rules *rules)
{
    const size_t n_slices = series->n_slices;
    size_t first = 0, end = end_of_stack(series, rules, 0);
    int64_t number = 1;
    for (; number < rules->stack && end < n_slices; number++) {
        first = end;
        end = end_of_stack(series, rules, first);
    }
    if (number < rules->stack) {
        ts_dicom_series_refuse(series, "stack-unknown", "stack: 1 is the lowest along the normal",
                               "there is no stack %lld: the slices have %lld of even spacing", (long long)rules->stack,
                               (long long)number);
        return;
    }
    const size_t n = end - first;
    bool *left = ts_arena_alloc(series->arena, series->n_images * sizeof *left);
    series->no_memory |= !left;
    if (!left)
        return;
    for (size_t i = 0; i < series->n_images; i++)
        left[i] = i % n_slices < first || i % n_slices >= end;
    ts_dicom_series_leave_out(series, left);
    series->n_slices = n;
    if (n < n_slices)
        ts_dicom_series_warn(series, "stack %lld has %zu of the %zu slices; the others are left out",
                             (long long)rules->stack, n, n_slices);
}

const char *ts_dicom_stacks_hint(struct dicom_series *series, const struct dicom_rules *rules, const char *first,
                                 const char *otherwise)
{
    char text[TEXT_BYTES];
    int used = snprintf(text, sizeof text, "%s%sstack: N takes one of the stacks of even spacing -", first,
                        *first ? "; " : "");
    for (size_t begin = 0, number = 1, end; begin < series->n_slices; begin = end, number++) {
        end = end_of_stack(series, rules, begin);
        if (number > MAX_LISTED || end - begin < LEAST_SLICES || end - begin == series->n_slices)
            return otherwise;
        const double gaps = (double)(end - begin - 1);
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "%s %zu has %zu slices of %.3f mm", number > 1 ? "," : "",
                     number, end - begin, (series->images[end - 1]->along_mm - series->images[begin]->along_mm) / gaps);
    }
    char *kept = ts_arena_text(series->arena, text, strlen(text));
    series->no_memory |= kept == NULL;
    return kept;
}
