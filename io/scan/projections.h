/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a source of the frames of a scan in an HDF5 file: a sinogram (z, view, detector) = (row,
 * frame, column), whatever the order of the axes in the file. All formats with projection data
 * share it.
 */
#ifndef IO_SCAN_PROJECTIONS_H
#define IO_SCAN_PROJECTIONS_H

#include "io/hdf5/hdf5_stack.h"
#include "io/source/angle_unit.h"
#include "io/source/drop_views.h"
#include "io/source/source_beam.h"
#include "io/source/source_padding.h"

enum frames { FRAMES_PROJECTIONS, FRAMES_FLATS, FRAMES_DARKS };

extern const struct choice ts_frames_choices[], ts_projections_quantity_choices[];

#define FRAMES_PARAM(type)                                                                         \
    PARAM(type, frames, .unit = "", .choices = ts_frames_choices,                                  \
          .init.choice = FRAMES_PROJECTIONS,                                                       \
          .doc = "which frames of the scan this source gives; flats and darks are further "        \
                 "sources under inputs")
#define ALLOW_PARAM(type)                                                                          \
    PARAM(                                                                                         \
        type, allow, .unit = "", .init.text = "",                                                  \
        .doc =                                                                                     \
            "a folder outside of the file's own to which its links and virtual datasets may lead")
#define QUANTITY_PARAM(type)                                                                       \
    PARAM(type, quantity, .unit = "", .choices = ts_projections_quantity_choices,                  \
          .init.choice = TS_COUNTS, .doc = "what the stored values are")
#define PIXEL_SIZE_PARAM(type, formula)                                                            \
    PARAM(type, pixel_size, .unit = "mm", .min = 1e-9, .max = 1e6, .derived = formula,             \
          .doc = "distance of neighboring detector pixels, along rows and columns, in place of "   \
                 "what the file says")

/* The fields and parameters of a format for which the chain may give even angles; `where` completes
   their sentences. */
#define THETA_FIELDS                                                                               \
    double theta_start, theta_stop;                                                                \
    bool endpoint
#define THETA_PARAMS(type, formula, where)                                                         \
    PARAM(type, theta_start, .unit = "degree", .in_angle_unit = true, .min = -36000, .max = 36000, \
          .derived = formula, .doc = "angle of the first view, " where),                           \
        PARAM(type, theta_stop, .unit = "degree", .in_angle_unit = true, .min = -36000,            \
              .max = 36000, .derived = formula, .doc = "end of the range of the angles, " where),  \
        PARAM(type, endpoint, .unit = "", .init.b = false,                                         \
              .doc = "whether the last view is at theta_stop, or one step before it")

/* A result has the attributes of the input that it was computed from. */
enum { PROJECTIONS_ATTRIBUTES = 128 };

/* A scan as a format describes it before the source is made. The arena owns all lists and texts. */
struct projections {
    struct arena *arena;
    struct hdf5_input input;
    struct hdf5_stack stack;
    /* A dataset of u8 of the same shape, not 0 for an invalid pixel; its name is NULL if there is
       none. With it the image is masked unless `padding` says otherwise. */
    struct hdf5_stack mask;
    /* Or one byte for each pixel of the detector (row, column), not 0 if it is bad in all frames;
       NULL: none is known to be. */
    const uint8_t *bad;
    enum source_padding padding;
    int order[3];            /* axis of the file that holds z, view, detector */
    int64_t n_views;         /* frames that are given */
    const int64_t *frames;   /* their indices in the file; NULL: all */
    const int64_t *kept;     /* what drop_views leaves of the views that the format has found; NULL:
                                all */
    const double *angles;    /* in degrees, one a view; NULL: views are numbered by their frames */
    const char *angles_hint; /* if the file's angles cannot be used; NULL: none */
    enum frames kind;        /* a warning says where flats or darks differ from each other */
    double spacing_mm[2];    /* from row to row, from column to column; 0: not known, lengths are in
                                pixels */
    bool volume;         /* (z, y, x) in place of (z, view, detector); frames and angles are NULL */
    double spacing_y_mm; /* volume: from row to row */
    enum ts_quantity quantity;
    /* The whole image, if the file describes it, in place of the fields from `angles` on; else
       NULL. */
    const struct ts_image *described;
    struct ts_axis volume_axis; /* of a stack of several volumes */
    struct source_attribute attributes[PROJECTIONS_ATTRIBUTES];
    size_t n_attributes;
    struct source_fact facts[SOURCE_FACTS];
};

/* Opens the file that the set's first parameter names. The caller must close the struct, even if
   this fails. */
enum ts_status ts_projections_open(const struct param_set *set, struct ts_diag *diag,
                                   struct projections *projections);
void ts_projections_close(struct projections *projections);
/* A format's function, which fills `projections` from the open file. */
typedef enum ts_status projections_find(struct projections *projections,
                                        const struct param_set *set);
/* Opens the file, lets the format find everything, and makes the source. */
enum ts_status ts_projections_source(const struct param_set *set, projections_find *find,
                                     struct source **source, struct ts_diag *diag);

/* Adds an attribute of the source, whose value is formatted into the arena. */
enum ts_status ts_projections_attribute(struct projections *projections, const char *name,
                                        const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Converts angles of the file to degrees. All must be finite. A range of pi or 2 pi that is called
 * degrees, and one of more than two turns that is called radians, is refused unless the chain
 * itself states the unit (`sure`). */
enum ts_status ts_projections_angles(struct projections *projections, double *angles, int64_t n,
                                     enum angle_unit unit, bool sure);
/* Reads the angles in this dataset of the file; `name` and `view` (the word for one view) are for
 * messages. There must be one angle a view. With ANGLE_UNIT_FILE the unit is the one that the
 * dataset names, or degrees if it names none; an unknown one is refused. */
enum ts_status ts_projections_listed(struct projections *projections,
                                     const struct hdf5_ref *dataset, const char *name,
                                     enum angle_unit unit, const char *view);
/* Hints at what helps if a list has n angles, as many as are not expected: the range that reads the
 * views if it is even and has one too many or too few. `unit` is that of the chain, and `units`
 * that of the file. Returns TS_BAD_INPUT. */
enum ts_status ts_projections_hint_count(const struct projections *projections,
                                         const double *angles, int64_t n, enum angle_unit unit,
                                         const char *units);
/* Makes even angles from a range that the chain gives, in degrees unless it calls them radians. The
 * last is at `stop`, or one step before it. With ANGLE_UNIT_FILE those that look like half a turn
 * or a turn in radians are refused. */
enum ts_status ts_projections_range(struct projections *projections, double start, double stop,
                                    bool endpoint, enum angle_unit unit);
/* Hints at what helps if a file has no frames of this kind. Returns TS_BAD_INPUT. */
enum ts_status ts_projections_hint_missing(int32_t frames, struct ts_diag *diag);
/* The same if the dataset of the frames was refused for having none. */
void ts_projections_hint_empty(const struct projections *projections);
const char *ts_projections_frames_name(int32_t frames); /* "projections", "flats", "darks" */

#endif
