/* SPDX-License-Identifier: Apache-2.0
 *
 * Opens a file of regions by its kind, and makes a source of the labels that it gives each slice.
 * The image to which it belongs is open already; the source is a copy of that image's description,
 * with integers as values: of 8 bits if all labels fit, else 16 or 32, and for volumes of labels of
 * the file's type.
 */
#include "io/mask/mask.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file/file_signature.h"
#include "io/file/regular_file.h"
#include "io/hdf5/hdf5_driver.h"
#include "io/mask/label_volume.h"
#include "io/mask/rtstruct.h"
#include "io/mask/seg.h"
#include "io/source/read_ahead.h"

static const struct choice resample_choices[] = {
    {"none", MASK_EXACT, "the file has the grid of the image; another one is an error", 0},
    {"nearest", MASK_NEAREST, "each voxel of the image has the label at its center", 0},
    {NULL, 0, NULL, 0},
};

static const struct choice frame_choices[] = {
    {"same", MASK_SAME_FRAME, "that of the image, where both state one; another one is an error",
     0},
    {"any", MASK_ANY_FRAME, "positions are taken as they are", 0},
    {NULL, 0, NULL, 0},
};

static const struct param mask_params[] = {
    PARAM(struct mask_params, mask, .required = true, .unit = "",
          .doc = "a DICOM segmentation or structure set, or a volume of labels in NIfTI, NRRD, "
                 "MetaImage, "
                 ".npy or HDF5"),
    PARAM(struct mask_params, on, .unit = "", .init.text = "input",
          .doc = "name of the input that it goes with, whose grid it gets"),
    PARAM(struct mask_params, segment, .unit = "", .init.text = "",
          .doc = "number or label of the one segment that is wanted, or number of a label of a "
                 "volume; absent: all, each with its number"),
    PARAM(struct mask_params, roi, .unit = "", .init.text = "",
          .doc = "number or name of the one region of a structure set that is wanted; absent: all, "
                 "each with its number"),
    PARAM(struct mask_params, threshold, .unit = "", .min = 1e-6, .max = 1, .init.r = 0.5,
          .doc = "FRACTIONAL segmentations: the part of a pixel from which on it belongs to its "
                 "segment; must be given"),
    PARAM(struct mask_params, path, .unit = "", .init.text = "",
          .doc = "HDF5: path of a dataset (z, y, x); absent: the file is a result of this program"),
    PARAM(struct mask_params, image, .unit = "", .init.text = "",
          .doc = "results: name of the image; absent: the last one"),
    PARAM(struct mask_params, resample, .unit = "", .choices = resample_choices,
          .init.choice = MASK_EXACT,
          .doc = "what happens where the file has another grid than the image"),
    PARAM(struct mask_params, frame_of_reference, .unit = "", .choices = frame_choices,
          .init.choice = MASK_SAME_FRAME,
          .doc = "DICOM: the frame of reference in which the file states positions"),
};

struct mask_source {
    struct rule_source in; /* first */
    struct arena *arena;
    struct mask_file *file;
    struct ts_image grid; /* of the image; the file refers to it */
    int32_t *labels;      /* of one slice */
    struct source_attribute attributes[3];
};

/* ---- reading --------------------------------------------------------------------------------- */

static void mask_store(const int32_t *labels, size_t n, enum ts_dtype dtype, void *out)
{
    switch (dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        for (size_t i = 0; i < n; i++)                                                             \
            ((type *)out)[i] = (type)labels[i];                                                    \
        break;
        TS_IMAGE_DTYPES(CASE)
#undef CASE
    default:
        break;
    }
}

static enum ts_status read_range(struct source *base, struct pool *readers, int64_t z, int64_t n,
                                 void *out, struct ts_diag *diag)
{
    struct mask_source *source = (struct mask_source *)base;
    const size_t count = ts_slice_count(&base->image);
    for (int64_t i = 0; i < n; i++) {
        memset(source->labels, 0, count * sizeof *source->labels);
        const enum ts_status status =
            source->file->kind->read(source->file, z + i, source->labels, diag);
        if (status != TS_OK)
            return status;
        mask_store(source->labels, count, base->image.dtype,
                   (char *)out + (size_t)i * ts_slice_bytes(&base->image));
        size_t labeled = 0;
        for (size_t k = 0; k < count; k++)
            labeled += source->labels[k] != 0;
        base->slices[z + i].labeled = (int64_t)labeled;
        base->slices[z + i].unlabeled = (int64_t)(count - labeled);
    }
    return ts_source_digest(base, readers, z, n, out, diag);
}

