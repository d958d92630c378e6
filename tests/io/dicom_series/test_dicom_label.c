/* SPDX-License-Identifier: Apache-2.0
 *
 * A small file can claim very many series: each echo time of its frames makes one. Their labels
 * take a time that grows with their number, not with its square.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/dicom_series/dicom_series.h"

enum { SERIES = 8000 };

/* Two UIDs, of which the second has one series. Echo times differ unless `echoes` is false. */
static struct dicom_series *make_series(struct dicom_image *images, const struct dicom_file *file,
                                        bool echoes)
{
    struct dicom_series *series = calloc(SERIES, sizeof *series);
    cr_assert_not_null(series);
    for (size_t i = 0; i < SERIES; i++) {
        images[i] = (struct dicom_image){
            .file = file, .echo_ms = echoes ? 0.5 * (double)i : NAN, .vendor_kind = NAN};
        strcpy(images[i].component, i % 2 ? "PHASE" : "MAGNITUDE");
        images[i].keys[KEY_STUDY] = "1.2";
        images[i].keys[KEY_SERIES] = i + 1 < SERIES ? "1.2.3" : "1.2.4";
        series[i].images = calloc(1, sizeof *series[i].images);
        cr_assert_not_null(series[i].images);
        series[i].images[0] = &images[i];
    }
    return series;
}

Test(dicom_label, of_many_series_of_one_uid)
{
    struct dicom_file *file = calloc(1, sizeof *file);
    struct dicom_image *images = calloc(SERIES, sizeof *images);
    cr_assert(file && images);
    for (int echoes = 0; echoes < 2; echoes++) {
        struct dicom_series *series = make_series(images, file, echoes);
        const clock_t start = clock();
        ts_dicom_label(series, SERIES);
        const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        cr_expect_leq(seconds, 1, "%.2f s of processor time", seconds);
        cr_expect_str_eq(series[0].label, echoes ? "TE 0 ms, MAGNITUDE" : "MAGNITUDE");
        cr_expect_str_eq(series[SERIES - 2].label, echoes ? "TE 3999 ms, MAGNITUDE" : "MAGNITUDE");
        cr_expect_str_eq(series[7].label, echoes ? "TE 3.5 ms, PHASE" : "PHASE");
        cr_expect_str_eq(series[SERIES - 1].label, "", "the only series of its UID: '%s'",
                         series[SERIES - 1].label);
        for (size_t i = 0; i < SERIES; i++)
            free(series[i].images);
        free(series);
    }
    free(images);
    free(file);
}
