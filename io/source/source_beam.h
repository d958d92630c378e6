/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets the beam of a sinogram and the sense of its angles. The chain states them, because files of
 * these formats do not.
 */
#ifndef IO_SOURCE_SOURCE_BEAM_H
#define IO_SOURCE_SOURCE_BEAM_H

#include "io/source/source.h"

enum angle_sense { ANGLE_SENSE_X_TO_Y, ANGLE_SENSE_Y_TO_X };

extern const struct choice ts_angle_sense_choices[];

/* Fields of a format's parameter struct, and their parameters. */
#define BEAM_FIELDS                                                                                \
    int32_t beam;                        /* enum ts_beam_kind */                                   \
    double source_axis, source_detector; /* mm */                                                  \
    int32_t angle_sense;                 /* enum angle_sense */                                    \
    double angle_offset                  /* degrees */
#define BEAM_PARAMS(type)                                                                          \
    BEAM_DISTANCE_PARAMS(type),                                                                    \
        PARAM(type, angle_sense, .unit = "", .choices = ts_angle_sense_choices,                    \
              .init.choice = ANGLE_SENSE_X_TO_Y,                                                   \
              .doc = "the way in which rising angles turn; y-to-x negates them"),                  \
        PARAM(type, angle_offset, .unit = "degree", .min = -1e6, .max = 1e6, .init.r = 0,          \
              .doc = "added to every angle, after angle_sense")

/* Sets image->beam from the set, and applies angle_sense and angle_offset to the views, whose
   positions the source owns and may change; the image's axes are already described. Returns
   TS_BAD_CHAIN if it cannot: beam-volume, source-parallel, source-missing, source-unit,
   detector-inside, fan-angle, views-without-angles. */
enum ts_status ts_source_beam(const struct param_set *set, struct ts_image *image,
                              struct ts_diag *diag);
/* Marks unused parameters, in a format's resolve(): all of these for a volume, angle_sense and
   angle_offset for frames without angles. */
void ts_source_beam_resolve(struct param_set *set, const struct source *source);

#endif