static size_t memory_bytes(const struct source *base, int threads, int64_t ahead)
{
    const struct mask_source *source = (const struct mask_source *)base;
    (void)threads;
    return source->file->kind->memory_bytes(source->file) +
           ts_slice_count(&base->image) * sizeof *source->labels +
           ts_read_ahead_bytes(base, &source->in.rule, ahead);
}

static enum ts_status mask_start(struct source *base, int threads, int64_t ahead,
                                 struct ts_diag *diag)
{
    struct mask_file *file = ((struct mask_source *)base)->file;
    const enum ts_status status =
        file->kind->start ? file->kind->start(file, threads, ahead, diag) : TS_OK;
    return status == TS_OK ? ts_rule_start(base, threads, ahead, diag) : status;
}

static enum ts_status check_unchanged(const struct source *base, struct ts_diag *diag)
{
    const struct mask_file *file = ((const struct mask_source *)base)->file;
    return file->kind->check_unchanged ? file->kind->check_unchanged(file, diag) : TS_OK;
}

static bool mask_holds(const struct source *base, const struct file_set *files)
{
    const struct mask_file *file = ((const struct mask_source *)base)->file;
    return file->kind->holds(file, files);
}

static void close_source(struct source *base)
{
    struct mask_source *source = (struct mask_source *)base;
    ts_read_ahead_destroy(source->in.reading);
    if (source->file)
        source->file->kind->close(source->file);
    ts_arena_destroy(source->arena);
    free(source->labels);
    free(base->slices);
    free(source);
}

static const struct source_ops mask_ops = {.may_hold = ts_rule_may_hold,
                                           .rereads = ts_rule_rereads,
                                           .memory_bytes = memory_bytes,
                                           .start = mask_start,
                                           .prefetch = ts_rule_prefetch,
                                           .read = ts_rule_read,
                                           .check_unchanged = check_unchanged,
                                           .holds = mask_holds,
                                           .close = close_source};

/* ---- opening --------------------------------------------------------------------------------- */

/* Returns the name of the format that reads the file, "dicom" for a DICOM file, or NULL. A gzip
   file can only be NIfTI, whatever its name is. */
static const char *format_of(int fd, const char *path, const struct mask_params *params)
{
    if (ts_hdf5_has_signature(fd))
        return *params->path ? "hdf5" : "result";
    const char *format = ts_file_signature(fd, path);
    if (format && !strcmp(format, "gzip"))
        return "nifti";
    return format && strcmp(format, "tiff") != 0 && !ts_file_unpack_hint(format) ? format : NULL;
}

static enum ts_status mask_refuse(const struct mask_request *request, const char *code,
                                  const char *what)
{
    return ts_diag_error(request->diag, TS_BAD_INPUT,
                         &(struct diag_site){.code = code,
                                             .span = request->set->spans[0],
                                             .stage = request->set->owner},
                         "%s %s", request->params->mask, what);
}

static enum ts_status open_regions(const struct mask_request *request, struct mask_file **file)
{
    struct region_file *regions = malloc(sizeof *regions);
    if (!regions)
        return ts_diag_no_memory(request->diag, sizeof *regions);
    if (!ts_region_open(regions, request->params->mask, request->arena))
        mask_refuse(request, regions->file.refusal_code, regions->file.refusal);
    else if (regions->class == REGION_NONE)
        mask_refuse(request, "mask-kind",
                    "is a DICOM file, but no segmentation and no structure set");
    else if (!request->placed)
        mask_refuse(request, "mask-geometry",
                    "lies in the patient, and its image does not say how it lies there");
    else
        return (regions->class == REGION_SEG ? ts_seg_open_take
                                             : ts_rtstruct_open_take)(regions, request, file);
    ts_region_close(regions);
    free(regions);
    return TS_BAD_INPUT;
}

static enum ts_status open_file(const struct mask_request *request, struct mask_file **file)
{
    struct stat found;
    char reason[256];
    const int fd = ts_regular_file_open(request->params->mask, &found, reason, sizeof reason);
    if (fd < 0)
        return mask_refuse(request, "input-unreadable", reason);
    const char *format = format_of(fd, request->params->mask, request->params);
    close(fd);
    if (!format) {
        mask_refuse(request, "mask-kind", "is no file of regions that is read");
        return ts_diag_hint(request->diag, "a DICOM segmentation or structure set, or a volume of "
                                           "labels in NIfTI, NRRD, MetaImage, .npy or HDF5");
    }
    return strcmp(format, "dicom") == 0 ? open_regions(request, file)
                                        : ts_label_volume_open(format, request, file);
}

