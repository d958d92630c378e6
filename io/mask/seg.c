/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the header of a segmentation. Memory grows with the items that are found, never by a number
 * that the header claims, and the frames are compared with the pixel data before anything is
 * allocated by their size.
 */
#include "io/mask/seg.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/memory.h"
#include "core/vector3.h"
#include "io/dicom_header/dicom_fragments.h"
#include "io/dicom_header/dicom_pixels.h"

#define SEGMENTS DICOM_TAG(0x0062, 0x0002)
#define SHARED_GROUPS DICOM_TAG(0x5200, 0x9229)
#define FRAME_GROUPS DICOM_TAG(0x5200, 0x9230)
#define PLANE_POSITION DICOM_TAG(0x0020, 0x9113)
#define PLANE_ORIENTATION DICOM_TAG(0x0020, 0x9116)
#define PIXEL_MEASURES DICOM_TAG(0x0028, 0x9110)
#define SEGMENT_IDENTIFICATION DICOM_TAG(0x0062, 0x000A)

enum { MOST_FRAMES = 100000, MOST_FRAME_BYTES = 64 << 20 };

static bool is_open(uint32_t tag)
{
    return tag == SEGMENTS || tag == SHARED_GROUPS || tag == FRAME_GROUPS;
}

static bool no_memory(struct region_file *file)
{
    ts_dicom_refuse(&file->scan, "no-memory", "memory is out");
    return false;
}

static bool add_segment(struct region_file *file, struct seg *seg)
{
    if (seg->n_segments >= REGION_MOST) {
        ts_dicom_refuse(&file->scan, "seg-segments", "has more than %d segments", (int)REGION_MOST);
        return false;
    }
    struct region *grown =
        ts_memory_grow(seg->segments, seg->n_segments, &seg->segments_capacity, sizeof *grown);
    if (!grown)
        return no_memory(file);
    seg->segments = grown;
    grown[seg->n_segments++] = (struct region){.number = -1};
    return true;
}

static bool add_frame(struct region_file *file, struct seg *seg)
{
    if ((int64_t)seg->n_frames >= seg->claimed_frames) {
        ts_dicom_refuse(
            &file->scan, "seg-frames",
            "has functional groups of more frames than Number of Frames says, which is %" PRId64,
            seg->claimed_frames);
        return false;
    }
    if (seg->n_frames >= MOST_FRAMES) {
        ts_dicom_refuse(&file->scan, "seg-frames", "has more than %d frames", (int)MOST_FRAMES);
        return false;
    }
    struct seg_frame *grown =
        ts_memory_grow(seg->frames, seg->n_frames, &seg->frames_capacity, sizeof *grown);
    if (!grown)
        return no_memory(file);
    seg->frames = grown;
    grown[seg->n_frames] = seg->shared;
    grown[seg->n_frames].number = (int64_t)seg->n_frames;
    seg->n_frames++;
    return true;
}

static void take_segment(struct region_file *file, const struct dicom_element *element,
                         struct seg *seg)
{
    struct region *segment = &seg->segments[seg->n_segments - 1];
    if (element->parent != SEGMENTS)
        return;
    if (element->tag == DICOM_TAG(0x0062, 0x0004))
        segment->number = ts_region_short(file, element);
    else if (element->tag == DICOM_TAG(0x0062, 0x0005))
        ts_region_text(file, element, segment->name, sizeof segment->name);
}

/* A value that cannot be read stays NaN, and is refused as missing. */
static void take_group(struct region_file *file, const struct dicom_element *element,
                       struct seg_frame *frame)
{
    if (element->parent == PLANE_POSITION && element->tag == DICOM_TAG(0x0020, 0x0032))
        (void)ts_region_decimals(file, element, frame->position_mm, 3);
    else if (element->parent == PLANE_ORIENTATION && element->tag == DICOM_TAG(0x0020, 0x0037))
        (void)ts_region_decimals(file, element, frame->orientation, 6);
    else if (element->parent == PIXEL_MEASURES && element->tag == DICOM_TAG(0x0028, 0x0030))
        (void)ts_region_decimals(file, element, frame->spacing_mm, 2);
    else if (element->parent == PIXEL_MEASURES && element->tag == DICOM_TAG(0x0018, 0x0088))
        (void)ts_region_decimals(file, element, &frame->between_mm, 1);
    else if (element->parent == PIXEL_MEASURES && element->tag == DICOM_TAG(0x0018, 0x0050))
        (void)ts_region_decimals(file, element, &frame->thickness_mm, 1);
    else if (element->parent == SEGMENT_IDENTIFICATION && element->tag == DICOM_TAG(0x0062, 0x000B))
        frame->segment = ts_region_short(file, element);
}

