/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening a DICOM series as a source: scan, group, choose, then one record a slice. Reads headers only.
 */
#include "io/dicom/dicom.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom/dicom_kernel.h"
#include "io/dicom/dicom_non_images.h"
#include "io/dicom/dicom_source.h"
#include "io/source/source_slices.h"

static const struct choice burned_in_choices[] = {
    {"refuse", BURNED_IN_REFUSE, "an image that says so is refused"},
    {"allow", BURNED_IN_ALLOW, "it is read; the output records burned_in_annotation YES"},
    {NULL, 0, NULL},
};

static const struct choice incomplete_choices[] = {
    {"refuse", INCOMPLETE_REFUSE, "the series is refused"},
    {"allow", INCOMPLETE_ALLOW, "the files that are there are read; the output records both numbers"},
    {NULL, 0, NULL},
};

static const struct param dicom_rows[] = {
    PARAM(struct dicom_params, dicom, .required = true, .unit = "",
          .doc = "folder that is searched for DICOM files, or a list of files and folders"),
    PARAM(struct dicom_params, series, .unit = "", .init.text = "",
          .doc =
              "which series to read, where there are several: its number as `tomostage info` shows it, or its Series "
              "Instance UID"),
    PARAM(struct dicom_params, burned_in, .unit = "", .choices = burned_in_choices, .init.choice = BURNED_IN_REFUSE,
          .doc = "what to do with images whose header says that text is burned into the pixels (Burned In Annotation "
                 "YES)"),
    UNREADABLE_ROW(struct dicom_params),
    PARAM(struct dicom_params, incomplete, .unit = "", .choices = incomplete_choices, .init.choice = INCOMPLETE_REFUSE,
          .doc = "what to do where a series has fewer files than its Number of Series Related Instances says"),
    SLICES_ROW(struct dicom_params),
};

static void close_source(struct source *base)
{
    struct dicom_source *source = (struct dicom_source *)base;
    if (source == NULL)
        return;
    ts_dicom_ring_end(source);
    free(base->slices);
    free(source->frames);
    ts_arena_destroy(source->arena);
    free(source);
}

static size_t memory_bytes(const struct source *source, int threads, int64_t ahead)
{
    return ts_dicom_ring_bytes((const struct dicom_source *)source, threads, ahead);
}

static bool holds(const struct source *base, dev_t device, ino_t inode)
{
    const struct dicom_source *source = (const struct dicom_source *)base;
    for (int64_t z = 0; z < base->n_slices; z++)
        if (source->frames[z].device == device && source->frames[z].inode == inode)
            return true;
    return false;
}

static const struct source_ops dicom_ops = {
    .memory_bytes = memory_bytes,
    .start = ts_dicom_ring_start,
    .prefetch = ts_dicom_ring_prefetch,
    .read = ts_dicom_ring_read,
    .holds = holds,
    .close = close_source,
};

/* Whether every value that the stored format allows fits the volume's dtype exactly. */
static bool values_fit(const struct dicom_frame *frame, enum ts_dtype dtype)
{
    double low, high, dtype_low, dtype_high;
    ts_dicom_stored_range(&frame->cells, &low, &high);
    low = low * frame->slope + frame->intercept;
    high = high * frame->slope + frame->intercept;
    if (!ts_dtype_is_integer(dtype))
        return isfinite((float)low) && isfinite((float)high);
    ts_dtype_range(dtype, &dtype_low, &dtype_high);
    return frame->slope == rint(frame->slope) && frame->intercept == rint(frame->intercept) &&
           fmin(low, high) >= dtype_low && fmax(low, high) <= dtype_high;
}

