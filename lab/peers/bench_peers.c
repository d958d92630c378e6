/* SPDX-License-Identifier: Apache-2.0
 *
 * tomostage-bench-peers: histograms and statistics of a volume and of its slices beside cub,
 * histograms and box beside NPP, on one CUDA device, in one process, on the same buffers, in turns.
 */
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "lab/peers/comparison.h"

static void print_text(struct peers_bench *bench, const struct comparison *it,
                       const char *const names[CONTENDERS], double bytes, double ceiling)
{
    const struct bench_case *which = &it->which;
    if (bench->n_rows++ == 0)
        printf("%-10s %-36s %-5s %-8s %12s  %-9s %9s %7s %5s %9s  %s\n", "stage", "parameters",
               "dtype", "values", "z*y*x", "by", "ms", "GB/s", "of", "tomostage", "error");
    for (int i = 0; i < CONTENDERS; i++) {
        char times[24] = "", error[24];
        if (i > 0 && !it->peers[i - 1])
            continue;
        if (i > 0)
            snprintf(times, sizeof times, "%.1fx", it->seconds[i] / it->seconds[0]);
        snprintf(error, sizeof error, "%.1e", it->differences[i]);
        printf("%-10s %-36s %-5s %-8s %4lldx%lldx%lld  %-9s %9.4f %7.0f %4.0f%% %9s  %s\n",
               which->stage->name, which->parameters, ts_dtype_name(which->dtype),
               ts_bench_values_names[which->values], (long long)which->nz, (long long)which->ny,
               (long long)which->nx, names[i], 1e3 * it->seconds[i], 1e-9 * bytes / it->seconds[i],
               100 * bytes / it->seconds[i] / ceiling, times,
               it->verdicts[i] ? it->verdicts[i] : error);
    }
    fflush(stdout);
}

static void print_json(struct peers_bench *bench, const struct comparison *it,
                       const char *const names[CONTENDERS], double bytes, double ceiling)
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

static enum ts_status compare(struct peers_bench *bench, const struct device_numbers *device,
                              struct comparison *it)
{
    const char *const names[CONTENDERS] = {"tomostage", it->peers[0] ? it->peers[0]->name : NULL,
                                           it->peers[1] ? it->peers[1]->name : NULL};
    const enum ts_status status = ts_comparison_run(bench, device, it);
    if (status != TS_OK)
        return status;
    const bool reads = it->work.task != PEER_BOX;
    const double bytes = (double)it->input_bytes * (reads ? 1 : 2);
    const double ceiling = reads ? bench->ceilings.read : bench->ceilings.copy;
    (bench->json ? print_json : print_text)(bench, it, names, bytes, ceiling);
    return TS_OK;
}

/* ---- the cases ------------------------------------------------------------------------------- */

struct histogram_kind {
    enum ts_dtype dtype;
    int bins;
};

/* Compares histograms of the volume, or of each of its slices. */
static enum ts_status histogram(struct peers_bench *bench, const struct device_numbers *device,
                                const struct histogram_kind *kind, enum bench_values values,
                                int64_t nz, bool slices)
{
    const int high = kind->dtype == TS_U8 ? 256 : kind->bins == 65536 ? 65536 : 4096;
    struct comparison it = {
        .which = {.stage = ts_stage_find("histogram"),
                  .dtype = kind->dtype,
                  .values = values,
                  .nz = nz,
                  .ny = 512,
                  .nx = 512},
        .work = {.task = PEER_HISTOGRAM,
                 .dtype = kind->dtype == TS_U8 ? PEER_U8 : PEER_U16,
                 .rows = (int)nz * 512,
                 .nx = 512,
                 .bins = kind->bins,
                 .high = high,
                 .slices = slices ? (int)nz : 1},
        .peers = {&ts_peer_cub_histogram, bench->npp ? &ts_peer_npp_histogram : NULL}};
    snprintf(it.which.parameters, sizeof it.which.parameters, "bins=%d range=0,%d%s", kind->bins,
             high, slices ? " scope=slice" : "");
    return compare(bench, device, &it);
}

static enum ts_status histograms(struct peers_bench *bench, const struct device_numbers *device,
                                 bool slices)
{
    static const struct histogram_kind kinds[] = {
        {TS_U8, 256}, {TS_U16, 256}, {TS_U16, 4096}, {TS_U16, 65536}};
    enum ts_status status = TS_OK;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int values = 0; status == TS_OK && values < BENCH_VALUES; values++) {
            if (bench->bins > 0 && kinds[k].bins != bench->bins)
                continue;
            const int64_t gibibyte = kinds[k].dtype == TS_U8 ? 4096 : 2048; /* in slices */
            status = histogram(bench, device, &kinds[k], (enum bench_values)values,
                               slices ? 512 : gibibyte, slices);
        }
    return status;
}

