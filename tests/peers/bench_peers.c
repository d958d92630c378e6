/* SPDX-License-Identifier: Apache-2.0
 *
 * tomostage-bench-peers: tomostage's histogram and box beside cub and NPP on one CUDA device, in one process, on the
 * same buffers, in turns. Medians of the device's time, from events around each call; a call's buffer is never the one
 * used last. Everyone's numbers are compared with counts and means worked out on the CPU in integers or in double.
 */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ceilings.h"
#include "cuda/stage_state.h"
#include "pipeline/bench.h"
#include "pipeline/json.h"
#include "pipeline/timing.h"
#include "tests/peers/peers.h"

enum { CONTENDERS = 3, MOST_RUNS = 30, LEAST_RUNS = 5, BLOCK = 8, MAX_SETS = 16 };
static const double contender_seconds = 0.4;

struct comparison {
    struct bench_case which;
    struct bench_stage ready;
    struct peer_work work;
    const struct peer *peers[CONTENDERS - 1]; /* NULL: none */
    struct ts_image block;                    /* the first slices; the volume repeats them */
    struct cuda_stage *stage;
    struct cuda_timer timer;
    struct cuda_event *start, *end;
    unsigned char *inputs, *outputs[CONTENDERS];
    size_t input_bytes, output_bytes;
    int n_sets, next_set;
    double seconds[CONTENDERS], differences[CONTENDERS];
    const char *verdicts[CONTENDERS]; /* "exact", "WRONG", or NULL where differences says it */
};

struct peers_bench {
    struct cuda_session *session;
    struct ts_diag *diag;
    struct cuda_ceilings ceilings;
    bool json, npp;
    int n_rows;
};

static enum ts_status fail(struct peers_bench *bench, const char *what)
{
    return ts_diag_error(bench->diag, TS_RUN_FAILED, &(struct diag_site){.code = "peer-failed"}, "%s", what);
}

/* ---- calls ------------------------------------------------------------------------------------- */

static enum ts_status run_ours(struct peers_bench *bench, struct comparison *it, size_t set, double *seconds)
{
    struct ts_image in = it->ready.context.in, out = it->ready.context.out;
    enum ts_status status = ts_cuda_stage_restart(it->stage);
    in.data = it->inputs + set * it->input_bytes;
    out.data = it->outputs[0];
    it->timer.n = 0;
    if (status == TS_OK)
        status = ts_cuda_delay(bench->session, bench->diag);
    if (status == TS_OK && it->which.stage->reduction)
        status = ts_cuda_stage_add(it->stage, 0, &in);
    if (status == TS_OK && it->which.stage->reduction)
        status = ts_cuda_stage_finish(it->stage);
    if (status == TS_OK && it->which.stage->cuda->map)
        status = ts_cuda_stage_map(it->stage, &in, &out);
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    *seconds = 0;
    for (int i = 0; status == TS_OK && i + 1 < it->timer.n; i += 2) {
        float ms = 0;
        status = ts_cuda_elapsed_ms(bench->session, it->timer.events[i], it->timer.events[i + 1], &ms);
        *seconds += 1e-3 * (double)ms;
    }
    return status;
}

static enum ts_status run_peer(struct peers_bench *bench, struct comparison *it, int contender, size_t set,
                               double *seconds)
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
            status = contender == 0 ? run_ours(bench, it, set, &once) : run_peer(bench, it, contender, set, &once);
            if (round < 0)
                continue; /* warms up */
            seconds[contender][n[contender]++] = once;
            spent[contender] += once;
        }
    for (int i = 0; status == TS_OK && i < CONTENDERS; i++)
        it->seconds[i] = n[i] > 0 ? ts_median(seconds[i], n[i]) : NAN;
    return status;
}

/* ---- correctness ------------------------------------------------------------------------------- */

