/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes the sizes of one call of the compressor, divides its scratch memory into parts, and launches its
 * kernels in their order: segments.cu compresses segments into slots, and join.cu makes encoded chunks of them. All are
 * enqueued on one stream, so that the host need not wait between them.
 */
#include "cuda/deflate/segments.cuh"

static const struct stage deflate_stage = {.name = "deflate"};

static int64_t plane_segments(const struct cuda_deflate *job)
{
    return ts_cuda_parts((int64_t)(job->chunk_bytes / (size_t)job->width), SEGMENT);
}

size_t ts_cuda_deflate_bound(const struct cuda_deflate *job)
{
    const size_t stored = (size_t)(plane_segments(job) * job->width) * STORED_BYTES;
    const size_t chunk = ZLIB_HEADER_BYTES + job->chunk_bytes + stored + ADLER_BYTES + FLETCHER_BYTES;
    return (size_t)job->n_chunks * ts_cuda_deflate_aligned(chunk);
}

/* Returns the next array of the scratch memory, `*used` bytes behind its begin, and adds its bytes to `*used`.
 * `scratch` may be NULL where only the bytes matter. */
static void *part_of(void *scratch, size_t *used, size_t bytes)
{
    void *part = scratch ? (uint8_t *)scratch + *used : NULL;
    *used += ts_cuda_stride(bytes);
    return part;
}

/* Fills in the arrays of the job that lie in scratch memory, and returns the bytes of that memory. */
static size_t share_scratch(struct deflate_job *job, const struct device_numbers *device, void *scratch)
{
    const size_t segments = (size_t)(job->call.n_chunks * job->segments);
    size_t used = 0;
    job->slots = (uint8_t *)part_of(scratch, &used, segments * SLOT);
    job->results = (struct segment_result *)part_of(scratch, &used, segments * sizeof *job->results);
    job->adlers = (uint32_t *)part_of(scratch, &used, (size_t)job->call.n_chunks * sizeof *job->adlers);
    job->next = (unsigned long long *)part_of(scratch, &used, sizeof *job->next);
    if (job->call.level == CUDA_DEFLATE_MATCHES) {
        const size_t blocks = (size_t)ts_cuda_deflate_blocks(device);
        job->matches =
            (uint32_t *)part_of(scratch, &used, (blocks < segments ? blocks : segments) * SEGMENT * sizeof(uint32_t));
    }
    return used;
}

static struct deflate_job describe(const struct cuda_deflate *call)
{
    struct deflate_job job = {};
    job.call = *call;
    job.plane_bytes = (int64_t)(call->chunk_bytes / (size_t)call->width);
    job.last_elements = (int64_t)(call->last_bytes / (size_t)call->width);
    job.plane_segments = (uint32_t)plane_segments(call);
    for (int j = 0; j < call->width; j++)
        job.fill |= (uint64_t)call->fill[j] << 8 * j;
    job.segments = job.plane_segments * (uint32_t)call->width;
    return job;
}

size_t ts_cuda_deflate_scratch_bytes(const struct cuda_deflate *job, const struct device_numbers *device)
{
    struct deflate_job described = describe(job);
    return share_scratch(&described, device, NULL);
}

enum ts_status ts_cuda_deflate_load(enum cuda_deflate_level level, const struct device_numbers *device,
                                    struct ts_diag *diag)
{
    const struct stage_context context = ts_cuda_context(&deflate_stage, device, diag);
    const enum ts_status status = ts_cuda_deflate_load_segments(&context, level);
    return status == TS_OK ? ts_cuda_deflate_load_join(&context) : status;
}

enum ts_status ts_cuda_deflate(const struct cuda_deflate *job, const struct device_numbers *device, const void *chunks,
                               void *scratch, void *out, struct cuda_deflate_place *places, struct CUstream_st *stream,
                               struct ts_diag *diag)
{
    const struct stage_context context = ts_cuda_context(&deflate_stage, device, diag);
    if (job->n_chunks == 0 || job->chunk_bytes == 0)
        return TS_OK;
    struct deflate_job described = describe(job);
    share_scratch(&described, device, scratch);
    described.chunks = (const uint8_t *)chunks;
    described.out = (uint8_t *)out;
    described.places = places;
    const enum ts_status status = ts_cuda_deflate_segments(&context, &described, stream);
    return status == TS_OK ? ts_cuda_deflate_join(&context, &described, stream) : status;
}
