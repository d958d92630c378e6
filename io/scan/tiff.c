/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens TIFF pages as a source. The chain states what a page is; nothing is guessed from its shape:
 *   views      page = view, row = z, column = detector   -> sinogram (z, view, detector)
 *   sinograms  page = z, row = view, column = detector   -> sinogram (z, view, detector)
 *   slices     page = z, row = y, column = x             -> volume (z, y, x)
 */
#include "io/scan/tiff.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/scan/frame_means.h"
#include "io/scan/projections.h"
#include "io/scan/tiff_angles.h"
#include "io/scan/tiff_gaps.h"
#include "io/source/drop_views.h"
#include "io/source/read_ahead.h"
#include "io/source/source_slices.h"

struct tiff_source {
    struct rule_source in; /* first */
    struct tiff_pages pages;
    enum tiff_meaning meaning;
    struct ts_axis views; /* with those that drop_views leaves out */
    int n_threads;
    struct tiff_pages *threads; /* the copies through which they read */
    struct source_attribute
        reports[3]; /* numbers of files passed over, skipped and warned of, without names */
};

static const struct choice meanings[] = {
    {"views", TIFF_VIEWS, "each page is a projection (row, column): row z, detector column"},
    {"sinograms", TIFF_SINOGRAMS, "each page is the sinogram (view, detector) of one detector row"},
    {"slices", TIFF_SLICES, "each page is a slice (y, x) of a volume"},
    {NULL, 0, NULL},
};

static const struct choice quantities[] = {
    {"auto", TIFF_QUANTITY_AUTO, "counts for views and sinograms, intensity for slices"},
    {"counts", TS_COUNTS, "detector counts"},
    {"transmission", TS_TRANSMISSION, "what passed, as a part of what came"},
    {"line_integral", TS_LINE_INTEGRAL, "minus the logarithm of the transmission"},
    {"attenuation", TS_ATTENUATION, "attenuation in 1/mm"},
    {"hu", TS_HU, "Hounsfield units"},
    {"intensity", TS_INTENSITY, "anything else"},
    {NULL, 0, NULL},
};

static const struct choice angle_units[] = {
    {"file", ANGLE_UNIT_FILE,
     "degrees, unless the numbers look like half a turn or a turn in radians, which is refused"},
    {"degree", ANGLE_UNIT_DEGREE, "whatever they look like"},
    {"radian", ANGLE_UNIT_RADIAN, "radians"},
    {NULL, 0, NULL},
};

static const struct choice gap_choices[] = {
    {"refuse", TIFF_GAPS_REFUSE,
     "the views after a file that is missing would have wrong angles: the folder is refused"},
    {"accept", TIFF_GAPS_ACCEPT, "the views that are there divide the range evenly"},
    {NULL, 0, NULL},
};

