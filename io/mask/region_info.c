/* SPDX-License-Identifier: Apache-2.0
 *
 * Both kinds are a list of regions with a number of parts each. Labels and names are texts that
 * people write, as the descriptions of series are, and are shown if those are.
 */
#include "io/mask/region_info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "io/mask/rtstruct.h"
#include "io/mask/seg.h"

struct listing {
    const char *kind, *parts; /* "DICOM segmentation", "frames" */
    const char *type;         /* of a segmentation; NULL: none */
    const struct region *regions;
    size_t n;
    int64_t *counts; /* parts of each */
    int64_t rows, columns;
    bool names;
};

static void write_json(const struct listing *listing, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "kind", listing->kind);
    if (listing->type) {
        ts_json_member_text(&json, "type", listing->type);
        ts_json_member_integer(&json, "rows", listing->rows);
        ts_json_member_integer(&json, "columns", listing->columns);
    }
    ts_json_open_member(&json, "regions", '[');
    for (size_t i = 0; i < listing->n; i++) {
        ts_json_open(&json, '{');
        ts_json_member_integer(&json, "number", listing->regions[i].number);
        if (listing->names)
            ts_json_member_text(&json, "name", listing->regions[i].name);
        ts_json_member_integer(&json, listing->parts, listing->counts[i]);
        ts_json_close(&json, '}');
    }
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

static void print(const struct listing *listing, FILE *stream)
{
    fprintf(stream, "%s of %zu region%s", listing->kind, listing->n, listing->n == 1 ? "" : "s");
    if (listing->type)
        fprintf(stream, ", %s, frames of %" PRId64 " x %" PRId64, listing->type, listing->columns,
                listing->rows);
    fputc('\n', stream);
    for (size_t i = 0; i < listing->n; i++) {
        fprintf(stream, "%4" PRId64 "  %" PRId64 " %s", listing->regions[i].number,
                listing->counts[i], listing->parts);
        if (listing->names)
            ts_text_print(stream, "  ", listing->regions[i].name);
        fputc('\n', stream);
    }
    fprintf(
        stream,
        "An input of a chain: {mask: FILE, on: input}, with `%s:` and a number for one region\n",
        listing->type ? "segment" : "roi");
}

static void count_part(const struct listing *listing, int64_t number)
{
    for (size_t i = 0; i < listing->n; i++)
        if (listing->regions[i].number == number) {
            listing->counts[i]++;
            return;
        }
}

static enum ts_status show(struct listing *listing, bool json, FILE *stream)
{
    (json ? write_json : print)(listing, stream);
    free(listing->counts);
    return TS_OK;
}

static enum ts_status list_segments(const struct seg *seg, struct listing *listing, bool json,
                                    FILE *stream, struct ts_diag *diag)
{
    static const char *const types[] = {
        [SEG_BINARY] = "BINARY", [SEG_FRACTIONAL] = "FRACTIONAL", [SEG_LABELS] = "LABELMAP"};
    *listing = (struct listing){.kind = "DICOM segmentation",
                                .parts = "frames",
                                .type = types[seg->coding],
                                .regions = seg->segments,
                                .n = seg->n_segments,
                                .counts = calloc(seg->n_segments + 1, sizeof *listing->counts),
                                .rows = seg->rows,
                                .columns = seg->columns,
                                .names = listing->names};
    if (!listing->counts)
        return ts_diag_no_memory(diag, seg->n_segments * sizeof *listing->counts);
    for (size_t i = 0; i < seg->n_frames && seg->coding != SEG_LABELS; i++)
        count_part(listing, seg->frames[i].segment);
    for (size_t i = 0; i < seg->n_segments && seg->coding == SEG_LABELS; i++)
        listing->counts[i] = (int64_t)seg->n_frames;
    return show(listing, json, stream);
}

static enum ts_status list_rois(const struct rtstruct *set, struct listing *listing, bool json,
                                FILE *stream, struct ts_diag *diag)
{
    *listing = (struct listing){.kind = "DICOM structure set",
                                .parts = "contours",
                                .regions = set->rois,
                                .n = set->n_rois,
                                .counts = calloc(set->n_rois + 1, sizeof *listing->counts),
                                .names = listing->names};
    if (!listing->counts)
        return ts_diag_no_memory(diag, set->n_rois * sizeof *listing->counts);
    for (size_t i = 0; i < set->n_contours; i++)
        if (set->contours[i].closed)
            count_part(listing, set->contours[i].roi);
    return show(listing, json, stream);
}

enum ts_status ts_region_info(const char *path, bool json, bool names, FILE *stream, bool *known,
                              struct ts_diag *diag)
{
    struct arena *arena = ts_arena_create();
    struct region_file *file = malloc(sizeof *file);
    struct listing listing = {.names = names};
    struct seg seg = {0};
    struct rtstruct set = {0};
    enum ts_status status = TS_OK;
    bool parsed = true;
    *known = false;
    if (!arena || !file) {
        ts_arena_destroy(arena);
        free(file);
        return ts_diag_no_memory(diag, sizeof *file);
    }
    *known = ts_region_open(file, path, arena) && file->class != REGION_NONE;
    if (*known && file->class == REGION_SEG)
        parsed = ts_seg_parse(file, &seg);
    else if (*known)
        parsed = ts_rtstruct_parse(file, &set);
    if (!parsed) {
        ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = file->file.refusal_code},
                      "%s (%s): %s", path,
                      file->class == REGION_SEG ? "a DICOM segmentation" : "a DICOM structure set",
                      file->file.refusal);
        status = ts_diag_hint(diag, "export it again; docs/errors.md says more of %s",
                              file->file.refusal_code);
    }
    if (parsed && *known)
        status = file->class == REGION_SEG ? list_segments(&seg, &listing, json, stream, diag)
                                           : list_rois(&set, &listing, json, stream, diag);
    ts_seg_clear(&seg);
    ts_rtstruct_clear(&set);
    ts_region_close(file);
    free(file);
    ts_arena_destroy(arena);
    return status;
}
