/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info` of DICOM files: each series with the volume that it would become, or why it
 * would be refused, and what a run would record of its acquisition. No text of a header that
 * identifies a patient is printed, but for the descriptions of series, which the caller allows if
 * only the user of the files sees them. File names appear only within a reason, and without their
 * folders unless the file cannot be read.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/dicom/dicom_metadata.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_scan.h"
#include "io/dicom_series/dicom_group.h"
#include "io/dicom_series/dicom_lossy.h"
#include "io/dicom_series/dicom_non_images.h"
#include "io/source/metadata.h"
#include "io/source/volume_text.h"

enum { LINE_BYTES = 2048, LINE_COLUMNS = 100 };

/* The series that are described. */
struct shown_series {
    const struct dicom_series *series; /* n, like their metadata */
    const struct dicom_metadata *metadata;
    size_t n;
    bool names; /* with their descriptions */
};

/* Returns true if nothing but text in the pixels stands against the series. */
static bool is_burned_in(const struct dicom_series *series)
{
    return !series->refusal && strcmp(ts_dicom_burned_in(series), "YES") == 0;
}

/* Returns true if a run that is told nothing but the path would read the series. */
static bool is_usable(const struct dicom_series *series)
{
    struct dicom_lack lacks[DICOM_MAX_LACKS];
    return !series->refusal && ts_dicom_lacks(series, lacks) == 0 && !is_burned_in(series);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_refusal(struct json *json, const char *key, const char *code, const char *reason,
                          const char *hint)
{
    ts_json_member_text(json, key, code);
    ts_json_member_text(json, "reason", reason);
    ts_json_member_text(json, "hint", hint ? hint : "");
}

/* Writes the gradients of a diffusion series, a list of three numbers for each volume. */
static void write_gradients(struct json *json, const struct dicom_series *series)
{
    ts_json_open_member(json, "gradients", '[');
    for (size_t v = 0; v < series->n_volumes; v++) {
        ts_json_open(json, '[');
        for (size_t k = 0; k < 3; k++)
            ts_json_real(json, series->gradients[3 * v + k]);
        ts_json_close(json, ']');
    }
    ts_json_close(json, ']');
}

/* Writes the members of a series that was compressed with loss; others have none. */
static void write_loss(struct json *json, const struct dicom_series *series)
{
    const struct dicom_loss loss = ts_dicom_loss(series);
    if (loss.n_images == 0)
        return;
    ts_json_member_integer(json, "lossy_images", (int64_t)loss.n_images);
    ts_json_member_text(json, "lossy_method", loss.method);
    ts_json_member_text(json, "lossy_ratio", loss.ratio);
}

static void write_series(struct json *json, const struct dicom_series *series,
                         const struct dicom_metadata *metadata, bool names)
{
    const struct dicom_file *file = series->images[0]->file;
    struct dicom_lack lacks[DICOM_MAX_LACKS];
    const size_t n_lacks =
        series->refusal ? 0 : ts_dicom_lacks(series, lacks); /* a run does not come to them */
    ts_json_open(json, '{');
    ts_json_member_integer(json, "number", series->number);
    ts_json_open_member(json, "shape", '[');
    for (int i = 0; i < 3; i++)
        ts_json_integer(json, series->image.axes[i].n);
    ts_json_close(json, ']');
    ts_json_member_integer(json, "duplicates", (int64_t)series->n_duplicates);
    ts_json_member_text(json, "series", ts_dicom_known_uid(series->series));
    ts_json_member_text(json, "modality", series->modality);
    if (names)
        ts_json_member_text(json, "description", file->description);
    if (!isnan(ts_dicom_field_believed(DICOM_FIELD_series_number, file->series_number)))
        ts_json_member_real(json, "series_number", file->series_number);
    ts_json_member_text(json, "told_apart_by", series->label);
    if (series->n_volumes > 1)
        ts_volume_axis_json(json, &series->volume_axis);
    if (series->n_volumes > 1 && series->order)
        ts_json_member_text(json, "volumes_told_apart_by", series->order);
    if (series->gradients)
        write_gradients(json, series);
    ts_json_member_text(json, "transfer_syntax", ts_dicom_known_uid(file->syntax_uid));
    write_loss(json, series);
    if (series->refusal)
        write_refusal(json, "refused", series->refusal_code, series->refusal, series->hint);
    else
        ts_volume_json(json, &series->image);
    ts_json_open_member(json, "metadata", '{');
    ts_metadata_json(json, metadata->items, metadata->n);
    ts_json_close(json, '}');
    ts_json_open_member(json, "warnings", '[');
    for (size_t i = 0; i < series->n_warnings; i++)
        ts_json_text(json, series->warnings[i]);
    ts_json_close(json, ']');
    ts_json_open_member(json, "lacks", '[');
    for (size_t i = 0; i < n_lacks; i++) {
        ts_json_open(json, '{');
        write_refusal(json, "code", lacks[i].code, lacks[i].reason, lacks[i].hint);
        ts_json_close(json, '}');
    }
    if (is_burned_in(series)) {
        ts_json_open(json, '{');
        write_refusal(json, "code", "burned-in-annotation", DICOM_BURNED_IN_REASON,
                      DICOM_BURNED_IN_HINT);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
    ts_json_close(json, '}');
}

static void write_json(FILE *stream, const struct dicom_folder *folder,
                       const struct shown_series *shown)
{
    char text[LINE_BYTES];
    struct json json;
    ts_json_init(&json, stream, false);
    ts_json_open(&json, '{');
    ts_json_member_integer(&json, "files", (int64_t)folder->n_seen);
    ts_json_member_integer(&json, "images", (int64_t)folder->n_files);
    ts_json_member_integer(&json, "same_file", (int64_t)folder->n_same);
    ts_json_open_member(&json, "passed_over", '{');
    for (int i = 0; i < DICOM_OTHER_KINDS; i++)
        ts_json_member_integer(&json, ts_dicom_other_key(i), (int64_t)folder->n_of[i]);
    ts_json_close(&json, '}');
    /* As long as there is a name that cannot be read, every run is refused. */
    ts_json_open_member(&json, "unreadable", '[');
    for (size_t i = 0; i < folder->n_others; i++)
        if (folder->others[i].kind == DICOM_UNREADABLE) {
            ts_dicom_unreadable_text(&folder->others[i], text, sizeof text);
            ts_json_text(&json, text);
        }
    ts_json_close(&json, ']');
    ts_json_open_member(&json, "series", '[');
    for (size_t i = 0; i < shown->n; i++)
        write_series(&json, &shown->series[i], &shown->metadata[i], shown->names);
    ts_json_close(&json, ']');
    ts_json_open_member(&json, "warnings", '[');
    ts_dicom_others_text(folder, text, sizeof text);
    if (*text)
        ts_json_text(&json, text);
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

/* ---- plain text ------------------------------------------------------------------------------ */

static void print_line(FILE *stream, const char *label, const char *text)
{
    ts_text_print(stream, label, text);
    fputc('\n', stream);
}

static void print_refusal(FILE *stream, const char *code, const char *reason, const char *hint)
{
    char label[96];
    snprintf(label, sizeof label, "     refused (%s): ", code);
    print_line(stream, label, reason);
    print_line(stream, "     way out: ", hint ? hint : "none");
}

/* The fields that tell people what a series is; JSON has all. */
static const enum dicom_field fields_shown[] = {
    DICOM_FIELD_manufacturer,
    DICOM_FIELD_manufacturer_model,
    DICOM_FIELD_magnetic_field_strength,
    DICOM_FIELD_tube_voltage,
    DICOM_FIELD_tube_current,
    DICOM_FIELD_exposure,
    DICOM_FIELD_convolution_kernel,
    DICOM_FIELD_repetition_time,
    DICOM_FIELD_echo_time,
    DICOM_FIELD_inversion_time,
    DICOM_FIELD_flip_angle,
    DICOM_FIELD_diffusion_b_value,
    DICOM_FIELD_slice_thickness,
};

/* Prints what is known of the acquisition, on lines of at most LINE_COLUMNS letters if words allow
 * it. */
static void print_metadata(FILE *stream, const struct dicom_metadata *metadata)
{
    char line[LINE_BYTES] = "", item[LINE_BYTES / 2];
    for (size_t k = 0; k < sizeof fields_shown / sizeof *fields_shown; k++) {
        size_t i = 0;
        while (i < metadata->n &&
               strcmp(metadata->items[i].name, ts_dicom_fields[fields_shown[k]].name) != 0)
            i++;
        if (i == metadata->n)
            continue;
        ts_metadata_format(&metadata->items[i], item, sizeof item);
        size_t length = strlen(line);
        if (length > 0 && length + strlen(item) > LINE_COLUMNS) {
            print_line(stream, "     ", line);
            length = 0;
        }
        snprintf(line + length, sizeof line - length, "%s%s", length > 0 ? ", " : "", item);
    }
    if (*line)
        print_line(stream, "     ", line);
}

static void print_series(FILE *stream, const struct dicom_series *series,
                         const struct dicom_metadata *metadata, bool names)
{
    struct dicom_lack lacks[DICOM_MAX_LACKS];
    const size_t n_lacks =
        series->refusal ? 0 : ts_dicom_lacks(series, lacks); /* a run does not come to them */
    const char *uid = ts_dicom_known_uid(series->images[0]->file->syntax_uid),
               *syntax = *uid ? uid : "unknown";
    char line[512], number[16];
    ts_dicom_series_line(series, names, line, sizeof line);
    snprintf(number, sizeof number, "%3d  ", series->number);
    print_line(stream, number, line);
    snprintf(line, sizeof line, "%zu file%s, transfer syntax %s, series %s", series->n_files,
             series->n_files == 1 ? "" : "s", syntax,
             *series->series ? ts_dicom_known_uid(series->series) : "unknown");
    print_line(stream, "     ", line);
    if (series->n_volumes > 1 && series->order)
        print_line(stream, "     volumes are told apart by ", series->order);
    print_metadata(stream, metadata);
    for (size_t i = 0; i < series->n_warnings; i++)
        print_line(stream, "     warning: ", series->warnings[i]);
    if (series->refusal)
        print_refusal(stream, series->refusal_code, series->refusal, series->hint);
    for (size_t i = 0; i < n_lacks; i++)
        print_refusal(stream, lacks[i].code, lacks[i].reason, lacks[i].hint);
    if (is_burned_in(series))
        print_refusal(stream, "burned-in-annotation", DICOM_BURNED_IN_REASON, DICOM_BURNED_IN_HINT);
}

static void print_all(FILE *stream, const struct dicom_folder *folder,
                      const struct shown_series *shown)
{
    char text[LINE_BYTES];
    fprintf(stream, "%zu series in %zu images of %zu files (rows x columns x slices)\n", shown->n,
            folder->n_files, folder->n_seen);
    for (size_t i = 0; i < shown->n; i++)
        print_series(stream, &shown->series[i], &shown->metadata[i], shown->names);
    ts_dicom_others_text(folder, text, sizeof text);
    if (*text)
        print_line(stream, "warning: ", text);
    ts_dicom_same_text(folder, text, sizeof text);
    if (*text)
        print_line(stream, "warning: ", text);
    /* Every run would be refused for the first of them. */
    for (size_t i = 0; i < folder->n_others; i++)
        if (folder->others[i].kind == DICOM_UNREADABLE) {
            ts_dicom_unreadable_text(&folder->others[i], text, sizeof text);
            print_line(stream, "refused (input-unreadable): ", text);
        }
    if (folder->n_of[DICOM_UNREADABLE] > 0)
        print_line(stream, "way out: ", DICOM_UNREADABLE_HINT);
}

/* Lists the metadata of n series as a run would record them; NULL if memory is out. */
static struct dicom_metadata *list_metadata(const struct dicom_series *series, size_t n,
                                            struct arena *arena, struct ts_diag *diag)
{
    const struct dicom_identity identity = {.keep = false};
    struct dicom_metadata *metadata = ts_arena_alloc(arena, (n + 1) * sizeof *metadata);
    for (size_t i = 0; metadata && i < n; i++)
        if (ts_dicom_metadata(&series[i], &identity, arena, &metadata[i], diag) != TS_OK)
            return NULL;
    return metadata;
}

enum ts_status ts_dicom_info(const char *path, bool json, bool names, FILE *stream,
                             struct ts_diag *diag)
{
    struct arena *arena = ts_arena_create();
    struct dicom_folder folder;
    struct dicom_series *series = NULL;
    size_t n = 0;
    if (!arena)
        return ts_diag_no_memory(diag, 0);
    enum ts_status status = ts_dicom_scan(&path, 1, arena, &folder, diag);
    if (status == TS_OK)
        status = ts_dicom_group(&folder, &ts_dicom_default_rules, arena, &series, &n, diag);
    if (status == TS_OK && n == 0) {
        const struct dicom_series *none = NULL;
        status = ts_dicom_refuse_unreadable(&folder, diag);
        status = status != TS_OK ? status : ts_dicom_choose(series, n, NULL, &folder, &none, diag);
    } else if (status == TS_OK) {
        const struct dicom_metadata *metadata = list_metadata(series, n, arena, diag);
        if (metadata)
            (json ? write_json : print_all)(stream, &folder,
                                            &(struct shown_series){series, metadata, n, names});
        else
            status = ts_diag_no_memory(diag, n * sizeof *metadata);
        size_t n_refused = 0, n_unclean = 0;
        for (size_t i = 0; i < n; i++)
            n_unclean += series[i].refusal != NULL;
        while (n_refused < n && !is_usable(&series[n_refused]))
            n_refused++;
        if (n_refused == n) {
            const struct diag_site site = {.code = "no-volume"};
            if (n == 1)
                status =
                    ts_diag_error(diag, TS_BAD_INPUT, &site, "%s",
                                  n_unclean > 0 ? "the one series is no clean volume"
                                                : "a run would refuse the one series as it is");
            else
                status = ts_diag_error(diag, TS_BAD_INPUT, &site,
                                       n_unclean == n
                                           ? "none of the %zu series is one clean volume"
                                           : "a run would refuse each of the %zu series as it is",
                                       n);
            ts_diag_hint(diag, "the way out of each stands beside it");
        }
    }
    ts_arena_destroy(arena);
    return status;
}
