/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage info` of DICOM files: each series, what it would become, and why it would be refused. Prints no text that
 * identifies a patient from a header; file names appear only within a reason, and without their folders unless the file
 * cannot be read.
 */
#include <stdio.h>

#include "io/dicom/dicom_geometry.h"
#include "io/dicom/dicom_group.h"
#include "io/dicom/dicom_non_images.h"

static void print_text(FILE *stream, const char *text)
{
    char escaped[1024];
    ts_text_escape(escaped, sizeof escaped, text);
    fputs(escaped, stream);
}

/* Bytes beyond ASCII may be of any character set: they are shown as Latin-1, so that the JSON is always valid. */
static void print_json_text(FILE *stream, const char *text)
{
    fputc('"', stream);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(stream, "\\%c", *c);
        else if (*c < 0x20 || *c >= 0x7F)
            fprintf(stream, "\\u%04x", *c);
        else
            fputc(*c, stream);
    fputc('"', stream);
}

static void print_json_pair(FILE *stream, const char *name, const char *text)
{
    fprintf(stream, ",\"%s\":", name);
    print_json_text(stream, text);
}

static void print_json_numbers(FILE *stream, const char *name, const double *values, int n)
{
    fprintf(stream, ",\"%s\":[", name);
    for (int i = 0; i < n; i++)
        fprintf(stream, "%s%.17g", i ? "," : "", values[i]);
    fputc(']', stream);
}

/* One thing that a series may lack, unless the chain allows it. */
static void print_json_lack(FILE *stream, bool first, const char *code, const char *reason, const char *hint)
{
    fprintf(stream, "%s{\"code\":\"%s\"", first ? "" : ",", code);
    print_json_pair(stream, "reason", reason);
    print_json_pair(stream, "hint", hint);
    fputc('}', stream);
}

static void print_json_lacks(FILE *stream, const struct dicom_series *series)
{
    char text[1024];
    fputs(",\"lacks\":[", stream);
    if (series->n_suspects > 0) {
        ts_dicom_suspects_text(series, text, sizeof text);
        print_json_lack(stream, true, "slice-unreadable", text, DICOM_UNREADABLE_HINT);
    }
    if (series->damaged) {
        print_json_lack(stream, series->n_suspects == 0, "slice-unreadable", series->damaged->refusal,
                        DICOM_UNREADABLE_HINT);
    }
    if (series->incomplete) {
        print_json_lack(stream, series->n_suspects == 0 && !series->damaged, "series-incomplete", series->incomplete,
                        DICOM_INCOMPLETE_HINT);
    }
    fputc(']', stream);
}

static void print_json_series(FILE *stream, const struct dicom_series *series)
{
    const struct ts_image *image = &series->image;
    fprintf(stream, "{\"number\":%d,\"shape\":[%lld,%lld,%lld],\"duplicates\":%zu", series->number,
            (long long)image->axes[0].n, (long long)image->axes[1].n, (long long)image->axes[2].n,
            series->n_duplicates);
    print_json_pair(stream, "series", series->series);
    print_json_pair(stream, "modality", series->modality);
    print_json_pair(stream, "transfer_syntax", series->files[0]->syntax_uid);
    if (series->refusal) {
        print_json_pair(stream, "refused", series->refusal_code);
        print_json_pair(stream, "reason", series->refusal);
        print_json_pair(stream, "hint", series->hint ? series->hint : "");
    } else {
        const double spacing[] = {image->axes[0].spacing, image->axes[1].spacing, image->axes[2].spacing};
        char orientation[64];
        ts_dicom_orientation_name(image, orientation, sizeof orientation);
        print_json_numbers(stream, "spacing_mm", spacing, 3);
        print_json_numbers(stream, "origin_mm", image->origin_mm, 3);
        print_json_numbers(stream, "direction", image->direction, 9);
        print_json_pair(stream, "orientation", orientation);
        print_json_pair(stream, "dtype", ts_dtype_name(image->dtype));
        print_json_pair(stream, "quantity", ts_quantity_name(image->quantity));
        print_json_pair(stream, "unit", image->unit);
    }
    fputs(",\"warnings\":[", stream);
    for (size_t i = 0; i < series->n_warnings; i++) {
        fputs(i ? "," : "", stream);
        print_json_text(stream, series->warnings[i]);
    }
    fputc(']', stream);
    print_json_lacks(stream, series);
    fputc('}', stream);
}

/* Names that cannot be read: as long as there is one, every run is refused. */
static void print_json_unreadable(FILE *stream, const struct dicom_folder *folder)
{
    char text[2048];
    const char *separator = "";
    fputs(",\"unreadable\":[", stream);
    for (size_t i = 0; i < folder->n_others; i++) {
        if (folder->others[i].kind == DICOM_UNREADABLE) {
            ts_dicom_unreadable_text(&folder->others[i], text, sizeof text);
            fputs(separator, stream);
            print_json_text(stream, text);
            separator = ",";
        }
    }
    fputc(']', stream);
}

static void print_json(FILE *stream, const struct dicom_folder *folder, const struct dicom_series *series, size_t n)
{
    static const char *const kinds[DICOM_OTHER_KINDS] = {
        [DICOM_NO_MAGIC] = "not_dicom",   [DICOM_EMPTY] = "empty",
        [DICOM_SHORT] = "too_short",      [DICOM_NO_PIXELS] = "no_pixels",
        [DICOM_DICOMDIR] = "dicomdir",    [DICOM_LINK] = "links",
        [DICOM_LOOP] = "loops",           [DICOM_GIT] = "git",
        [DICOM_BARE] = "empty_folders",   [DICOM_SPECIAL] = "special",
        [DICOM_UNREADABLE] = "unreadable"};
    char text[2048];
    fprintf(stream, "{\"files\":%zu,\"images\":%zu,\"same_file\":%zu,\"passed_over\":{", folder->n_seen,
            folder->n_files, folder->n_same);
    for (int i = 0; i < DICOM_OTHER_KINDS; i++)
        fprintf(stream, "%s\"%s\":%zu", i ? "," : "", kinds[i], folder->n_of[i]);
    fputc('}', stream);
    print_json_unreadable(stream, folder);
    fputs(",\"series\":[", stream);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? "," : "", stream);
        print_json_series(stream, &series[i]);
    }
    fputs("],\"warnings\":[", stream);
    ts_dicom_others_text(folder, text, sizeof text);
    if (*text)
        print_json_text(stream, text);
    fputs("]}\n", stream);
}

static void print_refusal(FILE *stream, const char *code, const char *reason, const char *hint)
{
    fprintf(stream, "     refused (%s): ", code);
    print_text(stream, reason);
    fputs("\n     way out: ", stream);
    print_text(stream, hint ? hint : "none");
    fputc('\n', stream);
}

static void print_series(FILE *stream, const struct dicom_series *series)
{
    char line[256];
    ts_dicom_series_line(series, line, sizeof line);
    fprintf(stream, "%3d  ", series->number);
    print_text(stream, line);
    fprintf(stream, "\n     %zu file%s, transfer syntax ", series->n_files, series->n_files == 1 ? "" : "s");
    print_text(stream, *series->files[0]->syntax_uid ? series->files[0]->syntax_uid : "unknown");
    fputs(", series ", stream);
    print_text(stream, *series->series ? series->series : "unknown");
    fputc('\n', stream);
    for (size_t i = 0; i < series->n_warnings; i++) {
        fputs("     warning: ", stream);
        print_text(stream, series->warnings[i]);
        fputc('\n', stream);
    }
    if (series->refusal)
        print_refusal(stream, series->refusal_code, series->refusal, series->hint);
    if (series->n_suspects > 0) {
        char text[1024];
        ts_dicom_suspects_text(series, text, sizeof text);
        print_refusal(stream, "slice-unreadable", text, DICOM_UNREADABLE_HINT);
    }
    if (series->damaged)
        print_refusal(stream, "slice-unreadable", series->damaged->refusal, DICOM_UNREADABLE_HINT);
    if (series->incomplete)
        print_refusal(stream, "series-incomplete", series->incomplete, DICOM_INCOMPLETE_HINT);
}

/* Every run would be refused for the first of them. */
static void print_unreadable(FILE *stream, const struct dicom_folder *folder)
{
    char text[2048];
    bool any = false;
    for (size_t i = 0; i < folder->n_others; i++) {
        if (folder->others[i].kind == DICOM_UNREADABLE) {
            ts_dicom_unreadable_text(&folder->others[i], text, sizeof text);
            fputs("refused (input-unreadable): ", stream);
            print_text(stream, text);
            fputc('\n', stream);
            any = true;
        }
    }
    if (any)
        fputs("way out: " DICOM_UNREADABLE_HINT "\n", stream);
}

static void print_all(FILE *stream, const struct dicom_folder *folder, const struct dicom_series *series, size_t n)
{
    char text[2048];
    fprintf(stream, "%zu series in %zu images of %zu files (rows x columns x slices)\n", n, folder->n_files,
            folder->n_seen);
    for (size_t i = 0; i < n; i++)
        print_series(stream, &series[i]);
    ts_dicom_others_text(folder, text, sizeof text);
    if (*text) {
        fputs("warning: ", stream);
        print_text(stream, text);
        fputc('\n', stream);
    }
    ts_dicom_same_text(folder, text, sizeof text);
    if (*text)
        fprintf(stream, "warning: %s\n", text);
    print_unreadable(stream, folder);
}

enum ts_status ts_dicom_info(const char *path, bool json, FILE *stream, struct ts_diag *diag)
{
    struct arena *arena = ts_arena_create();
    struct dicom_folder folder;
    struct dicom_series *series = NULL;
    size_t n = 0;
    if (!arena)
        return ts_diag_no_memory(diag, 0);
    enum ts_status status = ts_dicom_scan(&path, 1, arena, &folder, diag);
    if (status == TS_OK)
        status = ts_dicom_group(&folder, arena, &series, &n, diag);
    if (status == TS_OK && n == 0) {
        const struct dicom_series *none = NULL;
        status = ts_dicom_refuse_unreadable(&folder, diag);
        status = status != TS_OK ? status : ts_dicom_choose(series, n, NULL, &folder, &none, diag);
    } else if (status == TS_OK) {
        (json ? print_json : print_all)(stream, &folder, series, n);
    }
    ts_arena_destroy(arena);
    return status;
}
