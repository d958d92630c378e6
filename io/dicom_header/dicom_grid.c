/* SPDX-License-Identifier: Apache-2.0
 *
 * n tiles fill a grid of c = ceil(sqrt(n)) columns and ceil(n / c) rows, row by row: 20 tiles are 5
 * columns and 4 rows, where Siemens has 5 by 5. Item k of the private sequence (0065,1051) has the
 * position of the first pixel of tile k and the time at which it was acquired; all tiles have the
 * orientation of the image. The diffusion gradient g is stated in the axes of the image: with the
 * unit vectors r, c and n = r x c of rows, columns and normal, g[0] r + g[1] c + g[2] n in patient
 * coordinates. Source: compared with dcm2niix (X. Li and others, 2016) on images of a uMR 770.
 */
#include "io/dicom_header/dicom_grid.h"

#include <math.h>

#include "core/memory.h"
#include "core/vector3.h"
#include "io/dicom_header/dicom_parse.h"

enum { MAX_TILES = 4096, VALUE_BYTES = 64 };

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
        if (scan->n_tiles < MAX_TILES)
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
    if (both && !isnan(ts_dicom_parse_zone(text, length))) {
        scan->image.zone_s = ts_dicom_parse_zone(text, length);
        scan->image.zone_in_time = true;
    }
}

bool ts_dicom_is_grid(const struct scan *scan)
{
    return !scan->has_groups && (scan->grid_tiles > 1 || strstr(scan->file->image_type, "VFRAME"));
}

/* Returns when the first tile was acquired; NaN where a tile does not state it. */
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

void ts_dicom_list_grid(struct scan *scan)
{
    const struct dicom_file *file = scan->file;
    const double tiles = scan->grid_tiles, start = find_start(scan);
    const bool known = tiles >= 1 && tiles <= MAX_TILES && tiles == rint(tiles);
    const int columns = known ? (int)ceil(sqrt(tiles)) : 0,
              rows = known ? ((int)tiles + columns - 1) / columns : 0;
    check_grid(scan, columns, rows);
    for (int k = 0; !file->refusal && k < (int)tiles; k++) {
        struct dicom_image *tile = ts_dicom_add_image(scan);
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

void ts_dicom_weight_by_uih(struct scan *scan)
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
