/* SPDX-License-Identifier: Apache-2.0
 *
 * Beside the rows of the table stand reports: what was left out of the input, whether text is burned into the pixels,
 * and how far the headers were made anonymous. They come without names of files, which may be those of patients.
 */
#include "io/dicom/dicom_record.h"

#include <stdio.h>
#include <string.h>

#include "io/dicom_series/dicom_geometry.h"
#include "io/dicom_series/dicom_lossy.h"
#include "io/dicom_series/dicom_non_images.h"

/* Returns the warnings as one text, or NULL where memory is out. */
static const char *join_warnings(const struct dicom_source *source, const struct dicom_params *params,
                                 const struct dicom_series *series)
{
    const char *text = params->incomplete == INCOMPLETE_ALLOW && series->incomplete ? series->incomplete : "";
    for (size_t i = 0; text && i < series->n_warnings; i++)
        text = ts_arena_printf(source->arena, "%s%s%s", text, *text ? "; " : "", series->warnings[i]);
    return text;
}

/* States how far the headers were made anonymous. Nothing is claimed of the pixels, and no profile where text in them
 * is shown, which every profile removes. Source: DICOM PS3.15, Annex E; PS3.16, CID 7050 (the codes). */
static enum ts_status add_deidentification(struct dicom_metadata *list, const struct dicom_identity *identity,
                                           bool shown, struct ts_diag *diag)
{
    const bool moved = identity->key_bytes > 0;
    const struct source_attribute texts[] = {
        {.name = "deidentification_method", .value = identity->keep ? "" : DICOM_DEIDENTIFIED},
        {.name = "deidentification_codes",
         .value = identity->keep || shown ? ""
                  : moved                 ? "113100\\113107"
                                          : "113100"},
        {.name = "longitudinal_temporal_information_modified",
         .value = identity->keep ? "UNMODIFIED"
                  : moved        ? "MODIFIED"
                                 : "REMOVED"},
        {.name = "contains_phi", .value = identity->keep ? "YES" : ""},
    };
    enum ts_status status = TS_OK;
    for (size_t i = 0; status == TS_OK && i < sizeof texts / sizeof *texts; i++)
        status = ts_dicom_metadata_add(list, texts[i].name, NULL, texts[i].value, diag);
    return status;
}

enum ts_status ts_dicom_record(struct dicom_source *source, const struct dicom_params *params,
                               const struct dicom_identity *identity, const struct dicom_folder *folder,
                               const struct dicom_series *series, struct ts_diag *diag)
{
    char passed_over[512], skipped[32] = "", number[16];
    const size_t n_skipped = series->n_suspects + series->n_dropped + folder->n_of[DICOM_UNREADABLE] +
                             (series->damaged ? series->damaged->n_images : 0);
    const char *warnings = join_warnings(source, params, series);
    struct dicom_metadata list;
    if (warnings == NULL)
        return ts_diag_no_memory(diag, sizeof list);
    snprintf(number, sizeof number, "%d", series->number);
    if (n_skipped > 0)
        snprintf(skipped, sizeof skipped, "%zu", n_skipped);
    ts_dicom_passed_over(folder, passed_over, sizeof passed_over);
    /* Boxes that the chain names are taken to hold all the text that the header speaks of. */
    const bool burned_in = strcmp(ts_dicom_burned_in(series), "YES") == 0;
    const bool masked = source->mask.boxes && burned_in, shown = burned_in && !masked;
    const struct dicom_loss loss = ts_dicom_loss(series);
    const struct source_attribute reports[] = {
        {.name = DICOM_SERIES_OF_INPUT, .value = number},
        {.name = "burned_in_annotation", .value = masked ? "NO" : ts_dicom_burned_in(series)},
        {.name = "pixels_masked", .value = source->mask.boxes ? "YES" : ""},
        {.name = "files_passed_over", .value = passed_over},
        {.name = "files_skipped", .value = skipped},
        {.name = "lossy_image_compression", .value = loss.n_images > 0 ? "01" : ""},
        {.name = "lossy_image_compression_method", .value = loss.method},
        {.name = "lossy_image_compression_ratio", .value = loss.ratio},
        {.name = "mr_scale",
         .value = !ts_dicom_has_scale(series)            ? ""
                  : params->mr_scale == MR_SCALE_PRECISE ? "precise"
                                                         : "display"},
        {.name = "warnings", .value = warnings},
    };
    enum ts_status status = ts_dicom_metadata(series, identity, source->arena, &list, diag);
    for (size_t i = 0; status == TS_OK && i < sizeof reports / sizeof reports[0]; i++)
        status = ts_dicom_metadata_add(&list, reports[i].name, NULL, reports[i].value, diag);
    status = status == TS_OK ? add_deidentification(&list, identity, shown, diag) : status;
    source->base.attributes = list.items;
    source->base.n_attributes = list.n;
    return status;
}