static const struct param tiff_params[] = {
    PARAM(struct tiff_params, tiff, .required = true, .unit = "",
          .doc = "a TIFF file of one or more pages, a list of files in their order, or a pattern "
                 "such as scan/proj_*.tif, or a folder of .tif and .tiff files, read in the "
                 "natural order of their names"),
    PARAM(struct tiff_params, pattern, .unit = "", .optional = true,
          .doc = "which files of the folder: a pattern of their names, in which * stands for any "
                 "characters; absent: all, whose names may differ only in numbers"),
    PARAM(struct tiff_params, pick, .unit = "", .optional = true, .min = 0, .max = TIFF_MAX_PAGES,
          .doc = "first and step, or first, step and count: of all pages, which are taken; absent: "
                 "every page"),
    PARAM(struct tiff_params, pages, .required = true, .unit = "", .choices = meanings,
          .doc = "what each page is"),
    FRAMES_PARAM(struct tiff_params),
    PARAM(struct tiff_params, pixel_size, .required = true, .unit = "mm", .min = 1e-9, .max = 1e6,
          .doc = "distance of neighboring pixels; for views and sinograms that of the detector's, "
                 "across and along z"),
    PARAM(struct tiff_params, spacing_z, .unit = "mm", .min = 1e-9, .max = 1e6, .init.r = 1,
          .doc = "distance of neighboring slices; must be given with slices, and only with them"),
    PARAM(struct tiff_params, angles, .optional = true, .unit = "degree",
          .doc = "the angle of each view; absent: angles_file, or angle_start and angle_stop"),
    PARAM(struct tiff_params, angles_file, .optional = true, .unit = "",
          .doc = "a text file of the angle of each view, one number a line; absent: another way"),
    PARAM(struct tiff_params, angle_unit, .unit = "", .choices = angle_units,
          .init.choice = ANGLE_UNIT_FILE,
          .doc = "unit of the angles in angles_file, or of angle_start and angle_stop"),
    PARAM(struct tiff_params, angle_start, .unit = "degree", .in_angle_unit = true, .init.r = 0,
          .doc = "the angle of the first view; given together with angle_stop"),
    PARAM(struct tiff_params, angle_stop, .unit = "degree", .in_angle_unit = true, .init.r = 180,
          .doc = "the angle at which the scan ends; given together with angle_start"),
    PARAM(struct tiff_params, endpoint, .unit = "", .init.b = false,
          .doc = "whether the last view is at angle_stop, or one step before it"),
    PARAM(struct tiff_params, gaps, .unit = "", .choices = gap_choices,
          .init.choice = TIFF_GAPS_REFUSE,
          .doc = "what to do where numbers are missing among the names of the files, with "
                 "angle_start and angle_stop"),
    UNREADABLE_PARAM(struct tiff_params),
    PARAM(struct tiff_params, quantity, .unit = "", .choices = quantities,
          .init.choice = TIFF_QUANTITY_AUTO, .doc = "what the values are"),
    BEAM_PARAMS(struct tiff_params),
    SLICES_PARAM(struct tiff_params),
    DROP_VIEWS_PARAM(struct tiff_params),
};

/* ---- reading --------------------------------------------------------------------------------- */

/* All threads and their workers take SCRATCH_BYTES at most, unless a single one needs more. */
enum { SCRATCH_BYTES = 1 << 30 };

/* Rows of pages while they are read: [z, z + n) of every view, or pages [z, z + n). */
struct reading {
    struct tiff_source *source;
    int64_t z, n;
    unsigned char *out;
};

static enum ts_status read_page(void *user, int thread, int64_t i, struct ts_diag *diag)
{
    const struct reading *reading = user;
    struct tiff_pages *pages = &reading->source->threads[thread];
    const size_t row_bytes = (size_t)pages->width * ts_dtype_bytes(pages->dtype),
                 slice = ts_slice_bytes(&reading->source->in.base.image);
    return reading->source->meaning == TIFF_VIEWS
               ? ts_tiff_pages_read(pages, i, reading->z, reading->n,
                                    reading->out + (size_t)i * row_bytes, slice, diag)
               : ts_tiff_pages_read(pages, reading->z + i, 0, pages->height,
                                    reading->out + (size_t)i * slice, row_bytes, diag);
}

static int useful_threads(const struct tiff_source *source, int threads)
{
    const size_t most = SCRATCH_BYTES / ts_tiff_reading_bytes(&source->pages);
    return most < 1 ? 1 : (size_t)threads < most ? threads : (int)most;
}

/* Makes the copies through which the threads read, before the first of them does. */
static enum ts_status copy_pages(struct tiff_source *source, int threads, struct ts_diag *diag)
{
    if (source->threads)
        return TS_OK;
    ts_tiff_close_file(&source->pages);
    source->n_threads = useful_threads(source, threads);
    source->threads = calloc((size_t)source->n_threads, sizeof *source->threads);
    if (!source->threads)
        return ts_diag_no_memory(diag, (size_t)source->n_threads * sizeof *source->threads);
    for (int t = 0; t < source->n_threads; t++)
        source->threads[t] = ts_tiff_pages_copy(&source->pages);
    return TS_OK;
}

