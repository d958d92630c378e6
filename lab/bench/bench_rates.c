/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the rates part by part, and keeps them only when all are known. The runs come first,
 * while this process has no device and no threads that they would share the machine with.
 */
#include "lab/bench/bench_rates.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "io/file/whole_file.h"

static void print_rates(const struct rates *rates, const char *path, FILE *stream)
{
    char shown[4096];
    for (int i = 0; i < RATES; i++) {
        const struct rate_name *name = &ts_rate_names[i];
        if (isnan(rates->values[i]))
            continue;
        fprintf(stream, "%-36s %10.3f %s%s\n", name->text,
                rates->values[i] * (name->seconds ? 1e3 : 1e-9), name->seconds ? "ms" : "GB/s",
                i == RATE_DECODE ? " (assumed)" : "");
    }
    fprintf(stream, "\n%-20s %-5s %10s %-12s %12s\n", "stage", "on", "rate", "", "ms a call");
    for (int i = 0; i < rates->n_stages; i++) {
        const struct stage_rate *rate = &rates->stages[i];
        fprintf(stream, "%-20s %-5s %10.2f %-12s %12.4f\n", rate->stage,
                rate->cuda ? "cuda" : "cpu", 1e-9 * rate->per_second,
                rate->samples ? "G samples/s" : "GB/s", 1e3 * rate->call_seconds);
    }
    ts_text_escape(shown, sizeof shown, path);
    fprintf(stream, "\n%s, %d processors%s%s; kept in %s\n", rates->cpu, rates->threads,
            *rates->device ? ", " : "", rates->device, shown);
}

enum ts_status ts_bench_rates(const struct bench_request *request, const char *folder,
                              const char *path, FILE *stream, struct ts_diag *diag)
{
    struct rates rates;
    struct bench_devices devices;
    char device[16] = "";
    ts_rates_here(&rates);
    enum ts_status status = ts_whole_file_check(path, true, diag);
    if (status == TS_OK)
        status = ts_bench_devices_choose(request->device, false, &devices, diag);
    if (status == TS_OK && devices.device) {
        snprintf(rates.device, sizeof rates.device, "%s", devices.device->name);
        snprintf(device, sizeof device, "cuda:%d", devices.device->index);
    }
    if (status == TS_OK)
        status = ts_bench_rates_runs(folder, *device ? device : NULL, &rates, diag);
    if (status == TS_OK)
        status = ts_bench_rates_host(folder, &rates, diag);
    if (status == TS_OK)
        status = ts_bench_rates_stages(NULL, &rates, diag);
#ifdef TS_HAVE_CUDA
    if (status == TS_OK && *device)
        status = ts_bench_rates_cuda(devices.device, &rates, diag);
    if (status == TS_OK && *device)
        status = ts_bench_rates_stages(devices.device, &rates, diag);
#endif
    if (status == TS_OK)
        status = ts_rates_save(&rates, path, diag);
    if (status == TS_OK && request->json)
        ts_rates_print(&rates, stream);
    else if (status == TS_OK)
        print_rates(&rates, path, stream);
    return status;
}