/* Refuses parameters of other kinds of files. */
static enum ts_status check_unused(const struct mask_request *request, const struct mask_file *file)
{
    const bool set = !strcmp(file->kind->what, "DICOM structure set"),
               volume = !strcmp(file->kind->what, "label volume");
    const char *name = NULL;
    if (set && *request->params->segment)
        name = "segment";
    else if (!set && *request->params->roi)
        name = "roi";
    else if (!volume && *request->params->path)
        name = "path";
    else if (!volume && *request->params->image)
        name = "image";
    return name ? ts_param_error(request->set, name, "parameter-unused", request->diag,
                                 "plays no part for a %s", file->kind->what)
                : TS_OK;
}

static void mask_describe(struct mask_source *source)
{
    struct source *base = &source->in.base;
    const struct mask_file *file = source->file;
    base->image = source->grid;
    base->image.quantity = TS_INTENSITY;
    base->image.unit = ts_source_unit(TS_INTENSITY);
    base->image.masked = false;
    base->image.labels = file->lowest >= 0 && file->highest <= 1 ? 1 : 2;
    base->image.data = NULL;
    base->image.dtype = TS_I32;
    static const enum ts_dtype dtypes[] = {TS_I16, TS_U16, TS_I8, TS_U8};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        double low, high;
        ts_dtype_range(dtypes[i], &low, &high);
        if ((double)file->lowest >= low && (double)file->highest <= high)
            base->image.dtype = dtypes[i];
    }
    source->attributes[base->n_attributes++] =
        (struct source_attribute){"regions_of", file->kind->what};
    if (file->chosen)
        source->attributes[base->n_attributes++] =
            (struct source_attribute){"region_number", file->chosen};
    base->attributes = source->attributes;
    base->n_volumes = 1;
    base->n_files = 1;
    base->coding = SOURCE_STORED;
    base->ops = &mask_ops;
}

static enum ts_status open_on(const struct param_set *set, const struct source *image,
                              struct source **out, struct ts_diag *diag)
{
    struct mask_source *source = calloc(1, sizeof *source);
    *out = NULL;
    if (!source)
        return ts_diag_no_memory(diag, sizeof *source);
    source->grid = image->image;
    source->arena = ts_arena_create();
    struct mask_request request = {.set = set,
                                   .params = set->values,
                                   .grid = &source->grid,
                                   .placed = image->image.has_geometry,
                                   .z_first = -image->first_slice,
                                   .z_end = image->n_whole - image->first_slice,
                                   .nearest = ((const struct mask_params *)set->values)->resample ==
                                              MASK_NEAREST,
                                   .arena = source->arena,
                                   .diag = diag};
    if (request.params->frame_of_reference == MASK_SAME_FRAME)
        request.frame_of_reference = image->frame_of_reference;
    if (request.placed)
        request.to_mm = ts_grid_to_mm(&source->grid);
    enum ts_status status;
    if (!source->arena)
        status = ts_diag_no_memory(diag, sizeof request);
    else if (ts_image_is_sinogram(&source->grid))
        status = mask_refuse(&request, "mask-geometry",
                             "goes with a sinogram, and masks go with volumes");
    else
        status = open_file(&request, &source->file);
    if (status == TS_OK)
        status = check_unused(&request, source->file);
    if (status == TS_OK) {
        mask_describe(source);
        status = ts_source_make_slices(&source->in.base, diag);
    }
    source->labels = malloc(ts_slice_count(&source->grid) * sizeof *source->labels);
    if (status == TS_OK && !source->labels)
        status = ts_diag_no_memory(diag, ts_slice_count(&source->grid) * sizeof *source->labels);
    source->in.rule = (struct read_rule){.read = read_range, .chunk = 1, .limit = READ_AHEAD_BYTES};
    if (status == TS_OK)
        *out = &source->in.base;
    else
        close_source(&source->in.base);
    return status;
}

/* A region is recorded by its number, since its name is free text. */
static void mask_resolve(struct param_set *set, const struct source *source)
{
    struct mask_params *params = set->values;
    const struct mask_file *file = ((const struct mask_source *)source)->file;
    if (*params->segment)
        params->segment = file->chosen;
    if (*params->roi)
        params->roi = file->chosen;
    if (!ts_param_given(set, "threshold"))
        ts_param_idle(set, "threshold");
}

const struct source_format mask_format = {
    .name = "mask",
    .summary = "a mask or labels on the grid of another input: DICOM SEG or RTSTRUCT, NIfTI, NRRD, "
               "MetaImage or HDF5",
    .params = mask_params,
    .n_params = sizeof mask_params / sizeof mask_params[0],
    .params_bytes = sizeof(struct mask_params),
    .open_on = open_on,
    .resolve = mask_resolve,
};