/* Notes what the threads have counted since the last reading. */
static void note_rounding(struct tiff_source *source, int64_t z, int64_t n)
{
    struct ts_rounding rounding = {0};
    for (int t = 0; t < source->n_threads; t++) {
        ts_rounding_join(&rounding, &source->threads[t].rounding);
        source->threads[t].rounding = (struct ts_rounding){0};
    }
    ts_source_note_rounding(&source->in.base, z, n, &rounding);
}

static enum ts_status read_range(struct source *base, struct pool *readers, int64_t z, int64_t n,
                                 void *out, struct ts_diag *diag)
{
    struct tiff_source *source = (struct tiff_source *)base;
    struct reading reading = {source, z, n, out};
    const int64_t n_pages = source->meaning == TIFF_VIEWS ? source->pages.n_pages : n;
    enum ts_status status = copy_pages(source, ts_pool_threads(readers), diag);
    if (status == TS_OK)
        status = ts_pool_run(readers, source->n_threads, n_pages, read_page, &reading, diag);
    if (status == TS_OK && (source->pages.stored == TS_F64 || source->pages.stored == TS_U64 ||
                            source->pages.calibrated))
        note_rounding(source, z, n);
    return status == TS_OK ? ts_source_digest(base, readers, z, n, out, diag) : status;
}

static size_t memory_bytes(const struct source *base, int threads, int64_t ahead)
{
    const struct tiff_source *source = (const struct tiff_source *)base;
    return (size_t)useful_threads(source, threads) * ts_tiff_reading_bytes(&source->pages) +
           ts_read_ahead_bytes(base, &source->in.rule, ahead);
}

static enum ts_status check_unchanged(const struct source *base, struct ts_diag *diag)
{
    return ts_tiff_check_unchanged(&((const struct tiff_source *)base)->pages, diag);
}

static bool tiff_holds(const struct source *base, const struct file_set *files)
{
    const struct tiff_pages *pages = &((const struct tiff_source *)base)->pages;
    for (int64_t i = 0; i < pages->n_files; i++)
        if (ts_file_set_has(files, pages->files[i].found.st_dev, pages->files[i].found.st_ino))
            return true;
    return false;
}

static void close_source(struct source *base)
{
    struct tiff_source *source = (struct tiff_source *)base;
    ts_read_ahead_destroy(source->in.reading);
    for (int t = 0; source->threads && t < source->n_threads; t++)
        ts_tiff_pages_close(&source->threads[t]);
    free(source->threads);
    ts_tiff_pages_close(&source->pages);
    ts_arena_destroy(source->pages.arena);
    free(base->slices);
    free(source);
}

static const struct source_ops tiff_ops = {RULE_SOURCE_OPS, .memory_bytes = memory_bytes,
                                           .check_unchanged = check_unchanged, .holds = tiff_holds,
                                           .close = close_source};

/* ---- opening --------------------------------------------------------------------------------- */

static const char *const of_views[] = {"angles",     "angles_file", "angle_unit", "angle_start",
                                       "angle_stop", "endpoint",    "gaps"};

/* Refuses parameters that slices, flats and darks must not have, or lack. */
static enum ts_status check_meaning(const struct param_set *set, struct ts_diag *diag)
{
    const struct tiff_params *params = set->values;
    const bool slices = params->pages == TIFF_SLICES,
               no_object = params->frames != FRAMES_PROJECTIONS;
    if (slices != ts_param_given(set, "spacing_z"))
        return ts_param_error(set, "spacing_z", "spacing-z", diag,
                              slices ? "required with pages: slices"
                                     : "belongs to pages: slices alone");
    if (slices && ts_param_given(set, "frames"))
        return ts_param_error(set, "frames", "frames-idle", diag,
                              "slices are not frames of a scan");
    for (size_t i = 0; (slices || no_object) && i < sizeof of_views / sizeof *of_views; i++)
        if (ts_param_given(set, of_views[i]))
            return ts_param_error(set, of_views[i], "angles-idle", diag, "%s have no angles",
                                  slices ? "slices" : ts_projections_frames_name(params->frames));
    return TS_OK;
}

