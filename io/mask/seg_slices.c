/* SPDX-License-Identifier: Apache-2.0
 *
 * This places the frames of a segmentation on the grid of its image, and reads them slice by slice.
 * The frames of the wanted segments are planes of one lattice with the steps (column, row, plane),
 * of which most planes may be absent: a plane without a frame holds nothing. A voxel of the image
 * has the label of the lattice's pixel at its center.
 *
 * The distance of planes is looked for among the image's own slices (where planes need not be
 * resampled), Spacing Between Slices, the smallest distance of two frames, and Slice Thickness: the
 * first that all frames fit.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/vector3.h"
#include "io/dicom_frames/dicom_cells.h"
#include "io/dicom_frames/dicom_source.h"
#include "io/mask/seg.h"

/* ---- compressed frames ----------------------------------------------------------------------- */

/* They become the slices of a source of their own, whose sandboxed workers decode them ahead of
 * their use. Frames are mostly asked for in their order, so that the next ones are announced. */

enum { THREADS = 4, AHEAD = 8 };

struct seg_decoder {
    struct dicom_source source;
    struct dicom_image *images;
};

/* Packs n pixels of a byte each to bits in place: each byte of bits is before the bytes that it is
 * made of. */
static void pack(unsigned char *pixels, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const bool set = pixels[i] != 0;
        if (i % 8 == 0)
            pixels[i / 8] = 0;
        pixels[i / 8] |= (unsigned char)(set << i % 8);
    }
}

/* Makes a decoder of all frames in the pixel data of the file, which outlives it. TS_RUN_FAILED if
 * memory is out. */
static enum ts_status seg_decoder_create(struct region_file *file, const struct seg *seg,
                                         struct seg_decoder **out, struct ts_diag *diag)
{
    const size_t n = (size_t)seg->claimed_frames;
    struct seg_decoder *decoder = *out = calloc(1, sizeof *decoder);
    if (!decoder)
        return ts_diag_no_memory(diag, sizeof *decoder);
    struct dicom_source *source = &decoder->source;
    source->labels = true;
    source->bits = seg->bits == 1;
    decoder->images = calloc(n, sizeof *decoder->images);
    source->frames = calloc(n, sizeof *source->frames);
    source->base = (struct source){
        .image = {.rank = 3,
                  .axes = {{.kind = TS_AXIS_Z, .n = (int64_t)n},
                           {.kind = TS_AXIS_Y, .n = seg->rows},
                           {.kind = TS_AXIS_X, .n = seg->columns}},
                  .dtype = seg->bits == 16 ? TS_U16 : TS_U8},
        .n_slices = (int64_t)n,
        .n_volumes = 1,
        .slices = calloc(n, sizeof *source->base.slices),
        .no_digests = true,
    };
    source->cell_bytes = (size_t)ts_dicom_frame_bytes(&file->file);
    if (!decoder->images || !source->frames || !source->base.slices)
        return ts_diag_no_memory(diag, n * sizeof *decoder->images);
    for (size_t i = 0; i < n; i++) {
        decoder->images[i] = (struct dicom_image){.file = &file->file,
                                                  .frame = (int64_t)i,
                                                  .rows = (int)seg->rows,
                                                  .columns = (int)seg->columns};
        source->frames[i] = (struct dicom_frame){
            .image = &decoder->images[i], .cells = ts_dicom_cells(&file->file), .slope = 1};
    }
    return TS_OK;
}

/* Reads frame `number`: of 1 bit a pixel packed to bits, else cells in the order of this machine.
 * `pixels` has the bytes of seg_frame_bytes. TS_BAD_INPUT if the frame is damaged, TS_RUN_FAILED if
 * no worker can be started. */
static enum ts_status seg_decoder_read(struct seg_decoder *decoder, int64_t number,
                                       unsigned char *pixels, struct ts_diag *diag)
{
    struct source *source = &decoder->source.base;
    enum ts_status status = ts_dicom_ring_start(source, THREADS, AHEAD, diag);
    if (status == TS_OK)
        status = ts_dicom_ring_read(source, number, 1, pixels, diag);
    if (status == TS_OK && number + 1 < source->n_slices)
        ts_dicom_ring_prefetch(source, number + 1, 1);
    if (status == TS_OK && decoder->source.bits)
        pack(pixels, ts_slice_count(&source->image));
    return status;
}

