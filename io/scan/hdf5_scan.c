/* SPDX-License-Identifier: Apache-2.0
 *
 * The listing shows whether a file is a scan. The source that a chain would use then describes it,
 * so `info` and `run` agree.
 */
#include "io/scan/hdf5_scan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/path.h"
#include "io/scan/exchange.h"
#include "io/scan/nexus.h"
#include "io/scan/projections.h"

/* Returns the first dataset whose path ends so, and whose value is this text where one is given. */
static const struct hdf5_listed *find_listed(const struct hdf5_listing *listing, const char *ending,
                                             const char *value)
{
    for (const struct hdf5_listed *entry = listing->objects; entry; entry = entry->next)
        if (entry->kind == HDF5_DATASET && ts_ends_in(entry->path, ending) &&
            (!value || (entry->value && !strcmp(entry->value, value))))
            return entry;
    return NULL;
}

static int64_t count_frames(const struct hdf5_listing *listing, const char *path)
{
    const struct hdf5_listed *entry = find_listed(listing, path, NULL);
    return !entry ? 0 : entry->rank == 2 ? 1 : entry->rank == 3 ? (int64_t)entry->n[0] : 0;
}

void ts_hdf5_scan_look(const struct hdf5_listing *listing, struct hdf5_scan *scan)
{
    const bool nexus = find_listed(listing, "/definition", "NXtomo") != NULL;
    *scan = (struct hdf5_scan){0};
    if (!nexus && (listing->ours || !find_listed(listing, "/exchange/data", NULL)))
        return;
    scan->format = nexus ? SCAN_NXTOMO : SCAN_EXCHANGE;
    const struct hdf5_listed *angles =
        find_listed(listing, nexus ? "/rotation_angle" : "/exchange/theta", NULL);
    snprintf(scan->angle_unit, sizeof scan->angle_unit, "%s",
             angles && angles->units ? angles->units : "");
    scan->n_flats = count_frames(listing, "/exchange/data_white");
    scan->n_darks = count_frames(listing, "/exchange/data_dark");
}

static void describe_source(const struct source *source, struct hdf5_scan *scan)
{
    const struct ts_axis *axes = source->image.axes;
    scan->rows = axes[0].n;
    scan->n_projections = axes[1].n;
    scan->columns = axes[2].n;
    scan->row_mm = strcmp(axes[0].unit, "mm") ? 0 : axes[0].spacing;
    scan->column_mm = strcmp(axes[2].unit, "mm") ? 0 : axes[2].spacing;
    scan->low = INFINITY;
    scan->high = -INFINITY;
    for (int64_t i = 0; axes[1].positions && i < axes[1].n; i++) {
        scan->low = fmin(scan->low, axes[1].positions[i]);
        scan->high = fmax(scan->high, axes[1].positions[i]);
    }
    for (size_t i = 0; i < source->n_attributes; i++) {
        const struct source_attribute *attribute = &source->attributes[i];
        if (!strcmp(attribute->name, "x_rotation_axis_pixel_position"))
            snprintf(scan->rotation_column, sizeof scan->rotation_column, "%s", attribute->value);
        scan->half |=
            !strcmp(attribute->name, "field_of_view") && !strcmp(attribute->value, "Half");
        if (!strcmp(attribute->name, "frames_in_file"))
            sscanf(attribute->value, TS_FRAMES_IN_FILE_SCAN, &scan->n_projections, &scan->n_flats,
                   &scan->n_darks, &scan->n_invalid, &scan->n_alignment);
    }
}

enum ts_status ts_hdf5_scan_try(const struct source_format *format, struct param_set *set,
                                struct source **source, char *refused, size_t size,
                                struct ts_diag *diag)
{
    struct ts_diag *found = ts_diag_create();
    *refused = '\0';
    if (!found)
        return ts_diag_no_memory(diag, sizeof *set);
    enum ts_status status = format->open(set, source, found);
    const char *reason = ts_diag_first_error(found);
    reason = reason ? reason : "it cannot be read";
    if (status == TS_RUN_FAILED) /* not a fault of the file */
        ts_diag_error(diag, status, &(struct diag_site){.code = "scan-not-read"}, "%s", reason);
    else if (status != TS_OK)
        snprintf(refused, size, "%s", reason);
    else
        ts_diag_append(diag, found); /* warnings and notes */
    ts_diag_destroy(found);
    return status == TS_RUN_FAILED ? status : TS_OK;
}