/* Flats and darks are numbered, since they show no object that could have turned. */
static enum ts_status describe_views(const struct tiff_source *source, const struct param_set *set,
                                     struct ts_axis *views, struct ts_diag *diag)
{
    const struct tiff_params *params = set->values;
    const struct tiff_pages *pages = &source->pages;
    const bool numbered = params->frames != FRAMES_PROJECTIONS;
    *views = (struct ts_axis){.kind = TS_AXIS_VIEW,
                              .n = source->meaning == TIFF_VIEWS ? pages->n_pages : pages->height,
                              .spacing = numbered ? 1 : 0,
                              .unit = numbered ? "" : "degree"};
    return numbered ? TS_OK : ts_tiff_angles(set, pages, views, diag);
}

/* Leaves out the pages that drop_views names, after their angles have become those of views. */
static enum ts_status drop_views(struct tiff_source *source, const struct param_set *set,
                                 struct ts_diag *diag)
{
    struct tiff_pages *pages = &source->pages;
    struct ts_axis *axis = &source->in.base.image.axes[1];
    const int64_t *kept;
    int64_t n;
    source->views = *axis;
    const enum ts_status status = ts_drop_views(
        set, source->meaning == TIFF_VIEWS ? pages->n_pages : 0, pages->arena, &kept, &n, diag);
    double *positions = kept && status == TS_OK
                            ? ts_arena_alloc(pages->arena, (size_t)n * sizeof *positions)
                            : NULL;
    if (status != TS_OK || !kept)
        return status;
    if (!positions)
        return ts_diag_no_memory(diag, (size_t)n * sizeof *positions);
    for (int64_t i = 0; i < n; i++) {
        positions[i] = ts_axis_position(axis, kept[i]);
        pages->pages[i] = pages->pages[kept[i]];
    }
    pages->n_pages = axis->n = n;
    axis->positions = positions;
    return TS_OK;
}

static enum ts_status tiff_describe(struct tiff_source *source, const struct param_set *set,
                                    struct ts_diag *diag)
{
    const struct tiff_params *params = set->values;
    const struct tiff_pages *pages = &source->pages;
    const bool slices = source->meaning == TIFF_SLICES, views = source->meaning == TIFF_VIEWS;
    const double pixel = params->pixel_size;
    struct ts_image *image = &source->in.base.image;
    image->rank = 3;
    image->dtype = pages->dtype;
    image->quantity = params->quantity == TIFF_QUANTITY_AUTO ? (slices ? TS_INTENSITY : TS_COUNTS)
                                                             : (enum ts_quantity)params->quantity;
    image->unit = ts_source_unit(image->quantity);
    image->axes[0] = ts_source_axis(TS_AXIS_Z, views ? pages->height : pages->n_pages,
                                    slices ? params->spacing_z : pixel);
    image->axes[2] = ts_source_axis(slices ? TS_AXIS_X : TS_AXIS_DETECTOR, pages->width, pixel);
    enum ts_status status = TS_OK;
    if (slices)
        image->axes[1] = ts_source_axis(TS_AXIS_Y, pages->height, pixel);
    else
        status = describe_views(source, set, &image->axes[1], diag);
    if (status == TS_OK)
        status = ts_source_beam(set, image, diag);
    if (status == TS_OK)
        status = drop_views(source, set, diag);
    if (status == TS_OK && ts_image_bytes(image) > INT64_MAX)
        status = ts_diag_error(diag, TS_BAD_INPUT, TIFF_SITE(pages, "tiff-size"),
                               "the pages have more bytes than can be counted");
    if (status == TS_OK)
        status = ts_source_make_slices(&source->in.base, diag);
    for (int64_t z = 0; status == TS_OK && pages->calibrated && z < source->in.base.n_slices; z++) {
        source->in.base.slices[z].slope = pages->line[1];
        source->in.base.slices[z].intercept = pages->line[0];
    }
    return status;
}

