/* SPDX-License-Identifier: Apache-2.0
 *
 * This computes the sizes of one call of the compressor, divides its scratch memory into parts, and
 * launches its kernels in their order: segments.cu compresses segments into slots, and the kernels
 * of this file make encoded chunks of them. All are enqueued on one stream, so that the host need
 * not wait between them.
 */
#include "cuda/deflate/segments.cuh"
#include "cuda/values/reductions.cuh"

/* ---- join --------------------------------------------------------------------------------------
 *
 * This joins the compressed segments of each chunk to a zlib stream with HDF5's checksum behind it.
 * Lengths are scanned, which gives every segment its place, and the Adler sums of segments are
 * combined: sum and ramp of a segment with m bytes of the chunk behind it add sum and ramp + m sum
 * to those of the chunk. A block copies each segment and takes Fletcher's sums of what it copies:
 * word i of n big-endian words of 16 bits adds its value to the first sum, and (n - i) times its
 * value to the second. Sources: RFC 1950; J. Fletcher, IEEE Trans. Comm. 30, 1982; io/file/chunks.c
 * has the CPU's form.
 *
 * Each compressed byte is read once and written once, 4 bytes a thread and step; 256 threads, since
 * a segment has no more than 32 such steps for each. */

struct fletcher {
    uint64_t sum, ramp; /* both exact for what one thread adds */
};

/* Adds the word at byte `at` of a chunk of n words. */
static __device__ inline void add_word(struct fletcher &fletcher, uint32_t word, uint32_t at,
                                       uint32_t n)
{
    fletcher.sum += word;
    fletcher.ramp += (uint64_t)word * (n - at / 2);
}

static __device__ inline void put_byte(struct fletcher &fletcher, uint8_t *chunk, uint32_t at,
                                       uint32_t byte, uint32_t n)
{
    chunk[at] = (uint8_t)byte;
    add_word(fletcher, at % 2 ? byte : byte << 8, at, n);
}

/* Returns how many 16-bit words of an encoded chunk are summed; `bytes` includes the checksum. */
static __device__ inline uint32_t fletcher_words(uint64_t bytes)
{
    return (uint32_t)((bytes - FLETCHER_BYTES + 1) / 2);
}

/* Finds, with one block for each chunk, the places of the chunk's segments, its length, and its
 * Adler-32. */
static __global__ void __launch_bounds__(DEFLATE_THREADS) place_segments(struct deflate_job job)
{
    __shared__ uint32_t warp_sums[CUDA_BLOCK_WARPS];
    struct segment_result *results = job.results + (int64_t)blockIdx.x * job.segments;
    uint32_t offset = ZLIB_HEADER_BYTES, sum = 0, ramp = 0, bytes;
    for (uint32_t first = 0; first < job.segments; first += DEFLATE_THREADS, offset += bytes) {
        const uint32_t i = first + threadIdx.x, piece = i % job.plane_segments;
        const bool mine = i < job.segments;
        const uint32_t before = block_exclusive_sum(mine ? results[i].bytes : 0, warp_sums, &bytes);
        if (!mine)
            continue;
        const int64_t end = i / job.plane_segments * job.plane_bytes + (int64_t)piece * SEGMENT +
                            segment_bytes(job, piece);
        const uint32_t after = (uint32_t)(job.call.chunk_bytes - end) % ADLER_MODULUS;
        results[i].offset = offset + before;
        sum = (sum + results[i].sum) % ADLER_MODULUS;
        ramp = (ramp + results[i].ramp + results[i].sum * after % ADLER_MODULUS) % ADLER_MODULUS;
    }
    sum = block_sum(sum, warp_sums);
    ramp = block_sum(ramp, warp_sums);
    if (threadIdx.x == 0) {
        const uint32_t n = (uint32_t)(job.call.chunk_bytes % ADLER_MODULUS);
        job.adlers[blockIdx.x] = (ramp + n) % ADLER_MODULUS << 16 | (sum + 1) % ADLER_MODULUS;
        job.places[blockIdx.x].bytes = (uint64_t)offset + ADLER_BYTES + FLETCHER_BYTES;
    }
}

/* Finds the places of all chunks, with one block. */
static __global__ void __launch_bounds__(DEFLATE_THREADS) place_chunks(struct deflate_job job)
{
    __shared__ uint64_t warp_sums[CUDA_BLOCK_WARPS];
    uint64_t offset = 0, bytes;
    for (int64_t first = 0; first < job.call.n_chunks; first += DEFLATE_THREADS, offset += bytes) {
        const int64_t i = first + threadIdx.x;
        const bool mine = i < job.call.n_chunks;
        const uint64_t own = mine ? ts_cuda_deflate_aligned(job.places[i].bytes) : 0;
        const uint64_t before = block_exclusive_sum(own, warp_sums, &bytes);
        if (mine)
            job.places[i].offset = offset + before;
    }
}

