/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the source format `nexus`, which reads a scan from a NeXus file that follows NXtomo.
 * Datasets are found by definition and class, since their paths differ between beamlines;
 * parameters name them if a file has several. The text of the attribute frames_in_file is here
 * because io/scan/hdf5_info.c reads it again for `tomostage info`.
 */
#ifndef IO_SCAN_NEXUS_H
#define IO_SCAN_NEXUS_H

#include <inttypes.h>

#include "io/scan/projections.h"
#include "io/source/source_beam.h"

struct nexus_params {
    const char *nexus;
    const char *entry, *data, *angles,
        *image_key;       /* paths; "" if they are found by definition and class */
    struct ts_texts axes; /* n 0: frame, row, column */
    int32_t frames;       /* enum frames */
    int32_t angle_unit;   /* enum angle_unit */
    THETA_FIELDS;
    double pixel_size;
    int32_t padding;  /* enum source_padding */
    int32_t quantity; /* enum ts_quantity */
    BEAM_FIELDS;
    struct ts_numbers slices, drop_views;
    const char *allow; /* folder; "": none */
};

/* The format of the attribute frames_in_file, to write it and to read it again. Its last part is
 * there only if there are such frames. */
#define TS_FRAMES_IN_FILE                                                                          \
    "projections %" PRId64 ", flats %" PRId64 ", darks %" PRId64 ", invalid %" PRId64
#define TS_FRAMES_ALIGNMENT ", alignment %" PRId64
#define TS_FRAMES_IN_FILE_SCAN                                                                     \
    "projections %" SCNd64 ", flats %" SCNd64 ", darks %" SCNd64 ", invalid %" SCNd64              \
    ", alignment %" SCNd64

extern const struct source_format nexus_format;

#endif