/* A missing slice or row of the detector would move all after it. The angles show a missing
   view. */
static enum ts_status warn_of_gap(const struct tiff_source *source, bool *warned,
                                  struct ts_diag *diag)
{
    struct tiff_gap gap;
    *warned = false;
    if (source->meaning == TIFF_VIEWS)
        return TS_OK;
    const double late = ts_tiff_late_number(&source->pages);
    if (late)
        ts_diag_warning(
            diag, TIFF_SITE(&source->pages, "page-missing"),
            "the numbers in the names of the files begin at %.12g; pages may be missing", late);
    const enum ts_status status = ts_tiff_find_gap(&source->pages, &gap, diag);
    if (gap.file >= 0)
        ts_diag_warning(diag, TIFF_SITE(&source->pages, "page-missing"),
                        "the number %.15g is missing among the names of the files; the pages are "
                        "taken to follow each other without a gap",
                        gap.missing);
    *warned = late != 0 || gap.file >= 0;
    return status;
}

static enum ts_status list_reports(struct tiff_source *source, struct ts_diag *diag)
{
    const struct tiff_pages *pages = &source->pages;
    const char *names[] = {"files_passed_over", "files_skipped"};
    const int64_t counts[] = {pages->n_ignored, pages->n_skipped};
    struct source *base = &source->in.base;
    base->attributes = source->reports;
    for (int i = 0; i < 2; i++)
        if (counts[i] > 0) {
            const char *text = ts_arena_printf(pages->arena, "%lld", (long long)counts[i]);
            if (!text)
                return ts_diag_no_memory(diag, 0);
            source->reports[base->n_attributes++] = (struct source_attribute){names[i], text};
        }
    bool gap;
    const enum ts_status status = warn_of_gap(source, &gap, diag);
    if (gap)
        source->reports[base->n_attributes++] = (struct source_attribute){
            "warnings", "numbers are missing among the names of the files"};
    return status;
}

/* What rows of flats or darks are read with, for ts_frame_means_warn(). */
struct page_reader {
    struct tiff_pages pages;
    struct ts_diag *diag;
    void *row;
};

static bool read_row(void *context, int64_t frame, int64_t z, double *values)
{
    struct page_reader *of = context;
    if (ts_tiff_pages_read(&of->pages, frame, z, 1, of->row, 0, of->diag) != TS_OK)
        return false;
    ts_load_f64(values, of->row, of->pages.dtype, (size_t)of->pages.width);
    return true;
}

static enum ts_status warn_of_drift(struct tiff_source *source, const struct param_set *set,
                                    struct ts_diag *diag)
{
    const struct tiff_params *params = set->values;
    const struct tiff_pages *pages = &source->pages;
    struct page_reader of = {ts_tiff_pages_copy(pages), ts_diag_create(),
                             malloc((size_t)pages->width * ts_dtype_bytes(pages->dtype))};
    const struct frame_rows rows = {read_row, &of, pages->n_pages, pages->height, pages->width};
    const enum ts_status status =
        of.diag && of.row ? ts_frame_means_warn(set, pages->files[0].path,
                                                params->frames == FRAMES_DARKS, &rows, diag)
                          : ts_diag_no_memory(diag, (size_t)pages->width);
    ts_tiff_pages_close(&of.pages);
    free(of.row);
    ts_diag_destroy(of.diag);
    return status;
}

/* Returns how many of the values, which are none of 0, look like floats and like no counts. */
static size_t count_floats(const uint32_t *values, size_t n, float *low, float *high)
{
    const float least = 1e-9F, most = 1e9F;
    size_t found = 0;
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        float value;
        memcpy(&value, &values[i], sizeof value);
        if (!(fabsf(value) >= least && fabsf(value) <= most))
            continue;
        found++;
        *low = fminf(*low, value);
        *high = fmaxf(*high, value);
    }
    return found;
}

/* Warns of integers of 32 bits that are floats in all likelihood, of a file that lacks
 * SampleFormat: by the middle row of the middle page. */
