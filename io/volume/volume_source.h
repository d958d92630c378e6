/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a source of a volume, or of several by time, whose values are in one file, one after the
 * other with x fastest, uncompressed or in a gzip or zlib stream. A format describes where they
 * are; volume_source.c reads them. The volume keeps the order of the file, except in two cases, in
 * which its rows are read from the last to the first: if x, y and z of the file make a left-handed
 * system in the patient, and in NIfTI without a place, for which programs draw y upwards. So the
 * image is right-handed, as one from DICOM is, and its row 0 is at the top.
 */
#ifndef IO_VOLUME_VOLUME_SOURCE_H
#define IO_VOLUME_VOLUME_SOURCE_H

#include <sys/stat.h>

#include "core/arena.h"
#include "io/source/source.h"

extern const struct choice ts_volume_quantity_choices[];
#define VOLUME_QUANTITY_PARAM(type)                                                                \
    PARAM(type, quantity, .unit = "", .choices = ts_volume_quantity_choices,                       \
          .init.choice = TS_INTENSITY,                                                             \
          .doc = "what the values are, which the file does not state")

struct volume_layout {
    struct arena *arena; /* owns the texts; belongs to the source from ts_volume_source_take on */
    const char *path;    /* path of the file with the values, for messages */
    int fd;              /* that file, open */
    struct stat found;   /* state of the file when it was opened */
    bool gzip;           /* they are in a gzip or zlib stream */
    /* x is the detector, y the view, and z is between them in the file: (view, z, detector) */
    bool views_first;
    bool sinogram;  /* x and y are detector and view */
    uint64_t start; /* where the values, or the gzip stream, begin */
    uint64_t skip;  /* gzip: bytes of the inflated stream before the values */
    /* lengths of x, y and z, and the number of volumes, which follow each other */
    int64_t n[4];
    const char *by;      /* name of the axis of volumes if it is not time; NULL: it is */
    const char *by_unit; /* unit of that axis, or NULL */
    /* positions along that axis, times in s; step 0: times are not known, volumes are numbered */
    double first, step;
    const double *positions;   /* of the volumes, times in s or b-values; NULL: those of `step` */
    bool weighted;             /* the positions are b-values in s/mm2 */
    bool upwards;              /* without a transform, row 0 is the bottom row on screen */
    double spacing[3];         /* of x, y and z in mm; 0: not known */
    bool has_transform;        /* the file states the place of the volume in the patient */
    const char *unplaced_hint; /* hint that tells how to read a file whose transform is refused */
    double transform[3][4];    /* from voxel (x, y, z, 1) to LPS in mm */
    enum ts_dtype stored;      /* TS_U64 with `is_signed` is int64 */
    bool is_signed;
    bool doubles; /* the image is TS_F64 if 32-bit floats would round it */
    bool swapped;
    double slope, intercept; /* value = slope * stored + intercept */
    enum ts_quantity quantity;
    const char *unit; /* of the values; NULL: that of the quantity */
    bool labels;      /* the values are numbers of regions */
    const char *site; /* name of the source, for messages */
    struct ts_span span;
    struct source_attribute attributes[4];
    size_t n_attributes;
};

/* Opens the file at the path in the set's first parameter, or at another path, and notes it in the
   layout. */
enum ts_status ts_volume_open(struct volume_layout *layout, const struct param_set *set,
                              const char *path, struct ts_diag *diag);
/* Opens the file of values that a header names, beside it or below, and puts it in the layout in
   place of the header's file. Refuses a link that leads out of the folder. The path is a text of
   the layout's arena. */
enum ts_status ts_volume_open_values(struct volume_layout *layout, const struct param_set *set,
                                     const char *path, struct ts_diag *diag);
/* Returns what is wrong with a transform of struct volume_layout, as a phrase, or NULL. */
const char *ts_volume_transform_fault(const double transform[3][4]);
/* Takes what a file that this program wrote says of its values, unless the user gave a different
   quantity: its name, and the unit. */
void ts_volume_take_quantity(struct volume_layout *layout, const char *name, const char *unit,
                             bool given);
/* The second parameter of a format of volumes is VOLUME_QUANTITY_PARAM. Returns true if the user
   gave it; ts_volume_resolve records the quantity that the source has. */
bool ts_volume_quantity_given(const struct param_set *set);
void ts_volume_resolve(struct param_set *set, const struct source *source);
/* Refuses the file: reports "PATH ...". Returns TS_BAD_INPUT. */
enum ts_status ts_volume_refuse(const struct volume_layout *layout, const char *code,
                                struct ts_diag *diag, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Makes the source of a layout that a format filled in with this status; if that is not TS_OK,
   returns it. Checks the transform, and the sizes against the bytes of the file, before it
   allocates anything by them. The layout's file and arena then belong to the source, or are closed
   if it fails. */
enum ts_status ts_volume_source_take(struct volume_layout *layout, enum ts_status status,
                                     struct source **source, struct ts_diag *diag);
/* Inflates at most `most` bytes of the gzip stream of a source made by ts_volume_source_take, and
   refuses a stream that is cut or whose checksum is wrong. *whole: all of it was checked, or the
   values are not compressed. */
enum ts_status ts_volume_check_stored(const struct source *source, uint64_t most, bool *whole,
                                      struct ts_diag *diag);

#endif
