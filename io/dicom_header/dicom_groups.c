/* SPDX-License-Identifier: Apache-2.0
 *
 * The functional groups come behind all other elements of the header but the pixels, the shared
 * ones first. So a frame begins as a copy of what is known of all images, and the elements of its
 * own groups replace that. Memory grows by the items that are met, never by the number that the
 * header claims.
 */
#include "io/dicom_header/dicom_groups.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/memory.h"
#include "core/vector3.h"
#include "io/dicom_header/dicom_kind.h"
#include "io/dicom_header/dicom_parse.h"
#include "io/dicom_header/dicom_scan_state.h"
#include "io/dicom_header/dicom_values.h"

/* ---- grid ------------------------------------------------------------------------------------ */

/* n tiles fill a grid of c = ceil(sqrt(n)) columns and ceil(n / c) rows, row by row: 20 tiles are 5
 * columns and 4 rows, where Siemens has 5 by 5. Item k of the private sequence (0065,1051) has the
 * position of the first pixel of tile k and the time at which it was acquired; all tiles have the
 * orientation of the image. The diffusion gradient g is stated in the axes of the image: with the
 * unit vectors r, c and n = r x c of rows, columns and normal, g[0] r + g[1] c + g[2] n in patient
 * coordinates. Source: compared with dcm2niix (X. Li and others, 2016) on images of a uMR 770. */

enum { GRID_MAX_TILES = 4096, VALUE_BYTES = 64 };

bool ts_dicom_is_grid_sequence(uint32_t tag)
{
    return tag >> 16 == 0x0065 && (tag & 0xFFFF) >= 0x1000 && (tag & 0xFF) == 0x51;
}

static void add_tile(struct scan *scan)
{
    struct dicom_grid_tile *grown =
        ts_memory_grow(scan->tiles, scan->n_tiles, &scan->tiles_capacity, sizeof *grown);
    if (!grown) {
        ts_dicom_refuse(scan, "no-memory", "memory is out");
        return;
    }
    scan->tiles = grown;
    grown[scan->n_tiles++] = (struct dicom_grid_tile){{NAN, NAN, NAN}, NAN};
}

void ts_dicom_take_grid(struct scan *scan, const struct dicom_walk *walk,
                        const struct dicom_element *element)
{
    (void)walk;
    char bytes[VALUE_BYTES];
    const char *text = bytes;
    size_t length = element->length;
    if (element->parent != element->root || scan->file->refusal)
        return;
    if (element->tag == DICOM_ITEM) {
        if (scan->n_tiles < GRID_MAX_TILES)
            add_tile(scan);
        return;
    }
    const bool position = element->tag == DICOM_TAG(0x0020, 0x0032),
               both = element->tag == DICOM_TAG(0x0008, 0x002A);
    if (scan->n_tiles == 0 || !(position || both || element->tag == DICOM_TAG(0x0008, 0x0032)) ||
        length > sizeof bytes || !ts_dicom_read(&scan->reader, element->offset, bytes, length))
        return;
    struct dicom_grid_tile *tile = &scan->tiles[scan->n_tiles - 1];
    ts_dicom_trim(&text, &length);
    if (position)
        ts_dicom_parse_decimals(text, length, tile->position_mm, 3);
    else if (both || isnan(tile->acquired_s))
        tile->acquired_s = ts_dicom_parse_time(text, length);
    if (!position && isnan(tile->acquired_s))
        ts_dicom_note_unread(scan, element, "the time of a tile", text, length, false, 0);
    if (both && !isnan(ts_dicom_parse_zone(text, length))) {
        scan->image.zone_s = ts_dicom_parse_zone(text, length);
        scan->image.zone_in_time = true;
    }
}

/* Returns true if the header says that the image is a grid. */
static bool dicom_is_grid(const struct scan *scan)
{
    return !scan->has_groups && (scan->grid_tiles > 1 || strstr(scan->file->image_type, "VFRAME"));
}

/* Returns when the first tile was acquired; NaN if a tile does not state it. */
static double find_start(const struct scan *scan)
{
    double start = scan->n_tiles > 0 ? INFINITY : NAN;
    for (size_t k = 0; k < scan->n_tiles && !isnan(start); k++)
        start = isnan(scan->tiles[k].acquired_s) ? NAN : fmin(start, scan->tiles[k].acquired_s);
    return start;
}

