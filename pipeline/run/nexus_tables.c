/* SPDX-License-Identifier: Apache-2.0
 *
 * An NXdata group has one signal, which viewers plot. It is the table that says most of its stage; the others lie
 * beside it, and those of the same shape and unit that count the same thing, such as a reference's histogram, are drawn
 * with it. The axis of a histogram has the centers of its bins, because viewers disagree on edges, of which there is
 * one more than there are values. Tables of one row a slice are lists of curves, not pictures. Source: NeXus NXdata.
 */
#include "pipeline/run/nexus_tables.h"

#include <stdlib.h>
#include <string.h>

#include "core/image.h"

enum { PATH_BYTES = 256 };

static const struct stage_table *find(const struct stage_table *tables, int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(tables[i].name, name))
            return &tables[i];
    return NULL;
}

/* The tables that say most of a stage, and those that hold the positions along their last axis. */
static const struct plotted {
    const char *signal, *positions;
} plotted[] = {{"counts", "edges"}, {"measure", "trial_center"}, {"residual"}, {"distance"}, {"strip"}, {"mean"}};

/* Returns the table that is plotted, and that of its positions, or NULL. A table with an axis comes before a number. */
static const struct stage_table *signal_of(const struct stage_table *tables, int n,
                                           const struct stage_table **positions)
{
    const struct stage_table *found;
    *positions = NULL;
    for (size_t i = 0; i < sizeof plotted / sizeof *plotted; i++) {
        if (!(found = find(tables, n, plotted[i].signal)) || found->image.rank == 0)
            continue;
        *positions = plotted[i].positions ? find(tables, n, plotted[i].positions) : NULL;
        return found;
    }
    for (int i = 0; i < n; i++)
        if (tables[i].image.rank > 0)
            return &tables[i];
    return tables;
}

/* Makes the positions of an axis of n values: those of the table, or the centers between its edges. They stay NULL
 * where the table has none for all slices alike. The caller frees them. */
static enum ts_status positions_of(const struct stage_table *table, int64_t n, double **positions, struct ts_diag *diag)
{
    const int64_t edges = table && table->image.rank == 1 && table->image.dtype == TS_F64 ? table->image.axes[0].n : 0;
    const double *at = table ? table->image.data : NULL;
    *positions = NULL;
    if (edges < n || edges > n + 1)
        return TS_OK;
    *positions = malloc((size_t)n * sizeof **positions);
    for (int64_t i = 0; *positions && i < n; i++)
        (*positions)[i] = edges > n ? at[i] + (at[i + 1] - at[i]) / 2 : at[i];
    return *positions ? TS_OK : ts_diag_no_memory(diag, (size_t)n * sizeof **positions);
}

/* Writes which other table is drawn with the signal: it counts the same bins. */
static enum ts_status write_auxiliary(const struct stage_table *tables, int n, const struct stage_table *signal,
                                      const char *group, struct hdf5_writer *writer)
{
    const char *const name = "reference_counts";
    const struct stage_table *other = find(tables, n, name);
    char path[PATH_BYTES];
    if (!other || !ts_image_same_layout(&other->image, &signal->image))
        return TS_OK;
    snprintf(path, sizeof path, "%s@auxiliary_signals", group);
    return ts_hdf5_texts(writer, path, &name, 1);
}

/* Makes the group of the tables plot by itself. */
static enum ts_status write_signal(const struct stage_table *tables, int n, const char *group,
                                   struct hdf5_writer *writer, struct ts_diag *diag)
{
    const struct stage_table *at, *signal = signal_of(tables, n, &at);
    const int last = signal->image.rank - 1;
    struct ts_image image = signal->image;
    double *positions = NULL;
    char path[PATH_BYTES];
    enum ts_status status = last >= 0 ? positions_of(at, image.axes[last].n, &positions, diag) : TS_OK;
    if (positions) {
        image.axes[last].positions = positions;
        image.axes[last].unit = at->image.unit;
    }
    if (status == TS_OK)
        status = ts_hdf5_axes(writer, group, signal->name, &image);
    free(positions);
    snprintf(path, sizeof path, "%s/%s@interpretation", group, signal->name);
    if (status == TS_OK && last > 0)
        status = ts_hdf5_text(writer, path, image.axes[last].kind == TS_AXIS_X ? "image" : "spectrum");
    return status == TS_OK ? write_auxiliary(tables, n, signal, group, writer) : status;
}

/* Writes a table. Viewers label its values with its name and unit, since its description would not fit there. */
static enum ts_status write_table(const struct stage_table *table, const char *group, struct hdf5_writer *writer)
{
    const char *unit = table->image.unit;
    char path[PATH_BYTES], label[96];
    snprintf(path, sizeof path, "%s/%s", group, table->name);
    enum ts_status status = ts_hdf5_values(writer, path, &table->image);
    snprintf(path, sizeof path, "%s/%s@long_name", group, table->name);
    snprintf(label, sizeof label, *unit && strcmp(unit, "1") != 0 ? "%s (%s)" : "%s", table->name, unit);
    if (status == TS_OK)
        status = ts_hdf5_text(writer, path, label);
    snprintf(path, sizeof path, "%s/%s@description", group, table->name);
    return status == TS_OK ? ts_hdf5_text(writer, path, table->doc) : status;
}

enum ts_status ts_nexus_tables(const struct stage_table *tables, int n, const char *process, struct hdf5_writer *writer,
                               struct ts_diag *diag)
{
    char group[PATH_BYTES - 64];
    if (n == 0)
        return TS_OK;
    snprintf(group, sizeof group, "%s/tables", process);
    enum ts_status status = ts_hdf5_group(writer, group, "NXdata");
    for (int i = 0; status == TS_OK && i < n; i++)
        status = write_table(&tables[i], group, writer);
    return status == TS_OK ? write_signal(tables, n, group, writer, diag) : status;
}