static enum ts_status warn_of_floats(const struct tiff_source *source, struct ts_diag *diag)
{
    enum { FEWEST = 16 };
    const size_t width = (size_t)source->pages.width;
    const int64_t page = source->pages.n_pages / 2;
    if (source->pages.dtype != source->pages.stored ||
        (source->pages.stored != TS_U32 && source->pages.stored != TS_I32))
        return TS_OK;
    struct tiff_pages pages = ts_tiff_pages_copy(&source->pages);
    struct ts_diag *trial = ts_diag_create();
    uint32_t *row = malloc(width * sizeof *row);
    const enum ts_status status = trial && row ? TS_OK : ts_diag_no_memory(diag, width);
    size_t zeros = 0;
    float low, high;
    if (status == TS_OK &&
        ts_tiff_pages_read(&pages, page, pages.height / 2, 1, row, 0, trial) == TS_OK) {
        for (size_t i = 0; i < width; i++)
            zeros += row[i] == 0;
        if (width - zeros >= FEWEST && count_floats(row, width, &low, &high) == width - zeros &&
            high > low)
            ts_diag_warning(diag, TIFF_SITE(&source->pages, "tiff-floats"),
                            "%s: its values are integers of 32 bits by its header, and look like "
                            "floats from %g to %g: it may lack SampleFormat",
                            pages.files[pages.pages[page].file].path, (double)low, (double)high);
    }
    ts_tiff_pages_close(&pages);
    free(row);
    ts_diag_destroy(trial);
    return status;
}

/* What the chain says counts; but a file that says otherwise may be right, since micrometers are
   easily taken for mm. */
static void warn_of_pixel_size(const struct tiff_source *source, const struct tiff_params *params,
                               struct ts_diag *diag)
{
    const double *mm = source->pages.pixel_mm, pixel = params->pixel_size,
                 z = source->pages.spacing_mm;
    if (z > 0 && source->meaning == TIFF_SLICES && source->pages.n_pick == 0 &&
        fabs(z - params->spacing_z) > 0.01 * params->spacing_z)
        ts_diag_warning(
            diag, TIFF_SITE(&source->pages, "pixel-size-differs"),
            "the file says that slices are %.6g mm apart, and spacing_z is %.6g mm: that is taken",
            z, params->spacing_z);
    if (!(mm[0] > 0) || source->meaning == TIFF_SINOGRAMS ||
        (fabs(mm[0] - pixel) <= 0.01 * pixel && fabs(mm[1] - pixel) <= 0.01 * pixel))
        return;
    ts_diag_warning(diag, TIFF_SITE(&source->pages, "pixel-size-differs"),
                    "the file says that rows are %.6g mm apart and columns %.6g mm, and pixel_size "
                    "is %.6g mm: that is taken",
                    mm[0], mm[1], pixel);
}

static enum tiff_order order_of(const struct param_set *set)
{
    const struct tiff_params *params = set->values;
    if (params->pages != TIFF_VIEWS)
        return TIFF_ORDER_EVEN;
    if (params->frames != FRAMES_PROJECTIONS)
        return TIFF_ORDER_NONE;
    if (ts_param_given(set, "angles") || ts_param_given(set, "angles_file"))
        return TIFF_ORDER_LISTED;
    return ts_param_given(set, "angle_start") && ts_param_given(set, "angle_stop")
               ? TIFF_ORDER_RANGE
               : TIFF_ORDER_EVEN;
}

