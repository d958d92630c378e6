/* SPDX-License-Identifier: Apache-2.0
 *
 * TIFF states neither what its pages are nor how large they are: without parameters, its pages are
 * taken for slices without a grid.
 */
#include "program/record/side.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/grid.h"
#include "io/file/regular_file.h"
#include "io/hdf5/hdf5_driver.h"
#include "io/mask/region_file.h"
#include "io/scan/file_kind.h"
#include "io/source/source_slices.h"
#include "pipeline/chain/chain_input.h"

enum ts_status ts_side_is_hdf5(const char *path, bool *is_hdf5, struct ts_diag *diag)
{
    struct stat found;
    char reason[512];
    *is_hdf5 = false;
    if (stat(path, &found) != 0 || !S_ISREG(found.st_mode))
        return TS_OK;
    int fd = ts_regular_file_open(path, &found, reason, sizeof reason);
    if (fd >= 0) {
        *is_hdf5 = ts_hdf5_has_signature(fd);
        const int error = errno;
        close(fd);
        if (!*is_hdf5 && error)
            fd = ts_regular_file_fail(path, error, reason, sizeof reason);
    }
    if (fd < 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "input-unreadable"},
                             "%s %s", path, reason);
    return TS_OK;
}

/* Names the format of a path, with the parameters that it must have. */
static const char *format_of(const char *path)
{
    const char *format, *kind = ts_file_kind(path, &format);
    if (kind && !strcmp(kind, "a folder"))
        format = ts_folder_format(path);
    if (!kind)
        format = "dicom";
    return !strcmp(format, "tiff") ? "tiff x pages=slices pixel_size=1 spacing_z=1" : format;
}

/* Opens the source that a chain in one line describes, at the path if there is one; a mask on the
   grid of `under`. */
static enum ts_status open_input(const char *input, const char *path, const char *image,
                                 const struct source *under, struct side *side,
                                 struct ts_diag *diag)
{
    enum ts_status status = ts_chain_of_input(input, "command line", path, &side->chain, diag);
    if (status == TS_OK && image)
        status = ts_chain_choose_image(side->chain, image, diag);
    if (status == TS_OK) {
        struct chain_source *source = &side->chain->sources[0];
        source->set.doubles = true;
        side->no_grid = path && !strncmp(input, "tiff", 4);
        status = under && source->format->open_on
                     ? ts_source_open_on(source->format, &source->set, under, &side->source, diag)
                     : ts_source_open(source->format, &source->set, &side->source, diag);
    }
    if (status == TS_OK)
        side->source->no_digests = side->source->no_rounding = true;
    else
        ts_side_close(side);
    return status;
}

/* Returns true for a DICOM segmentation or structure set. */
static bool is_regions(const char *path)
{
    struct region_file *file = malloc(sizeof *file);
    struct arena *arena = ts_arena_create();
    const bool opened = file && arena && ts_region_open(file, path, arena);
    const bool regions = opened && file->class != REGION_NONE;
    if (opened)
        ts_region_close(file);
    ts_arena_destroy(arena);
    free(file);
    return regions;
}

static enum ts_status open_text(const char *text, bool one_line, const char *image,
                                const struct source *under, struct side *side, struct ts_diag *diag)
{
    struct stat found;
    *side = (struct side){0};
    if (!one_line && stat(text, &found) != 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "no-such-file"},
                             "there is no file or folder %s", text);
    if (!one_line && ts_file_refuse_packed(text, diag) != TS_OK)
        return TS_BAD_INPUT;
    /* The caller has checked that the file is a result, since only results have several images. */
    const char *input;
    if (one_line)
        input = text;
    else if (under && S_ISREG(found.st_mode) && is_regions(text))
        input = "mask";
    else
        input = image ? "result" : format_of(text);
    return open_input(input, one_line ? NULL : text, image, under, side, diag);
}

enum ts_status ts_side_open(const char *text, bool one_line, const char *image, struct side *side,
                            struct ts_diag *diag)
{
    return open_text(text, one_line, image, NULL, side, diag);
}

/* Returns true if the voxels of two images are at the same places, as far as both say so. */
static bool lie_together(const struct ts_image *a, const struct ts_image *b)
{
    for (int i = 0; i < 3; i++)
        if (a->axes[i].n != b->axes[i].n || a->axes[i].kind != b->axes[i].kind)
            return false;
    return !a->has_geometry || !b->has_geometry || ts_image_is_sinogram(a) || ts_grid_same(a, b);
}

enum ts_status ts_side_open_over(const char *text, bool one_line, const char *image,
                                 const struct source *under, struct side *side,
                                 struct ts_diag *diag)
{
    char grids[2][512];
    const enum ts_status status = open_text(text, one_line, image, under, side, diag);
    if (status != TS_OK || lie_together(&under->image, &side->source->image))
        return status;
    ts_grid_text(&side->source->image, grids[0], sizeof grids[0]);
    ts_grid_text(&under->image, grids[1], sizeof grids[1]);
    ts_side_close(side);
    ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "over-grid"},
                  "%s cannot lie over the image: it has %s, and the image %s", image ? image : text,
                  grids[0], grids[1]);
    return ts_diag_hint(diag, "`resample` with `like` puts one image on the grid of another");
}

enum ts_status ts_side_open_as(const char *path, const char *format, const char *image,
                               struct side *side, struct ts_diag *diag)
{
    *side = (struct side){0};
    return open_input(format, path, image, NULL, side, diag);
}

void ts_side_close(struct side *side)
{
    if (side->source)
        side->source->ops->close(side->source);
    ts_chain_destroy(side->chain);
    *side = (struct side){0};
}
