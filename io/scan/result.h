/* SPDX-License-Identifier: Apache-2.0
 *
 * The source format `result`: an image that this program wrote, with all that is known of it.
 */
#ifndef IO_SCAN_RESULT_H
#define IO_SCAN_RESULT_H

#include "io/source/source.h"

struct result_params {
    const char *result;
    const char *image;
    struct ts_numbers slices;
};

extern const struct source_format result_format;

#endif
