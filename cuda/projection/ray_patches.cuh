/* SPDX-License-Identifier: Apache-2.0
 *
 * This orders the blocks of projectors. A block computes a run of neighboring detector pixels in a
 * group of neighboring views; blocks that run at once should pass nearly the same image pixels, so
 * that these come from the caches. So blocks are numbered patch after patch: a patch has some runs
 * side by side times PATCH_GROUPS groups of views; the number of a patch rises first with runs,
 * then with groups. When blocks were numbered along the whole detector, every other pixel came from
 * device memory.
 */
#ifndef CUDA_PROJECTION_RAY_PATCHES_CUH
#define CUDA_PROJECTION_RAY_PATCHES_CUH

#include "cuda/device/launch.cuh"

struct ray_patches {
    int64_t first;          /* first patch of this launch */
    int n_runs, patch_runs; /* runs of detector pixels side by side: of the detector, and of a
                             * patch */
};

/* Returns this block's group of views, and sets *run to its run of detector pixels. Either may be
 * past the last. */
template <int PATCH_GROUPS>
static __device__ __forceinline__ int64_t ts_cuda_patch_place(const struct ray_patches *patches,
                                                              int *run)
{
    const int blocks = patches->patch_runs * PATCH_GROUPS,
              across = (patches->n_runs + patches->patch_runs - 1) / patches->patch_runs;
    const int64_t patch = patches->first + blockIdx.x / blocks;
    const int in_patch = (int)blockIdx.x % blocks;
    *run = (int)(patch % across) * patches->patch_runs + in_patch % patches->patch_runs;
    return patch / across * PATCH_GROUPS + in_patch / patches->patch_runs;
}

/* Calls launch(blocks) for all patches, with as many at once as a grid may have. */
template <class Launch>
static enum ts_status ts_cuda_patches_run(struct ray_patches *patches, int64_t n_runs,
                                          int most_runs, int64_t n_groups, int patch_groups,
                                          Launch launch)
{
    patches->n_runs = (int)n_runs;
    patches->patch_runs = n_runs < most_runs ? (int)n_runs : most_runs;
    const int64_t n = ts_cuda_parts(n_runs, patches->patch_runs) *
                      ts_cuda_parts(n_groups, patch_groups),
                  blocks = (int64_t)patches->patch_runs * patch_groups, most = (1 << 30) / blocks;
    enum ts_status status = TS_OK;
    for (patches->first = 0; status == TS_OK && patches->first < n; patches->first += most) {
        const int64_t left = n - patches->first;
        status = launch((unsigned)((left < most ? left : most) * blocks));
    }
    return status;
}

#endif