/* Refuses a grid whose tiles are not stated, or do not fit. */
static void check_grid(struct scan *scan, int columns, int rows)
{
    static const char way[] = "a grid of many slices in one image, whose header does not state";
    const struct dicom_file *file = scan->file;
    const struct dicom_image *grid = &scan->image;
    size_t placed = 0;
    for (size_t k = 0; k < scan->n_tiles; k++)
        placed += !isnan(scan->tiles[k].position_mm[0]);
    if (isnan(scan->grid_tiles))
        ts_dicom_refuse(scan, "dicom-mosaic", "%s how many (private elements removed?)", way);
    else if (rows == 0 || file->rows % rows || file->columns % columns || file->frames != 1)
        ts_dicom_refuse(scan, "dicom-mosaic",
                        "a grid of %g tiles does not fit an image of %d rows and %d columns",
                        scan->grid_tiles, file->rows, file->columns);
    else if (!grid->have_orientation || !grid->have_spacing)
        ts_dicom_refuse(scan, "dicom-mosaic",
                        "%s where they lie: its orientation or spacing is missing", way);
    else if ((double)placed != scan->grid_tiles || placed != scan->n_tiles)
        ts_dicom_refuse(scan, "dicom-mosaic",
                        "a grid of %g tiles, of which the private sequence (0065,1051) states the "
                        "positions of %zu",
                        scan->grid_tiles, placed);
}

/* Adds a frame or a tile to scan->frames, as a copy of what is known of all images. Returns NULL,
 * and refuses the file, if memory is out. */
static struct dicom_image *dicom_add_image(struct scan *scan)
{
    struct dicom_image *grown =
        ts_memory_grow(scan->frames, scan->n_frames, &scan->frames_capacity, sizeof *grown);
    if (!grown) {
        ts_dicom_refuse(scan, "no-memory", "memory is out");
        return NULL;
    }
    scan->frames = grown;
    grown += scan->n_frames++;
    *grown = scan->image;
    return grown;
}

/* Adds an image for each tile to scan->frames. It refuses the file if the number of tiles or their
 * positions are not stated, or do not fit the image. */
static void dicom_list_grid(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const double tiles = scan->grid_tiles, start = find_start(scan);
    const bool known = tiles >= 1 && tiles <= GRID_MAX_TILES && tiles == rint(tiles);
    const int columns = known ? (int)ceil(sqrt(tiles)) : 0,
              rows = known ? ((int)tiles + columns - 1) / columns : 0;
    check_grid(scan, columns, rows);
    for (int k = 0; !file->refusal && k < (int)tiles; k++) {
        struct dicom_image *tile = dicom_add_image(scan);
        if (!tile)
            return;
        tile->tile = k;
        tile->rows = file->rows / rows;
        tile->columns = file->columns / columns;
        tile->tile_row = k / columns * tile->rows;
        tile->tile_column = k % columns * tile->columns;
        memcpy(tile->position_mm, scan->tiles[k].position_mm, sizeof tile->position_mm);
        tile->have_position = true;
        tile->acquired_s = start;
        tile->slice_time_ms = (scan->tiles[k].acquired_s - start) * 1e3;
    }
}

/* Gives the image the diffusion weighting that UIH states. */
static void dicom_weight_by_uih(struct scan *scan)
{
    struct dicom_image *image = &scan->image;
    const double *g = scan->grid_gradient, *o = image->orientation;
    double normal[3];
    if (isnan(scan->grid_b_value) || isnan(g[0] + g[1] + g[2]))
        return; /* every image may have a b-value; those of diffusion have a gradient too */
    image->b_value = scan->grid_b_value;
    image->have_gradient = image->have_orientation;
    ts_cross(o, o + 3, normal);
    for (int i = 0; i < 3 && image->have_orientation; i++)
        image->gradient[i] = g[0] * o[i] + g[1] * o[3 + i] + g[2] * normal[i];
}

/* ---- dose ------------------------------------------------------------------------------------ */