/* Copies a segment with each block. It writes whole words of the chunk, which begin `head` bytes
 * after those of the slot. */
static __global__ void __launch_bounds__(DEFLATE_THREADS) copy_segments(struct deflate_job job)
{
    __shared__ uint64_t warp_sums[CUDA_BLOCK_WARPS];
    const int64_t chunk_number = blockIdx.x / job.segments;
    const struct cuda_deflate_place place = job.places[chunk_number];
    struct segment_result *result = job.results + blockIdx.x;
    const uint8_t *slot = job.slots + (int64_t)blockIdx.x * SLOT;
    const uint32_t *words = (const uint32_t *)slot;
    uint8_t *chunk = job.out + place.offset;
    const uint32_t first = result->offset, bytes = result->bytes, n = fletcher_words(place.bytes);
    const uint32_t head = min((0 - first) % 4, bytes), n_words = (bytes - head) / 4,
                   tail = (bytes - head) % 4;
    struct fletcher fletcher = {0, 0};
    for (uint32_t i = threadIdx.x; i < n_words; i += DEFLATE_THREADS) {
        const uint32_t word = __funnelshift_r(words[i], words[i + (head > 0)], 8 * head),
                       at = first + head + 4 * i;
        const uint32_t swapped = __byte_perm(word, 0, 0x2301);
        *(uint32_t *)(chunk + at) = word;
        add_word(fletcher, swapped & 0xFFFF, at, n);
        add_word(fletcher, swapped >> 16, at + 2, n);
    }
    if (threadIdx.x < head)
        put_byte(fletcher, chunk, first + threadIdx.x, slot[threadIdx.x], n);
    if (threadIdx.x < tail)
        put_byte(fletcher, chunk, first + bytes - tail + threadIdx.x,
                 slot[bytes - tail + threadIdx.x], n);
    const uint64_t sum = block_sum(fletcher.sum, warp_sums);
    const uint64_t ramp = block_sum(fletcher.ramp % FLETCHER_MODULUS, warp_sums);
    if (threadIdx.x == 0) {
        result->fletcher_1 = (uint32_t)(sum % FLETCHER_MODULUS);
        result->fletcher_2 = (uint32_t)(ramp % FLETCHER_MODULUS);
    }
}

/* Reduces a sum other than 0 as HDF5 does: a multiple of the modulus becomes the modulus instead of
 * 0. */
static __device__ uint32_t folded(uint64_t sum)
{
    return (uint32_t)((sum - 1) % FLETCHER_MODULUS + 1);
}

/* Writes, with one block for each chunk, what the chunk has beside its segments: zlib's header,
 * Adler-32, Fletcher-32, and zeros up to the next chunk. */
static __global__ void __launch_bounds__(DEFLATE_THREADS) seal_chunks(struct deflate_job job)
{
    __shared__ uint64_t warp_sums[CUDA_BLOCK_WARPS];
    const struct segment_result *results = job.results + (int64_t)blockIdx.x * job.segments;
    const struct cuda_deflate_place place = job.places[blockIdx.x];
    const uint32_t end = (uint32_t)place.bytes - FLETCHER_BYTES, n = fletcher_words(place.bytes);
    uint8_t *chunk = job.out + place.offset;
    struct fletcher fletcher = {0, 0};
    for (uint32_t i = threadIdx.x; i < job.segments; i += DEFLATE_THREADS) {
        fletcher.sum += results[i].fletcher_1;
        fletcher.ramp += results[i].fletcher_2;
    }
    /* The two bytes mean a window of 32 KiB; as a number they are a multiple of 31, which is zlib's
     * check. */
    if (threadIdx.x < ZLIB_HEADER_BYTES)
        put_byte(fletcher, chunk, threadIdx.x, threadIdx.x ? 0x01 : 0x78, n);
    if (threadIdx.x < ADLER_BYTES)
        put_byte(fletcher, chunk, end - ADLER_BYTES + threadIdx.x,
                 job.adlers[blockIdx.x] >> 8 * (ADLER_BYTES - 1 - threadIdx.x) & 0xFF, n);
    const uint32_t sum = folded(block_sum(fletcher.sum, warp_sums));
    const uint32_t checksum = folded(block_sum(fletcher.ramp, warp_sums)) << 16 | sum;
    const uint32_t padded = (uint32_t)ts_cuda_deflate_aligned(place.bytes);
    if (end + threadIdx.x < padded)
        chunk[end + threadIdx.x] =
            threadIdx.x < FLETCHER_BYTES ? (uint8_t)(checksum >> 8 * threadIdx.x) : 0;
}

static enum ts_status deflate_load_join(const struct stage_context *context)
{
    static const void *const kernels[] = {(const void *)place_segments, (const void *)place_chunks,
                                          (const void *)copy_segments, (const void *)seal_chunks};
    return ts_cuda_load(context, kernels, sizeof kernels / sizeof *kernels);
}

