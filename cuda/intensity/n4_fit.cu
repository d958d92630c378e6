/* SPDX-License-Identifier: Apache-2.0
 *
 * n4 finds the field on a CUDA device (stages/intensity/n4.h has the steps). All iterations are
 * enqueued at once, and the kernels of a level that has ended return at once, so that the host need
 * not look.
 *
 * A thread of the kernels that visit samples has one x of a chunk of rows: the four rows of the
 * field stay in registers, and so do its four sums of residuals. An iteration reads the samples
 * three times, 12 bytes each, does some 60 operations for each, and writes 16 bytes for each column
 * of a chunk. Everything else works on the lattice. Sums of doubles have an order that the shape
 * alone decides; the histogram is counted in integers, first in shared memory. 128 threads along x
 * leave few idle in images of 256 columns.
 */
#include "cuda/intensity/n4.cuh"
#include "cuda/values/reductions.cuh"

enum {
    COUNT_THREADS = 256, /* of the histogram */
    COUNT_TURNS = 15,    /* most pairs of tasks that a block counts */
    COUNT_BITS = 16,     /* of fractions that are counted: 15 * 2 * 16 * 128 of them fit 32 bits */
    COUNT_BYTES = 32 << 10,
    COUNT_BLOCKS = 8, /* of a multiprocessor */
    ONE_BLOCK = 1024  /* threads of kernels of one block */
};

/* ---- memory ---------------------------------------------------------------------------------- */

int32_t ts_cuda_n4_cut(const struct n4_axis *axis, int level, bool all_voxels, int32_t *first)
{
    const int32_t n = (int32_t)(all_voxels ? axis->n : axis->samples);
    int32_t chunks = 0, begin = 0, before = -1;
    for (int32_t y = 0; y < n; y++) {
        const int32_t span = ts_n4_span(axis, level, ts_n4_place_along(axis, level, all_voxels, y));
        if (span != before || y - begin == N4_ROWS) {
            begin = y;
            if (first)
                first[chunks] = y;
            chunks++;
        }
        before = span;
    }
    if (first)
        first[chunks] = n;
    return chunks;
}

struct n4_constants ts_cuda_n4_constants(const struct stage_context *context,
                                         const struct n4_grid *grid, struct memory_layout *layout)
{
    const struct n4_params *params = (const struct n4_params *)context->params;
    struct n4_constants c = {};
    layout->alignment = CUDA_ALIGNMENT;
    for (int level = 0; level < grid->levels; level++) {
        for (int d = 0; d < 3; d++)
            c.samples[level][d] = ts_n4_taps(layout, grid->axes[d].samples);
        c.sample_chunks[level].first =
            (int32_t *)ts_layout_add(layout, (size_t)(grid->axes[1].samples + 1) * 4);
        c.sample_chunks[level].n = ts_cuda_n4_cut(&grid->axes[1], level, false, NULL);
    }
    for (int d = 0; d < 3; d++)
        c.voxels[d] = ts_n4_taps(layout, grid->axes[d].n);
    c.voxel_chunks.first = (int32_t *)ts_layout_add(layout, (size_t)(grid->axes[1].n + 1) * 4);
    c.voxel_chunks.n = ts_cuda_n4_cut(&grid->axes[1], grid->levels - 1, true, NULL);
    c.cosines = (double *)ts_layout_add(layout, (size_t)ts_n4_padded(params) * sizeof(double));
    return c;
}

/* What the samples of a block add up to. */
struct block_sums {
    float low, high;
    double counted, sum, squares;
};

/* Where the iterations are. */
struct state {
    int32_t done; /* the level has ended */
    float low, per_unit;
    double width; /* of a bin */
};

/* All that the kernels of one level need; arrays are on the device. */
struct job {
    const float *samples, *weights; /* weights are NULL if all are 1 */
    int64_t n[3], points[3];
    struct n4_taps taps[3];
    struct n4_chunks chunks;
    int64_t tasks_x, n_tasks; /* blocks of N4_THREADS columns of a chunk, and tasks of all slices */
    float *field, *change;    /* rows of f, and of what the last iteration added to it */
    float *parts;             /* four sums of each column of each chunk */
    double *columns, *planes, *density, *update, *spare[2];
    struct block_sums *blocks;
    unsigned long long *whole, *fractions; /* of each bin */
    float *means, *steps;
    double *blur, *inverse, *padded, *counts;
    const double *cosines;
    struct state *state;
    struct n4_record record;
    int n_padded, level;
    int64_t bins, most;
    double fwhm, noise, threshold;
};

