/* SPDX-License-Identifier: Apache-2.0
 *
 * Medians of runs on images of the device. A delay goes before each run, so that its kernels follow one another without
 * waiting for the host; the total is taken in runs of their own, without it.
 */
#include "cuda/bench/bench.h"

#include "core/timing.h"
#include "cuda/device/driver.h"

enum { MAX_RUNS = 101, USUAL_RUNS = 30, LEAST_RUNS = 5, WARM_UPS = 2, TOTAL_RUNS = 5, MAX_SETS = 64 };
static const double run_seconds = 0.33;

struct bench {
    struct cuda_session *session;
    struct ts_diag *diag;
    int n, n_sets;
    struct stage_context *const *contexts;
    struct stage_driver *drivers[CUDA_BENCH_STAGES];
    int64_t halo;
    unsigned char *inputs, *outputs[CUDA_BENCH_STAGES]; /* n_sets inputs, and as many results of each stage's map */
    size_t input_bytes, output_bytes[CUDA_BENCH_STAGES];
    struct cuda_timer timer;
};

static size_t align(size_t bytes)
{
    return (bytes + CUDA_ALIGNMENT - 1) / CUDA_ALIGNMENT * CUDA_ALIGNMENT;
}

static enum ts_status take_images(struct bench *bench, bool rotate)
{
    const struct ts_image *in = &bench->contexts[0]->in;
    const size_t memory = ts_cuda_session_device(bench->session)->memory_bytes;
    const size_t gib = (size_t)1 << 30, room = memory / 2 < gib ? memory / 2 : gib;
    bench->halo = ts_stage_reach(bench->contexts[0]).halo;
    bench->input_bytes = align((size_t)(in->axes[0].n + 2 * bench->halo) * ts_slice_bytes(in));
    size_t set = bench->input_bytes;
    for (int i = 0; i < bench->n; i++) {
        bench->output_bytes[i] =
            bench->contexts[i]->stage->cuda->map ? align(ts_image_bytes(&bench->contexts[i]->out)) : 0;
        set += bench->output_bytes[i];
    }
    const size_t sets = rotate ? (room + set - 1) / set : 1;
    bench->n_sets = sets > MAX_SETS ? MAX_SETS : (int)sets;
    bench->inputs = ts_cuda_take(bench->session, bench->input_bytes * (size_t)bench->n_sets);
    bool complete = bench->inputs != NULL;
    for (int i = 0; complete && i < bench->n; i++)
        complete =
            (bench->outputs[i] = ts_cuda_take(bench->session, bench->output_bytes[i] * (size_t)bench->n_sets)) != NULL;
    for (int i = 0; complete && i < CUDA_TIMER_EVENTS; i++)
        complete = (bench->timer.events[i] = ts_cuda_event_create(bench->session)) != NULL;
    return complete ? TS_OK : TS_RUN_FAILED;
}

/* The block again and again, over all inputs. */
static enum ts_status fill_inputs(struct bench *bench, const struct ts_image *block)
{
    const size_t all = bench->input_bytes * (size_t)bench->n_sets, bytes = ts_image_bytes(block);
    enum ts_status status = ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_TO_DEVICE, bench->inputs, block->data,
                                         bytes < all ? bytes : all);
    for (size_t done = bytes; status == TS_OK && done < all; done += bytes)
        status = ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_ON_DEVICE, bench->inputs + done, bench->inputs,
                              all - done < bytes ? all - done : bytes);
    return status == TS_OK ? ts_cuda_wait(bench->session, CUDA_COMPUTE) : status;
}

static enum ts_status create_drivers(struct bench *bench)
{
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < bench->n; i++)
        status = ts_cuda_driver_create(bench->session, bench->contexts[i], bench->contexts[i]->in.axes[0].n, NULL,
                                       &bench->drivers[i]);
    return status;
}

/* A table that nothing in the chain waits for: its host's part can follow behind the chain. */
static bool finishes_last(const struct bench *bench, int i)
{
    const struct stage_context *context = bench->contexts[i];
    return bench->n > 1 && !context->stage->cuda->map && ts_stage_rounds(context) == 1;
}

struct inputs {
    const struct stage_context *context;
    const struct ts_image *in;
};

static enum ts_status feed(void *from, int input, int64_t z, int64_t n, struct ts_image slices[STAGE_INPUTS])
{
    const struct inputs *inputs = from;
    struct ts_image images[STAGE_INPUTS];
    ts_stage_inputs_alike(inputs->context, inputs->in, images);
    ts_stage_slices(inputs->context, input, &images[input], z, n, slices);
    return TS_OK;
}

static enum ts_status reduce(struct bench *bench, int i, const struct ts_image *in)
{
    const struct stage_context *context = bench->contexts[i];
    struct ts_image images[STAGE_INPUTS];
    enum ts_status status = TS_OK;
    if (!finishes_last(bench, i))
        return ts_driver_reduce(bench->drivers[i], feed, &(struct inputs){context, in});
    ts_stage_inputs_alike(context, in, images);
    for (int input = 0; status == TS_OK && input < STAGE_INPUTS; input++)
        if (ts_stage_reduces_volume(context, input))
            status = ts_driver_add(bench->drivers[i], input, &images[input]);
    return status;
}

/* A chain is timed as a whole, and a stage in the stretches of work that it puts on the device. */
static enum ts_status mark_chain(struct bench *bench, bool total)
{
    if (bench->n == 1 || total)
        return TS_OK;
    return ts_cuda_event_record(bench->session, bench->timer.events[bench->timer.n++], CUDA_COMPUTE);
}

static enum ts_status finish_last(struct bench *bench)
{
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < bench->n; i++)
        if (ts_stage_reduces_volume(bench->contexts[i], 0) && finishes_last(bench, i))
            status = ts_driver_finish(bench->drivers[i]);
    return status;
}