/* The vector has one number for each plane, in one of two forms. If the first is 0, they are
 * distances from Image Position along the normal, which is the cross product of the cosines. If it
 * is the z coordinate of Image Position, they are z coordinates, and the planes must be axial. The
 * numbers are read one by one from the file, so that no memory is set aside by the length that an
 * element claims. */

enum { NUMBER_BYTES = 64 };
static const double SAME_PLACE_MM = 1e-2, AXIAL = 1e-6;

bool ts_dicom_is_dose(const struct dicom_file *file)
{
    static const char *const dose[] = {"481.2", NULL};
    return ts_dicom_is_class(file->sop_class, dose);
}

/* Reads the number at *offset of the vector and moves behind the backslash that ends it. Returns
 * false if none is left, or it is wrong. */
static bool next_offset(struct scan *scan, uint32_t *offset, double *value)
{
    const struct dicom_place *place = &scan->plane_offsets;
    char bytes[NUMBER_BYTES];
    if (*offset >= place->length)
        return false;
    const size_t left = place->length - *offset, n = left < sizeof bytes ? left : sizeof bytes;
    if (!ts_dicom_read(&scan->reader, place->offset + *offset, bytes, n))
        return false;
    const char *end = memchr(bytes, '\\', n);
    const size_t length = end ? (size_t)(end - bytes) : n;
    *offset += (uint32_t)length + 1;
    return ts_dicom_parse_decimals(bytes, length, value, 1);
}

/* Adds a frame for each plane. */
static void place_planes(struct scan *scan)
{
    const double *origin = scan->image.position_mm;
    double normal[3], offset, first = NAN;
    uint32_t at = 0;
    ts_cross(scan->image.orientation, scan->image.orientation + 3, normal);
    for (int64_t i = 0; i < scan->file->frames; i++) {
        if (!next_offset(scan, &at, &offset)) {
            ts_dicom_refuse(scan, "dicom-dose",
                            "Grid Frame Offset Vector has no number for plane %lld of %lld",
                            (long long)i + 1, (long long)scan->file->frames);
            return;
        }
        first = i == 0 ? offset : first;
        const bool absolute = first != 0;
        if (absolute &&
            !(fabs(first - origin[2]) <= SAME_PLACE_MM && fabs(fabs(normal[2]) - 1) <= AXIAL)) {
            ts_dicom_refuse(scan, "dicom-dose",
                            "Grid Frame Offset Vector begins with %g, expected 0, or of axial "
                            "planes the z coordinate of Image Position, %g",
                            first, origin[2]);
            return;
        }
        struct dicom_image *plane = dicom_add_image(scan);
        if (!plane)
            return;
        plane->frame = i;
        if (absolute)
            plane->position_mm[2] += offset - first;
        for (int k = 0; k < 3 && !absolute; k++)
            plane->position_mm[k] += offset * normal[k];
    }
    if (at < scan->plane_offsets.length)
        ts_dicom_refuse(scan, "dicom-dose",
                        "Grid Frame Offset Vector has more numbers than the %lld planes",
                        (long long)scan->file->frames);
}

/* Gives the images of the file the scaling, and lists its planes as frames of the scan if there are
 * several. Refuses the file if the scaling or the places of planes are missing or contradict the
 * header. */
static void dicom_list_planes(struct scan *scan)
{
    struct dicom_image *image = &scan->image;
    if (image->have_slope || image->have_intercept || isnan(scan->dose_scaling)) {
        ts_dicom_refuse(scan, "dicom-dose", "Dose Grid Scaling is %s",
                        isnan(scan->dose_scaling) ? "missing"
                                                  : "given beside a Rescale Slope or Intercept");
        return;
    }
    image->slope = scan->dose_scaling;
    image->have_slope = image->have_intercept = true;
    if (scan->file->frames == 1)
        return;
    if (scan->file->frames > DICOM_MAX_FRAMES)
        ts_dicom_refuse(scan, "dicom-dose", "%lld planes, at most %d are read",
                        (long long)scan->file->frames, (int)DICOM_MAX_FRAMES);
    else if (!image->have_position || !image->have_orientation)
        ts_dicom_refuse(scan, "dicom-dose",
                        "Image Position or Image Orientation (Patient) of the planes is missing");
    else
        place_planes(scan);
}

/* ---- csa ------------------------------------------------------------------------------------- */