static void take_top(struct region_file *file, const struct dicom_element *element, struct seg *seg)
{
    static const struct {
        uint32_t tag;
        size_t at; /* in struct seg */
    } shorts[] = {{DICOM_TAG(0x0028, 0x0002), offsetof(struct seg, samples)},
                  {DICOM_TAG(0x0028, 0x0010), offsetof(struct seg, rows)},
                  {DICOM_TAG(0x0028, 0x0011), offsetof(struct seg, columns)},
                  {DICOM_TAG(0x0028, 0x0100), offsetof(struct seg, bits)},
                  {DICOM_TAG(0x0028, 0x0120), offsetof(struct seg, padding)},
                  {DICOM_TAG(0x0062, 0x000E), offsetof(struct seg, maximum)}};
    char type[16];
    for (size_t i = 0; i < sizeof shorts / sizeof *shorts; i++)
        if (element->tag == shorts[i].tag)
            *(int64_t *)((char *)seg + shorts[i].at) = ts_region_short(file, element);
    switch (element->tag) {
    case DICOM_TAG(0x0028, 0x0008):
        seg->claimed_frames = ts_region_integer(file, element);
        break;
    case DICOM_TAG(0x0020, 0x0052):
        ts_region_text(file, element, seg->frame_of_reference, sizeof seg->frame_of_reference);
        break;
    case DICOM_FRAME_OFFSETS:
        file->scan.offsets_offset = element->offset;
        file->scan.offsets_bytes = element->length;
        break;
    case DICOM_TAG(0x0062, 0x0001):
        ts_region_text(file, element, type, sizeof type);
        if (text_equals(type, "BINARY"))
            seg->coding = SEG_BINARY;
        else if (text_equals(type, "FRACTIONAL"))
            seg->coding = SEG_FRACTIONAL;
        else if (text_equals(type, "LABELMAP"))
            seg->coding = SEG_LABELS;
        else
            seg->coding = SEG_UNKNOWN;
        break;
    case DICOM_PIXEL_DATA:
        seg->met_pixels = true;
        seg->in_fragments = element->length == DICOM_UNDEFINED;
        seg->words = file->walk.big_endian && text_equals(element->vr, "OW") && seg->bits < 16;
        seg->pixel_offset = element->offset;
        seg->pixel_bytes = element->truncated ? file->scan.reader.file_bytes - element->offset
                                              : (int64_t)element->length;
        break;
    default:
        break;
    }
}

static bool seg_take(struct region_file *file, const struct dicom_element *element, void *user)
{
    struct seg *seg = user;
    const bool item = element->tag == DICOM_ITEM && element->parent == element->root;
    if (element->root == 0) {
        take_top(file, element, seg);
    } else if (element->root == SEGMENTS) {
        if (item)
            return add_segment(file, seg);
        take_segment(file, element, seg);
    } else if (element->root == SHARED_GROUPS) {
        take_group(file, element, &seg->shared);
    } else {
        if (item)
            return add_frame(file, seg);
        take_group(file, element, &seg->frames[seg->n_frames - 1]);
    }
    return !seg->met_pixels; /* what comes after the pixels does not concern them */
}

/* Returns true if a frame has a header of its own that states rows and columns; that of RLE does
   not. */
static bool has_codestream(const struct region_file *file)
{
    return file->file.syntax == DICOM_JPEG_2000 || dicom_needs_dcmtk(file->file.syntax);
}

/* Returns true if any of these bits of byte `at` of the pixels is set. */
static bool has_bits(struct region_file *file, const struct seg *seg, int64_t at, int mask)
{
    unsigned char byte = 0;
    return ts_dicom_read(&file->scan.reader, seg->pixel_offset + (seg->words ? at ^ 1 : at), &byte,
                         1) &&
           (byte & mask & 0xFF) != 0;
}

/* Decides whether each frame begins with a byte, if it has an odd number of bits and there are so
 * few frames that the number of bytes is the same either way. The bits that fill a byte have to be
 * 0. */