static enum ts_status open_tiff(const struct param_set *set, struct source **out,
                                struct ts_diag *diag)
{
    const struct tiff_params *params = set->values;
    struct tiff_source *source = calloc(1, sizeof *source);
    *out = NULL;
    if (!source)
        return ts_diag_no_memory(diag, sizeof *source);
    source->in.base.ops = &tiff_ops;
    source->meaning = (enum tiff_meaning)params->pages;
    source->pages.fd = -1;
    source->pages.arena = ts_arena_create();
    source->pages.span = set->spans[0];
    source->pages.owner = set->owner;
    source->pages.doubles = set->doubles;
    source->pages.sandbox = set->sandbox;
    source->pages.pattern = params->pattern;
    source->pages.pick = params->pick.values;
    source->pages.n_pick = params->pick.rows * params->pick.columns;
    source->pages.along = source->meaning == TIFF_VIEWS ? TIFF_OF_VIEWS : TIFF_OF_SLICES;
    source->pages.order = order_of(set);
    source->pages.range[0] = ts_tiff_degrees(params, params->angle_start);
    source->pages.range[1] = ts_tiff_degrees(params, params->angle_stop);
    source->pages.endpoint = params->endpoint;
    source->pages.skip = params->unreadable == UNREADABLE_SKIP;
    enum ts_status status =
        source->pages.arena ? check_meaning(set, diag) : ts_diag_no_memory(diag, 0);
    if (status == TS_OK)
        status = ts_tiff_pages_open(&source->pages, params->tiff.items, params->tiff.n, diag);
    source->in.rule = (struct read_rule){
        read_range, source->meaning == TIFF_VIEWS ? source->pages.rows_together : 1,
        READ_AHEAD_BYTES};
    if (status == TS_OK)
        status = tiff_describe(source, set, diag);
    if (status == TS_OK)
        status = list_reports(source, diag);
    if (status == TS_OK)
        warn_of_pixel_size(source, params, diag);
    if (status == TS_OK)
        status = warn_of_floats(source, diag);
    if (status == TS_OK && params->frames != FRAMES_PROJECTIONS && source->meaning == TIFF_VIEWS)
        status = warn_of_drift(source, set, diag);
    source->in.base.n_files = source->pages.n_files;
    source->in.base.coding =
        source->pages.raw_bytes == source->pages.block_bytes ? SOURCE_STORED : SOURCE_DEFLATED;
    if (status == TS_OK)
        *out = &source->in.base;
    else
        close_source(&source->in.base);
    return status;
}

/* The angles of a file become the chain's own: the record names no file. */
static void tiff_resolve(struct param_set *set, const struct source *source)
{
    static const char *const others[] = {"angles_file", "angle_unit", "angle_start",
                                         "angle_stop",  "endpoint",   "gaps"};
    struct tiff_params *params = set->values;
    const struct ts_axis *view = &((const struct tiff_source *)ts_source_opened(source))->views;
    const bool slices = params->pages == TIFF_SLICES;
    size_t row;
    params->quantity = (int32_t)source->image.quantity;
    ts_source_beam_resolve(set, source);
    ts_param_idle(set, slices ? "frames" : "spacing_z");
    for (size_t i = 0;
         (slices || params->frames != FRAMES_PROJECTIONS) && i < sizeof of_views / sizeof *of_views;
         i++)
        ts_param_idle(set, of_views[i]);
    if (slices || params->frames != FRAMES_PROJECTIONS)
        return;
    if (!view->positions) {
        params->angle_start = ts_tiff_degrees(params, params->angle_start);
        params->angle_stop = ts_tiff_degrees(params, params->angle_stop);
        params->angle_unit = ANGLE_UNIT_DEGREE;
        ts_param_idle(set, "angles");
        ts_param_idle(set, "angles_file");
        return;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ts_param_idle(set, others[i]);
    params->angles = (struct ts_numbers){1, view->n, view->positions};
    params->angle_sense = ANGLE_SENSE_X_TO_Y; /* as these are by now */
    params->angle_offset = 0;
    ts_param_find(set->params, set->n_params, "angles", &row);
    set->given |= UINT32_C(1) << row;
}

const struct source_format tiff_format = {
    .name = "tiff",
    .summary = "pages of TIFF files: projections, sinograms or the slices of a volume",
    .params = tiff_params,
    .n_params = sizeof tiff_params / sizeof tiff_params[0],
    .params_bytes = sizeof(struct tiff_params),
    .open = open_tiff,
    .resolve = tiff_resolve,
};
