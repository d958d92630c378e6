/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources: NeXus definitions, NXdetector, NXsource and NXmonitor.
 */
#include "io/scan/nexus_facts.h"

#include <stdio.h>
#include <strings.h>

#include "io/scan/scan_facts.h"
#include "io/scan/scan_field.h"

/* Notes which way the detector lies. A file that does not say it has the usual way. */
static enum ts_status note_flip(const struct nexus_places *places, enum source_fact_kind kind,
                                const char *name)
{
    struct source_fact *fact = &places->projections->facts[kind];
    struct scan_field field;
    const enum ts_status status = ts_scan_field_read(places->input, places->detector, name, &field);
    if (status != TS_OK || (field.there && field.n != 1 && !*field.text))
        return status;
    fact->low = fact->high =
        field.n == 1 ? field.values[0] != 0 : *field.text && strcasecmp(field.text, "false") != 0;
    fact->name = name;
    return TS_OK;
}

/* Notes the first monitor of the entry that has values. */
static enum ts_status note_monitor(const struct nexus_places *places)
{
    struct hdf5_ref monitor;
    char shown[HDF5_INPUT_PATH];
    struct hdf5_name *names;
    size_t n;
    enum ts_status status = ts_hdf5_input_names(places->input, places->entry, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        if (places->projections->facts[SOURCE_MONITOR].name)
            break;
        if (names[i].kind != 'h')
            continue;
        status = ts_hdf5_input_find(places->input, places->entry, names[i].name, &monitor);
        snprintf(shown, sizeof shown, "data of %s", names[i].name);
        if (status == TS_OK && ts_hdf5_input_is_class(&monitor, "NXmonitor"))
            status = ts_scan_fact(places->projections, SOURCE_MONITOR, &monitor, "data", shown);
        ts_hdf5_input_release(places->input, &monitor);
    }
    return status;
}

enum ts_status ts_nexus_facts(const struct nexus_places *places)
{
    struct projections *projections = places->projections;
    enum ts_status status = TS_OK;
    if (places->entry->kind == FINDER_NONE || places->detector->kind == FINDER_NONE)
        return TS_OK;
    const struct {
        enum source_fact_kind kind;
        const struct hdf5_ref *of;
        const char *name, *shown;
    } rows[] = {{SOURCE_EXPOSURE, places->detector, "count_time", "count_time"},
                {SOURCE_EXPOSURE, places->detector, "exposure_time", "exposure_time"},
                {SOURCE_CURRENT, places->source, "current", "current of the source"},
                {SOURCE_DIODE, places->diode, "data", "data of the diode"}};
    for (size_t i = 0; status == TS_OK && i < sizeof rows / sizeof *rows; i++)
        status = ts_scan_fact(projections, rows[i].kind, rows[i].of, rows[i].name, rows[i].shown);
    if (status == TS_OK)
        status = note_monitor(places);
    if (status == TS_OK)
        status = note_flip(places, SOURCE_X_FLIPPED, "x_flipped");
    if (status == TS_OK)
        status = note_flip(places, SOURCE_Y_FLIPPED, "y_flipped");
    if (status == TS_OK && !places->projected)
        status = ts_nexus_note_axes(places);
    return status;
}