/* Lays out what is needed for the last level, which needs most: its spans are parts of those of the
 * levels before, so that it has the most chunks too. */
static void n4_lay_out(const struct n4_params *params, const struct n4_grid *grid,
                       struct memory_layout *layout, struct job *job)
{
    const int last = grid->levels - 1;
    const int64_t nz = grid->axes[0].samples, nx = grid->axes[2].samples,
                  py = ts_n4_points(grid, last, 1), px = ts_n4_points(grid, last, 2);
    const size_t rows = (size_t)(nz * py * nx), lattice = (size_t)ts_n4_lattice(grid, last) * 8,
                 padded = (size_t)ts_n4_padded(params) * 8;
    const int64_t chunks = ts_cuda_n4_cut(&grid->axes[1], last, false, NULL) * nz,
                  tasks = chunks * ts_cuda_parts(nx, N4_THREADS);
    layout->alignment = CUDA_ALIGNMENT;
    job->field = (float *)ts_layout_add(layout, rows * 4);
    job->change = (float *)ts_layout_add(layout, rows * 4);
    job->columns = (double *)ts_layout_add(layout, rows * 8);
    job->parts = (float *)ts_layout_add(layout, (size_t)(chunks * nx) * N4_TAPS * sizeof(float));
    job->planes = (double *)ts_layout_add(layout, (size_t)(nz * py * px) * 8);
    double **const lattices[] = {&job->density, &job->update, &job->spare[0], &job->spare[1]};
    for (int i = 0; i < 4; i++)
        *lattices[i] = (double *)ts_layout_add(layout, lattice);
    double **const histograms[] = {&job->blur, &job->inverse, &job->padded, &job->counts};
    for (int i = 0; i < 4; i++)
        *histograms[i] = (double *)ts_layout_add(layout, padded);
    job->means = (float *)ts_layout_add(layout, padded);
    job->steps = (float *)ts_layout_add(layout, padded);
    job->whole = (unsigned long long *)ts_layout_add(layout, padded);
    job->fractions = (unsigned long long *)ts_layout_add(layout, padded);
    job->blocks = (struct block_sums *)ts_layout_add(layout, (size_t)tasks * sizeof *job->blocks);
    job->state = (struct state *)ts_layout_add(layout, sizeof *job->state);
}

/* ---- rows of the field ----------------------------------------------------------------------- */

/* Returns the sum over z and x of a lattice's points around row m. */
static __device__ float n4_row_at(const double *lattice, const int64_t points[3], const float *bz,
                                  int32_t span_z, int64_t m, const float *bx, int32_t span_x)
{
    double sum = 0;
#pragma unroll
    for (int k = 0; k < N4_TAPS; k++) {
        const double *at = lattice + ((span_z + k) * points[1] + m) * points[2] + span_x;
        sum += (double)bz[k] * (((double)bx[0] * at[0] + (double)bx[1] * at[1]) +
                                ((double)bx[2] * at[2] + (double)bx[3] * at[3]));
    }
    return (float)sum;
}

/* A thread has one x of one row of a slice. */
static __global__ void __launch_bounds__(N4_BLOCK) n4_sum_rows(struct n4_row_sums s)
{
    const int64_t i = (int64_t)blockIdx.x * N4_BLOCK + threadIdx.x, x = i % s.nx,
                  m = i / s.nx % s.points[1], z = s.z_first + i / s.nx / s.points[1];
    if (i >= s.nz * s.points[1] * s.nx || (s.done && *s.done))
        return;
    const float *bz = s.z_taps.field + z * N4_TAPS, *bx = s.x_taps.field + x * N4_TAPS;
    const int32_t span_z = s.z_taps.spans[z], span_x = s.x_taps.spans[x];
    s.field[i] = n4_row_at(s.lattice, s.points, bz, span_z, m, bx, span_x);
    if (s.update)
        s.change[i] = n4_row_at(s.update, s.points, bz, span_z, m, bx, span_x);
}

