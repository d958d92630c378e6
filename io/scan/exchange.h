/* SPDX-License-Identifier: Apache-2.0
 *
 * The source format `exchange`: a scan in a Data Exchange file.
 */
#ifndef IO_SCAN_EXCHANGE_H
#define IO_SCAN_EXCHANGE_H

#include "io/source/source.h"

struct exchange_params {
    const char *exchange;
    int32_t frames;     /* enum frames */
    int32_t angle_unit; /* enum angle_unit */
    double theta_start, theta_stop;
    bool endpoint;
    double pixel_size;
    int32_t quantity;                    /* enum ts_quantity */
    int32_t beam;                        /* enum ts_beam_kind */
    double source_axis, source_detector; /* mm */
    int32_t angle_sense;                 /* enum angle_sense */
    double angle_offset;                 /* degrees */
    struct ts_numbers slices;
};

extern const struct source_format exchange_format;

#endif