enum ts_status ts_hdf5_scan_open(const char *path, struct hdf5_scan *scan, struct ts_diag *diag)
{
    union {
        struct nexus_params nexus;
        struct exchange_params exchange;
    } values = {0};
    const bool nexus = scan->format == SCAN_NXTOMO;
    const struct source_format *format = nexus ? &nexus_format : &exchange_format;
    struct param_set set = {.params = format->params,
                            .n_params = format->n_params,
                            .values = &values,
                            .owner = "input"};
    struct source *source = NULL;
    if (scan->format == SCAN_NONE)
        return TS_OK;
    ts_params_init(&set);
    *(nexus ? &values.nexus.nexus : &values.exchange.exchange) = path;
    const enum ts_status status =
        ts_hdf5_scan_try(format, &set, &source, scan->refused, sizeof scan->refused, diag);
    if (source) {
        describe_source(source, scan);
        source->ops->close(source);
    }
    return status;
}

void ts_hdf5_scan_print(const struct hdf5_scan *scan, FILE *stream)
{
    if (*scan->refused) {
        ts_text_print(stream, "  as an input it is refused: ", scan->refused);
        fputc('\n', stream);
        return;
    }
    fprintf(stream, "  frames: %" PRId64 " projections, %" PRId64 " flats, %" PRId64 " darks",
            scan->n_projections, scan->n_flats, scan->n_darks);
    if (scan->n_invalid)
        fprintf(stream, ", %" PRId64 " invalid", scan->n_invalid);
    if (scan->n_alignment)
        fprintf(stream, ", %" PRId64 " alignment (left out)", scan->n_alignment);
    fprintf(stream, "\n  detector: %" PRId64 " rows of %" PRId64 " pixels, ", scan->rows,
            scan->columns);
    if (scan->row_mm > 0)
        fprintf(stream, "%.9g mm apart, the pixels %.9g mm\n", scan->row_mm, scan->column_mm);
    else
        fputs("their size is not in the file\n", stream);
    fprintf(stream, "  angles: %.9g to %.9g degree", scan->low, scan->high);
    ts_text_print(stream, ", unit in the file: ", *scan->angle_unit ? scan->angle_unit : "none");
    if (*scan->rotation_column)
        ts_text_print(stream, "\n  rotation axis: x_rotation_axis_pixel_position ",
                      scan->rotation_column);
    fputs(scan->half ? "\n  field of view: half of the object\n" : "\n", stream);
}

void ts_hdf5_scan_json(const struct hdf5_scan *scan, struct json *json)
{
    ts_json_open(json, '{');
    ts_json_member_text(json, "format", scan->format == SCAN_NXTOMO ? "NXtomo" : "Data Exchange");
    if (*scan->refused) {
        ts_json_member_text(json, "refused", scan->refused);
    } else {
        ts_json_member_integer(json, "projections", scan->n_projections);
        ts_json_member_integer(json, "flats", scan->n_flats);
        ts_json_member_integer(json, "darks", scan->n_darks);
        ts_json_member_integer(json, "invalid", scan->n_invalid);
        ts_json_member_integer(json, "alignment", scan->n_alignment);
        ts_json_member_integer(json, "detector_rows", scan->rows);
        ts_json_member_integer(json, "detector_columns", scan->columns);
        ts_json_member_real(json, "row_distance_mm", scan->row_mm > 0 ? scan->row_mm : NAN);
        ts_json_member_real(json, "column_distance_mm",
                            scan->column_mm > 0 ? scan->column_mm : NAN);
        ts_json_member_real(json, "lowest_angle_degree", scan->low);
        ts_json_member_real(json, "highest_angle_degree", scan->high);
        ts_json_member_text(json, "angle_unit", *scan->angle_unit ? scan->angle_unit : NULL);
        ts_json_member_bool(json, "half_field_of_view", scan->half);
        ts_json_member_text(json, "x_rotation_axis_pixel_position",
                            *scan->rotation_column ? scan->rotation_column : NULL);
    }
    ts_json_close(json, '}');
}
