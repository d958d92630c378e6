/* SPDX-License-Identifier: Apache-2.0
 *
 * A series holds its images in order along the normal of its slices, the description of the volume
 * that they make, or the reason why they make none, and warnings. io/dicom_series/dicom_group.c
 * makes the series of an input, and the checks of this folder fill them in turn.
 */
#ifndef IO_DICOM_SERIES_DICOM_SERIES_H
#define IO_DICOM_SERIES_DICOM_SERIES_H

#include "core/arena.h"
#include "core/image.h"
#include "io/dicom_header/dicom_file.h"

enum { DICOM_MAX_WARNINGS = 16, DICOM_MAX_NAMED = 3, DICOM_LABEL_MAX = 128 };

struct dicom_series {
    int number; /* as shown to the user, from 1; the order is that of study and series UID, not of
                   file names */
    char series[DICOM_UID_MAX], modality[DICOM_TEXT_MAX], image_type[DICOM_TEXT_MAX * 2];
    struct dicom_image *
        *images; /* in order of position along the normal, volume by volume; duplicates dropped */
    size_t n_images, n_files, n_duplicates; /* n_files: that hold the images */
    struct dicom_image *
        *unused; /* n_unused images of other stacks or at repeated positions, as the chain chose */
    size_t n_unused;
    size_t n_slices, n_volumes; /* image v * n_slices + z is slice z of volume v; 0 before the
                                   series was arranged */
    struct ts_axis volume_axis; /* of several volumes: TS_AXIS_TIME (s), TS_AXIS_ECHO (ms) or
                                   TS_AXIS_B (s/mm2) */
    const char
        *order; /* the attribute by which several volumes are told apart and in order; else NULL */
    const double *gradients; /* of TS_AXIS_B: as in struct source; NULL if no header states any */
    bool gradients_unknown;  /* the headers state them in axes that are not known */
    /* of the volumes among all, if some are not whole or are other series; NULL: 0, 1, ... */
    const size_t *volume_numbers;
    const char *lacking; /* what the last volumes lack, which are among the unused; NULL: nothing */
    char settings[DICOM_LABEL_MAX]; /* those that made it a series of its own (dicom_settings.h) */
    bool apart; /* the settings divide slices at positions of their own, unless the chain joins them
                 */
    char label[DICOM_LABEL_MAX]; /* what tells it apart from others of its UID: "TE 7.38 ms, PHASE";
                                    else "" */
    bool radiograph;             /* one image of a kind that has no place in the patient */
    bool unplaced;               /* so, or frames of one file that nothing places */
    /* a localizer, a radiograph or images that times alone make volumes of at one position: it is
       chosen if the chain names it or nothing else is fit */
    bool overview;
    bool left_out;                             /* the chain wants another one (dicom_take.h) */
    const char *refusal, *refusal_code, *hint; /* refusal NULL: one clean volume */
    struct ts_image image; /* where clean: shape, spacing, geometry, dtype, unit, quantity */
    double uptake_factor;  /* by which values became uptake values, of the first image; 0: none */
    char **warnings;       /* e.g. that Spacing Between Slices disagrees with the positions */
    size_t n_warnings, n_unlisted; /* n_unlisted: those that the last of n_warnings counts */
    /* The chain may allow these lacks (dicom_non_images.h has them as a list): files that may be
     * slices of this series, and the first of them; another series of damaged files under the same
     * UID, or NULL; and the sentence that there are fewer files than the header states, or NULL. */
    size_t n_suspects;
    const struct dicom_other *suspects[DICOM_MAX_NAMED];
    const struct dicom_series *damaged;
    const char *incomplete;
    size_t n_dropped;    /* damaged files that the chain allowed to leave out */
    bool doubtful_uid;   /* damaged files whose UID may be wrong: they may belong to any series
                            (dicom_lost.c) */
    struct arena *arena; /* owns the texts and lists above */
    bool no_memory; /* a text or a check of this series found no memory: ts_dicom_group fails */
};

/* Echo times that differ by no more are one, which was rounded. */
#define DICOM_SAME_ECHO_MS 1e-2
/* So are those of slices that all lie at positions of their own. */
#define DICOM_NEAR_ECHO_MS 0.05
#define DICOM_NEAR_ECHO_SHARE 0.02

/* A number of struct dicom_image has a place, and is found by it. */
#define DICOM_NUMBER(member) offsetof(struct dicom_image, member)
double ts_dicom_image_number(const struct dicom_image *image, size_t place);
/* Compares two images by instance, frame and path, for an order that does not depend on how they
 * were found. */
int ts_dicom_compare_images(const struct dicom_image *a, const struct dicom_image *b);
/* Returns the name of the image's file, with the number of its frame or tile, from 1, if the file
 * has several. */
const char *ts_dicom_image_name(struct dicom_series *series, const struct dicom_image *image);
/* Counts the files that hold the images of n series, unused ones too. Returns 0 if memory is out.
 */
size_t ts_dicom_count_files(const struct dicom_series *series, size_t n);
/* Returns true if two groups of images have the same study and series UID. */
bool ts_dicom_same_series(const struct dicom_series *a, const struct dicom_series *b);
/* Records why the series is no volume; the first reason stands. `hint` is a literal, arena text, or
 * NULL. */
void ts_dicom_series_refuse(struct dicom_series *series, const char *code, const char *hint,
                            const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Adds a warning. Those beyond DICOM_MAX_WARNINGS are counted in a last one. */
void ts_dicom_series_warn(struct dicom_series *series, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Moves those of the n_images that `left` marks to the unused ones. */
void ts_dicom_series_leave_out(struct dicom_series *series, const bool *left);
/* Writes one line for people, rows x columns x slices: "CT, 512 x 512 x 28, 0.488 x 0.488 x 5 mm,
 * axial, i16 HU". With `names` the Series Description and Number stand behind the modality: 'MR
 * "gre_field" #5, TE 7.38 ms, ...'. */
void ts_dicom_series_line(const struct dicom_series *series, bool names, char *out, size_t size);
/* Fills the labels of all series, which are in the order of their UIDs. */
void ts_dicom_label(struct dicom_series *series, size_t n);

#endif