/* Returns the bytes that it holds and its workers need. */
static size_t seg_decoder_bytes(const struct seg_decoder *decoder)
{
    const size_t frames = (size_t)decoder->source.base.n_slices;
    return ts_dicom_ring_bytes(&decoder->source, THREADS, AHEAD) +
           frames * (sizeof *decoder->images + sizeof *decoder->source.frames +
                     sizeof *decoder->source.base.slices);
}

/* Ends the workers. NULL does nothing. */
static void seg_decoder_destroy(struct seg_decoder *decoder)
{
    if (!decoder)
        return;
    ts_dicom_ring_end(&decoder->source);
    free(decoder->images);
    free(decoder->source.frames);
    free(decoder->source.base.slices);
    free(decoder);
}

/* ---- frames that are not compressed ---------------------------------------------------------- */

/* Frames of 1 bit follow each other without a gap, so that one begins within a byte. Some writers
 * fill up the last byte of each; the number of bytes then tells of it, unless there are only a few
 * frames. */

/* Returns the bytes that a frame needs at `pixels`, here and where it is decoded. */
static size_t seg_frame_bytes(const struct seg *seg)
{
    const size_t n = (size_t)(seg->rows * seg->columns);
    /* A decoder gives each bit a byte, which are packed where they are. What is read may begin and
     * end in a word. */
    return (seg->in_fragments && seg->bits == 1 ? n : (n * (size_t)seg->bits + 7) / 8) + 4;
}

/* Reads frame `number` of pixel data that is not compressed: of 1 bit a pixel from bit *shift of
 * `pixels` on, else from their beginning. Returns false if it cannot be read to its end. */
static bool seg_read_frame(struct region_file *file, const struct seg *seg, int64_t number,
                           unsigned char *pixels, int *shift)
{
    const int64_t bits = seg->rows * seg->columns * seg->bits;
    const int64_t first = number * (seg->padded ? (bits + 7) / 8 * 8 : bits);
    *shift = (int)(first % 8);
    const size_t before = seg->words ? (size_t)(first / 8 % 2) : 0,
                 n = (size_t)((*shift + bits + 7) / 8);
    const size_t all = seg->words ? (before + n + 1) / 2 * 2 : n;
    if (!ts_dicom_read(&file->scan.reader, seg->pixel_offset + first / 8 - (int64_t)before, pixels,
                       all))
        return false;
    if (seg->words)
        ts_dicom_turn_words(pixels, before, n);
    return true;
}

/* ---- the file -------------------------------------------------------------------------------- */

enum { X, Y, Z, MOST_SLOTS = 1 << 20 };

/* Frames are on their lattice, and the lattice on the image's, within this share of a voxel. */
static const double TOLERANCE = 0.1;

struct seg_file {
    struct mask_file base;
    struct region_file *file;
    struct seg seg;       /* its frames are those that are wanted, in the order of their planes */
    struct ts_affine map; /* indices (x, y, z) of the image to (column, row, plane) */
    const struct ts_image *grid;
    bool aligned;     /* the map only exchanges, reverses and shifts axes, so that it makes whole
                         numbers */
    bool planar;      /* and it makes each slice of the image a whole plane */
    bool located;     /* `places` are known: if planar, those of every slice */
    int64_t chosen;   /* number of the segment; -1: all */
    double threshold; /* least stored value of a FRACTIONAL pixel that belongs to its segment */
    bool listed[1 << 16];        /* by the stored value: a label of a segment, or the background */
    unsigned char *pixels;       /* of one frame */
    struct seg_decoder *decoder; /* of compressed frames; else NULL */
    /* of each pixel of a slice: the plane and the pixel there that it is in; slot -1: none */
    int32_t *slots, *places;
};

/* ---- the lattice ----------------------------------------------------------------------------- */

