/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces the CUDA side in builds without it. Every entry point refuses, so the functions behind
 * them are never reached and are not needed here.
 */
#include "cuda/device/driver.h"
#include "cuda/device/selftest.h"
#include "cuda/device/session.h"

enum ts_status ts_cuda_refuse(struct ts_diag *diag)
{
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "cuda-not-built"},
                  "this build has no CUDA code");
    return ts_diag_hint(diag, "build with -DTOMOSTAGE_CUDA=on, or use --device cpu");
}

uint64_t ts_cuda_launch_count(void)
{
    return 0;
}

const char *ts_cuda_last_launched(void)
{
    return NULL;
}

size_t ts_cuda_most_held(void)
{
    return 0;
}

void ts_cuda_memory_destroy(struct cuda_memory *memory)
{
    (void)memory; /* there is none */
}

int ts_cuda_fft_version(void)
{
    return 0;
}

enum ts_status ts_cuda_apply(struct stage_context *context, const struct ts_image *in,
                             struct ts_image *out,
                             const struct ts_image *const references[STAGE_REFERENCES],
                             int64_t slab, struct stage_reduced **reduced)
{
    (void)in;
    (void)out;
    (void)references;
    (void)slab;
    if (reduced)
        *reduced = NULL;
    return ts_cuda_refuse(context->diag);
}

enum ts_status ts_cuda_selftest(int index, struct ts_diag *diag)
{
    (void)index;
    return ts_cuda_refuse(diag);
}