static void judge_padding(struct region_file *file, struct seg *seg, int64_t frame, int64_t n)
{
    const int64_t block = (frame + 7) / 8, last = frame * n / 8;
    bool may_pad = true, may_pack = true;
    for (int64_t i = 1; i <= n; i++)
        may_pad = may_pad && !has_bits(file, seg, i * block - 1, 0xFF << frame % 8);
    for (int64_t at = last; at < n * block; at++)
        may_pack = may_pack && !has_bits(file, seg, at, at == last ? 0xFF << frame * n % 8 : 0xFF);
    seg->padded = may_pad && !may_pack;
    seg->unsure = may_pad && may_pack;
}

/* Checks the kind of the values, and their number against the bytes that there are. */
static void check_pixels(struct region_file *file, struct seg *seg)
{
    struct scan *scan = &file->scan;
    const struct dicom_syntax_name *name = ts_dicom_syntax(file->file.syntax_uid);
    const bool bytes = has_codestream(file) && seg->bits == 8; /* a codec of bytes, for bits too */
    const int64_t bits =
        seg->in_fragments && seg->bits < 8 ? 8 : seg->bits; /* of a pixel once it is decoded */
    bool fits = seg->bits == 8 || seg->bits == 16;
    if (seg->coding == SEG_BINARY)
        fits = seg->bits == 1 || bytes;
    else if (seg->coding == SEG_FRACTIONAL)
        fits = seg->bits == 8;
    if (seg->coding == SEG_UNKNOWN || !fits || seg->samples != 1)
        ts_dicom_refuse(
            scan, "seg-type",
            "is neither BINARY with 1 bit a pixel, FRACTIONAL with 8, nor LABELMAP with 8 or 16");
    else if (seg->rows < 1 || seg->columns < 1 ||
             seg->rows * seg->columns * bits / 8 > MOST_FRAME_BYTES)
        ts_dicom_refuse(scan, "seg-size",
                        "claims frames of %" PRId64 " rows and %" PRId64 " columns", seg->rows,
                        seg->columns);
    else if (!seg->met_pixels)
        ts_dicom_refuse(scan, "dicom-pixels-missing", "has no pixel data");
    else if (seg->in_fragments != dicom_is_compressed(file->file.syntax))
        ts_dicom_refuse(
            scan, "seg-syntax", "has pixels in a form that is not read of segmentations: %s%s",
            name ? name->name : "an unknown one", seg->in_fragments ? ", in fragments" : "");
    if (file->file.refusal || seg->in_fragments)
        return;
    const int64_t frame = seg->rows * seg->columns * seg->bits, n = (int64_t)seg->n_frames;
    const int64_t all = (frame * n + 7) / 8, padded = (frame + 7) / 8 * n;
    seg->padded =
        (seg->pixel_bytes + 1) / 2 == (padded + 1) / 2 && (padded + 1) / 2 > (all + 1) / 2;
    if (!seg->padded && seg->bits == 1 && n > 1 && frame % 8 != 0 &&
        (padded + 1) / 2 == (all + 1) / 2 && seg->pixel_bytes >= padded)
        judge_padding(file, seg, frame, n);
    const int64_t needed = seg->words ? (all + 1) / 2 * 2 : all;
    if (seg->pixel_bytes < needed)
        ts_dicom_refuse(scan, "dicom-pixels-short",
                        "has %" PRId64 " bytes of pixels, and its frames need %" PRId64,
                        seg->pixel_bytes, needed);
}

/* Takes the background of labels out of the list, for it is no region: the segment that Pixel
 * Padding Value names, or if there is no such value segment 0. */
static void drop_background(struct seg *seg)
{
    const int64_t background = seg->padding < 0 ? 0 : seg->padding;
    size_t kept = 0;
    for (size_t i = 0; i < seg->n_segments; i++)
        if (seg->coding != SEG_LABELS || seg->segments[i].number != background)
            seg->segments[kept++] = seg->segments[i];
    seg->n_segments = kept;
}