/* The header is a list of named tags, each with items of text. There are two forms of it, CSA1 and
 * CSA2; the second begins with SV10. Every length is held against the end of the element, and a
 * broken tag ends the list. */

enum { DICOM_CSA_TIMES = 512 };

/* These are the values that the CSA header states; NaN stands if it states none. */
struct dicom_csa {
    double tiles, normal[3];
    double b_value, gradient[3]; /* s/mm2; unit vector in patient coordinates (LPS) */
    double
        phase_positive; /* 1: phase is encoded towards rising rows or columns, 0: the other way */
    double times_ms[DICOM_CSA_TIMES]; /* of each tile, from the start of the volume */
};

enum { CSA_TAG_BYTES = 84, CSA_NAME_BYTES = 64, CSA_ITEM_BYTES = 16, CSA_MAX_TAGS = 1024 };

struct csa_reader {
    struct scan *scan;
    struct dicom_reader *reader;
    int64_t at, end;
    bool second;          /* CSA2, which begins with SV10 */
    uint32_t first_items; /* of the first tag, by which the lengths of CSA1 are off */
};

static bool read_bytes(struct csa_reader *csa, void *out, size_t n)
{
    if ((int64_t)n > csa->end - csa->at || !ts_dicom_read(csa->reader, csa->at, out, n))
        return false;
    csa->at += (int64_t)n;
    return true;
}

/* Returns the doubles that a tag's items fill, and how many there may be; NULL for a tag that is
 * not wanted. */
static double *wanted_values(struct dicom_csa *found, const char *name, int *count)
{
    const struct {
        const char *name;
        double *values;
        int count;
    } wanted[] = {{"NumberOfImagesInMosaic", &found->tiles, 1},
                  {"SliceNormalVector", found->normal, 3},
                  {"B_value", &found->b_value, 1},
                  {"DiffusionGradientDirection", found->gradient, 3},
                  {"PhaseEncodingDirectionPositive", &found->phase_positive, 1},
                  {"MosaicRefAcqTimes", found->times_ms, DICOM_CSA_TIMES}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!strcmp(name, wanted[i].name)) {
            *count = wanted[i].count;
            return wanted[i].values;
        }
    *count = 0;
    return NULL;
}

/* Reads the number of an item, which stays NaN if it cannot be read. */
static void read_number(struct csa_reader *csa, const char *name, const char *text, size_t n,
                        double *value)
{
    const struct dicom_element element = {.tag = DICOM_TAG(0x0029, 0x1010), .vr = "OB"};
    const char *end = memchr(text, '\0', n);
    const size_t length = end ? (size_t)(end - text) : n;
    *value = ts_dicom_parse_number(text, length, "DS", false, false);
    if (isnan(*value)) {
        const char *kept = ts_arena_text(csa->scan->arena, name, strlen(name));
        size_t field = 0;
        if (!strcmp(name, "B_value"))
            field = offsetof(struct dicom_image, b_value);
        else if (!strcmp(name, "DiffusionGradientDirection"))
            field = offsetof(struct dicom_image, gradient);
        ts_dicom_note_unread(csa->scan, &element, kept ? kept : "", text, length, true, field);
    }
}

/* Reads one item of the tag of this name into *value, which may be NULL. Returns false at the end
 * of the header or if it is broken. */
static bool read_item(struct csa_reader *csa, const char *name, double *value)
{
    unsigned char header[CSA_ITEM_BYTES];
    char text[64];
    if (!read_bytes(csa, header, sizeof header))
        return false;
    const int64_t length = csa->second
                               ? (int64_t)ts_dicom_u32(header + 4, false)
                               : (int64_t)ts_dicom_u32(header, false) - (int64_t)csa->first_items;
    if (length < 0 || length > csa->end - csa->at)
        return false;
    const size_t n = length < (int64_t)sizeof text ? (size_t)length : sizeof text;
    if (value && n > 0 && ts_dicom_read(csa->reader, csa->at, text, n))
        read_number(csa, name, text, n, value);
    csa->at += (length + 3) / 4 * 4;
    return csa->at <= csa->end;
}