/* Compares statistics of 512 slices together, and of each. */
static enum ts_status statistics(struct peers_bench *bench, const struct device_numbers *device)
{
    enum ts_status status = TS_OK;
    for (int i = 0; status == TS_OK && i < 8; i++) {
        const bool slices = i & 4, floats = i & 2;
        struct comparison it = {.which = {.stage = ts_stage_find("statistics"),
                                          .dtype = floats ? TS_F32 : TS_U16,
                                          .values = i & 1 ? BENCH_UNIFORM : BENCH_CT,
                                          .nz = 512,
                                          .ny = 512,
                                          .nx = 512},
                                .work = {.task = PEER_STATISTICS,
                                         .dtype = floats ? PEER_F32 : PEER_U16,
                                         .rows = 512 * 512,
                                         .nx = 512,
                                         .slices = slices ? 512 : 1},
                                .peers = {&ts_peer_cub_statistics, NULL}};
        snprintf(it.which.parameters, sizeof it.which.parameters, "%s",
                 slices ? "scope=slice" : "");
        status = compare(bench, device, &it);
    }
    return status;
}

static enum ts_status boxes(struct peers_bench *bench, const struct device_numbers *device)
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
                                    .work = {.task = PEER_BOX,
                                             .dtype = dtype == TS_F32 ? PEER_F32 : PEER_U16,
                                             .rows = 256 * 512,
                                             .nx = 512,
                                             .radius = radii[k]},
                                    .peers = {NULL, bench->npp ? &ts_peer_npp_box : NULL}};
            if (dtype != TS_U16 && dtype != TS_F32)
                continue;
            snprintf(it.which.parameters, sizeof it.which.parameters, "radius=%d border=nearest",
                     radii[k]);
            status = compare(bench, device, &it);
        }
    return status;
}

static enum ts_status run(struct peers_bench *bench, const char *only)
{
    struct cuda_devices found;
    char npp_version[64] = "";
    enum ts_status status = ts_cuda_query_here(&found, bench->diag);
    if (status == TS_OK)
        status = ts_cuda_session_create(&found.devices[0], 0, bench->diag, &bench->session);
    if (status == TS_OK)
        status = ts_cuda_ceilings_measure(bench->session, bench->diag, &bench->ceilings);
    ts_cuda_session_destroy(bench->session);
    if (status != TS_OK)
        return status;
    bench->npp = ts_peer_npp_open(found.devices[0].index, npp_version);
    if (!bench->json)
        printf("%s, driver of CUDA %d.%d; cub %s; NPP %s; its ceilings in this run: copy %.0f "
               "GB/s, read %.0f GB/s\n"
               "error: counts against exact ones; of box the largest distance from the mean in "
               "double, of floats as a share of the largest; of statistics the largest relative "
               "error of lowest, highest, sum and variance. Peers take slices one call each\n\n",
               found.devices[0].name, found.driver / 1000, found.driver % 1000 / 10,
               ts_peer_cub_version(), bench->npp ? npp_version : "not found",
               1e-9 * bench->ceilings.copy, 1e-9 * bench->ceilings.read);
    if (!only || !strcmp(only, "histogram"))
        status = histograms(bench, &found.devices[0], false);
    if (status == TS_OK && (!only || !strcmp(only, "slices")))
        status = histograms(bench, &found.devices[0], true);
    if (status == TS_OK && (!only || !strcmp(only, "statistics")))
        status = statistics(bench, &found.devices[0]);
    if (status == TS_OK && (!only || !strcmp(only, "box")))
        status = boxes(bench, &found.devices[0]);
    if (bench->json)
        printf("%s]\n", bench->n_rows ? "" : "[");
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"bins", required_argument, NULL, 'b'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    struct peers_bench bench = {.diag = ts_diag_create()};
    bool help = false, wrong = false;
    int option;
    if (!bench.diag)
        return TS_RUN_FAILED;
    while (!help && !wrong && (option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (option == 'j')
            bench.json = true;
        else if (option == 'b' && atoi(optarg) > 0)
            bench.bins = atoi(optarg);
        else if (option == 'h')
            help = true;
        else
            wrong = true;
    const char *only = optind < argc ? argv[optind] : NULL;
    enum ts_status status = help ? TS_OK : TS_BAD_CHAIN;
    bool known = !only;
    for (int i = 0; only && i < 4; i++)
        known |=
            !strcmp(only, ((const char *const[]){"histogram", "slices", "statistics", "box"})[i]);
    if (help || wrong || optind + 1 < argc || !known)
        fprintf(
            help ? stdout : stderr,
            "usage: tomostage-bench-peers [histogram|slices|statistics|box] [--bins N] [--json]\n"
            "histogram: of a volume; slices: a histogram of each slice; --bins: only in so many\n");
    else
        status = run(&bench, only);
    ts_diag_print(bench.diag, stderr);
    ts_diag_destroy(bench.diag);
    return (int)status;
}