static enum ts_status open_frame(struct dicom_source *source, int64_t z, const struct dicom_file *file,
                                 struct ts_diag *diag)
{
    struct dicom_frame *frame = &source->frames[z];
    struct source_slice *slice = &source->base.slices[z];
    struct stat now;
    struct diag_site site = {.code = "file-changed"};
    frame->file = file;
    frame->cells = (struct dicom_cells){
        .bits_allocated = file->bits_allocated,
        .bits_stored = file->bits_stored,
        .high_bit = file->high_bit,
        .is_signed = file->pixel_representation == 1,
        .big_endian = file->syntax == DICOM_EXPLICIT_BE,
    };
    frame->slope = file->have_slope ? file->slope : 1.0;
    frame->intercept = file->have_intercept ? file->intercept : 0.0;
    slice->slope = frame->slope;
    slice->intercept = frame->intercept;
    memcpy(slice->position_mm, file->position_mm, sizeof slice->position_mm);
    if (stat(file->path, &now) != 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "%s: %s", file->path, strerror(errno));
    if (!S_ISREG(now.st_mode) || now.st_dev != file->device || now.st_ino != file->inode ||
        now.st_size != file->file_bytes)
        return ts_diag_error(diag, TS_BAD_INPUT, &site, "%s: the file was changed after its header was read",
                             file->path);
    frame->device = now.st_dev;
    frame->inode = now.st_ino;
    frame->modified = now.st_mtim;
    if (values_fit(frame, source->base.image.dtype))
        return TS_OK;
    site.code = "values-out-of-range";
    return ts_diag_error(diag, TS_BAD_INPUT, &site,
                         "%s: Rescale Slope %.17g and Intercept %.17g take stored values out of the range of %s",
                         file->path, frame->slope, frame->intercept, ts_dtype_name(source->base.image.dtype));
}

/* The field's text where all slices agree, "mixed" where they do not. `offset` is that of a char array in dicom_file.
 */
static const char *common_text(const struct dicom_source *source, size_t offset)
{
    const char *first = (const char *)source->frames[0].file + offset;
    for (int64_t z = 1; z < source->base.n_slices; z++)
        if (strcmp(first, (const char *)source->frames[z].file + offset) != 0)
            return "mixed";
    return first;
}

/* YES where any slice says so, NO where all say so. */
static const char *burned_in(const struct dicom_file *const *files, size_t n)
{
    size_t n_no = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(files[i]->burned_in, "YES") == 0)
            return "YES";
        n_no += strcmp(files[i]->burned_in, "NO") == 0;
    }
    return n_no == n ? "NO" : "UNKNOWN";
}

/* The input as a whole has three reports: files_passed_over, files_skipped, warnings. */
enum { MAX_REPORTS = 3 };

/* The only texts of the header that reach an output: a new one needs a line here. */
static enum ts_status list_attributes(struct dicom_source *source, const struct dicom_series *series,
                                      struct ts_diag *diag)
{
    const struct {
        const char *name;
        size_t offset;
    } allowed[] = {
        {"modality", offsetof(struct dicom_file, modality)},
        {"image_type", offsetof(struct dicom_file, image_type)},
        {"convolution_kernel", offsetof(struct dicom_file, kernel)},
        {"photometric", offsetof(struct dicom_file, photometric)},
        {"rescale_type", offsetof(struct dicom_file, rescale_type)},
    };
    enum { N_ALLOWED = sizeof allowed / sizeof allowed[0] };
    struct source_attribute *attributes =
        ts_arena_alloc(source->arena, (N_ALLOWED + 1 + MAX_REPORTS) * sizeof *attributes);
    size_t n = 0;
    if (attributes == NULL)
        return ts_diag_no_memory(diag, (N_ALLOWED + 1 + MAX_REPORTS) * sizeof *attributes);
    for (size_t i = 0; i < N_ALLOWED; i++) {
        const char *text = common_text(source, allowed[i].offset);
        if (allowed[i].offset == offsetof(struct dicom_file, kernel) && !ts_dicom_kernel_is_known(text))
            text = "unrecognized"; /* people can write into it */
        char *value = ts_arena_text(source->arena, text, strlen(text));
        if (value == NULL)
            return ts_diag_no_memory(diag, strlen(text));
        /* Backslashes divide values and stay; what no printable text holds does not reach the output. */
        for (char *c = value; *c; c++)
            if (*c < 0x20 || *c > 0x7E)
                *c = '?';
        if (*value != '\0')
            attributes[n++] = (struct source_attribute){allowed[i].name, value};
    }
    attributes[n++] = (struct source_attribute){
        "burned_in_annotation", burned_in((const struct dicom_file *const *)series->files, series->n_files)};
    source->base.attributes = attributes;
    source->base.n_attributes = n;
    return TS_OK;
}