static bool read_tag(struct csa_reader *csa, bool first, struct dicom_csa *found)
{
    unsigned char tag[CSA_TAG_BYTES];
    char name[CSA_NAME_BYTES + 1];
    int count;
    if (!read_bytes(csa, tag, sizeof tag))
        return false;
    memcpy(name, tag, CSA_NAME_BYTES);
    name[CSA_NAME_BYTES] = '\0';
    const uint32_t n_items = ts_dicom_u32(tag + 76, false);
    csa->first_items = first ? n_items : csa->first_items;
    double *values = wanted_values(found, name, &count);
    for (uint32_t i = 0; i < n_items; i++)
        if (!read_item(csa, name, values && (int)i < count ? &values[i] : NULL))
            return false;
    return true;
}

/* Reads the tags up to the first that is broken. All is NaN if the file has no such header. */
static struct dicom_csa dicom_read_csa(struct scan *scan)
{
    struct dicom_csa found = {.tiles = NAN,
                              .normal = {NAN, NAN, NAN},
                              .b_value = NAN,
                              .gradient = {NAN, NAN, NAN},
                              .phase_positive = NAN};
    for (int i = 0; i < DICOM_CSA_TIMES; i++)
        found.times_ms[i] = NAN;
    struct csa_reader csa = {.scan = scan,
                             .reader = &scan->reader,
                             .at = scan->csa.offset,
                             .end = scan->csa.offset + scan->csa.length};
    unsigned char start[8];
    if (!read_bytes(&csa, start, sizeof start))
        return found;
    csa.second = !memcmp(start, "SV10", 4);
    if (csa.second && !read_bytes(&csa, start, sizeof start))
        return found;
    const uint32_t n_tags = ts_dicom_u32(start, false);
    for (uint32_t i = 0; i < n_tags && n_tags <= CSA_MAX_TAGS; i++)
        if (!read_tag(&csa, i == 0, &found))
            break;
    return found;
}

/* Gives the image the diffusion weighting of the CSA header, if no other element has stated it. */
static void dicom_weight_by_csa(struct dicom_image *image, const struct dicom_csa *csa)
{
    if (isnan(image->b_value))
        image->b_value = csa->b_value;
    if (image->have_gradient || isnan(csa->gradient[0] + csa->gradient[1] + csa->gradient[2]))
        return;
    memcpy(image->gradient, csa->gradient, sizeof image->gradient);
    image->have_gradient = true;
}

/* ---- mosaics --------------------------------------------------------------------------------- */

/* Siemens stores the slices of an echo-planar volume as the tiles of one image, a mosaic. Tiles of
 * R x C pixels fill a square grid of g x g, row by row, g = ceil(sqrt(number of tiles)). Image
 * Position is that of a mosaic- sized image around the center of the slice, so that the first pixel
 * of slice k is at position + row cosines * spacing_x * (columns - C) / 2 + column cosines *
 * spacing_y * (rows - R) / 2 + k * Spacing Between Slices * normal. The number of tiles and the
 * normal, which may be opposite to the cross product of the cosines, are in the scanner's private
 * CSA header. Source: M. Brett and others, "Siemens mosaic", documentation of nibabel
 * (2010); compared with dcm2niix (X. Li and others, 2016). */

enum { MAX_TILES = 4096 };
/* The normal of the CSA header is rounded to eight digits; the cross product of the cosines gives
 * the direction. */
static const double SAME_NORMAL = 1e-3;

/* Returns true if the header says that the image is a mosaic. Scanners and tools that take mosaics
 * apart leave that in the header: of the frames of a file with several, and of an image that has
 * no more rows and columns than were measured, it is not true. */
static bool dicom_is_mosaic(const struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const char *type = scan->has_groups && scan->n_frames > 0 ? scan->frames[0].frame_type : "";
    double measured = fmax(scan->steps[0], scan->steps[1]);
    for (int i = 0; i < 4; i++)
        measured = fmax(measured, scan->matrix[i]);
    return (strstr(file->image_type, "MOSAIC") || strstr(type, "MOSAIC") ||
            strstr(scan->type_text, "MOSAIC")) &&
           !(scan->has_groups && file->frames > 1) &&
           !(file->rows <= measured && file->columns <= measured);
}

