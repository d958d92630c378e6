/* SPDX-License-Identifier: Apache-2.0
 *
 * The iterations of tv on the CPU: the functions scratch_bytes() and map() of its table.
 */
#ifndef STAGES_DENOISING_TV_SWEEP_H
#define STAGES_DENOISING_TV_SWEEP_H

#include "stages/denoising/tv.h"

size_t ts_tv_scratch_bytes(const struct stage_context *context, int64_t n);
enum ts_status ts_tv_map(const struct stage_context *context, const struct ts_image *in, struct ts_image *out,
                         void *scratch);

#endif