enum ts_status ts_dicom_open_take(const struct dicom_series *series, struct arena *arena, struct source **out,
                                  struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    struct dicom_source *source = calloc(1, sizeof *source);
    *out = NULL;
    if (source == NULL) {
        ts_arena_destroy(arena);
        return ts_diag_no_memory(diag, sizeof *source);
    }
    source->arena = arena;
    source->base.ops = &dicom_ops;
    source->base.image = series->image;
    source->base.n_slices = series->image.axes[0].n;
    source->base.slices = calloc(series->n_files, sizeof *source->base.slices);
    source->frames = calloc(series->n_files, sizeof *source->frames);
    if (source->base.slices == NULL || source->frames == NULL)
        status = ts_diag_no_memory(diag, series->n_files * sizeof *source->frames);
    for (size_t z = 0; status == TS_OK && z < series->n_files; z++)
        status = open_frame(source, (int64_t)z, series->files[z], diag);
    if (status == TS_OK)
        status = list_attributes(source, series, diag);
    if (status != TS_OK) {
        close_source(&source->base);
        return status;
    }
    for (size_t i = 0; i < series->n_warnings; i++)
        ts_diag_warning(diag, &(struct diag_site){.code = "dicom-series"}, "%s", series->warnings[i]);
    *out = &source->base;
    return TS_OK;
}

static enum ts_status refuse_burned_in(const struct param_set *set, const struct dicom_series *series,
                                       struct ts_diag *diag)
{
    const struct dicom_params *params = set->values;
    if (params->burned_in == BURNED_IN_ALLOW ||
        strcmp(burned_in((const struct dicom_file *const *)series->files, series->n_files), "YES") != 0)
        return TS_OK;
    struct diag_site site = {.code = "burned-in-annotation", .span = set->spans[0], .stage = set->owner};
    ts_diag_error(diag, TS_BAD_INPUT, &site,
                  "Burned In Annotation is YES: the pixels may show a patient's name, and the output would too");
    ts_diag_hint(diag, "look at the images; write burned_in: allow beside the path to read them all the same");
    return TS_BAD_INPUT;
}

/* Reports what the chosen series may lack: as an error, or as a warning where the chain allows it. */
static enum ts_status check_lacks(const struct dicom_params *params, const struct dicom_series *series,
                                  struct ts_diag *diag)
{
    struct diag_site site = {.code = "slice-unreadable"};
    char text[1024];
    if (series->n_suspects > 0) {
        ts_dicom_suspects_text(series, text, sizeof text);
        if (params->unreadable == UNREADABLE_REFUSE) {
            ts_diag_error(diag, TS_BAD_INPUT, &site, "%s", text);
            ts_diag_hint(diag, DICOM_UNREADABLE_HINT);
            return TS_BAD_INPUT;
        }
        ts_diag_warning(diag, &site, "%s", text);
    }
    if (series->damaged && params->unreadable == UNREADABLE_REFUSE) { /* else the choice of the series warned of it */
        ts_diag_error(diag, TS_BAD_INPUT, &site, "damaged files of series %d may be slices of series %d: %s",
                      series->damaged->number, series->number, series->damaged->refusal);
        ts_diag_hint(diag, DICOM_UNREADABLE_HINT);
        return TS_BAD_INPUT;
    }
    if (series->incomplete) {
        site.code = "series-incomplete";
        if (params->incomplete == INCOMPLETE_REFUSE) {
            ts_diag_error(diag, TS_BAD_INPUT, &site, "%s", series->incomplete);
            ts_diag_hint(diag, DICOM_INCOMPLETE_HINT);
            return TS_BAD_INPUT;
        }
        ts_diag_warning(diag, &site, "%s", series->incomplete);
    }
    return TS_OK;
}