enum ts_status ts_cuda_n4_rows(const struct stage_context *context, const struct n4_row_sums *sums,
                               struct CUstream_st *stream)
{
    const int64_t count = sums->nz * sums->points[1] * sums->nx;
    n4_sum_rows<<<(unsigned)ts_cuda_parts(count, N4_BLOCK), N4_BLOCK, 0, stream>>>(*sums);
    return ts_cuda_launched(context, "n4 rows");
}

/* One thread's part of a task: column x of a chunk of slice z. */
struct column {
    int64_t z, x, rows, samples; /* where its four rows and its first sample are */
    int32_t chunk, first, end;
    bool inside;
};

static __device__ struct column n4_column(const struct job &job, int64_t task)
{
    struct column c;
    c.x = task % job.tasks_x * N4_THREADS + threadIdx.x % N4_THREADS;
    c.chunk = (int32_t)(task / job.tasks_x % job.chunks.n);
    c.z = task / job.tasks_x / job.chunks.n;
    c.first = job.chunks.first[c.chunk];
    c.end = job.chunks.first[c.chunk + 1];
    c.rows = (c.z * job.points[1] + job.taps[1].spans[c.first]) * job.n[2] + c.x;
    c.samples = (c.z * job.n[1] + c.first) * job.n[2] + c.x;
    c.inside = c.x < job.n[2];
    return c;
}

static __device__ void n4_load_rows(const struct job &job, const float *rows,
                                    const struct column &c, float values[N4_TAPS])
{
#pragma unroll
    for (int k = 0; k < N4_TAPS; k++)
        values[k] = c.inside ? rows[c.rows + k * job.n[2]] : 0;
}

static __device__ float n4_sum_taps(const float values[N4_TAPS], const float *b)
{
    return ts_n4_sum(b, values[0], values[1], values[2], values[3]);
}

/* ---- range ----------------------------------------------------------------------------------- */

static __device__ void n4_join(struct block_sums *to, const struct block_sums &from)
{
    to->low = fminf(to->low, from.low);
    to->high = fmaxf(to->high, from.high);
    to->counted += from.counted;
    to->sum += from.sum;
    to->squares += from.squares;
}

/* Joins those of all threads into thread 0's, always in the same order. */
static __device__ void n4_join_block(struct block_sums *mine, struct block_sums *shared)
{
    shared[threadIdx.x] = *mine;
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            n4_join(&shared[threadIdx.x], shared[threadIdx.x + half]);
    }
    __syncthreads();
    *mine = shared[0];
}

static __device__ struct block_sums n4_nothing(void)
{
    struct block_sums sums = {INFINITY, -INFINITY, 0, 0, 0};
    return sums;
}

/* Finds the range of u, and with CHANGED what the last iteration has changed. */
template <bool CHANGED>
static __global__ void __launch_bounds__(N4_THREADS) n4_range(struct job job)
{
    __shared__ struct block_sums shared[N4_THREADS];
    struct block_sums mine = n4_nothing();
    if (job.state->done)
        return;
    const struct column c = n4_column(job, blockIdx.x);
    float field[N4_TAPS], change[N4_TAPS];
    n4_load_rows(job, job.field, c, field);
    if (CHANGED)
        n4_load_rows(job, job.change, c, change);
    for (int32_t y = c.first; c.inside && y < c.end; y++) {
        const float *b = job.taps[1].field + y * N4_TAPS;
        const float logarithm = job.samples[c.samples + (y - c.first) * job.n[2]];
        if (logarithm != logarithm)
            continue;
        const float u = logarithm - n4_sum_taps(field, b);
        mine.low = fminf(mine.low, u);
        mine.high = fmaxf(mine.high, u);
        mine.counted += 1;
        if (CHANGED) {
            const float e = ts_n4_exp(-n4_sum_taps(change, b)) - 1;
            mine.sum += (double)e;
            mine.squares += (double)(e * e);
        }
    }
    n4_join_block(&mine, shared);
    if (threadIdx.x == 0)
        job.blocks[blockIdx.x] = mine;
}

