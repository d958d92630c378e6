/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures of images on the device, for stages whose kernels read their input through the texture
 * unit. A texture is a view of existing memory. Creating one takes the driver microseconds, so the
 * textures are kept for the next time that the same memory is used, which a run does with its few
 * buffers.
 */
#ifndef CUDA_DEVICE_TEXTURE_H
#define CUDA_DEVICE_TEXTURE_H

#include "core/diag.h"
#include "stages/engine/stage.h"

struct cuda_texture_set;

/* Finds the textures of an image on the current device in *sets, or creates them and adds them
 * there. `stage` is for messages. Errors: cuda-failed, cuda-lost, no memory. */
enum ts_status ts_cuda_textures(struct cuda_texture_set **sets, const struct ts_image *image,
                                const char *stage, struct ts_diag *diag,
                                const struct cuda_texture **textures, int *n);
/* Destroys all textures. No kernel may be using them. */
void ts_cuda_textures_destroy(struct cuda_texture_set *sets);

#endif
