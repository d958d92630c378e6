/* SPDX-License-Identifier: Apache-2.0 */
#include "io/scan/scan_facts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "io/scan/scan_field.h"

/* Writes the unit of a fact. Returns the factor that converts its numbers to it. */
static double fact_unit(const char *units, bool exposure, char unit[static 16])
{
    static const struct {
        const char *name, *unit;
        double factor;
    } rows[] = {{"s", "s", 1},
                {"sec", "s", 1},
                {"second", "s", 1},
                {"seconds", "s", 1},
                {"ms", "s", 1e-3},
                {"msec", "s", 1e-3},
                {"millisecond", "s", 1e-3},
                {"milliseconds", "s", 1e-3},
                {"us", "s", 1e-6},
                {"min", "s", 60},
                {"minute", "s", 60},
                {"minutes", "s", 60},
                {"a", "A", 1},
                {"ampere", "A", 1},
                {"ma", "A", 1e-3},
                {"milliampere", "A", 1e-3},
                {"ua", "A", 1e-6}};
    snprintf(unit, 16, "%.15s", *units || !exposure ? units : "s"); /* as both formats have it */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcasecmp(units, rows[i].name)) {
            snprintf(unit, 16, "%s", rows[i].unit);
            return rows[i].factor;
        }
    return 1;
}

enum ts_status ts_scan_fact(struct projections *projections, enum source_fact_kind kind,
                            const struct hdf5_ref *parent, const char *name, const char *shown)
{
    struct source_fact *fact = &projections->facts[kind];
    const int64_t n = projections->n_views, n_frames = projections->stack.n[projections->order[1]];
    struct scan_field field;
    if (fact->name)
        return TS_OK;
    const enum ts_status status = ts_scan_field_read(&projections->input, parent, name, &field);
    if (status != TS_OK || (field.n != 1 && field.n != n && field.n != n_frames))
        return status;
    const bool of_file = field.n == n_frames && projections->frames;
    const double factor = fact_unit(field.units, kind == SOURCE_EXPOSURE, fact->unit);
    fact->low = INFINITY;
    fact->high = -INFINITY;
    for (int64_t i = 0; i < (field.n == 1 ? 1 : n); i++) {
        const double value =
            factor * field.values[of_file && field.n > 1 ? projections->frames[i] : i];
        fact->low = fmin(fact->low, value);
        fact->high = fmax(fact->high, value);
    }
    if (fact->low <= fact->high)
        fact->name = ts_arena_text(projections->arena, shown, strlen(shown));
    return TS_OK;
}
