/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameters of the example plugin, which its C file and its CUDA file both include.
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
