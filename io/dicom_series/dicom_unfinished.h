/* SPDX-License-Identifier: Apache-2.0
 *
 * These are the images of a series while the order of its volumes is sought, and what
 * dicom_unfinished.c does if positions do not have equally many of them.
 */
#ifndef IO_DICOM_SERIES_DICOM_UNFINISHED_H
#define IO_DICOM_SERIES_DICOM_UNFINISHED_H

#include "io/dicom_series/dicom_series.h"

/* This is an attribute that may tell volumes apart. */
struct volume_criterion {
    size_t place; /* DICOM_NUMBER */
    enum {
        SHARED,   /* the images of a volume have one value */
        ORDERED,  /* only the order of the values counts */
        BY_NUMBER /* so it does, under the conditions that dicom_volumes.c names */
    } rule;
    const char *name;
    bool doubtful; /* a warning says that the order stands on it alone */
    bool checked;  /* Instance Numbers that have another order at some positions speak against it */
    bool alone;    /* it says that images are volumes also if all of them lie at one position */
};

/* An item is an image with the number of its position, its value of a criterion, and its volume. */
struct volume_item {
    size_t position, volume;
    double value;
    struct dicom_image *image;
};

/* This holds the items of a series while an order of its volumes is sought. */
struct volume_items {
    struct volume_item *at;
    size_t n, positions, volumes; /* volumes: the most images at one position */
    enum ts_axis_kind kind;
    bool doubt;    /* the times may have crossed midnight: they give no order */
    bool repeats;  /* images of one position have the same diffusion weighting */
    uint64_t told; /* what each volume has its own value of (dicom_told.h) */
    bool rounded;  /* the weightings of a volume may differ by rounding */
};

/* Gives the images volumes in the order of their values, if positions do not have equally many: a
 * volume ends where a position comes again, or the value changes that its images share. `seen` has
 * room for a number for each position. Returns true if there are as many volumes as a position has
 * images. */
bool ts_dicom_cut_volumes(const struct volume_criterion *criterion, struct volume_items *items,
                          size_t *seen);
/* A volume whose first image is lost has that of the next one, if nothing but the order of the
 * images says where it ends, and so would all behind it. Returns true if that is not so. */
bool ts_dicom_begin_whole(const struct volume_criterion *criterion,
                          const struct volume_items *items, const size_t *numbers);
/* Notes what the volumes lack, for a refusal, and leaves the images of incomplete ones out.
 * numbers: those of the volumes among the complete ones, SIZE_MAX for others. */
void ts_dicom_note_lack(struct dicom_series *series, const struct volume_items *items,
                        size_t complete, const size_t *numbers);

#endif
