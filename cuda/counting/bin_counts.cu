/* SPDX-License-Identifier: Apache-2.0
 *
 * slots[slot of value] += 1 by the kernel of table_counts.cu, with one table a block. No kernel here: this file only
 * launches, in pieces that 32-bit counts hold. How many bins there are only the device knows; tables of up to 56 KiB,
 * so that four blocks find room on a multiprocessor, take the slots in passes, and those without bins end at once.
 */
#include "cuda/counting/bins.cuh"
#include "cuda/counting/table_job.cuh"

enum { MOST_GRID_SLICES = 65535, TABLE_BYTES = 56 << 10 };
static const size_t most_pixels = (size_t)1 << 31;

enum ts_status ts_cuda_bin_counts_add(const struct stage_context *context, const struct ts_image *slices,
                                      const void *bins, size_t bins_stride, size_t most_bins, void *partials,
                                      bool per_slice, size_t stride, const struct cuda_call *call)
{
    const int64_t n = per_slice ? slices->axes[0].n : 1;
    const size_t count = per_slice ? ts_slice_count(slices) : ts_image_count(slices);
    const int64_t at_once = count > most_pixels ? 1 : (int64_t)MOST_GRID_SLICES;
    struct slots_job job = {};
    job.work.n_keys = (uint32_t)(most_bins + BINS_EXTRA_SLOTS);
    job.work.stride = per_slice ? stride : 0;
    job.bins_stride = per_slice ? bins_stride : 0;
    enum ts_status status = TS_OK;
    for (int64_t z = 0; z < n; z += at_once) {
        job.work.n_slices = n - z < at_once ? n - z : at_once;
        job.work.partials = (char *)partials + (size_t)z * job.work.stride;
        job.slice_bins = (const char *)bins + (size_t)z * job.bins_stride;
        for (size_t done = 0; status == TS_OK && done < count; done += most_pixels) {
            job.work.slice_pixels = count - done < most_pixels ? count - done : most_pixels;
            job.work.data = (const char *)slices->data + ((size_t)z * count + done) * ts_dtype_bytes(slices->dtype);
            status = ts_cuda_slot_counts_shared(context, slices->dtype, &job, 1, TABLE_BYTES, call);
        }
    }
    return status;
}