static enum ts_status run_once(struct bench *bench, int set)
{
    struct ts_image in = bench->contexts[0]->in;
    enum ts_status status = TS_OK;
    unsigned char *padded_data = bench->inputs + bench->input_bytes * (size_t)set;
    in.data = padded_data + (size_t)bench->halo * ts_slice_bytes(&in);
    for (int i = 0; status == TS_OK && i < bench->n; i++) {
        const struct stage_context *context = bench->contexts[i];
        struct ts_image slices[STAGE_INPUTS], out = context->out, padded = in;
        ts_stage_inputs_alike(context, &in, slices);
        if (i == 0) {
            padded.data = padded_data;
            padded.z_first = -bench->halo;
            padded.axes[0].n += 2 * bench->halo;
        }
        out.data = bench->outputs[i] + bench->output_bytes[i] * (size_t)set;
        status = reduce(bench, i, &in);
        if (status == TS_OK)
            status = ts_driver_slab(bench->drivers[i], &padded, 1, slices, &out);
        if (context->stage->map)
            in = out;
    }
    return status;
}

/* The kernels' seconds of one run, or, without a delay before it, those from its first call to its end. */
static enum ts_status time_run(struct bench *bench, int set, bool total, double *seconds)
{
    enum ts_status status = TS_OK;
    bench->timer.n = 0;
    for (int i = 0; status == TS_OK && i < bench->n; i++) {
        status = ts_driver_restart(bench->drivers[i]);
        ts_cuda_driver_time(bench->drivers[i], total || bench->n > 1 ? NULL : &bench->timer);
    }
    if (status == TS_OK && !total)
        status = ts_cuda_delay(bench->session, bench->diag);
    if (status == TS_OK && total)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    const double start = ts_seconds();
    if (status == TS_OK)
        status = mark_chain(bench, total);
    if (status == TS_OK)
        status = run_once(bench, set);
    if (status == TS_OK)
        status = mark_chain(bench, total);
    if (status == TS_OK)
        status = finish_last(bench);
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    *seconds = total ? ts_seconds() - start : 0;
    for (int i = 0; status == TS_OK && i + 1 < bench->timer.n; i += 2) {
        float ms = 0;
        status = ts_cuda_elapsed_ms(bench->session, bench->timer.events[i], bench->timer.events[i + 1], &ms);
        *seconds += 1e-3 * (double)ms;
    }
    return status;
}

static enum ts_status time_runs(struct bench *bench, int runs, struct cuda_bench_times *times)
{
    double seconds[MAX_RUNS], totals[TOTAL_RUNS], warm;
    enum ts_status status = TS_OK;
    int n = 0, set = 0;
    const int most = runs > 0 ? (runs < MAX_RUNS ? runs : MAX_RUNS) : USUAL_RUNS;
    const int n_warm = most > WARM_UPS ? WARM_UPS : most - 1, n_totals = most < TOTAL_RUNS ? most : TOTAL_RUNS;
    for (int i = 0; status == TS_OK && i < n_warm; i++)
        status = time_run(bench, set++ % bench->n_sets, false, &warm);
    for (double start = ts_seconds(); status == TS_OK && n < most; n++) {
        if (runs <= 0 && n >= LEAST_RUNS && ts_seconds() - start > run_seconds)
            break;
        status = time_run(bench, set++ % bench->n_sets, false, &seconds[n]);
    }
    for (int i = 0; status == TS_OK && i < n_totals; i++)
        status = time_run(bench, set++ % bench->n_sets, true, &totals[i]);
    if (status != TS_OK)
        return status;
    times->runs = n;
    times->seconds = ts_median(seconds, n);
    times->spread = ts_spread(seconds, n);
    times->total_seconds = ts_median(totals, n_totals);
    return TS_OK;
}

enum ts_status ts_cuda_bench(struct stage_context *const contexts[], int n, const struct ts_image *block, bool rotate,
                             double longest, int runs, struct ts_diag *diag, struct cuda_bench_times *times)
{
    struct bench bench = {.n = n, .contexts = contexts, .diag = diag};
    enum ts_status status = ts_cuda_session_create(contexts[0]->device, 0, diag, &bench.session);
    if (status == TS_OK)
        status = take_images(&bench, rotate);
    if (status == TS_OK)
        status = fill_inputs(&bench, block);
    const double start = ts_seconds();
    if (status == TS_OK)
        status = create_drivers(&bench);
    if (status == TS_OK)
        status = run_once(&bench, 0);
    if (status == TS_OK)
        status = finish_last(&bench);
    if (status == TS_OK)
        status = ts_cuda_wait(bench.session, CUDA_COMPUTE);
    times->cold_seconds = ts_seconds() - start;
    double warm_seconds = 0;
    times->runs = 0;
    if (status == TS_OK && times->cold_seconds > longest)
        status = time_run(&bench, 0, false, &warm_seconds); /* what took long may have been the start */
    if (status == TS_OK && warm_seconds <= longest)
        status = time_runs(&bench, runs, times);
    for (int i = 0; i < n; i++)
        ts_driver_destroy(bench.drivers[i]);
    ts_cuda_session_destroy(bench.session);
    return status;
}

enum ts_status ts_cuda_bench_ceilings(const struct device_numbers *device, struct ts_diag *diag,
                                      struct cuda_ceilings *ceilings)
{
    struct cuda_session *session;
    enum ts_status status = ts_cuda_session_create(device, 0, diag, &session);
    if (status == TS_OK)
        status = ts_cuda_ceilings_measure(session, diag, ceilings);
    ts_cuda_session_destroy(session);
    return status;
}