/* Enqueues the kernels that turn the slots into encoded chunks: they write job.places and
 * job.out. */
static enum ts_status deflate_join(const struct stage_context *context,
                                   const struct deflate_job *job, cudaStream_t stream)
{
    const unsigned chunks = (unsigned)job->call.n_chunks, segments = chunks * job->segments;
    place_segments<<<chunks, DEFLATE_THREADS, 0, stream>>>(*job);
    enum ts_status status = ts_cuda_launched(context, "place_segments");
    place_chunks<<<1, DEFLATE_THREADS, 0, stream>>>(*job);
    status = status == TS_OK ? ts_cuda_launched(context, "place_chunks") : status;
    copy_segments<<<segments, DEFLATE_THREADS, 0, stream>>>(*job);
    status = status == TS_OK ? ts_cuda_launched(context, "copy_segments") : status;
    seal_chunks<<<chunks, DEFLATE_THREADS, 0, stream>>>(*job);
    return status == TS_OK ? ts_cuda_launched(context, "seal_chunks") : status;
}

static const struct stage deflate_stage = {.name = "deflate"};

static int64_t plane_segments(const struct cuda_deflate *job)
{
    return ts_cuda_parts((int64_t)(job->chunk_bytes / (size_t)job->width), SEGMENT);
}

size_t ts_cuda_deflate_bound(const struct cuda_deflate *job)
{
    const size_t stored = (size_t)(plane_segments(job) * job->width) * STORED_BYTES;
    const size_t chunk =
        ZLIB_HEADER_BYTES + job->chunk_bytes + stored + ADLER_BYTES + FLETCHER_BYTES;
    return (size_t)job->n_chunks * ts_cuda_deflate_aligned(chunk);
}

/* Returns the next array of the scratch memory, which starts at `*used` bytes, and adds its bytes
 * to `*used`. `scratch` may be NULL if only the bytes matter. */
static void *part_of(void *scratch, size_t *used, size_t bytes)
{
    void *part = scratch ? (uint8_t *)scratch + *used : NULL;
    *used += ts_cuda_stride(bytes);
    return part;
}

/* Fills in the arrays of the job that lie in scratch memory, and returns the bytes of that
 * memory. */
static size_t share_scratch(struct deflate_job *job, const struct device_numbers *device,
                            void *scratch)
{
    const size_t segments = (size_t)(job->call.n_chunks * job->segments);
    size_t used = 0;
    job->slots = (uint8_t *)part_of(scratch, &used, segments * SLOT);
    job->results =
        (struct segment_result *)part_of(scratch, &used, segments * sizeof *job->results);
    job->adlers =
        (uint32_t *)part_of(scratch, &used, (size_t)job->call.n_chunks * sizeof *job->adlers);
    job->next = (unsigned long long *)part_of(scratch, &used, sizeof *job->next);
    if (job->call.level == CUDA_DEFLATE_MATCHES) {
        const size_t blocks = (size_t)ts_cuda_deflate_blocks(device);
        job->matches = (uint32_t *)part_of(
            scratch, &used, (blocks < segments ? blocks : segments) * SEGMENT * sizeof(uint32_t));
    }
    return used;
}

static struct deflate_job deflate_describe(const struct cuda_deflate *call)
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

size_t ts_cuda_deflate_scratch_bytes(const struct cuda_deflate *job,
                                     const struct device_numbers *device)
{
    struct deflate_job described = deflate_describe(job);
    return share_scratch(&described, device, NULL);
}

enum ts_status ts_cuda_deflate_load(enum cuda_deflate_level level,
                                    const struct device_numbers *device, struct ts_diag *diag)
{
    const struct stage_context context = ts_cuda_context(&deflate_stage, device, diag);
    const enum ts_status status = ts_cuda_deflate_load_segments(&context, level);
    return status == TS_OK ? deflate_load_join(&context) : status;
}

enum ts_status ts_cuda_deflate(const struct cuda_deflate *job, const struct device_numbers *device,
                               const void *chunks, void *scratch, void *out,
                               struct cuda_deflate_place *places, struct CUstream_st *stream,
                               struct ts_diag *diag)
{
    const struct stage_context context = ts_cuda_context(&deflate_stage, device, diag);
    if (job->n_chunks == 0 || job->chunk_bytes == 0)
        return TS_OK;
    struct deflate_job described = deflate_describe(job);
    share_scratch(&described, device, scratch);
    described.chunks = (const uint8_t *)chunks;
    described.out = (uint8_t *)out;
    described.places = places;
    const enum ts_status status = ts_cuda_deflate_segments(&context, &described, stream);
    return status == TS_OK ? deflate_join(&context, &described, stream) : status;
}