/* The result records the reports too, without names of files, which may be those of patients. */
static enum ts_status list_reports(struct dicom_source *source, const struct dicom_params *params,
                                   const struct dicom_folder *folder, const struct dicom_series *series,
                                   struct ts_diag *diag)
{
    char passed_over[512];
    const size_t skipped = series->n_suspects + series->n_dropped + folder->n_of[DICOM_UNREADABLE] +
                           (series->damaged ? series->damaged->n_files : 0);
    const char *warnings = params->incomplete == INCOMPLETE_ALLOW && series->incomplete ? series->incomplete : "";
    struct source_attribute *attributes = (struct source_attribute *)source->base.attributes;
    ts_dicom_passed_over(folder, passed_over, sizeof passed_over);
    for (size_t i = 0; warnings && i < series->n_warnings; i++)
        warnings = ts_arena_printf(source->arena, "%s%s%s", warnings, *warnings ? "; " : "", series->warnings[i]);
    const struct source_attribute reports[MAX_REPORTS] = {
        {"files_passed_over", ts_arena_text(source->arena, passed_over, strlen(passed_over))},
        {"files_skipped", skipped ? ts_arena_printf(source->arena, "%zu", skipped) : ""},
        {"warnings", warnings},
    };
    for (int i = 0; i < MAX_REPORTS; i++) {
        if (reports[i].value == NULL)
            return ts_diag_no_memory(diag, sizeof passed_over);
        if (*reports[i].value != '\0')
            attributes[source->base.n_attributes++] = reports[i];
    }
    return TS_OK;
}

/* Scans and groups. What the user is to know of the files is reported in every case, also where no series is chosen. */
static enum ts_status choose_series(const struct param_set *set, struct arena *arena, struct dicom_folder *folder,
                                    const struct dicom_series **chosen, struct ts_diag *diag)
{
    const struct dicom_params *params = set->values;
    struct dicom_series *series = NULL;
    size_t n_series = 0;
    enum ts_status status = ts_dicom_scan(params->dicom.items, (size_t)params->dicom.n, arena, folder, diag);
    folder->skip = params->unreadable == UNREADABLE_SKIP;
    if (status == TS_OK && !folder->skip)
        status = ts_dicom_refuse_unreadable(folder, diag);
    if (status == TS_OK)
        status = ts_dicom_group(folder, arena, &series, &n_series, diag);
    if (status != TS_OK)
        return status;
    if (n_series > 0)
        ts_dicom_warn_of_others(folder, diag);
    status = ts_dicom_choose(series, n_series, params->series, folder, chosen, diag);
    if (status == TS_OK)
        status = check_lacks(params, *chosen, diag);
    return status == TS_OK ? refuse_burned_in(set, *chosen, diag) : status;
}

static enum ts_status open_dicom(const struct param_set *set, struct source **source, struct ts_diag *diag)
{
    struct dicom_folder folder = {0};
    const struct dicom_series *chosen = NULL;
    struct arena *arena = ts_arena_create();
    *source = NULL;
    if (arena == NULL)
        return ts_diag_no_memory(diag, sizeof *chosen);
    enum ts_status status = choose_series(set, arena, &folder, &chosen, diag);
    if (status != TS_OK) {
        ts_arena_destroy(arena);
        return status;
    }
    status = ts_dicom_open_take(chosen, arena, source, diag);
    if (status == TS_OK)
        status = list_reports((struct dicom_source *)*source, set->values, &folder, chosen, diag);
    if (status != TS_OK && *source != NULL) {
        close_source(*source);
        *source = NULL;
    }
    return status;
}

const struct source_format dicom_format = {
    .name = "dicom",
    .summary = "one series of DICOM files: CT, MR, PET and other single-frame images as one volume",
    .params = dicom_rows,
    .n_params = sizeof dicom_rows / sizeof dicom_rows[0],
    .params_bytes = sizeof(struct dicom_params),
    .open = open_dicom,
};