/* Numbers the frames by planes that are `step` apart. Returns false if one is between planes. */
static bool number_planes(struct seg *seg, const double step[3])
{
    const struct seg_frame *first = seg->frames;
    const double square = ts_dot(step, step);
    const double smallest = fmin(sqrt(square), fmin(first->spacing_mm[0], first->spacing_mm[1]));
    for (size_t i = 0; i < seg->n_frames; i++) {
        double from[3];
        for (int d = 0; d < 3; d++)
            from[d] = seg->frames[i].position_mm[d] - first->position_mm[d];
        const double slot = rint(ts_dot(from, step) / square);
        for (int d = 0; d < 3; d++)
            from[d] -= slot * step[d];
        if (!(slot >= 0 && slot < MOST_SLOTS && ts_length(from) <= TOLERANCE * smallest))
            return false;
        seg->frames[i].slot = (int64_t)slot;
    }
    return true;
}

static int by_plane(const void *a, const void *b)
{
    const struct seg_frame *one = a, *other = b;
    if (one->slot != other->slot)
        return one->slot < other->slot ? -1 : 1;
    return one->number < other->number ? -1 : 1;
}

/* Tries planes `distance` apart: along the normal, or the slices of the image, whose step may
 * lean. */
static bool try_distance(struct seg *seg, const double along[3], double distance, double step[3])
{
    if (!(distance > 1e-6))
        return false;
    for (int d = 0; d < 3; d++)
        step[d] = along[d] * distance;
    return number_planes(seg, step);
}

/* Finds the step from plane to plane. */
static bool find_step(struct seg *seg, const struct mask_request *request, double step[3])
{
    const struct seg_frame *first = seg->frames;
    double normal[3], slices[3], nearest = INFINITY, last = 0;
    ts_cross(first->orientation, first->orientation + 3, normal);
    for (int d = 0; d < 3; d++)
        slices[d] = request->to_mm.m[d][Z];
    const double along = ts_dot(slices, normal);
    for (int d = 0; d < 3; d++)
        slices[d] = along < 0 ? -slices[d] : slices[d];
    for (size_t i = 1; i < seg->n_frames; i++) {
        double from[3];
        for (int d = 0; d < 3; d++)
            from[d] = seg->frames[i].position_mm[d] - first->position_mm[d];
        const double t = ts_dot(from, normal);
        nearest = t - last > 1e-3 && t - last < nearest ? t - last : nearest;
        last = t;
    }
    return (!request->nearest && fabs(along) > 1e-6 && try_distance(seg, slices, 1, step)) ||
           try_distance(seg, normal, first->between_mm, step) ||
           (isfinite(nearest) && try_distance(seg, normal, nearest, step)) ||
           try_distance(seg, normal, first->thickness_mm, step) ||
           (seg->n_frames == 1 && try_distance(seg, normal, ts_length(slices), step)) ||
           (fabs(along) > 1e-6 && try_distance(seg, slices, 1, step));
}

/* Sorts the frames along the normal of the first one, by a number that `slot` holds meanwhile. */
static void sort_along(struct seg *seg)
{
    double normal[3];
    ts_cross(seg->frames[0].orientation, seg->frames[0].orientation + 3, normal);
    for (size_t i = 0; i < seg->n_frames; i++)
        seg->frames[i].slot = (int64_t)(ts_dot(seg->frames[i].position_mm, normal) * 1e6);
    qsort(seg->frames, seg->n_frames, sizeof *seg->frames, by_plane);
}

static bool same_planes(const struct seg_frame *a, const struct seg_frame *b)
{
    bool same = true;
    for (int i = 0; i < 6; i++)
        same &= fabs(a->orientation[i] - b->orientation[i]) <= 1e-4 &&
                fabs(a->spacing_mm[i / 3] - b->spacing_mm[i / 3]) <= 1e-4 * a->spacing_mm[i / 3];
    return same;
}