/* Returns the cross product of the cosines, turned into the direction in which the tiles follow
 * each other. False if the normal is another direction. */
static bool find_normal(const double orientation[6], const double stated[3], double normal[3])
{
    ts_cross(orientation, orientation + 3, normal);
    const double along = ts_dot(normal, stated);
    for (int i = 0; i < 3 && along < 0; i++)
        normal[i] = -normal[i];
    return fabs(fabs(along) - 1) <= SAME_NORMAL;
}

static void place_tile(const struct scan *scan, const double normal[3], int k, int grid,
                       struct dicom_image *tile)
{
    const struct dicom_image *mosaic = &scan->image;
    const struct dicom_file *file = scan->file;
    tile->tile = k;
    tile->rows = file->rows / grid;
    tile->columns = file->columns / grid;
    tile->tile_row = k / grid * tile->rows;
    tile->tile_column = k % grid * tile->columns;
    const double right = mosaic->spacing_mm[1] * (file->columns - tile->columns) / 2;
    const double down = mosaic->spacing_mm[0] * (file->rows - tile->rows) / 2;
    for (int i = 0; i < 3; i++)
        tile->position_mm[i] = mosaic->position_mm[i] + mosaic->orientation[i] * right +
                               mosaic->orientation[3 + i] * down +
                               k * mosaic->spacing_between_slices_mm * normal[i];
}

/* Adds an image for each tile to scan->frames. It refuses the file if the number of tiles or the
 * direction in which they follow each other is not stated, or does not fit the image. */
static void dicom_list_tiles(struct scan *scan)
{
    static const char way[] = "a mosaic of many slices in one image, whose header does not state";
    const struct dicom_csa csa = dicom_read_csa(scan);
    struct dicom_image *mosaic = &scan->image;
    const struct dicom_file *file = scan->file;
    const double tiles = isnan(csa.tiles) ? scan->mosaic_tiles : csa.tiles;
    const int grid = tiles >= 1 && tiles <= MAX_TILES ? (int)ceil(sqrt(tiles)) : 0;
    double normal[3] = {0};
    if (scan->n_frames == 1 && !isnan(tiles)) { /* the tiles have what is known of the frame */
        *mosaic = scan->frames[0];
        scan->n_frames = 0;
    }
    dicom_weight_by_csa(mosaic, &csa);
    mosaic->phase_positive = csa.phase_positive;
    scan->file->unsure_mosaic = isnan(tiles);
    if (isnan(tiles))
        return;
    if (grid == 0 || tiles != rint(tiles) || file->rows % grid || file->columns % grid ||
        file->frames != 1)
        ts_dicom_refuse(scan, "dicom-mosaic",
                        "a mosaic of %g tiles does not fit an image of %d rows and %d columns",
                        tiles, file->rows, file->columns);
    else if (!mosaic->have_position || !mosaic->have_orientation || !mosaic->have_spacing ||
             !(mosaic->spacing_between_slices_mm > 0))
        ts_dicom_refuse(scan, "dicom-mosaic",
                        "%s where they lie: its position, orientation or spacing is missing", way);
    else if (isnan(csa.normal[0] + csa.normal[1] + csa.normal[2]))
        ts_dicom_refuse(scan, "dicom-mosaic", "%s their order (private elements removed?)", way);
    else if (!find_normal(mosaic->orientation, csa.normal, normal))
        ts_dicom_refuse(scan, "dicom-mosaic",
                        "the tiles of a mosaic do not follow each other along their normal");
    for (int k = 0; !file->refusal && k < (int)tiles; k++) {
        struct dicom_image *tile = dicom_add_image(scan);
        if (!tile)
            continue;
        place_tile(scan, normal, k, grid, tile);
        tile->slice_time_ms = k < DICOM_CSA_TIMES ? csa.times_ms[k] : NAN;
    }
}

/* ---- functional groups ----------------------------------------------------------------------- */

#define FRAME_GROUPS DICOM_TAG(0x5200, 0x9230)

/* The elements that the groups of one frame may have beside those of any file. */
enum { ELEMENTS_OF_FRAME = 1000 };

bool ts_dicom_is_groups(uint32_t tag)
{
    return tag == DICOM_SHARED_GROUPS || tag == FRAME_GROUPS;
}

