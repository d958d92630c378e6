/* SPDX-License-Identifier: Apache-2.0
 *
 * Medians of the device's time, from events around each call; a call's buffer is never the one used
 * last.
 */
#include "lab/peers/comparison.h"

#include <math.h>
#include <stdlib.h>

#include "core/timing.h"

enum { MOST_RUNS = 30, LEAST_RUNS = 3, MAX_SETS = 16 };
/* Wall time, since the host sets a case up and finishes it as well. */
static const double contender_seconds = 0.2;

static enum ts_status fail(struct peers_bench *bench, const char *what)
{
    return ts_diag_error(bench->diag, TS_RUN_FAILED, &(struct diag_site){.code = "peer-failed"},
                         "%s", what);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static enum ts_status feed(void *from, int input, int64_t z, int64_t n,
                           struct ts_image slices[STAGE_INPUTS])
{
    (void)input;
    slices[0] = ts_image_slices(from, z, n);
    return TS_OK;
}

static enum ts_status run_ours(struct peers_bench *bench, struct comparison *it, size_t set,
                               double *seconds)
{
    struct ts_image in = it->ready.context.in, out = it->ready.context.out;
    enum ts_status status = ts_driver_restart(it->driver);
    in.data = it->inputs + set * it->input_bytes;
    out.data = it->outputs[0];
    it->timer.n = 0;
    if (status == TS_OK)
        status = ts_cuda_delay(bench->session, bench->diag);
    struct ts_image slices[STAGE_INPUTS] = {in};
    if (status == TS_OK)
        status = ts_driver_reduce(it->driver, feed, &in);
    if (status == TS_OK)
        status = ts_driver_slab(it->driver, &in, 1, slices, &out);
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    *seconds = 0;
    for (int i = 0; status == TS_OK && i + 1 < it->timer.n; i += 2) {
        float ms = 0;
        status =
            ts_cuda_elapsed_ms(bench->session, it->timer.events[i], it->timer.events[i + 1], &ms);
        *seconds += 1e-3 * (double)ms;
    }
    return status;
}

static enum ts_status run_peer(struct peers_bench *bench, struct comparison *it, int contender,
                               size_t set, double *seconds)
{
    const struct peer *peer = it->peers[contender - 1];
    float ms = 0;
    it->work.in = it->inputs + set * it->input_bytes;
    it->work.out = it->outputs[contender];
    enum ts_status status = ts_cuda_delay(bench->session, bench->diag);
    if (status == TS_OK)
        status = ts_cuda_event_record(bench->session, it->start, CUDA_COMPUTE);
    if (status == TS_OK && peer->run(&it->work) != 0)
        status = fail(bench, peer->name);
    if (status == TS_OK)
        status = ts_cuda_event_record(bench->session, it->end, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    if (status == TS_OK)
        status = ts_cuda_elapsed_ms(bench->session, it->start, it->end, &ms);
    *seconds = 1e-3 * (double)ms;
    return status;
}

static enum ts_status take_turns(struct peers_bench *bench, struct comparison *it)
{
    double seconds[CONTENDERS][MOST_RUNS], spent[CONTENDERS] = {0};
    int n[CONTENDERS] = {0};
    enum ts_status status = TS_OK;
    for (int round = -1; status == TS_OK && round < MOST_RUNS; round++)
        for (int turn = 0; status == TS_OK && turn < CONTENDERS; turn++) {
            const int contender = (turn + round + 1) % CONTENDERS;
            double once = 0;
            if ((contender > 0 && !it->peers[contender - 1]) ||
                (n[contender] >= LEAST_RUNS && spent[contender] > contender_seconds))
                continue;
            const size_t set = (size_t)(it->next_set++ % it->n_sets);
            const double start = ts_seconds();
            status = contender == 0 ? run_ours(bench, it, set, &once)
                                    : run_peer(bench, it, contender, set, &once);
            if (round < 0)
                continue; /* warms up */
            seconds[contender][n[contender]++] = once;
            spent[contender] += ts_seconds() - start;
        }
    for (int i = 0; status == TS_OK && i < CONTENDERS; i++)
        it->seconds[i] = n[i] > 0 ? ts_median(seconds[i], n[i]) : NAN;
    return status;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static enum ts_status allocate_buffers(struct peers_bench *bench, struct comparison *it)
{
    const size_t memory = ts_cuda_session_device(bench->session)->memory_bytes,
                 gib = (size_t)1 << 30;
    const size_t budget = memory / 4 < gib ? memory / 4 : gib;
    it->input_bytes = ts_image_bytes(&it->ready.context.in);
    const size_t outputs[] = {
        [PEER_HISTOGRAM] = sizeof(uint32_t) * (size_t)it->work.bins * (size_t)it->work.slices,
        [PEER_BOX] = it->input_bytes,
        [PEER_STATISTICS] = sizeof(struct peer_moments) * (size_t)it->work.slices};
    it->output_bytes = outputs[it->work.task];
    const size_t sets = (budget + it->input_bytes - 1) / it->input_bytes;
    it->n_sets = sets < 2 ? 2 : sets > MAX_SETS ? MAX_SETS : (int)sets;
    for (int i = 0; i < CONTENDERS - 1; i++) {
        size_t bytes = 0;
        if (it->peers[i] && it->peers[i]->scratch_bytes(&it->work, &bytes) != 0)
            return fail(bench, it->peers[i]->name);
        it->work.scratch_bytes = bytes > it->work.scratch_bytes ? bytes : it->work.scratch_bytes;
    }
    it->work.scratch = ts_cuda_allocate(bench->session, it->work.scratch_bytes);
    it->inputs = ts_cuda_allocate(bench->session, it->input_bytes * (size_t)it->n_sets);
    it->start = ts_cuda_event_create(bench->session);
    it->end = ts_cuda_event_create(bench->session);
    bool complete = it->work.scratch && it->inputs && it->start && it->end;
    for (int i = 0; complete && i < CONTENDERS; i++)
        complete = (it->outputs[i] = ts_cuda_allocate(bench->session, it->output_bytes)) != NULL;
    for (int i = 0; complete && i < CUDA_TIMER_EVENTS; i++)
        complete = (it->timer.events[i] = ts_cuda_event_create(bench->session)) != NULL;
    return complete ? TS_OK : TS_RUN_FAILED;
}

static enum ts_status fill_inputs(struct peers_bench *bench, struct comparison *it)
{
    const size_t all = it->input_bytes * (size_t)it->n_sets, bytes = ts_image_bytes(&it->block);
    enum ts_status status = ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_TO_DEVICE, it->inputs,
                                         it->block.data, bytes);
    for (size_t done = bytes; status == TS_OK && done < all; done += bytes)
        status = ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_ON_DEVICE, it->inputs + done,
                              it->inputs, bytes);
    return status == TS_OK ? ts_cuda_wait(bench->session, CUDA_COMPUTE) : status;
}

static enum ts_status set_up(struct peers_bench *bench, struct comparison *it)
{
    struct bench_case block = it->which;
    block.nz = COMPARISON_BLOCK;
    enum ts_status status = ts_bench_prepare(&it->ready, &it->which, NULL, 1,
                                             ts_cuda_session_device(bench->session), bench->diag);
    it->block = ts_bench_image(&block);
    if (status == TS_OK && !it->block.data)
        status = ts_diag_no_memory(bench->diag, ts_image_bytes(&it->block));
    /* Data of so many bits: what falls outside the bins would be counted in one place. */
    for (size_t i = 0; status == TS_OK && it->which.dtype == TS_U16 &&
                       it->work.task == PEER_HISTOGRAM && i < ts_image_count(&it->block);
         i++)
        ((uint16_t *)it->block.data)[i] &= (uint16_t)(it->work.high - 1);
    it->work.stream = ts_cuda_stream(bench->session, CUDA_COMPUTE);
    if (status == TS_OK)
        status = allocate_buffers(bench, it);
    if (status == TS_OK)
        status = fill_inputs(bench, it);
    if (status == TS_OK)
        status = ts_cuda_driver_create(bench->session, &it->ready.context, it->which.nz, NULL,
                                       &it->driver);
    if (status == TS_OK)
        ts_cuda_driver_time(it->driver, &it->timer);
    return status;
}

enum ts_status ts_comparison_run(struct peers_bench *bench, const struct device_numbers *device,
                                 struct comparison *it)
{
    enum ts_status status = ts_cuda_session_create(device, 0, bench->diag, &bench->session);
    if (status == TS_OK)
        status = set_up(bench, it);
    if (status == TS_OK)
        status = take_turns(bench, it);
    if (status == TS_OK)
        status = ts_comparison_check(bench, it);
    free(it->block.data);
    ts_bench_stage_clear(&it->ready);
    ts_driver_destroy(it->driver);
    ts_cuda_session_destroy(bench->session);
    bench->session = NULL;
    return status;
}