/* Makes the map of the image's indices to those of the lattice. */
static enum ts_status make_map(struct seg_file *seg, const struct mask_request *request)
{
    struct ts_affine lattice, inverse;
    const struct seg_frame *first = seg->seg.frames;
    const bool labels = seg->seg.coding == SEG_LABELS;
    double step[3];
    sort_along(&seg->seg);
    for (size_t i = 1; i < seg->seg.n_frames; i++)
        if (!same_planes(first, &first[i]))
            return ts_mask_refuse(&seg->base, "seg-planes", request->diag,
                                  "has frames of several orientations or pixel sizes");
    if (!find_step(&seg->seg, request, step))
        return ts_mask_refuse(&seg->base, "seg-planes", request->diag,
                              "has frames that do not lie on evenly spaced planes");
    qsort(seg->seg.frames, seg->seg.n_frames, sizeof *seg->seg.frames, by_plane);
    for (size_t i = 1; i < seg->seg.n_frames; i++)
        if (first[i].slot == first[i - 1].slot &&
            (labels || first[i].segment == first[i - 1].segment))
            return ts_mask_refuse(&seg->base, "seg-frames", request->diag,
                                  "has frames %" PRId64 " and %" PRId64 " in one plane, of %s",
                                  first[i - 1].number + 1, first[i].number + 1,
                                  labels ? "which each pixel has one number" : "one segment");
    for (int d = 0; d < 3; d++) {
        lattice.m[d][0] = first->orientation[d] * first->spacing_mm[1];
        lattice.m[d][1] = first->orientation[3 + d] * first->spacing_mm[0];
        lattice.m[d][2] = step[d];
        lattice.m[d][3] = first->position_mm[d];
    }
    if (!ts_affine_invert(&lattice, &inverse))
        return ts_mask_refuse(&seg->base, "seg-planes", request->diag, "has planes without a size");
    seg->map = ts_affine_after(&inverse, &request->to_mm);
    return TS_OK;
}

/* ---- against the image ----------------------------------------------------------------------- */

static enum ts_status other_grid(const struct seg_file *seg, const struct mask_request *request)
{
    const struct seg_frame *first = seg->seg.frames;
    char is[256];
    snprintf(is, sizeof is,
             "frames of %" PRId64 " x %" PRId64 " pixels of %.6g x %.6g mm, the first at (%.6g, "
             "%.6g, %.6g) mm, rows along (%.4g, %.4g, %.4g)",
             seg->seg.columns, seg->seg.rows, first->spacing_mm[1], first->spacing_mm[0],
             first->position_mm[0], first->position_mm[1], first->position_mm[2],
             first->orientation[0], first->orientation[1], first->orientation[2]);
    return ts_mask_other_grid(&seg->base, request, is);
}

/* Frames must cover the image's slices exactly and lie on them, or if they are resampled reach into
 * the image. */
