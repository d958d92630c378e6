/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage bench rates` measures once how fast this machine does each part of a run, and keeps
 * that in a file (pipeline/rates/rates.h), by which plans are predicted. It takes less than a
 * minute.
 */
#ifndef LAB_BENCH_BENCH_RATES_H
#define LAB_BENCH_BENCH_RATES_H

#include "lab/bench/bench.h"
#include "pipeline/rates/rates.h"

/* Measures on the devices that the request names, and keeps the rates in the file `path`. `folder`
 * is where runs will write: the rate of writing is measured there. Prints what was measured, or
 * with --json the file's text. TS_RUN_FAILED where the folder or the file cannot be written. */
enum ts_status ts_bench_rates(const struct bench_request *request, const char *folder,
                              const char *path, FILE *stream, struct ts_diag *diag);

/* ---- the parts, each of which fills in its rates --------------------------------------------- */

/* bench_rates_runs.c: times tiny runs of the program in the folder, on the CPU and, where `device`
 * names it
 * ("cuda:0"; NULL: none), on the device. The environment names no rates afterwards. */
enum ts_status ts_bench_rates_runs(const char *folder, const char *device, struct rates *rates,
                                   struct ts_diag *diag);
/* bench_rates_host.c: reading, digests, compression, writing. */
enum ts_status ts_bench_rates_host(const char *folder, struct rates *rates, struct ts_diag *diag);
/* bench_rates_stages.c: the stages on the CPU, or on a device (NULL: the CPU). One that refuses its
 * case has no rate. */
enum ts_status ts_bench_rates_stages(const struct device_numbers *device, struct rates *rates,
                                     struct ts_diag *diag);
#ifdef TS_HAVE_CUDA
/* bench_rates_cuda.c: copies to and from the device, and its compression. */
enum ts_status ts_bench_rates_cuda(const struct device_numbers *device, struct rates *rates,
                                   struct ts_diag *diag);
#endif

#endif
