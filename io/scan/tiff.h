/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the source format `tiff`, which reads projections, sinograms or slices from TIFF files,
 * one to a page. The format has no standard place for angles, axes or quantities, so the chain
 * states them in the parameters below; nothing is guessed from the shape of a page. tiff.c
 * describes how pages become an image.
 */
#ifndef IO_SCAN_TIFF_H
#define IO_SCAN_TIFF_H

#include "io/source/angle_unit.h"
#include "io/source/source_beam.h"
#include "io/source/unreadable.h"

enum tiff_meaning { TIFF_VIEWS, TIFF_SINOGRAMS, TIFF_SLICES };
enum { TIFF_QUANTITY_AUTO = -1, TIFF_GAPS_REFUSE = 0, TIFF_GAPS_ACCEPT = 1 };

struct tiff_params {
    struct ts_texts tiff;
    const char *pattern;
    struct ts_numbers pick;
    int32_t pages;
    int32_t frames; /* enum frames */
    double pixel_size, spacing_z;
    struct ts_numbers angles;
    const char *angles_file;
    int32_t angle_unit; /* enum angle_unit, of angles_file */
    double angle_start, angle_stop;
    bool endpoint;
    int32_t gaps;
    int32_t unreadable; /* enum unreadable */
    int32_t quantity;
    BEAM_FIELDS;
    struct ts_numbers slices, drop_views;
};

extern const struct source_format tiff_format;

#endif
