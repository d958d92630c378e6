/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens a DICOM series as a source: scans the files, groups them into series, chooses one, and
 * keeps a record of each of its slices. Only headers are read here; dicom_ring.c decodes pixels
 * later. What may be missing from the series ends the opening unless the chain allows it, and the
 * result then records it.
 */
#include "io/dicom/dicom.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom/dicom_metadata.h"
#include "io/dicom/dicom_rule.h"
#include "io/dicom_frames/dicom_source.h"
#include "io/dicom_header/dicom_scan.h"
#include "io/dicom_series/dicom_geometry.h"
#include "io/dicom_series/dicom_group.h"
#include "io/dicom_series/dicom_join.h"
#include "io/dicom_series/dicom_lossy.h"
#include "io/dicom_series/dicom_non_images.h"
#include "io/dicom_series/dicom_take.h"
#include "io/dicom_series/dicom_uptake.h"
#include "io/source/source_padding.h"
#include "io/source/source_slices.h"

/* ---- what a result records ------------------------------------------------------------------- */

/* Beside the rows of the table there are reports: what was left out of the input, whether text is
 * burned into the pixels, and how far the headers were made anonymous. They come without names of
 * files, which may be those of patients. */

/* The attribute that holds the number of the series among those of the input. */
#define DICOM_SERIES_OF_INPUT "series_of_input"

/* Returns the warnings as one text, or NULL if memory is out. */
static const char *join_warnings(const struct dicom_source *source,
                                 const struct dicom_params *params,
                                 const struct dicom_series *series)
{
    const char *text =
        params->incomplete == INCOMPLETE_ALLOW && series->incomplete ? series->incomplete : "";
    for (size_t i = 0; text && i < series->n_warnings; i++)
        text =
            ts_arena_printf(source->arena, "%s%s%s", text, *text ? "; " : "", series->warnings[i]);
    return text;
}

/* States how far the headers were made anonymous. Nothing is claimed of the pixels, and no profile
 * if text in them is shown, which every profile removes. Source: DICOM PS3.15, Annex E; PS3.16, CID
 * 7050 (the codes). */
static enum ts_status add_deidentification(struct dicom_metadata *list,
                                           const struct dicom_identity *identity, bool shown,
                                           struct ts_diag *diag)
{
    const bool moved = identity->key_bytes > 0;
    const char *codes = moved ? "113100\\113107" : "113100",
               *times = moved ? "MODIFIED" : "REMOVED";
    const struct source_attribute texts[] = {
        {.name = "deidentification_method", .value = identity->keep ? "" : DICOM_DEIDENTIFIED},
        {.name = "deidentification_codes", .value = identity->keep || shown ? "" : codes},
        {.name = "longitudinal_temporal_information_modified",
         .value = identity->keep ? "UNMODIFIED" : times},
        {.name = "contains_phi", .value = identity->keep ? "YES" : ""},
    };
    enum ts_status status = TS_OK;
    for (size_t i = 0; status == TS_OK && i < sizeof texts / sizeof *texts; i++)
        status = ts_dicom_metadata_add(list, texts[i].name, NULL, texts[i].value, diag);
    return status;
}

