/* SPDX-License-Identifier: Apache-2.0
 *
 * The values that the studies fan-in and reductions join, and the numbers that they should come to:
 * in extended precision, one value after the other, so that no order of the runners is checked
 * against itself.
 */
#include <math.h>
#include <string.h>

#include "lab/study/fan_in_study.h"

const char *const ts_fan_in_works[FAN_IN_ALL_WORKS] = {"sum",      "product", "min", "max",
                                                       "variance", "tables",  "sort"};
const char *const ts_fan_in_orders[FAN_IN_ORDERS] = {"serial",   "fan-in", "two-level",
                                                     "adjacent", "radix",  "merge-tree"};

/* splitmix64 (S. Vigna). */
void ts_fan_in_fill(float *values, int64_t n)
{
    uint64_t state = 20240607;
    for (int64_t i = 0; i < n; i++) {
        uint64_t z = state += 0x9E3779B97F4A7C15u;
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
        z = (z ^ z >> 27) * 0x94D049BB133111EBu;
        values[i] = (float)((z ^ z >> 31) >> 40) * 0x1p-24f;
    }
}

void ts_fan_in_expect(const float *values, int64_t n, double expected[FAN_IN_NUMBERS])
{
    long double sum = 0, product = 1, squares = 0;
    float least = values[0], most = values[0];
    for (int64_t i = 0; i < n; i++) {
        sum += (long double)values[i];
        product *= FAN_IN_FACTOR(values[i]);
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    const long double mean = sum / (long double)n;
    for (int64_t i = 0; i < n; i++)
        squares += ((long double)values[i] - mean) * ((long double)values[i] - mean);
    expected[FAN_IN_SUM] = (double)sum;
    expected[FAN_IN_PRODUCT] = (double)product;
    expected[FAN_IN_MIN] = (double)least;
    expected[FAN_IN_MAX] = (double)most;
    expected[FAN_IN_VARIANCE] = (double)(squares / (long double)n);
}

double ts_fan_in_value(enum fan_in_work work, const void *partial, int64_t n)
{
    const struct fan_in_moments *moments = partial;
    const double shift = moments->sum / (double)n; /* not used where the work has no moments */
    return work == FAN_IN_VARIANCE ? moments->squares / (double)n - shift * shift
                                   : *(const double *)partial;
}

/* Squares of numbers of 24 bits do not end evenly, so that sums of them round more often to one
 * side than to the other. */
bool ts_fan_in_right(enum fan_in_work work, double found, double expected)
{
    static const double relative[FAN_IN_NUMBERS] = {
        [FAN_IN_SUM] = 1e-12, [FAN_IN_PRODUCT] = 1e-12, [FAN_IN_VARIANCE] = 1e-10};
    return fabs(found - expected) <= relative[work] * fabs(expected);
}

struct fan_in_runner *ts_fan_in_runner_create(const struct device_numbers *device,
                                              const float *values, int64_t n, int threads,
                                              const struct fan_in_peer *peer, struct ts_diag *diag)
{
#ifdef TS_HAVE_CUDA
    if (device)
        return ts_cuda_fan_in_create(device, values, n, peer, diag);
#endif
    (void)device;
    (void)peer;
    return ts_fan_in_cpu_create(values, n, threads, diag);
}

enum ts_status ts_fan_in_check(struct fan_in_runner *runner, const struct fan_in_job *job,
                               double expected, struct ts_diag *diag, double *error)
{
    struct fan_in_moments partial;
    const enum ts_status status = runner->end(runner, job, &partial);
    const double found = ts_fan_in_value(job->work, &partial, job->n);
    *error = fabs(found - expected) / fabs(expected);
    if (status != TS_OK || ts_fan_in_right(job->work, found, expected))
        return status;
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "study-result"},
                         "the %s of %lld values came to %.17g instead of %.17g",
                         ts_fan_in_works[job->work], (long long)job->n, found, expected);
}

/* The finalizer of splitmix64, so that the sum of all keys' marks tells which keys there are, in
 * whatever order. */
static uint64_t mark(uint32_t key)
{
    uint64_t z = key + 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

bool ts_fan_in_sorted(const float *values, const uint32_t *keys, int64_t n)
{
    uint64_t before = 0, after = 0;
    bool rising = true;
    for (int64_t i = 0; i < n; i++) {
        uint32_t key;
        memcpy(&key, &values[i], sizeof key);
        before += mark(key);
        after += mark(keys[i]);
        rising = rising && (i == 0 || keys[i - 1] <= keys[i]);
    }
    return rising && before == after;
}
