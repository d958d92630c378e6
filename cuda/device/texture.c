/* SPDX-License-Identifier: Apache-2.0
 *
 * Textures are linear (elements of memory by number, without filtering), because these can read
 * rows of any length and address; pitched textures demand rows of a multiple of 32 bytes. A linear
 * texture has at most 2^27 elements (CUDA C++ Programming Guide, technical specifications) and
 * begins at a multiple of 512 bytes, so an image has as many textures as its rows need, and each
 * begins up to 511 bytes early.
 */
#include "cuda/device/texture.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>

#include "core/image.h"
#include "cuda/device/session.h"

enum { MOST_ELEMENTS = 1 << 27, ALIGNMENT = 512 };

struct cuda_texture_set {
    struct cuda_texture_set *next;
    const void *data;
    int64_t rows, nx;
    enum ts_dtype dtype;
    int n;
    struct cuda_texture textures[];
};

static struct cudaChannelFormatDesc format_of(enum ts_dtype dtype)
{
    enum cudaChannelFormatKind kind = cudaChannelFormatKindSigned;
    if (dtype == TS_F32)
        kind = cudaChannelFormatKindFloat;
    else if (dtype == TS_U8 || dtype == TS_U16 || dtype == TS_U32)
        kind = cudaChannelFormatKindUnsigned;
    return cudaCreateChannelDesc(8 * (int)ts_dtype_bytes(dtype), 0, 0, 0, kind);
}

/* Creates the texture of n rows from row `first` on. */
static cudaError_t create(const struct cuda_texture_set *set, int64_t first, int64_t n,
                          struct cuda_texture *texture)
{
    const size_t bytes = ts_dtype_bytes(set->dtype);
    const char *from = (const char *)set->data + (size_t)(first * set->nx) * bytes;
    const size_t early = (size_t)((uintptr_t)from % ALIGNMENT);
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};
    struct cudaTextureDesc reading = {.readMode = cudaReadModeElementType};
    cudaTextureObject_t object = 0;
    resource.res.linear.devPtr = (void *)(uintptr_t)(from - early);
    resource.res.linear.desc = format_of(set->dtype);
    resource.res.linear.sizeInBytes = early + (size_t)(n * set->nx) * bytes;
    const cudaError_t error = cudaCreateTextureObject(&object, &resource, &reading, NULL);
    *texture = (struct cuda_texture){object, first, n, (int64_t)(early / bytes)};
    return error;
}

enum ts_status ts_cuda_textures(struct cuda_texture_set **sets, const struct ts_image *image,
                                const char *stage, struct ts_diag *diag,
                                const struct cuda_texture **textures, int *n)
{
    const int64_t rows = image->axes[0].n * image->axes[1].n, nx = image->axes[2].n;
    const int64_t most = (MOST_ELEMENTS - ALIGNMENT) / nx;
    const size_t count = (size_t)((rows + most - 1) / most);
    struct cuda_texture_set *set = *sets;
    while (set && (set->data != image->data || set->rows != rows || set->nx != nx ||
                   set->dtype != image->dtype))
        set = set->next;
    if (!set) {
        set = calloc(1, sizeof *set + count * sizeof *set->textures);
        if (!set)
            return ts_diag_no_memory(diag, sizeof *set + count * sizeof *set->textures);
        *set = (struct cuda_texture_set){*sets, image->data, rows, nx, image->dtype, 0};
        *sets = set;
    }
    while ((size_t)set->n < count) {
        const int64_t first = set->n * most, left = rows - first;
        const cudaError_t error =
            create(set, first, left < most ? left : most, &set->textures[set->n]);
        if (error != cudaSuccess)
            return ts_cuda_fold(diag, stage, error, "making a texture of its input");
        set->n++;
    }
    *textures = set->textures;
    *n = set->n;
    return TS_OK;
}

void ts_cuda_textures_destroy(struct cuda_texture_set *sets)
{
    for (struct cuda_texture_set *set = sets, *next; set; set = next) {
        next = set->next;
        for (int i = 0; i < set->n; i++)
            cudaDestroyTextureObject(set->textures[i].object);
        free(set);
    }
}