static void check_counts(struct comparison *it, const uint32_t *const counts[CONTENDERS])
{
    uint64_t *expected = calloc((size_t)it->work.bins, sizeof *expected);
    const size_t n = ts_image_count(&it->block);
    const uint64_t copies = (uint64_t)(it->which.nz / BLOCK);
    const struct stage_table *tables;
    const bool has_table = ts_stage_reduced_tables(ts_cuda_stage_reduced(it->stage), &tables) > 0;
    for (size_t i = 0; expected && i < n; i++) {
        const uint64_t value =
            it->which.dtype == TS_U8 ? ((uint8_t *)it->block.data)[i] : ((uint16_t *)it->block.data)[i];
        if (value < (uint64_t)it->work.high)
            expected[value * (uint64_t)it->work.bins / (uint64_t)it->work.high] += copies;
    }
    for (int contender = 0; contender < CONTENDERS; contender++) {
        bool same = expected && (contender > 0 || has_table);
        for (int bin = 0; same && bin < it->work.bins; bin++)
            same = expected[bin] ==
                   (contender == 0 ? ((const uint64_t *)tables[0].image.data)[bin] : (uint64_t)counts[contender][bin]);
        it->verdicts[contender] = same ? "exact" : "WRONG";
    }
    free(expected);
}

static double value_at(const void *data, enum ts_dtype dtype, size_t i)
{
    double value;
    ts_load_f64(&value, (const char *)data + i * ts_dtype_bytes(dtype), dtype, 1);
    return value;
}

/* The mean of a window of the first slice, its border repeated, in double. */
static double mean_at(const struct comparison *it, int y, int x)
{
    const int radius = it->work.radius, nx = (int)it->which.nx, ny = (int)it->which.ny;
    double sum = 0;
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            const int yy = y + dy < 0 ? 0 : y + dy >= ny ? ny - 1 : y + dy;
            const int xx = x + dx < 0 ? 0 : x + dx >= nx ? nx - 1 : x + dx;
            sum += value_at(it->block.data, it->which.dtype, (size_t)yy * (size_t)nx + (size_t)xx);
        }
    return sum / (double)((2 * radius + 1) * (2 * radius + 1));
}

/* Some pixels of the first slice, far enough from its end: to the peers the next slice is the image's next rows. */
static void check_means(struct comparison *it, const void *const images[CONTENDERS])
{
    const int rows = (int)it->which.ny - it->work.radius, step = rows > 7 ? rows / 7 : 1;
    double largest = 0;
    memset(it->differences, 0, sizeof it->differences);
    for (int y = 0; y < rows; y += step)
        for (int x = 0; x < it->which.nx; x += 37) {
            const double expected = mean_at(it, y, x);
            largest = fmax(largest, fabs(expected));
            for (int i = 0; i < CONTENDERS; i++) {
                const size_t at = (size_t)y * (size_t)it->which.nx + (size_t)x;
                const double off =
                    i == 0 || it->peers[i - 1] ? fabs(value_at(images[i], it->which.dtype, at) - expected) : 0;
                it->differences[i] = isnan(off) ? (double)INFINITY : fmax(it->differences[i], off);
            }
        }
    for (int i = 0; i < CONTENDERS && !ts_dtype_is_integer(it->which.dtype); i++)
        it->differences[i] /= largest;
}

static enum ts_status check(struct peers_bench *bench, struct comparison *it)
{
    const size_t slice = ts_slice_bytes(&it->block), bytes = it->work.bins ? it->output_bytes : slice;
    void *results[CONTENDERS] = {0};
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < CONTENDERS; i++) {
        results[i] = calloc(1, bytes);
        status = results[i]
                     ? ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_TO_HOST, results[i], it->outputs[i], bytes)
                     : ts_diag_no_memory(bench->diag, bytes);
    }
    if (status == TS_OK)
        status = ts_cuda_wait(bench->session, CUDA_COMPUTE);
    if (status == TS_OK && it->work.bins)
        check_counts(it, (const uint32_t *const *)results);
    else if (status == TS_OK)
        check_means(it, (const void *const *)results);
    for (int i = 0; i < CONTENDERS; i++)
        free(results[i]);
    return status;
}

/* ---- one comparison ---------------------------------------------------------------------------- */

