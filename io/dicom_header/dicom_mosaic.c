/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles of R x C pixels fill a square grid of g x g, row by row, g = ceil(sqrt(number of tiles)). Image Position is
 * that of a mosaic-sized image around the center of the slice, so that the first pixel of slice k lies at position +
 * row cosines * spacing_x * (columns - C) / 2 + column cosines * spacing_y * (rows - R) / 2
 *              + k * Spacing Between Slices * normal.
 * The number of tiles and the normal, which may be opposite to the cross product of the cosines, stand in the scanner's
 * private CSA header: a list of named tags, each with items of text. Source: M. Brett and others, "Siemens mosaic" and
 * "Siemens CSA header", documentation of nibabel (2010); compared with dcm2niix (X. Li and others, 2016).
 */
#include "io/dicom_header/dicom_mosaic.h"

#include <math.h>

#include "io/dicom_header/dicom_parse.h"

enum {
    CSA_TAG_BYTES = 84,
    CSA_NAME_BYTES = 64,
    CSA_ITEM_BYTES = 16,
    CSA_MAX_TAGS = 1024,
    MAX_TILES = 4096,
    MAX_TIMES = 512
};
/* The normal of the CSA header is rounded to eight digits; the cross product of the cosines gives the direction. */
static const double SAME_NORMAL = 1e-3;

/* What the CSA header states; NaN where it does not. */
struct csa {
    double tiles, normal[3], b_value;
    double phase_positive;      /* 1: phase is encoded towards rising rows or columns, 0: the other way */
    double times_ms[MAX_TIMES]; /* of each tile, from the start of the volume */
};

struct csa_reader {
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

/* Returns the doubles that a tag's items fill, and how many there may be; NULL for a tag that is not wanted. */
static double *wanted_values(struct csa *found, const char *name, int *count)
{
    *count = !strcmp(name, "SliceNormalVector") ? 3 : !strcmp(name, "MosaicRefAcqTimes") ? MAX_TIMES : 1;
    return !strcmp(name, "NumberOfImagesInMosaic")           ? &found->tiles
           : !strcmp(name, "SliceNormalVector")              ? found->normal
           : !strcmp(name, "B_value")                        ? &found->b_value
           : !strcmp(name, "PhaseEncodingDirectionPositive") ? &found->phase_positive
           : !strcmp(name, "MosaicRefAcqTimes")              ? found->times_ms
                                                             : NULL;
}

/* Reads one item of a tag into *value, which may be NULL. Returns false at the end of the header or where it is broken.
 */
static bool read_item(struct csa_reader *csa, double *value)
{
    unsigned char header[CSA_ITEM_BYTES];
    char text[64];
    if (!read_bytes(csa, header, sizeof header))
        return false;
    const int64_t length = csa->second ? (int64_t)ts_dicom_u32(header + 4, false)
                                       : (int64_t)ts_dicom_u32(header, false) - (int64_t)csa->first_items;
    if (length < 0 || length > csa->end - csa->at)
        return false;
    const size_t n = length < (int64_t)sizeof text ? (size_t)length : sizeof text;
    if (value && n > 0 && ts_dicom_read(csa->reader, csa->at, text, n)) {
        const char *end = memchr(text, '\0', n);
        *value = ts_dicom_parse_number(text, end ? (size_t)(end - text) : n, "DS", false, false);
    }
    csa->at += (length + 3) / 4 * 4;
    return csa->at <= csa->end;
}

static bool read_tag(struct csa_reader *csa, bool first, struct csa *found)
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
        if (!read_item(csa, values && (int)i < count ? &values[i] : NULL))
            return false;
    return true;
}

/* Reads the tags up to the first that is broken. */
static struct csa read_csa(struct scan *scan)
{
    struct csa found = {.tiles = NAN, .normal = {NAN, NAN, NAN}, .b_value = NAN, .phase_positive = NAN};
    for (int i = 0; i < MAX_TIMES; i++)
        found.times_ms[i] = NAN;
    struct csa_reader csa = {
        .reader = &scan->reader, .at = scan->csa.offset, .end = scan->csa.offset + scan->csa.length};
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

bool ts_dicom_is_mosaic(const struct scan *scan)
{
    return strstr(scan->file->image_type, "MOSAIC") && !scan->has_groups;
}

/* Returns the cross product of the cosines, turned into the direction in which the tiles follow each other. False where
 * the normal is another direction. */
static bool find_normal(const double orientation[6], const double stated[3], double normal[3])
{
    const double *x = orientation, *y = orientation + 3;
    double along = 0;
    for (int i = 0; i < 3; i++) {
        normal[i] = x[(i + 1) % 3] * y[(i + 2) % 3] - x[(i + 2) % 3] * y[(i + 1) % 3];
        along += normal[i] * stated[i];
    }
    for (int i = 0; i < 3 && along < 0; i++)
        normal[i] = -normal[i];
    return fabs(fabs(along) - 1) <= SAME_NORMAL;
}

static void place_tile(const struct scan *scan, const double normal[3], int k, int grid, struct dicom_image *tile)
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
                               mosaic->orientation[3 + i] * down + k * mosaic->spacing_between_slices_mm * normal[i];
}

void ts_dicom_list_tiles(struct scan *scan)
{
    static const char way[] = "a mosaic of many slices in one image, whose header does not state";
    const struct csa csa = read_csa(scan);
    struct dicom_image *mosaic = &scan->image;
    const struct dicom_file *file = scan->file;
    const double tiles = isnan(csa.tiles) ? scan->mosaic_tiles : csa.tiles;
    const int grid = tiles >= 1 && tiles <= MAX_TILES ? (int)ceil(sqrt(tiles)) : 0;
    double normal[3] = {0};
    mosaic->b_value = isnan(mosaic->b_value) ? csa.b_value : mosaic->b_value;
    mosaic->phase_positive = csa.phase_positive;
    if (isnan(tiles))
        ts_dicom_refuse(scan, "dicom-mosaic", "%s how many (private elements removed?)", way);
    else if (grid == 0 || tiles != rint(tiles) || file->rows % grid || file->columns % grid || file->frames != 1)
        ts_dicom_refuse(scan, "dicom-mosaic", "a mosaic of %g tiles does not fit an image of %d rows and %d columns",
                        tiles, file->rows, file->columns);
    else if (!mosaic->have_position || !mosaic->have_orientation || !mosaic->have_spacing ||
             !(mosaic->spacing_between_slices_mm > 0))
        ts_dicom_refuse(scan, "dicom-mosaic", "%s where they lie: its position, orientation or spacing is missing",
                        way);
    else if (isnan(csa.normal[0] + csa.normal[1] + csa.normal[2]))
        ts_dicom_refuse(scan, "dicom-mosaic", "%s their order (private elements removed?)", way);
    else if (!find_normal(mosaic->orientation, csa.normal, normal))
        ts_dicom_refuse(scan, "dicom-mosaic", "the tiles of a mosaic do not follow each other along their normal");
    for (int k = 0; !file->refusal && k < (int)tiles; k++) {
        struct dicom_image *tile = ts_dicom_add_image(scan);
        if (!tile)
            continue;
        place_tile(scan, normal, k, grid, tile);
        tile->slice_time_ms = k < MAX_TIMES ? csa.times_ms[k] : NAN;
    }
}
