/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/bench/bench.h"

enum { MOST_THREADS = 4096 }; /* as of `tomostage run` */

static const char *dtype_name(int i)
{
    return ts_dtype_name((enum ts_dtype)i);
}

static const char *values_name(int i)
{
    return ts_bench_values_names[i];
}

static bool find_name(const char *name, const char *(*name_of)(int), int n, int *found)
{
    for (*found = 0; *found < n; ++*found)
        if (!strcmp(name, name_of(*found)))
            return true;
    return false;
}

static bool parse_size(const char *text, struct bench_request *request)
{
    long long nz, ny, nx;
    char rest;
    if (sscanf(text, "%lldx%lldx%lld%c", &nz, &ny, &nx, &rest) != 3 || nz < 1 || ny < 1 || nx < 1)
        return false;
    request->nz = nz;
    request->ny = ny;
    request->nx = nx;
    return true;
}

static bool parse_count(const char *text, long most, int *count)
{
    char *end;
    const long value = strtol(text, &end, 10);
    const bool valid = value > 0 && value <= most && !*end;
    if (valid)
        *count = (int)value;
    return valid;
}

bool ts_bench_option(struct bench_request *request, int option, const char *value)
{
    switch (option) {
    case BENCH_STAGE:
        request->stage = value;
        return true;
    case BENCH_PARAMETERS:
        request->parameters = value;
        return true;
    case BENCH_DTYPE:
        return find_name(value, dtype_name, TS_F32 + 1, &request->dtype);
    case BENCH_DISTRIBUTION:
        return find_name(value, values_name, BENCH_VALUES, &request->values);
    case BENCH_SIZE:
        return parse_size(value, request);
    case BENCH_RUNS:
        return parse_count(value, INT_MAX - 1, &request->runs);
    case BENCH_THREADS:
        return parse_count(value, MOST_THREADS, &request->threads);
    case BENCH_DEVICE:
        request->device = value;
        return true;
    case BENCH_JSON:
        request->json = true;
        return true;
    case BENCH_SAVE:
        request->save = value;
        return true;
    case BENCH_PLOT:
        request->plot = value;
        return true;
    default:
        return false;
    }
}