static void check_frames(struct region_file *file, struct seg *seg)
{
    struct scan *scan = &file->scan;
    const int64_t least = seg->coding == SEG_LABELS ? 0 : 1;
    drop_background(seg);
    const struct region **sorted =
        ts_region_sort(file, seg->segments, seg->n_segments, "seg-segments");
    if (seg->n_frames == 0 || (int64_t)seg->n_frames != seg->claimed_frames)
        ts_dicom_refuse(scan, "seg-frames",
                        "has functional groups of %zu frames, and claims %" PRId64, seg->n_frames,
                        seg->claimed_frames);
    for (size_t i = 0; i < seg->n_segments && !file->file.refusal; i++)
        if (seg->segments[i].number < least)
            ts_dicom_refuse(scan, "seg-segments", "has a segment without a number");
    for (size_t i = 0; i < seg->n_frames && sorted && !file->file.refusal; i++) {
        const struct seg_frame *frame = &seg->frames[i];
        const double *o = frame->orientation;
        const bool placed = fabs(ts_length(o) - 1) <= 1e-3 && fabs(ts_length(o + 3) - 1) <= 1e-3 &&
                            fabs(ts_dot(o, o + 3)) <= 1e-3 && frame->spacing_mm[0] > 0 &&
                            frame->spacing_mm[0] < 1e6 && frame->spacing_mm[1] > 0 &&
                            frame->spacing_mm[1] < 1e6 && fabs(frame->position_mm[0]) < 1e6 &&
                            fabs(frame->position_mm[1]) < 1e6 && fabs(frame->position_mm[2]) < 1e6;
        if (!placed)
            ts_dicom_refuse(scan, "seg-planes",
                            "does not say where frame %zu lies: Plane Position, Plane Orientation "
                            "and Pixel Measures are needed",
                            i + 1);
        else if (seg->coding != SEG_LABELS &&
                 !ts_region_is_listed(sorted, seg->n_segments, frame->segment))
            ts_dicom_refuse(scan, "seg-segments",
                            "has frame %zu of a segment that it does not describe", i + 1);
    }
    free(sorted);
}

/* Finds the fragments of each frame. No codec makes a frame much longer than it is: RLE adds a byte
 * to 128 at most. */
static void find_fragments(struct region_file *file, struct seg *seg)
{
    const int64_t most = 2 * (int64_t)(seg->rows * seg->columns * seg->bits / 8) + (64 << 10);
    struct dicom_walk walk = file->walk;
    walk.offset = seg->pixel_offset;
    walk.max_elements = MOST_FRAMES * 4;
    file->file.frames = seg->claimed_frames;
    ts_dicom_walk_fragments(&file->scan, &walk);
    for (size_t i = 0; i < seg->n_frames && !file->file.refusal; i++) {
        const int64_t bytes = file->file.streams ? file->file.streams[i].bytes : 0;
        if (bytes < 1 || bytes > most)
            ts_dicom_refuse(&file->scan, "dicom-bad-fragments",
                            "has %" PRId64
                            " bytes of fragments for frame %zu, whose pixels need at most %" PRId64,
                            bytes, i + 1, most);
    }
}

/* Says of the frames what a decoder needs, and holds the first one against that, as is done for
 * images; a worker does so for each. Labels that were compressed with loss are no longer known. */
static void check_encoded(struct region_file *file, struct seg *seg)
{
    struct dicom_file *header = &file->file;
    header->rows = (int)seg->rows;
    header->columns = (int)seg->columns;
    header->samples_per_pixel = 1;
    header->bits_allocated = seg->bits == 16 ? 16 : 8;
    header->bits_stored = header->bits_allocated;
    header->modified = file->found.st_mtim;
    if (has_codestream(file))
        ts_dicom_check_encoded(&file->scan);
    if (!header->refusal && header->lossy)
        ts_dicom_refuse(&file->scan, "seg-syntax",
                        "was compressed with loss, so that its segments are not known");
    seg->bits = seg->coding == SEG_BINARY ? 1 : seg->bits;
}

bool ts_seg_parse(struct region_file *file, struct seg *seg)
{
    *seg = (struct seg){.claimed_frames = 1, .coding = SEG_UNKNOWN, .padding = -1};
    seg->shared = (struct seg_frame){.segment = -1, .between_mm = NAN, .thickness_mm = NAN};
    for (int i = 0; i < 6; i++)
        seg->shared.orientation[i] = seg->shared.position_mm[i / 2] =
            seg->shared.spacing_mm[i / 3] = NAN;
    const struct region_walk walk = {is_open, seg_take};
    if (!ts_region_walk(file, &walk, seg))
        return false;
    check_pixels(file, seg);
    check_frames(file, seg);
    if (seg->in_fragments && !file->file.refusal)
        find_fragments(file, seg);
    if (seg->in_fragments && !file->file.refusal)
        check_encoded(file, seg);
    return file->file.refusal == NULL;
}

void ts_seg_clear(struct seg *seg)
{
    free(seg->segments);
    free(seg->frames);
    *seg = (struct seg){0};
}