/* A position that is outside of the groups is that of no frame, unless there is only one. */
static void begin_groups(struct scan *scan, struct dicom_walk *walk)
{
    scan->has_groups = true;
    scan->image.have_position = scan->image.have_position && scan->file->frames == 1;
    walk->max_elements = DICOM_MAX_ELEMENTS + ELEMENTS_OF_FRAME * scan->file->frames;
}

static void begin_frame(struct scan *scan, int64_t frame)
{
    struct dicom_image *image = dicom_add_image(scan);
    if (image)
        image->frame = frame;
    ts_dicom_forget_groups(scan);
}

static void begin_item(struct scan *scan, struct dicom_walk *walk, const struct dicom_element *item)
{
    const int64_t frames = scan->file->frames;
    if (!scan->has_groups)
        begin_groups(scan, walk);
    if (item->root == DICOM_SHARED_GROUPS) {
        if (item->item > 0 || scan->n_frames > 0)
            ts_dicom_refuse(scan, "dicom-bad-groups",
                            "the shared functional groups are not one item before the frames'");
        return;
    }
    if (frames < 1 || frames > DICOM_MAX_FRAMES || item->item >= frames)
        ts_dicom_refuse(scan, "dicom-bad-groups",
                        "item %" PRId64
                        " of the functional groups has no frame: Number of Frames is %" PRId64
                        ", at most %d are read",
                        item->item + 1, frames, (int)DICOM_MAX_FRAMES);
    else
        begin_frame(scan, item->item);
}

void ts_dicom_take_group(struct scan *scan, struct dicom_walk *walk,
                         const struct dicom_element *element)
{
    if (scan->file->refusal)
        return; /* no further frame is kept, so that an element would go to a wrong one */
    if (element->tag == DICOM_ITEM && element->parent == element->root)
        begin_item(scan, walk, element);
    else
        ts_dicom_take(scan, walk, element);
}

/* Returns the polarity of GE's sequence epi_pepolar: of 1 all volumes are reversed, of 2 those of
 * odd Temporal Position, of 3 those of even. Source: the program dcm2niix. */
static enum dicom_polarity find_polarity(const struct scan *scan, const struct dicom_image *image)
{
    enum { ALL = 1, ODD = 2, EVEN = 3 };
    const int stated =
        scan->ge_polarity >= 0 && scan->ge_polarity <= EVEN ? (int)rint(scan->ge_polarity) : 0;
    if (!strstr(scan->file->ge_sequence, "epi_pepolar"))
        return DICOM_POLARITY_UNSTATED;
    if (stated < ODD)
        return stated == ALL ? DICOM_POLARITY_REVERSED : DICOM_POLARITY_FORWARD;
    if (!(image->temporal_position >= 1))
        return DICOM_POLARITY_UNSTATED;
    const bool odd = fmod(image->temporal_position, 2) != 0;
    return odd == (stated == ODD) ? DICOM_POLARITY_REVERSED : DICOM_POLARITY_FORWARD;
}

bool ts_dicom_is_enhanced(const struct dicom_file *file)
{
    static const char *const enhanced[] = {"2.1", "2.2", "4.1", "4.3", "4.4", "128.1", "130", NULL};
    return ts_dicom_is_class(file->sop_class, enhanced);
}

/* Returns true if the file holds pixels for all the frames that it claims, so that memory for them
 * may be taken. */
static bool holds_frames(const struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const bool native = !dicom_is_compressed(file->syntax);
    if (file->frames < 1 || file->frames > DICOM_MAX_FRAMES || file->refusal)
        return false;
    return native ? file->pixel_bytes / file->frames >= ts_dicom_frame_bytes(file) &&
                        file->pixel_bytes >= file->frames
                  : file->streams != NULL;
}

/* Lists the frames of an enhanced object without groups. Tools that make headers anonymous may have
 * removed them; the frames are then known by their order alone. */
static void list_unplaced(struct scan *scan)
{
    const int64_t n = holds_frames(scan) ? scan->file->frames : 0;
    scan->image.unplaced = true;
    for (int64_t i = 0; i < n; i++) {
        struct dicom_image *frame = dicom_add_image(scan);
        if (!frame)
            return;
        frame->frame = i;
    }
}

