/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures of images on the device, for stages whose kernels read their input through the texture
 * unit. A texture is a view of memory that is there; creating one takes the driver microseconds, so
 * those of an image are kept for the next time that its memory is used, as the few buffers of a run
 * are.
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
/* Destroys all textures, of which no kernel may be at work. */
void ts_cuda_textures_destroy(struct cuda_texture_set *sets);

#endif