/* Sets the attributes of the source. */
static enum ts_status record_attributes(struct dicom_source *source,
                                        const struct dicom_params *params,
                                        const struct dicom_identity *identity,
                                        const struct dicom_folder *folder,
                                        const struct dicom_series *series, struct ts_diag *diag)
{
    char passed_over[512], skipped[32] = "", number[16], suv_factor[32] = "";
    const size_t n_skipped = series->n_suspects + series->n_dropped +
                             folder->n_of[DICOM_UNREADABLE] +
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
    if (series->uptake_factor > 0)
        snprintf(suv_factor, sizeof suv_factor, "%.9g", series->uptake_factor);
    const char *scale = params->mr_scale == MR_SCALE_PRECISE ? "precise" : "display";
    const struct source_attribute reports[] = {
        {.name = DICOM_SERIES_OF_INPUT, .value = number},
        {.name = "burned_in_annotation", .value = masked ? "NO" : ts_dicom_burned_in(series)},
        {.name = "pixels_masked", .value = source->mask.boxes ? "YES" : ""},
        {.name = "files_passed_over", .value = passed_over},
        {.name = "files_skipped", .value = skipped},
        {.name = "lossy_image_compression", .value = loss.n_images > 0 ? "01" : ""},
        {.name = "lossy_image_compression_method", .value = loss.method},
        {.name = "lossy_image_compression_ratio", .value = loss.ratio},
        {.name = "mr_scale", .value = ts_dicom_has_scale(series) ? scale : ""},
        {.name = "suv_factor", .value = suv_factor},
        {.name = "suv_type", .value = ts_dicom_uptake_type(series, params->to_suv)},
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

/* ---- parameters ------------------------------------------------------------------------------ */

static const struct choice burned_in_choices[] = {
    {"refuse", BURNED_IN_REFUSE, "an image that says so is refused"},
    {"allow", BURNED_IN_ALLOW, "it is read; the output records burned_in_annotation YES"},
    {"mask", BURNED_IN_MASK,
     "it is read, and the rectangles mask_boxes of every slice get the value mask_value"},
    {NULL, 0, NULL},
};

static const struct choice incomplete_choices[] = {
    {"refuse", INCOMPLETE_REFUSE, "the series is refused"},
    {"allow", INCOMPLETE_ALLOW,
     "the files that are there are read; the output records both numbers"},
    {NULL, 0, NULL},
};

static const struct choice positions_choices[] = {
    {"fit", POSITIONS_FIT,
     "a line is fitted through them by least squares, and every slice lies within "
     "spacing_tolerance of its place on it"},
    {"ends", POSITIONS_ENDS,
     "the line from the first to the last is taken, and every gap is within 1 % of the median gap"},
    {NULL, 0, NULL},
};

static const struct choice tilt_choices[] = {
    {"keep", TILT_KEEP,
     "it is read with its exact step; stages that look at neighboring slices refuse it"},
    {"refuse", TILT_REFUSE, "it is refused"},
    {NULL, 0, NULL},
};

static const struct choice duplicates_choices[] = {
    {"refuse", DUPLICATES_REFUSE, "the series is refused"},
    {"first", DUPLICATES_FIRST,
     "the one of the lowest Instance Number is taken; the output records how many are not"},
    {NULL, 0, NULL},
};

static const struct choice mr_scale_choices[] = {
    {"display", MR_SCALE_DISPLAY,
     "those of Rescale Slope and Intercept, as every viewer shows them"},
    {"precise", MR_SCALE_PRECISE,
     "those of the private Scale Slope and Scale Intercept, which compare from series to series; "
     "phases are in radians"},
    {NULL, 0, NULL},
};

static const struct choice to_suv_choices[] = {
    {"none", TO_SUV_NONE, "the values are as the header scales them"},
    {"body_weight", TO_SUV_BODY_WEIGHT, "SUV by body weight, in g/ml"},
    {"lean_body_mass", TO_SUV_LEAN_BODY_MASS, "SUV by lean body mass (Janmahasatian), in g/ml"},
    {"lean_body_mass_james", TO_SUV_LEAN_BODY_MASS_JAMES,
     "the same by James' formula, with 128 for men"},
    {"body_surface_area", TO_SUV_BODY_SURFACE_AREA,
     "SUV by body surface area (Du Bois), in cm2/ml"},
    {"factor", TO_SUV_FACTOR, "activity in Bq/ml times `suv_factor`, in g/ml"},
    {NULL, 0, NULL},
};

static const struct param dicom_params[] = {
    PARAM(struct dicom_params, dicom, .required = true, .unit = "",
          .doc = "folder that is searched for DICOM files, or a list of files and folders"),
    PARAM(struct dicom_params, series, .unit = "", .init.text = "", .rule = true,
          .doc = "which series to read, where there are several: its number as `tomostage info` "
                 "shows it, its Series Instance UID, its description, or # and its Series Number; "
                 "or a rule, {modality: CT, description: \"*T1*\"}, whose patterns one series "
                 "fits"),
    PARAM(struct dicom_params, split, .optional = true, .unit = "",
          .doc = "what makes series of their own of images at one position: a list of `echo`, "
                 "`time`, `b` and `acquisition`, or `none` alone; what is left becomes an axis of "
                 "volumes; absent: `echo`; kinds, such as phase, always do; `none` also leaves "
                 "slices of several KVP or kernels together"),
    PARAM(struct dicom_params, join, .optional = true, .unit = "",
          .doc = "attributes that do not tell series apart: a list of `study`, `series`, `number`, "
                 "`patient`, `study_time`, `manufacturer`, `protocol`, `frame_of_reference` and "
                 "`stack`; absent: all of them do, but one that is another in each slice of what "
                 "is one volume in all else"),
    PARAM(struct dicom_params, take, .optional = true, .unit = "",
          .doc = "which of several volumes or kinds to read: a number counts volumes from 0, a "
                 "number with ms, s or s/mm2 is an echo time, a time or a b-value, a word is a "
                 "kind, such as `phase`; a list combines them"),
    PARAM(struct dicom_params, burned_in, .unit = "", .choices = burned_in_choices,
          .init.choice = BURNED_IN_REFUSE,
          .doc = "what to do with images whose header says that text is burned into the pixels "
                 "(Burned In Annotation YES)"),
    PARAM(struct dicom_params, mask_boxes, .unit = "", .optional = true,
          .doc = "rectangles to be blackened: a list of [first row, first column, end row, end "
                 "column], from 0 and without the ends; absent: none"),
    PARAM(struct dicom_params, mask_value, .unit = "", .derived = "none; burned_in: mask needs it",
          .doc = "what stands in the rectangles, in the unit of the volume"),
    PARAM(struct dicom_params, deidentify, .unit = "", .choices = ts_dicom_deidentify_choices,
          .init.choice = DEIDENTIFY_BASIC,
          .doc = "what the result records of texts, UIDs and dates of the headers"),
    PARAM(struct dicom_params, uid_key_file, .unit = "", .optional = true,
          .doc = "file of 16 to 4096 secret bytes, which only its owner may read: UIDs are "
                 "replaced and dates moved by it; absent: none is recorded"),
    UNREADABLE_PARAM(struct dicom_params),
    PARAM(struct dicom_params, incomplete, .unit = "", .choices = incomplete_choices,
          .init.choice = INCOMPLETE_REFUSE,
          .doc = "what to do where a series has fewer files than its Number of Series Related "
                 "Instances says"),
    PADDING_PARAM(struct dicom_params, "at the header's Pixel Padding Value, or in its range,"),
    PARAM(struct dicom_params, positions, .unit = "", .choices = positions_choices,
          .init.choice = POSITIONS_FIT, .old = {.until = 1, .init.choice = POSITIONS_ENDS},
          .doc = "how the positions of the slices become spacing, origin and step"),
    PARAM(struct dicom_params, spacing_tolerance, .unit = "%", .min = 0,
          .max = DICOM_MOST_TOLERANCE, .init.r = DICOM_SPACING_TOLERANCE,
          .doc = "with positions fit: how far a slice may lie from its place on the line, along "
                 "the normal or beside it, in percent of the spacing; 0.001 mm is always accepted, "
                 "or a hundredth of a pixel where that is less"),
    PARAM(struct dicom_params, tilt, .unit = "", .choices = tilt_choices, .init.choice = TILT_KEEP,
          .old = {.until = 1, .init.choice = TILT_REFUSE},
          .doc = "what to do with a series whose step from slice to slice leans off their normal, "
                 "as behind a tilted gantry"),
    PARAM(struct dicom_params, duplicates, .unit = "", .choices = duplicates_choices,
          .init.choice = DUPLICATES_REFUSE,
          .doc = "what to do with different images at one position"),
    PARAM(struct dicom_params, stack, .unit = "", .min = 1, .max = 1e6,
          .derived = "all slices, which then have to be one stack",
          .doc = "which stack to read, where the spacing changes on the way: stacks of even "
                 "spacing count from 1 along the normal"),
    PARAM(struct dicom_params, mr_scale, .unit = "", .choices = mr_scale_choices,
          .init.choice = MR_SCALE_DISPLAY, .doc = "which values Philips MR images have"),
    PARAM(struct dicom_params, to_suv, .unit = "", .choices = to_suv_choices,
          .init.choice = TO_SUV_NONE,
          .doc = "which standardized uptake values (SUV) a PET series becomes"),
    PARAM(struct dicom_params, suv_factor, .unit = "", .min = 1e-12, .max = 1e6,
          .derived = "none; to_suv: factor needs it",
          .doc = "of to_suv: factor, in g/Bq: weight by injected dose as it has decayed"),
    SLICES_PARAM(struct dicom_params),
};

static void close_source(struct source *base)
{
    struct dicom_source *source = (struct dicom_source *)base;
    if (source == NULL)
        return;
    ts_dicom_ring_end(source);
    ts_dicom_native_end(source);
    free(base->valid);
    ts_arena_destroy(source->arena); /* which holds the source too */
}

static size_t ring_bytes(const struct source *source, int threads, int64_t ahead)
{
    return ts_dicom_ring_bytes((const struct dicom_source *)source, threads, ahead);
}

static size_t native_bytes(const struct source *source, int threads, int64_t ahead)
{
    return ts_dicom_native_bytes((const struct dicom_source *)source, threads, ahead);
}

static bool dicom_holds(const struct source *base, const struct file_set *files)
{
    const struct dicom_source *source = (const struct dicom_source *)base;
    for (int64_t z = 0; z < ts_source_total(base); z++)
        if (ts_file_set_has(files, source->frames[z].image->file->device,
                            source->frames[z].image->file->inode))
            return true;
    return false;
}

/* ---- rectangles that are blackened ----------------------------------------------------------- */

/* The boxes are filled in the values of the volume, after decoding and rescaling, so that one code
 * serves every transfer syntax. Digests of slices stay those of the pixels as they are stored. */

enum { BOX_NUMBERS = 4 };

/* Returns true if four numbers are a box within rows x columns. */
static bool is_box(const double *box, int64_t rows, int64_t columns)
{
    for (int i = 0; i < BOX_NUMBERS; i++)
        if (box[i] != rint(box[i]))
            return false;
    return box[0] >= 0 && box[1] >= 0 && box[0] < box[2] && box[1] < box[3] &&
           box[2] <= (double)rows && box[3] <= (double)columns;
}

/* Checks the boxes and the value against the image. TS_BAD_CHAIN: mask-boxes, mask-value. */
static enum ts_status dicom_mask_check(const struct param_set *set, const struct dicom_mask *mask,
                                       const struct ts_image *image, struct ts_diag *diag)
{
    const struct ts_numbers *boxes = mask->boxes;
    double low, high;
    if (!boxes)
        return TS_OK;
    for (int64_t i = 0; i < boxes->rows; i++) {
        const double *box = boxes->values + i * boxes->columns;
        if (boxes->columns == BOX_NUMBERS && is_box(box, image->axes[1].n, image->axes[2].n))
            continue;
        ts_param_error(set, "mask_boxes", "mask-boxes", diag,
                       "box %" PRId64 " is not a rectangle of the %" PRId64 " rows and %" PRId64
                       " columns",
                       i + 1, image->axes[1].n, image->axes[2].n);
        return ts_diag_hint(
            diag,
            "a box is [first row, first column, end row, end column], from 0, without the ends");
    }
    ts_dtype_range(image->dtype, &low, &high);
    if (!ts_dtype_is_integer(image->dtype) ||
        (mask->value == rint(mask->value) && mask->value >= low && mask->value <= high))
        return TS_OK;
    return ts_param_error(set, "mask_value", "mask-value", diag,
                          "%g is no value of %s, as the volume is stored", mask->value,
                          ts_dtype_name(image->dtype));
}

/* Writes the value in the dtype to out, and returns its bytes. */
static size_t encode(double value, enum ts_dtype dtype, unsigned char out[sizeof(double)])
{
    switch (dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        memcpy(out, &(type){(type)value}, sizeof(type));                                           \
        return sizeof(type);
        TS_IMAGE_DTYPES(CASE)
        CASE(F64, double)
#undef CASE
    default:
        return 0;
    }
}

/* Fills the boxes of n slices of the image with the value. */
static void dicom_mask_slices(const struct dicom_mask *mask, const struct ts_image *image,
                              int64_t n, void *slices)
{
    unsigned char value[sizeof(double)];
    const size_t bytes = encode(mask->value, image->dtype, value);
    const int64_t rows = image->axes[1].n, columns = image->axes[2].n;
    for (int64_t i = 0; mask->boxes && i < n * mask->boxes->rows; i++) {
        const double *box = mask->boxes->values + i % mask->boxes->rows * BOX_NUMBERS;
        unsigned char *slice =
            (unsigned char *)slices + (size_t)(i / mask->boxes->rows * rows * columns) * bytes;
        for (int64_t y = (int64_t)box[0]; y < (int64_t)box[2]; y++)
            for (int64_t x = (int64_t)box[1]; x < (int64_t)box[3]; x++)
                memcpy(slice + (size_t)(y * columns + x) * bytes, value, bytes);
    }
}

static enum ts_status read_native(struct source *base, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag)
{
    const enum ts_status status = ts_dicom_native_read(base, z, n, out, diag);
    if (status == TS_OK)
        dicom_mask_slices(&((struct dicom_source *)base)->mask, &base->image, n, out);
    return status;
}

static enum ts_status read_ring(struct source *base, int64_t z, int64_t n, void *out,
                                struct ts_diag *diag)
{
    const enum ts_status status = ts_dicom_ring_read(base, z, n, out, diag);
    if (status == TS_OK)
        dicom_mask_slices(&((struct dicom_source *)base)->mask, &base->image, n, out);
    return status;
}

static const struct source_ops native_ops = {
    .memory_bytes = native_bytes,
    .start = ts_dicom_native_start,
    .prefetch = ts_dicom_native_prefetch,
    .prefetch_to = ts_dicom_native_prefetch_to,
    .read = read_native,
    .holds = dicom_holds,
    .close = close_source,
};

static const struct source_ops ring_ops = {
    .memory_bytes = ring_bytes,
    .start = ts_dicom_ring_start,
    .prefetch = ts_dicom_ring_prefetch,
    .read = read_ring,
    .holds = dicom_holds,
    .close = close_source,
};

/* Returns true if every value that the stored format allows fits the volume's dtype exactly. */
static bool values_fit(const struct dicom_frame *frame, enum ts_dtype dtype)
{
    double low, high, dtype_low, dtype_high;
    const bool whole = ts_dicom_image_range(frame->image, &low, &high);
    ts_dtype_range(dtype, &dtype_low, &dtype_high);
    return ts_dtype_is_integer(dtype) ? whole && low >= dtype_low && high <= dtype_high
                                      : isfinite((float)low) && isfinite((float)high);
}

static enum ts_status open_frame(struct dicom_source *source, int64_t z,
                                 const struct dicom_image *image, struct ts_diag *diag)
{
    const struct dicom_file *file = image->file;
    struct dicom_frame *frame = &source->frames[z];
    struct source_slice *slice = &source->base.slices[z];
    *frame = (struct dicom_frame){
        .image = image,
        .cells = ts_dicom_cells(file),
        .slope = image->have_slope ? image->slope : 1.0,
        .intercept = image->have_intercept ? image->intercept : 0.0,
    };
    if (source->cell_bytes < (size_t)ts_dicom_frame_bytes(file))
        source->cell_bytes = (size_t)ts_dicom_frame_bytes(file);
    slice->slope = frame->slope;
    slice->intercept = frame->intercept;
    memcpy(slice->position_mm, image->position_mm, sizeof slice->position_mm);
    if (values_fit(frame, source->base.image.dtype)) {
        double low, high;
        slice->states_padding = ts_dicom_padding_range(image, &low, &high);
        return TS_OK;
    }
    return ts_diag_error(
        diag, TS_BAD_INPUT, &(struct diag_site){.code = "values-out-of-range"},
        "%s: Rescale Slope %.17g and Intercept %.17g take stored values out of the range of %s",
        file->path, frame->slope, frame->intercept, ts_dtype_name(source->base.image.dtype));
}

enum ts_status ts_dicom_open_take(const struct dicom_series *series, struct arena *arena,
                                  struct source **out, struct ts_diag *diag)
{
    const size_t n = series->n_images;
    struct dicom_source *source = ts_arena_alloc(arena, sizeof *source);
    struct source_slice *slices = ts_arena_alloc(arena, n * sizeof *slices);
    struct dicom_frame *frames = ts_arena_alloc(arena, n * sizeof *frames);
    enum ts_status status =
        source && slices && frames ? TS_OK : ts_diag_no_memory(diag, n * sizeof *frames);
    if (status == TS_OK)
        *source = (struct dicom_source){.base = {.image = series->image,
                                                 .n_slices = series->image.axes[0].n,
                                                 .n_volumes = (int64_t)series->n_volumes,
                                                 .volume_axis = series->volume_axis,
                                                 .gradients = series->gradients,
                                                 .n_files = (int64_t)series->n_files,
                                                 .slices = slices},
                                        .arena = arena,
                                        .frames = frames};
    for (size_t z = 0; status == TS_OK && z < n; z++)
        status = open_frame(source, (int64_t)z, series->images[z], diag);
    if (status == TS_OK) {
        const bool native = ts_dicom_is_native(source);
        source->base.ops = native ? &native_ops : &ring_ops;
        source->base.in_place = native;
        source->base.coding = native ? SOURCE_STORED : SOURCE_ENCODED;
        const char *frame_of_reference = frames[0].image->file->frame_of_reference;
        bool one = *frame_of_reference != '\0';
        for (size_t z = 1; z < n && one; z++)
            one = !strcmp(frames[z].image->file->frame_of_reference, frame_of_reference);
        source->base.frame_of_reference = one ? frame_of_reference : NULL;
    } else {
        ts_arena_destroy(arena);
    }
    *out = status == TS_OK ? &source->base : NULL;
    return status;
}

/* ---- choosing and opening -------------------------------------------------------------------- */

static enum ts_status refuse_burned_in(const struct param_set *set,
                                       const struct dicom_series *series, struct ts_diag *diag)
{
    const struct dicom_params *params = set->values;
    if (params->burned_in != BURNED_IN_REFUSE || strcmp(ts_dicom_burned_in(series), "YES") != 0)
        return TS_OK;
    struct diag_site site = {
        .code = "burned-in-annotation", .span = set->spans[0], .stage = set->owner};
    ts_diag_error(diag, TS_BAD_INPUT, &site, DICOM_BURNED_IN_REASON);
    return ts_diag_hint(diag, DICOM_BURNED_IN_HINT);
}

/* Reports what the chosen series may lack: as an error, or as a warning if the chain allows it. */
static enum ts_status check_lacks(const struct dicom_params *params,
                                  const struct dicom_series *series, struct ts_diag *diag)
{
    struct dicom_lack lacks[DICOM_MAX_LACKS];
    const size_t n = ts_dicom_lacks(series, lacks);
    for (size_t i = 0; i < n; i++) {
        const struct dicom_lack *lack = &lacks[i];
        const struct diag_site site = {.code = lack->code};
        const bool refused = lack->kind == LACK_INCOMPLETE
                                 ? params->incomplete == INCOMPLETE_REFUSE
                                 : params->unreadable == UNREADABLE_REFUSE;
        if (refused && lack->kind == LACK_DAMAGED)
            ts_diag_error(diag, TS_BAD_INPUT, &site,
                          "damaged files of series %d may be slices of series %d: %s",
                          series->damaged->number, series->number, lack->reason);
        else if (refused)
            ts_diag_error(diag, TS_BAD_INPUT, &site, "%s", lack->reason);
        else if (lack->kind !=
                 LACK_DAMAGED) /* the choice of the series has warned of damaged files */
            ts_diag_warning(diag, &site, "%s", lack->reason);
        if (refused) {
            return ts_diag_hint(diag, "%s", lack->hint);
        }
    }
    return TS_OK;
}

/* Reads `split`: which differences make series of their own. */
static enum ts_status read_split(const struct param_set *set, unsigned *split, struct ts_diag *diag)
{
    static const struct {
        const char *name;
        unsigned bit;
    } names[] = {{"echo", DICOM_SPLIT_ECHO},
                 {"time", DICOM_SPLIT_TIME},
                 {"b", DICOM_SPLIT_B},
                 {"acquisition", DICOM_SPLIT_ACQUISITION},
                 {"none", 0}};
    const struct ts_texts *texts = &((const struct dicom_params *)set->values)->split;
    *split = texts->n > 0 ? 0 : *split;
    for (int64_t i = 0; i < texts->n; i++) {
        size_t k = 0;
        while (k < sizeof names / sizeof *names && strcmp(texts->items[i], names[k].name) != 0)
            k++;
        if (k == sizeof names / sizeof *names)
            return ts_param_error(set, "split", "split-unknown", diag,
                                  "'%s' is none of echo, time, b, acquisition and none",
                                  texts->items[i]);
        if (names[k].bit == 0 && texts->n > 1) {
            ts_param_error(set, "split", "split-none", diag, "'none' stands beside other words");
            return ts_diag_hint(diag, "leave out 'none' or the others; without 'none', slices of "
                                      "several KVP or kernels are series of their own");
        }
        *split |= names[k].bit;
    }
    return TS_OK;
}

/* Reads `join`: which attributes do not tell series apart. */
static enum ts_status read_join(const struct param_set *set, unsigned *join, struct ts_diag *diag)
{
    const struct ts_texts *texts = &((const struct dicom_params *)set->values)->join;
    for (int64_t i = 0; i < texts->n; i++) {
        int k = 0;
        while (k < DICOM_SERIES_KEYS && strcmp(texts->items[i], ts_dicom_join_words[k]) != 0)
            k++;
        if (k == DICOM_SERIES_KEYS) {
            ts_param_error(set, "join", "join-unknown", diag,
                           "'%s' is no attribute that tells series apart", texts->items[i]);
            return ts_diag_hint(diag, "there are study, series, number, patient, study_time, "
                                      "manufacturer, protocol, frame_of_reference and stack");
        }
        *join |= 1U << k;
    }
    return TS_OK;
}

/* Chooses the series that `series` and `take` name, and of its volumes the one that `take`
 * names. */
static enum ts_status choose_and_take(const struct param_set *set, struct dicom_series *series,
                                      size_t n, const struct dicom_folder *folder,
                                      struct arena *arena, const struct dicom_series **chosen,
                                      struct ts_diag *diag)
{
    const struct dicom_params *params = set->values;
    struct dicom_takes takes;
    if (!ts_dicom_read_takes(&params->take, &takes))
        return ts_param_error(
            set, "take", "take-syntax", diag,
            "expected at most %d numbers of volumes, values with ms, s or s/mm2, and kinds",
            (int)DICOM_MAX_TAKES);
    ts_dicom_leave_out(series, n, &takes);
    const char *choice = params->series;
    enum ts_status status = TS_OK;
    if (n > 0 && ts_dicom_is_rule(choice, series, n)) {
        status = ts_dicom_apply_rule(choice, series, n, arena, diag);
        choice = NULL;
    }
    if (status == TS_OK)
        status = ts_dicom_choose(series, n, choice, folder, chosen, diag);
    return status == TS_OK ? ts_dicom_take_volume(&series[*chosen - series], &takes, diag) : status;
}

/* Checks that a factor is given if, and only if, it is asked for. TS_BAD_CHAIN: suv-factor. */
static enum ts_status check_suv_factor(const struct param_set *set, struct ts_diag *diag)
{
    const struct dicom_params *params = set->values;
    const bool wanted = params->to_suv == TO_SUV_FACTOR, given = ts_param_given(set, "suv_factor");
    if (wanted == given)
        return TS_OK;
    ts_param_error(set, given ? "suv_factor" : "to_suv", "suv-factor", diag,
                   "to_suv: factor and suv_factor: NUMBER need each other");
    return ts_diag_hint(diag, given ? "add to_suv: factor" : "add suv_factor: NUMBER");
}

/* Scans the files and groups them. The user is told what is odd about the files in every case, also
 * if no series is chosen. */
static enum ts_status choose_series(const struct param_set *set, struct arena *arena,
                                    struct dicom_folder *folder, const struct dicom_series **chosen,
                                    struct ts_diag *diag)
{
    const struct dicom_params *params = set->values;
    const struct dicom_rules rules = {.positions = params->positions,
                                      .tilt = params->tilt,
                                      .duplicates = params->duplicates,
                                      .spacing_tolerance = params->spacing_tolerance,
                                      .stack = params->stack,
                                      .mr_scale = params->mr_scale,
                                      .to_suv = params->to_suv,
                                      .suv_factor = params->suv_factor,
                                      .sandbox = set->sandbox};
    struct dicom_series *series = NULL;
    size_t n_series = 0;
    enum ts_status status =
        ts_dicom_scan(params->dicom.items, (size_t)params->dicom.n, arena, folder, diag);
    folder->skip = params->unreadable == UNREADABLE_SKIP;
    if (status == TS_OK)
        status = check_suv_factor(set, diag);
    if (status == TS_OK)
        status = read_split(set, &folder->split, diag);
    if (status == TS_OK)
        status = read_join(set, &folder->join, diag);
    if (status == TS_OK && !folder->skip)
        status = ts_dicom_refuse_unreadable(folder, diag);
    if (status == TS_OK)
        status = ts_dicom_group(folder, &rules, arena, &series, &n_series, diag);
    if (status != TS_OK)
        return status;
    if (n_series > 0)
        ts_dicom_warn_of_others(folder, diag);
    status = choose_and_take(set, series, n_series, folder, arena, chosen, diag);
    if (status == TS_OK)
        status = check_lacks(params, *chosen, diag);
    return status == TS_OK ? refuse_burned_in(set, *chosen, diag) : status;
}

/* Checks the parameters of the mask and keeps them with the source. */
static enum ts_status take_mask(const struct param_set *set, struct dicom_source *source,
                                struct ts_diag *diag)
{
    const struct dicom_params *params = set->values;
    const struct ts_numbers *boxes = &params->mask_boxes;
    const bool masked = params->burned_in == BURNED_IN_MASK;
    const bool has_value = ts_param_given(set, "mask_value");
    if (!masked && (boxes->rows > 0 || has_value))
        return ts_param_error(set, boxes->rows > 0 ? "mask_boxes" : "mask_value",
                              "parameter-unused", diag, "it belongs to burned_in: mask");
    if (!masked)
        return TS_OK;
    if (!has_value || boxes->rows == 0)
        return ts_param_error(set, "burned_in", "parameter-missing", diag,
                              "mask needs %s%s%s as well", boxes->rows == 0 ? "mask_boxes" : "",
                              !has_value && boxes->rows == 0 ? " and " : "",
                              has_value ? "" : "mask_value");
    struct ts_numbers *kept = ts_arena_copy(source->arena, boxes, 1, sizeof *boxes);
    if (kept)
        kept->values = ts_arena_copy(source->arena, boxes->values,
                                     (size_t)(boxes->rows * boxes->columns), sizeof *boxes->values);
    if (!kept || !kept->values)
        return ts_diag_no_memory(diag, sizeof *kept);
    source->mask = (struct dicom_mask){kept, params->mask_value};
    return dicom_mask_check(set, &source->mask, &source->base.image, diag);
}

/* Returns true if 32-bit floats round values of the series: not if these are as they are stored. */
static bool is_rounded(const struct dicom_series *series)
{
    bool as_stored = true;
    for (size_t i = 0; i < series->n_images; i++) {
        const struct dicom_image *image = series->images[i];
        as_stored &= image->file->float_bits == 32 && (!image->have_slope || image->slope == 1) &&
                     (!image->have_intercept || image->intercept == 0);
    }
    return series->image.dtype == TS_F32 && !as_stored;
}

static enum ts_status open_dicom(const struct param_set *set, struct source **source,
                                 struct ts_diag *diag)
{
    const struct dicom_params *params = set->values;
    struct dicom_identity identity;
    struct dicom_folder folder = {0};
    const struct dicom_series *series = NULL;
    struct arena *arena = ts_arena_create();
    *source = NULL;
    if (arena == NULL)
        return ts_diag_no_memory(diag, sizeof *series);
    enum ts_status status =
        ts_dicom_identity_read(set, params->deidentify, params->uid_key_file, &identity, diag);
    status = status == TS_OK ? choose_series(set, arena, &folder, &series, diag) : status;
    if (status != TS_OK) {
        ts_arena_destroy(arena);
        return status;
    }
    status = ts_dicom_open_take(series, arena, source, diag);
    if (status != TS_OK)
        return status;
    ((struct dicom_source *)*source)->sandbox = set->sandbox;
    if (set->doubles && is_rounded(series))
        (*source)->image.dtype = TS_F64;
    for (size_t i = 0; i < series->n_warnings; i++)
        ts_diag_warning(diag, &(struct diag_site){.code = "dicom-series"}, "%s",
                        series->warnings[i]);
    status = ts_source_set_padding(*source, (enum source_padding)params->padding, diag);
    if (status == TS_OK)
        status = take_mask(set, (struct dicom_source *)*source, diag);
    if (status == TS_OK)
        status = record_attributes((struct dicom_source *)*source, params, &identity, &folder,
                                   series, diag);
    if (status != TS_OK) {
        close_source(*source);
        *source = NULL;
    }
    return status;
}

/* Prepares what is recorded of the parameters: the series as its number, since its UID leads to a
 * patient; no path of the key; and no value that plays no part. */
static void dicom_resolve(struct param_set *set, const struct source *source)
{
    struct dicom_params *params = set->values;
    ts_source_resolve_padding(set, source);
    for (size_t i = 0; i < source->n_attributes && *params->series; i++)
        if (strcmp(source->attributes[i].name, DICOM_SERIES_OF_INPUT) == 0)
            params->series = source->attributes[i].value;
    ts_param_idle(set, "uid_key_file");
    if (params->burned_in != BURNED_IN_MASK)
        ts_param_idle(set, "mask_value");
    if (params->to_suv == TO_SUV_NONE)
        ts_param_idle(set, "to_suv");
    if (params->to_suv != TO_SUV_FACTOR)
        ts_param_idle(set, "suv_factor");
    if (params->positions == POSITIONS_ENDS)
        ts_param_idle(set, "spacing_tolerance");
    if (!ts_param_given(set, "stack"))
        ts_param_idle(set, "stack");
}

const struct source_format dicom_format = {
    .name = "dicom",
    .summary = "one series of DICOM files, of CT, MR or PET: slices, multi-frame images or mosaics "
               "as a volume or several",
    .params = dicom_params,
    .n_params = sizeof dicom_params / sizeof dicom_params[0],
    .params_bytes = sizeof(struct dicom_params),
    .open = open_dicom,
    .resolve = dicom_resolve,
};
