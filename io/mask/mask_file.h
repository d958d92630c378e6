/* SPDX-License-Identifier: Apache-2.0
 *
 * One function opens each kind of file of regions, which then writes the labels of the image slice
 * by slice. This is what the kinds share: the request, the opened file, and the wording of
 * refusals.
 */
#ifndef IO_MASK_MASK_FILE_H
#define IO_MASK_MASK_FILE_H

#include <math.h>

#include "core/arena.h"
#include "core/grid.h"
#include "io/file/file_set.h"
#include "io/mask/mask.h"

struct mask_request {
    const struct param_set *set;
    const struct mask_params *params;
    const struct ts_image *grid; /* grid of the image to which the mask belongs, and of the mask */
    bool placed;                 /* the grid has a geometry, and the following are set */
    const char
        *frame_of_reference; /* UID of the image's; NULL: not stated, or not to be compared */
    struct ts_affine to_mm;  /* its indices (x, y, z) to LPS in mm */
    /* the slices of the whole image, from z_first <= 0, if the grid is a range of it */
    int64_t z_first, z_end;
    bool nearest; /* the chain asks for resampling */
    struct arena *arena;
    struct ts_diag *diag;
};

struct mask_file {
    const struct mask_kind *kind;
    const char *path;        /* for messages */
    struct ts_span span;     /* of it in the chain */
    const char *site;        /* name of the source */
    int64_t lowest, highest; /* all labels are between them */
    int64_t n_regions;       /* 0: not known before the values are read */
    const char *chosen;      /* number of the region that was chosen, or NULL */
};

struct mask_kind {
    const char *what; /* for the result: "DICOM segmentation" */
    /* Writes the labels of slice z of the grid to `labels`, which holds nx * ny zeros. */
    enum ts_status (*read)(struct mask_file *, int64_t z, int32_t *labels, struct ts_diag *);
    /* returns the bytes that it holds while it reads */
    size_t (*memory_bytes)(const struct mask_file *);
    /* NULL: there is nothing to start. */
    enum ts_status (*start)(struct mask_file *, int threads, int64_t ahead, struct ts_diag *);
    /* As in struct source_ops; NULL: nothing is read after opening. */
    enum ts_status (*check_unchanged)(const struct mask_file *, struct ts_diag *);
    bool (*holds)(const struct mask_file *, const struct file_set *files);
    void (*close)(struct mask_file *);
};

/* Returns an opened file of this kind, as the request names it. */
struct mask_file ts_mask_file(const struct mask_kind *kind, const struct mask_request *request);
/* Refuses the file: reports "PATH ...". Returns TS_BAD_INPUT. */
enum ts_status ts_mask_refuse(const struct mask_file *file, const char *code, struct ts_diag *diag,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Returns TS_BAD_INPUT (file-changed) if the file at the path has changed, even if only in its
   times. */
enum ts_status ts_mask_check_found(const struct mask_file *file, const struct stat *found,
                                   struct ts_diag *diag);
/* Reports that a voxel of slice z is in two regions. */
enum ts_status ts_mask_overlap(const struct mask_file *file, int64_t z, int32_t one, int32_t other,
                               const char *choose, struct ts_diag *diag);
/* Refuses a file, or a region of one, whose frame of reference is not the image's, if both are
   stated. */
enum ts_status ts_mask_check_frame(const struct mask_file *file, const struct mask_request *request,
                                   const char *uid);
/* Reports that the file is on another grid. */
enum ts_status ts_mask_other_grid(const struct mask_file *file, const struct mask_request *request,
                                  const char *is);

/* Returns the index nearest to a place on a lattice. Of two that are equally near, within a
   millionth of their distance, it is the later one, so that rounding decides nothing. */
static inline double mask_nearest(double place)
{
    return floor(place + 0.5 + 1e-6);
}

/* ---- from the indices of one lattice to those of another ---------------------------------- */

/* Rounds a map from the grid's indices (x, y, z) to those of another lattice, if it only exchanges,
   reverses and shifts axes, within `tolerance` of an index everywhere in the grid. Returns false,
   and leaves it, if it does more. */
bool ts_mask_align(struct ts_affine *map, const struct ts_image *grid, double tolerance);
/* Finds the box of the other lattice's indices that contains slices [z_first, z_last] of the
   grid. */
void ts_mask_box(const struct ts_affine *map, const struct ts_image *grid, double z_first,
                 double z_last, double low[3], double high[3]);

#endif