static enum ts_status check_place(struct seg_file *seg, const struct mask_request *request)
{
    const struct seg_frame *frames = seg->seg.frames;
    const size_t n = seg->seg.n_frames;
    double low[3], high[3];
    seg->aligned = ts_mask_align(&seg->map, request->grid, TOLERANCE);
    ts_mask_box(&seg->map, request->grid, (double)request->z_first, (double)(request->z_end - 1),
                low, high);
    const bool covers = low[X] == 0 && high[X] == (double)(seg->seg.columns - 1) && low[Y] == 0 &&
                        high[Y] == (double)(seg->seg.rows - 1);
    if (!request->nearest && !(seg->aligned && covers))
        return other_grid(seg, request);
    seg->planar = seg->aligned && covers && seg->map.m[Z][X] == 0 && seg->map.m[Z][Y] == 0;
    size_t outside = 0;
    for (size_t i = 0; i < n; i++)
        outside += (double)frames[i].slot < low[2] - 0.5 || (double)frames[i].slot > high[2] + 0.5;
    if (outside > 0 && (!request->nearest || outside == n))
        return ts_mask_refuse(&seg->base, "mask-outside", request->diag,
                              "has %zu of %zu frames on no slice of the image", outside, n);
    return TS_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Notes which pixel of the lattice each pixel of slice z is in: the nearest. If the lattice is the
 * image's, but for the order of axes, numbers are whole, and if slices are planes the places are
 * those of any slice. */
static void locate(struct seg_file *seg, int64_t z)
{
    const double(*m)[4] = seg->map.m;
    const int64_t nx = seg->grid->axes[2].n, ny = seg->grid->axes[1].n;
    const double columns = (double)seg->seg.columns, rows = (double)seg->seg.rows;
    if (seg->planar && seg->located)
        return;
    seg->located = true;
    for (int64_t y = 0; y < ny; y++)
        for (int64_t x = 0; x < nx; x++) {
            double at[3];
            for (int i = 0; i < 3; i++) {
                at[i] = m[i][X] * (double)x + m[i][Y] * (double)y + m[i][Z] * (double)z + m[i][3];
                at[i] = seg->aligned ? at[i] : mask_nearest(at[i]);
            }
            const bool in_plane = at[X] >= 0 && at[X] < columns && at[Y] >= 0 && at[Y] < rows;
            const bool inside = in_plane && at[Z] >= 0 && at[Z] < MOST_SLOTS;
            seg->slots[y * nx + x] = inside ? (int32_t)at[Z] : -1;
            seg->places[y * nx + x] = in_plane ? (int32_t)(at[Y] * columns + at[X]) : 0;
        }
}

/* What a pixel has, in place of a label, if its value is that of no segment, or more than a whole.
 */
enum { UNKNOWN_LABEL = -1 };

/* Returns the stored value of a pixel of the frame in seg->pixels, whose first bit is bit
 * `shift`. */
static int32_t stored_at(const struct seg_file *seg, int shift, int32_t place)
{
    const int64_t bit = shift + (int64_t)place;
    if (seg->seg.bits == 1)
        return seg->pixels[bit / 8] >> bit % 8 & 1;
    return seg->seg.bits == 8
               ? seg->pixels[place]
               : ts_dicom_u16(seg->pixels + 2 * (size_t)place, seg->file->walk.big_endian);
}

/* Returns the label of a pixel that has this value. 0: none. */
static int32_t label_of(const struct seg_file *seg, const struct seg_frame *frame, int32_t value)
{
    const int32_t own = seg->chosen < 0 ? (int32_t)frame->segment : 1;
    if (seg->seg.coding == SEG_BINARY)
        return value ? own : 0;
    if (seg->seg.coding == SEG_FRACTIONAL && value > seg->seg.maximum)
        return UNKNOWN_LABEL;
    if (seg->seg.coding == SEG_FRACTIONAL)
        return value >= seg->threshold ? own : 0;
    if (seg->chosen >= 0)
        return value == seg->chosen;
    if (value == seg->seg.padding)
        return 0;
    return seg->listed[value] ? value : UNKNOWN_LABEL;
}

/* Returns true if bytes are all 0, as most frames of many segments are. */
static bool is_empty(const unsigned char *bytes, size_t n)
{
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

/* Reads the pixels of a frame, which begin at bit `shift` of seg->pixels. */
static enum ts_status load_frame(struct seg_file *seg, int64_t number, int *shift,
                                 struct ts_diag *diag)
{
    *shift = 0;
    if (seg->decoder)
        return seg_decoder_read(seg->decoder, number, seg->pixels, diag);
    return seg_read_frame(seg->file, &seg->seg, number, seg->pixels, shift)
               ? TS_OK
               : ts_mask_refuse(&seg->base, "input-unreadable", diag,
                                "could not be read to its end in frame %" PRId64, number + 1);
}

static enum ts_status refuse_value(const struct seg_file *seg, const struct seg_frame *frame,
                                   int32_t value, struct ts_diag *diag)
{
    if (seg->seg.coding == SEG_FRACTIONAL) {
        ts_mask_refuse(&seg->base, "seg-values", diag,
                       "has the value %d in frame %" PRId64
                       ", and Maximum Fractional Value, which is a whole pixel, is %" PRId64,
                       value, frame->number + 1, seg->seg.maximum);
        return ts_diag_hint(diag, "export it again, with the maximum that its values have");
    }
    ts_mask_refuse(&seg->base, "seg-values", diag,
                   "has the number %d in frame %" PRId64
                   ", which is neither that of a segment nor the Pixel Padding Value",
                   value, frame->number + 1);
    return ts_diag_hint(diag, "`segment:` with a number takes one of the segments that it lists; "
                              "`tomostage info` with the file lists them");
}

static enum ts_status read_frame(struct seg_file *seg, const struct seg_frame *frame, int64_t z,
                                 int32_t *labels, struct ts_diag *diag)
{
    const int64_t bits = seg->seg.rows * seg->seg.columns * seg->seg.bits;
    int shift;
    enum ts_status status = load_frame(seg, frame->number, &shift, diag);
    const size_t n = ts_slice_count(seg->grid), bytes = (size_t)((shift + bits + 7) / 8);
    if (status != TS_OK)
        return status;
    if (seg->chosen != 0 && is_empty(seg->pixels, bytes))
        return TS_OK;
    for (size_t i = 0; i < n; i++) {
        if (!seg->planar && seg->slots[i] != (int32_t)frame->slot)
            continue;
        const int32_t value = stored_at(seg, shift, seg->places[i]);
        const int32_t label = label_of(seg, frame, value);
        if (label == 0)
            continue;
        if (label == UNKNOWN_LABEL)
            return refuse_value(seg, frame, value, diag);
        if (labels[i] != 0 && labels[i] != label)
            return ts_mask_overlap(&seg->base, z, labels[i], label, "segment:", diag);
        labels[i] = label;
    }
    return TS_OK;
}

static enum ts_status read_slice(struct mask_file *base, int64_t z, int32_t *labels,
                                 struct ts_diag *diag)
{
    struct seg_file *seg = (struct seg_file *)base;
    double low[3], high[3];
    ts_mask_box(&seg->map, seg->grid, (double)z, (double)z, low, high);
    const double slack = seg->planar ? 0 : 1;
    bool located = false;
    enum ts_status status = TS_OK;
    for (size_t i = 0; i < seg->seg.n_frames && status == TS_OK; i++) {
        const struct seg_frame *frame = &seg->seg.frames[i];
        if ((double)frame->slot < low[Z] - slack || (double)frame->slot > high[Z] + slack)
            continue;
        if (!located)
            locate(seg, z);
        located = true;
        status = read_frame(seg, frame, z, labels, diag);
    }
    return status;
}

static size_t memory_bytes(const struct mask_file *base)
{
    const struct seg_file *seg = (const struct seg_file *)base;
    return sizeof *seg + seg_frame_bytes(&seg->seg) +
           2 * sizeof(int32_t) * ts_slice_count(seg->grid) +
           (seg->decoder ? seg_decoder_bytes(seg->decoder) : 0);
}

static enum ts_status check_unchanged(const struct mask_file *base, struct ts_diag *diag)
{
    return ts_mask_check_found(base, &((const struct seg_file *)base)->file->found, diag);
}

static bool seg_slices_holds(const struct mask_file *base, const struct file_set *files)
{
    const struct stat *found = &((const struct seg_file *)base)->file->found;
    return ts_file_set_has(files, found->st_dev, found->st_ino);
}

static void close_file(struct mask_file *base)
{
    struct seg_file *seg = (struct seg_file *)base;
    seg_decoder_destroy(seg->decoder);
    ts_seg_clear(&seg->seg);
    ts_region_close(seg->file);
    free(seg->file);
    free(seg->pixels);
    free(seg->slots);
    free(seg->places);
    free(seg);
}

static const struct mask_kind seg_kind = {.what = "DICOM segmentation",
                                          .read = read_slice,
                                          .memory_bytes = memory_bytes,
                                          .check_unchanged = check_unchanged,
                                          .holds = seg_slices_holds,
                                          .close = close_file};

/* ---- opening --------------------------------------------------------------------------------- */

/* Keeps the frames of the segment that the chain names, or of all. */
static enum ts_status seg_slices_choose(struct seg_file *seg, const struct mask_request *request)
{
    struct seg *all = &seg->seg;
    const char *name = request->params->segment;
    size_t kept = 0;
    bool has_zero = false;
    seg->chosen = -1;
    seg->base.n_regions = (int64_t)all->n_segments;
    seg->listed[0] = true;
    for (size_t i = 0; i < all->n_segments; i++) {
        seg->listed[all->segments[i].number] = true;
        if (all->segments[i].number > seg->base.highest)
            seg->base.highest = all->segments[i].number;
        has_zero = has_zero || all->segments[i].number == 0;
    }
    if (!*name && has_zero) {
        ts_mask_refuse(&seg->base, "seg-segments", request->diag,
                       "has a segment 0 besides the Pixel Padding Value %" PRId64
                       ", and a label of 0 is what is in no segment",
                       all->padding);
        return ts_diag_hint(request->diag, "`segment: 0` takes that one, or another number");
    }
    if (!*name)
        return TS_OK;
    const int64_t found = ts_region_find(all->segments, all->n_segments, name);
    if (found < 0) {
        ts_param_error(request->set, "segment", "mask-region", request->diag,
                       found == -1 ? "names none of the %zu segments"
                                   : "is the label of several of the %zu segments",
                       all->n_segments);
        return ts_diag_hint(
            request->diag, "`tomostage info --names` with the file lists their numbers and labels");
    }
    seg->chosen = all->segments[found].number;
    seg->base.highest = 1;
    seg->base.chosen = ts_arena_printf(request->arena, "%" PRId64, seg->chosen);
    for (size_t i = 0; i < all->n_frames; i++)
        if (all->coding == SEG_LABELS || all->frames[i].segment == seg->chosen)
            all->frames[kept++] = all->frames[i];
    all->n_frames = kept;
    return kept > 0 ? TS_OK
                    : ts_mask_refuse(&seg->base, "mask-empty", request->diag,
                                     "has no frame of segment %" PRId64, seg->chosen);
}

static enum ts_status take_threshold(struct seg_file *seg, const struct mask_request *request)
{
    const bool given = ts_param_given(request->set, "threshold");
    if (seg->seg.coding != SEG_FRACTIONAL)
        return given ? ts_param_error(request->set, "threshold", "parameter-unused", request->diag,
                                      "it belongs to FRACTIONAL segmentations")
                     : TS_OK;
    if (!given) {
        ts_mask_refuse(&seg->base, "seg-fractional", request->diag,
                       "is FRACTIONAL: its pixels belong to a segment in part");
        return ts_diag_hint(request->diag,
                            "`threshold: 0.5` takes those of which at least half belongs to it");
    }
    if (seg->seg.maximum < 1 || seg->seg.maximum > 255)
        return ts_mask_refuse(&seg->base, "seg-type", request->diag,
                              "has no Maximum Fractional Value up to 255");
    seg->threshold = request->params->threshold * (double)seg->seg.maximum;
    return TS_OK;
}

static enum ts_status seg_slices_allocate(struct seg_file *seg, struct ts_diag *diag)
{
    const size_t n = ts_slice_count(seg->grid);
    seg->pixels = malloc(seg_frame_bytes(&seg->seg));
    seg->slots = malloc(n * sizeof *seg->slots);
    seg->places = malloc(n * sizeof *seg->places);
    return seg->pixels && seg->slots && seg->places
               ? TS_OK
               : ts_diag_no_memory(diag, 2 * n * sizeof *seg->slots);
}

enum ts_status ts_seg_open_take(struct region_file *file, const struct mask_request *request,
                                struct mask_file **out)
{
    struct seg_file *seg = calloc(1, sizeof *seg);
    *out = NULL;
    if (!seg) {
        ts_region_close(file);
        free(file);
        return ts_diag_no_memory(request->diag, sizeof *seg);
    }
    seg->file = file;
    seg->grid = request->grid;
    seg->base = ts_mask_file(&seg_kind, request);
    enum ts_status status = ts_seg_parse(file, &seg->seg)
                                ? seg_slices_choose(seg, request)
                                : ts_mask_refuse(&seg->base, file->file.refusal_code, request->diag,
                                                 "%s", file->file.refusal);
    if (status == TS_OK)
        status = ts_mask_check_frame(&seg->base, request, seg->seg.frame_of_reference);
    if (status == TS_OK)
        status = take_threshold(seg, request);
    if (status == TS_OK)
        status = make_map(seg, request);
    if (status == TS_OK)
        status = check_place(seg, request);
    if (status == TS_OK)
        status = seg_slices_allocate(seg, request->diag);
    if (status == TS_OK && seg->seg.in_fragments)
        status = seg_decoder_create(file, &seg->seg, &seg->decoder, request->diag);
    if (status == TS_OK && seg->seg.padded)
        ts_diag_warning(request->diag,
                        &(struct diag_site){.code = "seg-padded", .stage = seg->base.site},
                        "each frame begins with a byte of its own, where DICOM has bits without a "
                        "gap: the number of bytes, %" PRId64 ", tells of it",
                        seg->seg.pixel_bytes);
    if (status == TS_OK && seg->seg.unsure)
        ts_diag_warning(
            request->diag, &(struct diag_site){.code = "seg-padded", .stage = seg->base.site},
            "each frame may begin with a byte of its own, or with the next bit, as DICOM has it: "
            "the number of bytes, %" PRId64 ", fits both, and the second is taken",
            seg->seg.pixel_bytes);
    if (status == TS_OK)
        *out = &seg->base;
    else
        close_file(&seg->base);
    return status;
}
