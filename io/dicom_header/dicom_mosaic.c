/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles of R x C pixels fill a square grid of g x g, row by row, g = ceil(sqrt(number of tiles)). Image Position is
 * that of a mosaic-sized image around the center of the slice, so that the first pixel of slice k lies at position +
 * row cosines * spacing_x * (columns - C) / 2 + column cosines * spacing_y * (rows - R) / 2
 *              + k * Spacing Between Slices * normal.
 * The number of tiles and the normal, which may be opposite to the cross product of the cosines, stand in the scanner's
 * private CSA header (dicom_csa.h). Source: M. Brett and others, "Siemens mosaic", documentation of nibabel (2010);
 * compared with dcm2niix (X. Li and others, 2016).
 */
#include "io/dicom_header/dicom_mosaic.h"

#include <math.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_csa.h"

enum { MAX_TILES = 4096 };
/* The normal of the CSA header is rounded to eight digits; the cross product of the cosines gives the direction. */
static const double SAME_NORMAL = 1e-3;

bool ts_dicom_is_mosaic(const struct scan *scan)
{
    return strstr(scan->file->image_type, "MOSAIC") && !scan->has_groups;
}

/* Returns the cross product of the cosines, turned into the direction in which the tiles follow each other. False where
 * the normal is another direction. */
static bool find_normal(const double orientation[6], const double stated[3], double normal[3])
{
    ts_cross(orientation, orientation + 3, normal);
    const double along = ts_dot(normal, stated);
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
    const struct dicom_csa csa = ts_dicom_read_csa(scan);
    struct dicom_image *mosaic = &scan->image;
    const struct dicom_file *file = scan->file;
    const double tiles = isnan(csa.tiles) ? scan->mosaic_tiles : csa.tiles;
    const int grid = tiles >= 1 && tiles <= MAX_TILES ? (int)ceil(sqrt(tiles)) : 0;
    double normal[3] = {0};
    ts_dicom_weight_by_csa(mosaic, &csa);
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
        tile->slice_time_ms = k < DICOM_CSA_TIMES ? csa.times_ms[k] : NAN;
    }
}
