/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/rates_file.h"

#include <criterion/criterion.h>
#include <stdlib.h>

struct rates ts_test_rates(void)
{
    static const double values[RATES] = {
        [RATE_START] = .25,          [RATE_OPEN] = .125,    [RATE_CUDA_QUERY] = .0625,
        [RATE_CUDA_START] = .5,      [RATE_READ] = 2048,    [RATE_INFLATE] = 1024,
        [RATE_DECODE] = 512,         [RATE_DIGEST] = 4096,  [RATE_COMPRESS] = 1024,
        [RATE_CHECKSUM] = 8192,      [RATE_PROVE] = 4096,   [RATE_STORE] = 8192,
        [RATE_WRITE] = 1024,         [RATE_UPLOAD] = 16384, [RATE_DOWNLOAD] = 8192,
        [RATE_CUDA_COMPRESS] = 32768};
    const struct stage_rate box = {"box", false, false, 8192, .125},
                            cuda_box = {"box", true, false, 65536, .0625};
    struct rates rates;
    ts_rates_here(&rates);
    rates.threads = 2;
    for (int i = 0; i < RATES; i++)
        rates.values[i] = values[i];
    snprintf(rates.device, sizeof rates.device, "test device 0");
    cr_assert(ts_rates_add(&rates, &box) && ts_rates_add(&rates, &cuda_box));
    return rates;
}

void ts_test_keep_rates(struct rates *rates, const char *path)
{
    struct rates here;
    struct ts_diag *diag = ts_diag_create();
    ts_rates_here(&here);
    rates->threads = here.threads;
    cr_assert_eq(ts_rates_save(rates, path, diag), TS_OK);
    ts_diag_destroy(diag);
    setenv("TOMOSTAGE_RATES", path, 1);
}
