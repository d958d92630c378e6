/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/reference/ring_reference.h"

#include <stdlib.h>

#include "stages/ring.h"
#include "tests/reference/border_reference.h"

struct place {
    double value;
    int64_t view;
};

static int by_value(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->view > y->view) - (x->view < y->view);
}

static void sort_slice(int64_t views, int64_t detectors, int64_t size, const double *in, double *out)
{
    struct place *columns = malloc((size_t)(views * detectors) * sizeof *columns);
    struct place *window = malloc((size_t)size * sizeof *window);
    for (int64_t d = 0; d < detectors; d++) {
        for (int64_t view = 0; view < views; view++)
            columns[d * views + view] = (struct place){in[view * detectors + d], view};
        qsort(columns + d * views, (size_t)views, sizeof *columns, by_value);
    }
    for (int64_t d = 0; d < detectors; d++)
        for (int64_t rank = 0; rank < views; rank++) {
            for (int64_t i = 0; i < size; i++)
                window[i] = columns[ts_border_reference(d - size / 2 + i, detectors, BORDER_REFLECT) * views + rank];
            qsort(window, (size_t)size, sizeof *window, by_value);
            out[columns[d * views + rank].view * detectors + d] = window[size / 2].value;
        }
    free(columns);
    free(window);
}

void ts_ring_reference(const struct stage_context *context, const double *in, double *out)
{
    const struct ring_params *params = context->params;
    const int64_t views = context->in.axes[1].n, detectors = context->in.axes[2].n;
    for (int64_t z = 0; z < context->in.axes[0].n; z++)
        sort_slice(views, detectors, params->size, in + z * views * detectors, out + z * views * detectors);
}