static enum ts_status take_buffers(struct peers_bench *bench, struct comparison *it)
{
    const size_t memory = ts_cuda_session_device(bench->session)->memory_bytes, gib = (size_t)1 << 30;
    const size_t room = memory / 4 < gib ? memory / 4 : gib;
    it->input_bytes = ts_image_bytes(&it->ready.context.in);
    it->output_bytes = it->work.bins ? sizeof(uint32_t) * (size_t)it->work.bins : it->input_bytes;
    const size_t sets = (room + it->input_bytes - 1) / it->input_bytes;
    it->n_sets = sets < 2 ? 2 : sets > MAX_SETS ? MAX_SETS : (int)sets;
    for (int i = 0; i < CONTENDERS - 1; i++) {
        size_t bytes = 0;
        if (it->peers[i] && it->peers[i]->scratch_bytes(&it->work, &bytes) != 0)
            return fail(bench, it->peers[i]->name);
        it->work.scratch_bytes = bytes > it->work.scratch_bytes ? bytes : it->work.scratch_bytes;
    }
    it->work.scratch = ts_cuda_take(bench->session, it->work.scratch_bytes);
    it->inputs = ts_cuda_take(bench->session, it->input_bytes * (size_t)it->n_sets);
    it->start = ts_cuda_event_create(bench->session);
    it->end = ts_cuda_event_create(bench->session);
    bool complete = it->work.scratch && it->inputs && it->start && it->end;
    for (int i = 0; complete && i < CONTENDERS; i++)
        complete = (it->outputs[i] = ts_cuda_take(bench->session, it->output_bytes)) != NULL;
    for (int i = 0; complete && i < CUDA_TIMER_EVENTS; i++)
        complete = (it->timer.events[i] = ts_cuda_event_create(bench->session)) != NULL;
    return complete ? TS_OK : TS_RUN_FAILED;
}

static enum ts_status fill_inputs(struct peers_bench *bench, struct comparison *it)
{
    const size_t all = it->input_bytes * (size_t)it->n_sets, bytes = ts_image_bytes(&it->block);
    enum ts_status status =
        ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_TO_DEVICE, it->inputs, it->block.data, bytes);
    for (size_t done = bytes; status == TS_OK && done < all; done += bytes)
        status = ts_cuda_copy(bench->session, CUDA_COMPUTE, CUDA_ON_DEVICE, it->inputs + done, it->inputs, bytes);
    return status == TS_OK ? ts_cuda_wait(bench->session, CUDA_COMPUTE) : status;
}

static void print_text(struct peers_bench *bench, const struct comparison *it, const char *const names[CONTENDERS],
                       double bytes, double ceiling)
{
    const struct bench_case *which = &it->which;
    if (bench->n_rows++ == 0)
        printf("%-9s %-26s %-5s %-8s %12s  %-9s %9s %7s %5s %9s  %s\n", "stage", "parameters", "dtype", "values",
               "z*y*x", "by", "ms", "GB/s", "of", "tomostage", "error");
    for (int i = 0; i < CONTENDERS; i++) {
        char times[24] = "", error[24];
        if (i > 0 && !it->peers[i - 1])
            continue;
        if (i > 0)
            snprintf(times, sizeof times, "%.1fx", it->seconds[i] / it->seconds[0]);
        snprintf(error, sizeof error, "%.1e", it->differences[i]);
        printf("%-9s %-26s %-5s %-8s %4lldx%lldx%lld  %-9s %9.4f %7.0f %4.0f%% %9s  %s\n", which->stage->name,
               which->parameters, ts_dtype_name(which->dtype), ts_bench_values_names[which->values],
               (long long)which->nz, (long long)which->ny, (long long)which->nx, names[i], 1e3 * it->seconds[i],
               1e-9 * bytes / it->seconds[i], 100 * bytes / it->seconds[i] / ceiling, times,
               it->verdicts[i] ? it->verdicts[i] : error);
    }
    fflush(stdout);
}