/* Warns of what is outside of the groups and in none of them, so that it counts for all frames. */
static void warn_of_outside(struct scan *scan)
{
    const struct dicom_image *image = &scan->image;
    const struct {
        bool have;
        uint32_t group, tag;
    } outside[] = {
        {image->have_position, DICOM_TAG(0x0020, 0x9113), DICOM_TAG(0x0020, 0x0032)},
        {image->have_orientation, DICOM_TAG(0x0020, 0x9116), DICOM_TAG(0x0020, 0x0037)},
        {image->have_spacing, DICOM_TAG(0x0028, 0x9110), DICOM_TAG(0x0028, 0x0030)},
        {image->have_slope, DICOM_TAG(0x0028, 0x9145), DICOM_TAG(0x0028, 0x1053)},
    };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (outside[i].have && !ts_dicom_has_in(scan, outside[i].group, outside[i].tag))
            ts_dicom_warn(scan, "position, orientation, Pixel Spacing or Rescale Slope stand "
                                "outside of the functional groups, and count for all frames");
}

/* Refuses a file whose frames nothing describes. */
static void check_groups(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    if (file->frames < 1)
        ts_dicom_refuse(scan, "dicom-multi-frame",
                        "Number of Frames is %" PRId64 ", expected 1 or more", file->frames);
    else if (scan->has_groups && (int64_t)scan->n_frames != file->frames)
        ts_dicom_refuse(scan, "dicom-bad-groups",
                        "%zu items of functional groups for %" PRId64
                        " frames, expected one for each",
                        scan->n_frames, file->frames);
    else if (file->frames > 1 && !scan->has_groups)
        ts_dicom_refuse(scan, "dicom-multi-frame",
                        "%" PRId64
                        " frames without functional groups, which would say where each lies",
                        file->frames);
}

/* Corrects b-values that none can be: GE adds 1e9 to some. */
static void settle_b_value(struct scan *scan, struct dicom_image *image)
{
    static const double bias = 1e9;
    if (image->b_value >= bias) {
        image->b_value = fmod(image->b_value, bias);
        ts_dicom_warn(scan,
                      "1e9 is added to a Diffusion b-value, as GE does to private ones, and is "
                      "taken off");
    } else if (image->b_value < 0) {
        image->b_value = NAN;
        ts_dicom_warn(scan, "a Diffusion b-value is negative, and counts as not stated");
    }
}

bool ts_dicom_list_images(struct scan *scan)
{
    struct dicom_file *file = scan->file;
    if (ts_dicom_is_dose(file) && file->frames > 0)
        dicom_list_planes(scan);
    else if (ts_dicom_is_enhanced(file) && !scan->has_groups && !scan->image.have_position &&
             !scan->image.have_orientation && !dicom_is_mosaic(scan))
        list_unplaced(scan);
    if (scan->has_groups || scan->n_frames == 0)
        check_groups(scan);
    if (scan->has_groups)
        warn_of_outside(scan);
    scan->image.rows = file->rows;
    scan->image.columns = file->columns;
    dicom_weight_by_uih(scan);
    if (dicom_is_mosaic(scan)) {
        dicom_list_tiles(scan);
    } else if (dicom_is_grid(scan)) {
        dicom_list_grid(scan);
    } else if (scan->csa.length > 0 && isnan(scan->image.b_value) &&
               strstr(file->image_type, "DIFFUSION")) {
        const struct dicom_csa csa = dicom_read_csa(scan);
        dicom_weight_by_csa(&scan->image, &csa);
    }
    const bool several = !file->refusal && scan->n_frames > 0;
    struct dicom_image *images = several ? scan->frames : &scan->image;
    file->n_images = several ? scan->n_frames : 1;
    for (size_t i = 0; i < file->n_images; i++) {
        images[i].file = file;
        if (images[i].rows == 0) {
            images[i].rows = file->rows;
            images[i].columns = file->columns;
        }
        settle_b_value(scan, &images[i]);
        ts_dicom_name_kind(file, &images[i]);
        images[i].polarity = find_polarity(scan, &images[i]);
    }
    file->images = ts_arena_copy(scan->arena, images, file->n_images, sizeof *images);
    return file->images != NULL;
}
