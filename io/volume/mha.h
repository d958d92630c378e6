/* SPDX-License-Identifier: Apache-2.0
 *
 * The source format `mha`, which reads a volume from a MetaImage file: .mha with its values after
 * the header, or a header .mhd that names the file of its values.
 */
#ifndef IO_VOLUME_MHA_H
#define IO_VOLUME_MHA_H

#include "io/source/source.h"

struct mha_params {
    const char *mha;
    int32_t quantity; /* enum ts_quantity */
    struct ts_numbers slices;
};

extern const struct source_format mha_format;

#endif