static void print_json(struct peers_bench *bench, const struct comparison *it, const char *const names[CONTENDERS],
                       double bytes, double ceiling)
{
    for (int i = 0; i < CONTENDERS; i++) {
        struct json json;
        if (i > 0 && !it->peers[i - 1])
            continue;
        printf("%s", bench->n_rows++ ? "," : "[\n");
        ts_json_init(&json, stdout, false);
        ts_json_open(&json, '{');
        ts_json_member_text(&json, "stage", it->which.stage->name);
        ts_json_member_text(&json, "parameters", it->which.parameters);
        ts_json_member_text(&json, "dtype", ts_dtype_name(it->which.dtype));
        ts_json_member_text(&json, "values", ts_bench_values_names[it->which.values]);
        ts_json_member_text(&json, "by", names[i]);
        ts_json_member_real(&json, "seconds", it->seconds[i]);
        ts_json_member_real(&json, "bytes", bytes);
        ts_json_member_real(&json, "percent", 100 * bytes / it->seconds[i] / ceiling);
        if (it->verdicts[i])
            ts_json_member_bool(&json, "exact", !strcmp(it->verdicts[i], "exact"));
        else
            ts_json_member_real(&json, "error", it->differences[i]);
        ts_json_close(&json, '}');
    }
}

static enum ts_status set_up(struct peers_bench *bench, struct comparison *it)
{
    struct bench_case block = it->which;
    block.nz = BLOCK;
    enum ts_status status =
        ts_bench_prepare(&it->ready, &it->which, NULL, 1, ts_cuda_session_device(bench->session), bench->diag);
    it->block = ts_bench_image(&block);
    if (status == TS_OK && !it->block.data)
        status = ts_diag_no_memory(bench->diag, ts_image_bytes(&it->block));
    /* Data of so many bits: what falls outside the bins would be counted in one place. */
    for (size_t i = 0; status == TS_OK && it->which.dtype == TS_U16 && it->work.bins && i < ts_image_count(&it->block);
         i++)
        ((uint16_t *)it->block.data)[i] &= (uint16_t)(it->work.high - 1);
    it->work.stream = ts_cuda_stream(bench->session, CUDA_COMPUTE);
    if (status == TS_OK)
        status = take_buffers(bench, it);
    if (status == TS_OK)
        status = fill_inputs(bench, it);
    if (status == TS_OK)
        status = ts_cuda_stage_create(bench->session, &it->ready.context, it->which.nz, &it->stage);
    if (status == TS_OK)
        ts_cuda_stage_time(it->stage, &it->timer);
    return status;
}

/* Each in a session of its own, which frees all that it took. */
static enum ts_status compare(struct peers_bench *bench, const struct cuda_device *device, struct comparison *it)
{
    const char *const names[CONTENDERS] = {"tomostage", it->peers[0] ? it->peers[0]->name : NULL,
                                           it->peers[1] ? it->peers[1]->name : NULL};
    enum ts_status status = ts_cuda_session_create(device, 0, bench->diag, &bench->session);
    if (status == TS_OK)
        status = set_up(bench, it);
    if (status == TS_OK)
        status = take_turns(bench, it);
    if (status == TS_OK)
        status = check(bench, it);
    if (status == TS_OK) {
        const double bytes = (double)it->input_bytes * (it->work.bins ? 1 : 2);
        const double ceiling = it->work.bins ? bench->ceilings.read : bench->ceilings.copy;
        (bench->json ? print_json : print_text)(bench, it, names, bytes, ceiling);
    }
    free(it->block.data);
    ts_bench_stage_clear(&it->ready);
    ts_cuda_stage_destroy(it->stage);
    ts_cuda_session_destroy(bench->session);
    bench->session = NULL;
    return status;
}

/* ---- the cases --------------------------------------------------------------------------------- */

static enum ts_status histograms(struct peers_bench *bench, const struct cuda_device *device)
{
    static const struct {
        enum ts_dtype dtype;
        int bins;
    } kinds[] = {{TS_U8, 256}, {TS_U16, 256}, {TS_U16, 4096}, {TS_U16, 65536}};
    enum ts_status status = TS_OK;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int values = 0; status == TS_OK && values < BENCH_VALUES; values++) {
            const int slices = kinds[k].dtype == TS_U8 ? 4096 : 2048; /* 1 GiB */
            const int high = kinds[k].dtype == TS_U8 ? 256 : kinds[k].bins == 65536 ? 65536 : 4096;
            struct comparison it = {.which = {.stage = ts_stage_find("histogram"),
                                              .dtype = kinds[k].dtype,
                                              .values = (enum bench_values)values,
                                              .nz = slices,
                                              .ny = 512,
                                              .nx = 512},
                                    .work = {.dtype = kinds[k].dtype == TS_U8 ? PEER_U8 : PEER_U16,
                                             .rows = slices * 512,
                                             .nx = 512,
                                             .bins = kinds[k].bins,
                                             .high = high},
                                    .peers = {&ts_peer_cub_histogram, bench->npp ? &ts_peer_npp_histogram : NULL}};
            snprintf(it.which.parameters, sizeof it.which.parameters, "bins=%d range=0,%d", kinds[k].bins, high);
            status = compare(bench, device, &it);
        }
    return status;
}

