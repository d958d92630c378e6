/* SPDX-License-Identifier: Apache-2.0
 *
 * Lattices are compared at corners, because maps between them are affine.
 */
#include "io/mask/mask_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "io/file/regular_file.h"

struct mask_file ts_mask_file(const struct mask_kind *kind, const struct mask_request *request)
{
    return (struct mask_file){.kind = kind,
                              .path = request->params->mask,
                              .span = request->set->spans[0],
                              .site = request->set->owner};
}

enum ts_status ts_mask_refuse(const struct mask_file *file, const char *code, struct ts_diag *diag,
                              const char *format, ...)
{
    char text[768];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return ts_diag_error(diag, TS_BAD_INPUT,
                         &(struct diag_site){.code = code, .span = file->span, .stage = file->site},
                         "%s %s", file->path, text);
}

enum ts_status ts_mask_overlap(const struct mask_file *file, int64_t z, int32_t one, int32_t other,
                               const char *choose, struct ts_diag *diag)
{
    ts_mask_refuse(
        file, "mask-overlap", diag,
        "has regions %d and %d in one voxel of slice %lld, so that it is no volume of labels",
        (int)one, (int)other, (long long)z);
    return ts_diag_hint(diag, "choose one region with `%s`; each can be an input of its own",
                        choose);
}

enum ts_status ts_mask_check_frame(const struct mask_file *file, const struct mask_request *request,
                                   const char *uid)
{
    if (!request->frame_of_reference || !*uid || strcmp(uid, request->frame_of_reference) == 0)
        return TS_OK;
    ts_mask_refuse(file, "mask-frame", request->diag,
                   "lies in another frame of reference than its image: equal positions in the two "
                   "need not be one place");
    return ts_diag_hint(request->diag,
                        "`on:` names the image that it goes with; `frame_of_reference: any` takes "
                        "positions as they are, as where the two were aligned");
}

enum ts_status ts_mask_other_grid(const struct mask_file *file, const struct mask_request *request,
                                  const char *is)
{
    char expected[320];
    ts_grid_text(request->grid, expected, sizeof expected);
    ts_mask_refuse(file, "mask-grid", request->diag,
                   "lies on another grid than its image: it has %s; the image has %s", is,
                   expected);
    return ts_diag_hint(request->diag,
                        "`on:` names the image that it goes with; `resample: nearest` gives every "
                        "voxel of the image the label at its center");
}

static void corner_of(const struct ts_image *grid, int corner, double z_first, double z_last,
                      double index[3])
{
    for (int d = 0; d < 2; d++)
        index[d] = corner >> d & 1 ? (double)(grid->axes[2 - d].n - 1) : 0;
    index[2] = corner >> 2 & 1 ? z_last : z_first;
}

/* Makes the step along an axis of the grid with one index a step of the other lattice: no index
 * shows how long it is, and the distance of a single slice from another one is not known. */
static void shorten_steps(struct ts_affine *map, const struct ts_image *grid)
{
    for (int k = 0; k < 3; k++) {
        const double step = fmax(fabs(map->m[0][k]), fmax(fabs(map->m[1][k]), fabs(map->m[2][k])));
        if (grid->axes[2 - k].n > 1 || step == 0)
            continue;
        for (int i = 0; i < 3; i++)
            map->m[i][k] /= step;
    }
}

bool ts_mask_align(struct ts_affine *map, const struct ts_image *grid, double tolerance)
{
    struct ts_affine rounded, whole = *map;
    double of_row[3] = {0}, of_column[3] = {0};
    shorten_steps(&whole, grid);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 4; k++) {
            rounded.m[i][k] = rint(whole.m[i][k]);
            if (k < 3) {
                of_row[i] += fabs(rounded.m[i][k]);
                of_column[k] += fabs(rounded.m[i][k]);
            }
        }
    for (int i = 0; i < 3; i++)
        if (of_row[i] != 1 || of_column[i] != 1)
            return false;
    for (int corner = 0; corner < 8; corner++) {
        double index[3], exact[3], near[3];
        corner_of(grid, corner, 0, (double)(grid->axes[0].n - 1), index);
        ts_affine_apply(map, index, exact);
        ts_affine_apply(&rounded, index, near);
        for (int i = 0; i < 3; i++)
            if (!(fabs(exact[i] - near[i]) <= tolerance))
                return false;
    }
    *map = rounded;
    return true;
}

void ts_mask_box(const struct ts_affine *map, const struct ts_image *grid, double z_first,
                 double z_last, double low[3], double high[3])
{
    for (int corner = 0; corner < 8; corner++) {
        double index[3], at[3];
        corner_of(grid, corner, z_first, z_last, index);
        ts_affine_apply(map, index, at);
        for (int i = 0; i < 3; i++) {
            low[i] = corner == 0 ? at[i] : fmin(low[i], at[i]);
            high[i] = corner == 0 ? at[i] : fmax(high[i], at[i]);
        }
    }
}

enum ts_status ts_mask_check_found(const struct mask_file *file, const struct stat *found,
                                   struct ts_diag *diag)
{
    const struct diag_site site = {.span = file->span, .stage = file->site};
    return ts_regular_file_recheck(file->path, -1, found, site, diag);
}
