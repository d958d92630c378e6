/* SPDX-License-Identifier: Apache-2.0
 *
 * What the two files of the example plugin share.
 */
#ifndef SHARPEN_Z_H
#define SHARPEN_Z_H

#include <tomostage_stage.h>

struct sharpen_z_params {
    int64_t radius;
    double amount;
};

#ifdef __cplusplus
extern "C"
#endif
    enum ts_status
    sharpen_z_map_cuda(const struct ts_call *call, struct ts_image *out);

#endif