static enum ts_status boxes(struct peers_bench *bench, const struct cuda_device *device)
{
    static const int radii[] = {1, 2, 3, 4, 7, 15, 31, 63};
    enum ts_status status = TS_OK;
    for (int dtype = TS_U16; dtype <= TS_F32; dtype++)
        for (size_t k = 0; status == TS_OK && k < sizeof radii / sizeof *radii; k++) {
            struct comparison it = {.which = {.stage = ts_stage_find("box"),
                                              .dtype = (enum ts_dtype)dtype,
                                              .values = BENCH_CT,
                                              .nz = 256,
                                              .ny = 512,
                                              .nx = 512},
                                    .work = {.dtype = dtype == TS_F32 ? PEER_F32 : PEER_U16,
                                             .rows = 256 * 512,
                                             .nx = 512,
                                             .radius = radii[k]},
                                    .peers = {NULL, bench->npp ? &ts_peer_npp_box : NULL}};
            if (dtype != TS_U16 && dtype != TS_F32)
                continue;
            snprintf(it.which.parameters, sizeof it.which.parameters, "radius=%d border=nearest", radii[k]);
            status = compare(bench, device, &it);
        }
    return status;
}

static enum ts_status run(struct peers_bench *bench, const char *only)
{
    struct cuda_devices found;
    char npp_version[64] = "";
    enum ts_status status = ts_cuda_query_here(&found, bench->diag);
    if (!ts_stage_find("histogram")->cuda || !ts_stage_find("box")->cuda)
        return fail(bench, "a stage that is compared has no CUDA code");
    if (status == TS_OK)
        status = ts_cuda_session_create(&found.devices[0], 0, bench->diag, &bench->session);
    if (status == TS_OK)
        status = ts_cuda_ceilings_measure(bench->session, bench->diag, &bench->ceilings);
    ts_cuda_session_destroy(bench->session);
    if (status != TS_OK)
        return status;
    bench->npp = ts_peer_npp_open(found.devices[0].index, npp_version);
    if (!bench->json)
        printf("%s, driver of CUDA %d.%d; cub %s; NPP %s; its ceilings in this run: copy %.0f GB/s, read %.0f GB/s\n"
               "error: counts against exact ones; of box the largest distance from the mean in double, of floats as a "
               "share of the largest\n\n",
               found.devices[0].name, found.driver / 1000, found.driver % 1000 / 10, ts_peer_cub_version(),
               bench->npp ? npp_version : "not found", 1e-9 * bench->ceilings.copy, 1e-9 * bench->ceilings.read);
    if (!only || !strcmp(only, "histogram"))
        status = histograms(bench, &found.devices[0]);
    if (status == TS_OK && (!only || !strcmp(only, "box")))
        status = boxes(bench, &found.devices[0]);
    if (bench->json)
        printf("%s]\n", bench->n_rows ? "" : "[");
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'}, {0}};
    struct peers_bench bench = {.diag = ts_diag_create()};
    int option;
    if (!bench.diag)
        return TS_RUN_FAILED;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (option == 'j')
            bench.json = true;
        else
            optind = argc + 1;
    const char *only = optind < argc ? argv[optind] : NULL;
    enum ts_status status = TS_BAD_CHAIN;
    if (optind + 1 < argc || optind > argc || (only && strcmp(only, "histogram") && strcmp(only, "box")))
        fprintf(stderr, "usage: tomostage-bench-peers [histogram|box] [--json]\n");
    else
        status = run(&bench, only);
    ts_diag_print(bench.diag, stderr);
    ts_diag_destroy(bench.diag);
    return (int)status;
}
