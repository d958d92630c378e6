/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the source format `exchange`, which reads a scan from a Data Exchange file, the format of
 * TomoPy's beamlines. The format fixes paths and layout, so that no parameter names a dataset. It
 * has no pixel size and its angles may be missing: parameters state both.
 */
#ifndef IO_SCAN_EXCHANGE_H
#define IO_SCAN_EXCHANGE_H

#include "io/scan/projections.h"

struct exchange_params {
    const char *exchange;
    int32_t frames;     /* enum frames */
    int32_t angle_unit; /* enum angle_unit */
    THETA_FIELDS;
    double pixel_size;
    int32_t quantity; /* enum ts_quantity */
    BEAM_FIELDS;
    struct ts_numbers slices, drop_views;
    const char *allow; /* folder; "": none */
};

extern const struct source_format exchange_format;

#endif
