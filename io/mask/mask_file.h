/* SPDX-License-Identifier: Apache-2.0
 *
 * Each kind of file of regions is opened by one function, and then writes the labels of one slice
 * of the image after the other. This is what they share: the request, the opened file, and how a
 * refusal is worded.
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
    const struct ts_image *grid; /* that of the image which the mask goes with, and of the mask */
    bool placed;                 /* the grid has a geometry; then: */
    const char
        *frame_of_reference; /* UID of the image's; NULL: not stated, or not to be compared */
    struct ts_affine to_mm;  /* its indices (x, y, z) to LPS in mm */
    int64_t z_first, z_end;  /* the slices of the whole image, where the grid is a range of it: from
                                z_first <= 0 */
    bool nearest;            /* the chain asks for resampling */
    struct arena *arena;
    struct ts_diag *diag;
};

struct mask_file {
    const struct mask_kind *kind;
    const char *path;        /* for messages */
    struct ts_span span;     /* of it in the chain */
    const char *site;        /* name of the source */
    int64_t lowest, highest; /* the labels lie between them */
    int64_t n_regions;       /* 0: not known before the values are read */
    const char *chosen;      /* number of the region that was chosen, or NULL */
};

struct mask_kind {
    const char *what; /* for the result: "DICOM segmentation" */
    /* Writes the labels of slice z of the grid over `labels`, which holds nx * ny zeros. */
    enum ts_status (*read)(struct mask_file *, int64_t z, int32_t *labels, struct ts_diag *);
    size_t (*memory_bytes)(const struct mask_file *); /* that it holds while it reads */
    /* NULL: there is nothing to start. */
    enum ts_status (*start)(struct mask_file *, int threads, int64_t ahead, struct ts_diag *);
    /* As in struct source_ops; NULL: nothing is read after opening. */
    enum ts_status (*check_unchanged)(const struct mask_file *, struct ts_diag *);
    bool (*holds)(const struct mask_file *, const struct file_set *files);
    void (*close)(struct mask_file *);
};

/* Returns an opened file of this kind, as the request names it. */
struct mask_file ts_mask_file(const struct mask_kind *kind, const struct mask_request *request);
/* Reports that the file is refused: "PATH ...". Returns TS_BAD_INPUT. */
enum ts_status ts_mask_refuse(const struct mask_file *file, const char *code, struct ts_diag *diag,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Returns TS_BAD_INPUT (file-changed) where the file at the path is not as it was found, if only by
 * its times. */
enum ts_status ts_mask_check_found(const struct mask_file *file, const struct stat *found,
                                   struct ts_diag *diag);
/* Reports that a voxel of slice z lies in two regions. */
enum ts_status ts_mask_overlap(const struct mask_file *file, int64_t z, int32_t one, int32_t other,
                               const char *choose, struct ts_diag *diag);
/* Refuses a file, or a region of one, whose frame of reference is not the image's, where both are
 * stated. */
enum ts_status ts_mask_check_frame(const struct mask_file *file, const struct mask_request *request,
                                   const char *uid);
/* Reports that the file lies on another grid. */
enum ts_status ts_mask_other_grid(const struct mask_file *file, const struct mask_request *request,
                                  const char *is);

/* Returns the index nearest to a place on a lattice. Of two that are equally near, to a millionth
 * of their distance, it is the one after, so that rounding decides nothing. */
static inline double mask_nearest(double place)
{
    return floor(place + 0.5 + 1e-6);
}

/* ---- where the indices of one lattice lie on another ----------------------------------------- */

/* Rounds a map of the grid's indices (x, y, z) to those of another lattice, where it only
 * exchanges, reverses and shifts axes: within `tolerance` of an index everywhere in the grid.
 * False: it does more, and stays as it was. */
bool ts_mask_align(struct ts_affine *map, const struct ts_image *grid, double tolerance);
/* Gives the box of the other lattice's indices that slices [z_first, z_last] of the grid lie in. */
void ts_mask_box(const struct ts_affine *map, const struct ts_image *grid, double z_first,
                 double z_last, double low[3], double high[3]);

#endif