/* One block ends an iteration, or with iteration -1 begins the first one. */
static __global__ void __launch_bounds__(ONE_BLOCK) n4_end_range(struct job job, int64_t iteration)
{
    __shared__ struct block_sums shared[ONE_BLOCK];
    struct block_sums mine = n4_nothing();
    if (job.state->done)
        return;
    for (int64_t i = threadIdx.x; i < job.n_tasks; i += ONE_BLOCK)
        n4_join(&mine, job.blocks[i]);
    n4_join_block(&mine, shared);
    for (int64_t i = threadIdx.x; i < job.bins; i += ONE_BLOCK)
        job.whole[i] = job.fractions[i] = 0;
    if (threadIdx.x > 0)
        return;
    job.state->low = mine.low;
    job.state->width = ((double)mine.high - (double)mine.low) / (double)(job.bins - 1);
    job.state->per_unit = (float)(1 / job.state->width);
    *job.record.counted = mine.counted;
    if (iteration < 0)
        return;
    const double change = ts_n4_variation(mine.counted, mine.sum, mine.squares);
    job.record.convergence[job.level * job.most + iteration] = change;
    job.record.iterations[job.level] = (double)(iteration + 1);
    job.state->done = !(change > job.threshold) || !(job.state->width > 0);
}

/* ---- histogram ------------------------------------------------------------------------------- */

/* Each block counts its tasks in `copies` histograms in shared memory, which its warps share. */
static __global__ void __launch_bounds__(COUNT_THREADS) n4_count(struct job job, int copies)
{
    extern __shared__ unsigned int counts[];
    const int64_t bins = job.bins;
    const int copy = (int)(threadIdx.x / CUDA_WARP) % copies;
    unsigned int *whole = counts + 2 * copy * bins, *fractions = whole + bins;
    if (job.state->done)
        return;
    for (int64_t i = threadIdx.x; i < 2 * copies * bins; i += COUNT_THREADS)
        counts[i] = 0;
    __syncthreads();
    const float low = job.state->low, per_unit = job.state->per_unit;
    const int halves = COUNT_THREADS / N4_THREADS;
    for (int64_t i = (int64_t)blockIdx.x * halves + threadIdx.x / N4_THREADS; i < job.n_tasks;
         i += (int64_t)gridDim.x * halves) {
        const struct column c = n4_column(job, i);
        float field[N4_TAPS];
        n4_load_rows(job, job.field, c, field);
        for (int32_t y = c.first; c.inside && y < c.end; y++) {
            const float logarithm = job.samples[c.samples + (y - c.first) * job.n[2]];
            if (logarithm != logarithm)
                continue;
            const float u = logarithm - n4_sum_taps(field, job.taps[1].field + y * N4_TAPS);
            const int32_t place = ts_n4_place(u, low, per_unit);
            const int32_t part = place & ((1 << N4_FRACTION_BITS) - 1),
                          half = 1 << (N4_FRACTION_BITS - COUNT_BITS - 1);
            atomicAdd(&whole[place >> N4_FRACTION_BITS], 1u);
            atomicAdd(&fractions[place >> N4_FRACTION_BITS],
                      (unsigned int)((part + half) >> (N4_FRACTION_BITS - COUNT_BITS)));
        }
    }
    __syncthreads();
    for (int64_t i = threadIdx.x; i < bins; i += COUNT_THREADS) {
        unsigned long long sum[2] = {0, 0};
        for (int k = 0; k < 2 * copies; k++)
            sum[k % 2] += counts[k * bins + i];
        if (sum[0] > 0) {
            atomicAdd(&job.whole[i], sum[0]);
            atomicAdd(&job.fractions[i], sum[1]);
        }
    }
}

/* ---- sharpening ------------------------------------------------------------------------------ */

/* The transform of an even sequence of n numbers, which is a sum of cosines. All threads of the
 * block call it. */
static __device__ void n4_cosine_transform(const double *cosines, const double *in, int n,
                                           double scale, double *out)
{
    for (int k = (int)threadIdx.x; k <= n / 2; k += ONE_BLOCK) {
        double sum = in[0] + (k % 2 ? -in[n / 2] : in[n / 2]);
        for (int i = 1, at = k; i < n / 2; i++, at = (at + k) & (n - 1))
            sum += 2 * in[i] * cosines[at];
        out[k] = out[(n - k) % n] = sum * scale;
    }
    __syncthreads();
}

