/* SPDX-License-Identifier: Apache-2.0
 *
 * Frees what runs of one plan keep.
 */
#include "pipeline/run/run_kept.h"

#include <string.h>
#include <sys/mman.h>

void ts_run_kept_clear(struct run_kept *kept)
{
#ifdef TS_HAVE_CUDA
    ts_run_captured_destroy(kept->captured); /* gives memory back to `devices` */
#endif
    ts_memory_pool_clear(&kept->host);
    for (int i = 0; i < PLAN_DEVICES; i++) {
        ts_cuda_memory_destroy(kept->devices[i]);
        for (int k = 0; k < 2; k++)
            if (kept->staging[i][k].memory)
                munmap(kept->staging[i][k].memory, kept->staging[i][k].bytes);
    }
    memset(kept, 0, sizeof *kept);
}