/* One block turns the histogram into E[u], by the steps of stages/intensity/n4_fit.c. */
static __global__ void __launch_bounds__(ONE_BLOCK) n4_sharpen(struct job job)
{
    const int n = job.n_padded, bins = (int)job.bins, before = (n - bins) / 2,
              thread = (int)threadIdx.x;
    const double unit = (double)(1 << COUNT_BITS);
    if (job.state->done)
        return;
    const double width = job.state->width, fwhm = job.fwhm / width, log_2 = log(2.0);
    for (int i = thread; i < n; i += ONE_BLOCK) {
        const double apart = (i <= n / 2 ? i : n - i) / fwhm;
        job.blur[i] = 2 * sqrt(log_2 / acos(-1.0)) / fwhm * exp(-4 * log_2 * apart * apart);
    }
    for (int i = thread; i < bins; i += ONE_BLOCK) {
        const double above = i + 1 < bins ? (double)job.fractions[i] / unit : 0,
                     from_below = i > 0 ? (double)job.fractions[i - 1] / unit : 0;
        job.counts[i] = (double)job.whole[i] - above + from_below;
    }
    __syncthreads();
    n4_cosine_transform(job.cosines, job.blur, n, 1, job.padded);
    for (int i = thread; i < n; i += ONE_BLOCK)
        job.padded[i] /= job.padded[i] * job.padded[i] + job.noise;
    __syncthreads();
    n4_cosine_transform(job.cosines, job.padded, n, 1.0 / n, job.inverse);
    for (int i = thread; i < n; i += ONE_BLOCK) {
        double sum = 0;
        for (int j = 0; j < bins; j++)
            sum += job.counts[j] * job.inverse[(i - before - j + 2 * n) & (n - 1)];
        job.padded[i] = sum > 0 ? sum : 0;
    }
    __syncthreads();
    for (int i = thread; i < bins; i += ONE_BLOCK) {
        double weights = 0, sum = 0;
        for (int j = 0; j < n; j++) {
            const double weight = job.padded[j] * job.blur[(i + before - j + n) & (n - 1)];
            weights += weight;
            sum += weight * (j - before);
        }
        const double place = weights > 0 ? sum / weights : i;
        job.means[i] = (float)((double)job.state->low + width * place);
    }
    __syncthreads();
    for (int i = thread; i < bins; i += ONE_BLOCK)
        job.steps[i] = i + 1 < bins ? job.means[i + 1] - job.means[i] : 0;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Sums residuals, or with DENSITY weights, over the rows of a chunk: four sums for each column. */
template <bool DENSITY> static __global__ void __launch_bounds__(N4_THREADS) n4_fit(struct job job)
{
    float field[N4_TAPS] = {}, sums[N4_TAPS] = {};
    if (job.state->done)
        return;
    const struct column c = n4_column(job, blockIdx.x);
    const float low = job.state->low, per_unit = job.state->per_unit;
    const float *factors = DENSITY ? job.taps[1].square : job.taps[1].residual;
    if (!c.inside)
        return;
    if (!DENSITY)
        n4_load_rows(job, job.field, c, field);
    for (int32_t y = c.first; y < c.end; y++) {
        const int64_t at = c.samples + (y - c.first) * job.n[2];
        const float logarithm = job.samples[at];
        if (logarithm != logarithm)
            continue;
        float value = 1;
        if (!DENSITY) {
            const float u = logarithm - n4_sum_taps(field, job.taps[1].field + y * N4_TAPS);
            const int32_t place = ts_n4_place(u, low, per_unit), bin = place >> N4_FRACTION_BITS,
                          part = place & ((1 << N4_FRACTION_BITS) - 1);
            value = u - (job.means[bin] + job.steps[bin] * ((float)part * 0x1p-20f));
        }
        if (job.weights)
            value *= job.weights[at];
#pragma unroll
        for (int k = 0; k < N4_TAPS; k++)
            sums[k] += factors[y * N4_TAPS + k] * value;
    }
#pragma unroll
    for (int k = 0; k < N4_TAPS; k++)
        job.parts[((c.z * job.chunks.n + c.chunk) * N4_TAPS + k) * job.n[2] + c.x] = sums[k];
}

/* A thread sums the chunks that touch row m of points, at one x of a slice. */
static __global__ void __launch_bounds__(N4_BLOCK) n4_sum_chunks(struct job job)
{
    const int64_t nx = job.n[2], i = (int64_t)blockIdx.x * N4_BLOCK + threadIdx.x, x = i % nx,
                  m = i / nx % job.points[1], z = i / nx / job.points[1];
    double sum = 0;
    if (i >= job.n[0] * job.points[1] * nx || job.state->done)
        return;
    for (int32_t chunk = 0; chunk < job.chunks.n; chunk++) {
        const int64_t k = m - job.taps[1].spans[job.chunks.first[chunk]];
        if (k >= 0 && k < N4_TAPS)
            sum += (double)job.parts[((z * job.chunks.n + chunk) * N4_TAPS + k) * nx + x];
    }
    job.columns[i] = sum;
}

/* Returns the sum over the lanes, in an order of its own, for lane 0. */
static __device__ double n4_warp_sum(double value)
{
    for (int apart = CUDA_WARP / 2; apart > 0; apart /= 2)
        value += __shfl_down_sync(~0u, value, apart);
    return value;
}

/* A warp sums over x to one point of the plane of a slice. */
static __global__ void __launch_bounds__(N4_BLOCK) n4_sum_columns(struct job job, bool squares)
{
    const int64_t nx = job.n[2], i = ((int64_t)blockIdx.x * N4_BLOCK + threadIdx.x) / CUDA_WARP,
                  l = i % job.points[2], row = i / job.points[2];
    const float *factors = squares ? job.taps[2].square : job.taps[2].residual;
    double sum = 0;
    if (i >= job.n[0] * job.points[1] * job.points[2] || job.state->done)
        return;
    for (int64_t x = threadIdx.x % CUDA_WARP; x < nx; x += CUDA_WARP) {
        const int64_t k = l - job.taps[2].spans[x];
        if (k >= 0 && k < N4_TAPS)
            sum += (double)factors[x * N4_TAPS + k] * job.columns[row * nx + x];
    }
    sum = n4_warp_sum(sum);
    if (threadIdx.x % CUDA_WARP == 0)
        job.planes[i] = sum;
}

/* A warp sums over z to one point of the lattice. With `squares` that is the density; else the
 * point moves. */
static __global__ void __launch_bounds__(N4_BLOCK) n4_sum_planes(struct job job, bool squares)
{
    const int64_t plane = job.points[1] * job.points[2],
                  i = ((int64_t)blockIdx.x * N4_BLOCK + threadIdx.x) / CUDA_WARP, at = i % plane;
    const float *factors = squares ? job.taps[0].square : job.taps[0].residual;
    double sum = 0;
    if (i >= job.points[0] * plane || job.state->done)
        return;
    for (int64_t z = threadIdx.x % CUDA_WARP; z < job.n[0]; z += CUDA_WARP) {
        const int64_t k = i / plane - job.taps[0].spans[z];
        if (k >= 0 && k < N4_TAPS)
            sum += (double)factors[z * N4_TAPS + k] * job.planes[z * plane + at];
    }
    sum = n4_warp_sum(sum);
    if (threadIdx.x % CUDA_WARP > 0)
        return;
    if (squares) {
        job.density[i] = sum;
        return;
    }
    job.update[i] = job.density[i] > 0 ? sum / job.density[i] : 0;
    job.record.lattice[i] += job.update[i];
}

/* ---- levels ---------------------------------------------------------------------------------- */

/* Halves the spans of an axis of n points with `inner` points behind each, as
 * stages/intensity/n4_fit.c does. */
static __global__ void __launch_bounds__(N4_BLOCK)
    n4_refine(const double *from, int64_t outer, int64_t n, int64_t inner, double *to)
{
    const int64_t n_to = 2 * n - N4_TAPS + 1, at = (int64_t)blockIdx.x * N4_BLOCK + threadIdx.x,
                  i = at % inner, j = at / inner % n_to, o = at / inner / n_to;
    if (at >= outer * n_to * inner)
        return;
    const double *p = from + (o * n + j / 2) * inner + i;
    to[at] = j % 2 ? (p[0] + 6 * p[inner] + p[2 * inner]) / 8 : (p[0] + p[inner]) / 2;
}

static __global__ void n4_begin(struct job job, int64_t n_convergence, int levels, int64_t points)
{
    for (int64_t i = threadIdx.x; i < n_convergence; i += N4_BLOCK)
        job.record.convergence[i] = NAN;
    for (int64_t i = threadIdx.x; i < levels; i += N4_BLOCK)
        job.record.iterations[i] = 0;
    for (int64_t i = threadIdx.x; i < points; i += N4_BLOCK)
        job.record.lattice[i] = 0;
    if (threadIdx.x == 0)
        job.state->done = 0;
}

static __global__ void n4_begin_level(struct job job)
{
    job.state->done = !(*job.record.counted > 0) || !(job.state->width > 0);
}

/* The fit of one volume, and what its launches share. */
struct fit {
    const struct stage_context *context;
    const struct n4_params *params;
    struct n4_grid grid;
    struct n4_constants constants;
    struct job job;
    struct CUstream_st *stream;
};

/* Describes the lattice of a level to the kernels. */
static void n4_describe_level(struct fit *fit, int level)
{
    struct job *job = &fit->job;
    job->level = level;
    for (int d = 0; d < 3; d++) {
        job->points[d] = ts_n4_points(&fit->grid, level, d);
        job->taps[d] = fit->constants.samples[level][d];
    }
    job->chunks = fit->constants.sample_chunks[level];
    job->n_tasks = job->tasks_x * job->chunks.n * job->n[0];
}

static unsigned n4_blocks(int64_t threads)
{
    return (unsigned)ts_cuda_parts(threads, N4_BLOCK);
}

static enum ts_status n4_refine_lattice(const struct fit *fit)
{
    const struct job *job = &fit->job;
    const int64_t *n = job->points, y = 2 * n[1] - 3, x = 2 * n[2] - 3, z = 2 * n[0] - 3;
    n4_refine<<<n4_blocks(n[0] * n[1] * x), N4_BLOCK, 0, fit->stream>>>(
        job->record.lattice, n[0] * n[1], n[2], 1, job->spare[0]);
    n4_refine<<<n4_blocks(n[0] * y * x), N4_BLOCK, 0, fit->stream>>>(job->spare[0], n[0], n[1], x,
                                                                     job->spare[1]);
    n4_refine<<<n4_blocks(z * y * x), N4_BLOCK, 0, fit->stream>>>(job->spare[1], 1, n[0], y * x,
                                                                  job->record.lattice);
    return ts_cuda_launched(fit->context, "n4 refine");
}

static enum ts_status n4_find_rows(const struct fit *fit, bool change)
{
    const struct job *job = &fit->job;
    struct n4_row_sums sums = {};
    sums.lattice = job->record.lattice;
    sums.update = change ? job->update : NULL;
    sums.z_taps = job->taps[0];
    sums.x_taps = job->taps[2];
    for (int d = 0; d < 3; d++)
        sums.points[d] = job->points[d];
    sums.nz = job->n[0];
    sums.nx = job->n[2];
    sums.field = job->field;
    sums.change = job->change;
    sums.done = &job->state->done;
    return ts_cuda_n4_rows(fit->context, &sums, fit->stream);
}

/* Enqueues the sums of the samples' residuals, or weights, to the lattice. */
static enum ts_status n4_sum(const struct fit *fit, bool density)
{
    const struct job *job = &fit->job;
    const int64_t rows = job->n[0] * job->points[1];
    if (density)
        n4_fit<true><<<(unsigned)job->n_tasks, N4_THREADS, 0, fit->stream>>>(*job);
    else
        n4_fit<false><<<(unsigned)job->n_tasks, N4_THREADS, 0, fit->stream>>>(*job);
    n4_sum_chunks<<<n4_blocks(rows * job->n[2]), N4_BLOCK, 0, fit->stream>>>(*job);
    n4_sum_columns<<<n4_blocks(rows * job->points[2] * CUDA_WARP), N4_BLOCK, 0, fit->stream>>>(
        *job, density);
    n4_sum_planes<<<n4_blocks(ts_n4_lattice(&fit->grid, job->level) * CUDA_WARP), N4_BLOCK, 0,
                    fit->stream>>>(*job, density);
    return ts_cuda_launched(fit->context, "n4 sums");
}

static enum ts_status n4_find_range(const struct fit *fit, int64_t iteration)
{
    const struct job *job = &fit->job;
    if (iteration < 0)
        n4_range<false><<<(unsigned)job->n_tasks, N4_THREADS, 0, fit->stream>>>(*job);
    else
        n4_range<true><<<(unsigned)job->n_tasks, N4_THREADS, 0, fit->stream>>>(*job);
    n4_end_range<<<1, ONE_BLOCK, 0, fit->stream>>>(*job, iteration);
    return ts_cuda_launched(fit->context, "n4 range");
}

static enum ts_status n4_count_and_sharpen(const struct fit *fit)
{
    const struct job *job = &fit->job;
    const int64_t copy_bytes = 2 * job->bins * (int64_t)sizeof(unsigned int),
                  room = COUNT_BYTES / copy_bytes, warps = COUNT_THREADS / CUDA_WARP,
                  copies = room < warps ? room : warps;
    const int64_t pairs = ts_cuda_parts(job->n_tasks, COUNT_THREADS / N4_THREADS),
                  wave = (int64_t)fit->context->device->multiprocessors * COUNT_BLOCKS,
                  least = ts_cuda_parts(pairs, COUNT_TURNS), wanted = wave > least ? wave : least;
    n4_count<<<(unsigned)(wanted < pairs ? wanted : pairs), COUNT_THREADS,
               (size_t)(copies * copy_bytes), fit->stream>>>(*job, (int)copies);
    n4_sharpen<<<1, ONE_BLOCK, 0, fit->stream>>>(*job);
    return ts_cuda_launched(fit->context, "n4 sharpen");
}

static enum ts_status n4_iterate(const struct fit *fit, int64_t iteration)
{
    enum ts_status status = n4_count_and_sharpen(fit);
    if (status == TS_OK)
        status = n4_sum(fit, false);
    if (status == TS_OK)
        status = n4_find_rows(fit, true);
    return status == TS_OK ? n4_find_range(fit, iteration) : status;
}

static enum ts_status n4_run_level(struct fit *fit, int level)
{
    const int64_t most = (int64_t)fit->params->iterations.values[level];
    enum ts_status status = level > 0 ? n4_refine_lattice(fit) : TS_OK;
    n4_describe_level(fit, level);
    n4_begin_level<<<1, 1, 0, fit->stream>>>(fit->job);
    if (status == TS_OK)
        status = n4_sum(fit, true);
    if (status == TS_OK)
        status = n4_find_rows(fit, false);
    for (int64_t i = 0; status == TS_OK && i < most; i++)
        status = n4_iterate(fit, i);
    return status;
}

static struct fit n4_describe(const struct stage_context *context)
{
    struct fit fit = {};
    struct job *job = &fit.job;
    fit.context = context;
    fit.params = (const struct n4_params *)context->params;
    fit.grid = ts_n4_grid(context);
    for (int d = 0; d < 3; d++)
        job->n[d] = fit.grid.axes[d].samples;
    job->tasks_x = ts_cuda_parts(job->n[2], N4_THREADS);
    job->n_padded = ts_n4_padded(fit.params);
    job->bins = fit.params->bins;
    job->most = fit.grid.most;
    job->fwhm = fit.params->fwhm;
    job->noise = fit.params->noise;
    job->threshold = fit.params->threshold;
    return fit;
}

size_t ts_cuda_n4_fit_bytes(const struct stage_context *context)
{
    struct fit fit = n4_describe(context);
    struct memory_layout layout = {};
    n4_lay_out(fit.params, &fit.grid, &layout, &fit.job);
    return layout.bytes;
}

enum ts_status ts_cuda_n4_fit(const struct stage_context *context, const float *samples,
                              const float *weights, double *record, const struct cuda_call *call)
{
    struct fit fit = n4_describe(context);
    struct memory_layout layout = {call->scratch, 0, 0},
                         constants = {(void *)call->constants, 0, 0};
    struct job *job = &fit.job;
    n4_lay_out(fit.params, &fit.grid, &layout, job);
    fit.constants = ts_cuda_n4_constants(context, &fit.grid, &constants);
    fit.stream = call->stream;
    job->samples = samples;
    job->weights = weights;
    job->cosines = fit.constants.cosines;
    job->record = ts_n4_record(&fit.grid, record);
    n4_describe_level(&fit, 0);
    n4_begin<<<1, N4_BLOCK, 0, fit.stream>>>(*job, fit.grid.levels * fit.grid.most, fit.grid.levels,
                                             ts_n4_lattice(&fit.grid, 0));
    enum ts_status status = n4_find_rows(&fit, false);
    if (status == TS_OK)
        status = n4_find_range(&fit, -1);
    for (int level = 0; status == TS_OK && level < fit.grid.levels; level++)
        status = n4_run_level(&fit, level);
    return status;
}
