/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain over a series of volumes gives, for each of them, what the chain gives for that volume
 * alone: images, which get the axis of the volumes, and tables. The bytes depend neither on slabs
 * nor on threads.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/files/hdf5_data.h"
#include "tests/support/folders.h"
#include "tests/support/memory_chain.h"
#include "tests/support/plan_run.h"
#include "tests/support/stage_check.h"

enum { N_VOLUMES = 3, NZ = 7, NY = 14, NX = 19 };

static char folder[256], output[300], single[300];

static void make_folder(void)
{
    ts_test_folder(folder, sizeof folder);
    snprintf(output, sizeof output, "%s/out.h5", folder);
    snprintf(single, sizeof single, "%s/single.h5", folder);
}

static void remove_folder(void)
{
    unlink(output);
    unlink(single);
    cr_assert_eq(rmdir(folder), 0, "%s holds more than the outputs", folder);
}

/* Halos, a kept image, reductions over the volume and per slice, tables of both, and a change of
 * axes. */
static void add_stages(struct memory_chain *memory)
{
    memory_chain_add(memory, "box radius=2 dimensions=3d border=wrap", NULL);
    memory_chain_add(memory, "statistics", NULL);
    memory_chain_add(memory, "rescale method=z-score", NULL);
    memory_chain_add(memory, "equalize", NULL);
    memory_chain_add(memory, "save", "equalized");
    memory_chain_add(memory, "histogram scope=slice bins=11", NULL);
    memory_chain_add(memory, "radon views=7", NULL);
}

static void run_chain(const struct memory_chain *memory, int threads)
{
    const struct ts_options options = {.device = "cpu", .threads = threads, .force = true};
    struct ts_plan *plan = ts_test_plan(memory, &options);
    cr_assert(plan);
    ts_test_plan_run(plan);
    ts_plan_destroy(plan);
}

/* Compares part `volume` of a dataset with the whole one of the volume alone. */
static void check_part(const char *dataset, int volume)
{
    size_t n_all, n;
    double *all = ts_test_read_hdf5_at(output, dataset, &n_all),
           *one = ts_test_read_hdf5_at(single, dataset, &n);
    cr_assert_eq(n_all, N_VOLUMES * n, "%s has %zu elements for %d volumes, one has %zu", dataset,
                 n_all, (int)N_VOLUMES, n);
    cr_expect_eq(memcmp(all + (size_t)volume * n, one, n * sizeof *one), 0,
                 "%s differs in volume %d", dataset, volume);
    free(all);
    free(one);
}

Test(run_volumes, each_volume_is_as_alone)
{
    static const char *const datasets[] = {"/entry/equalized/data", "/entry/data/data",
                                           "/entry/process_2_statistics/tables/mean",
                                           "/entry/process_6_histogram/tables/counts"};
    struct ts_image image = ts_test_image(N_VOLUMES * NZ, NY, NX, TS_I16, VALUES_CT, 5);
    struct memory_chain memory, alone;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory.n_volumes = N_VOLUMES;
    add_stages(&memory);
    run_chain(&memory, 2);
    cr_expect_geq(memory.slices_read, N_VOLUMES * NZ);
    for (int volume = 0; volume < N_VOLUMES; volume++) {
        const struct ts_image part = ts_image_slices(&image, volume * NZ, NZ);
        struct ts_image own = part;
        own.z_first = 0;
        memory_chain_init(&alone, &own, NULL, single);
        add_stages(&alone);
        run_chain(&alone, 1);
        for (size_t i = 0; i < sizeof datasets / sizeof *datasets; i++)
            check_part(datasets[i], volume);
        memory_chain_clear(&alone);
    }
    size_t n;
    double *times = ts_test_read_hdf5_at(output, "/entry/data/time", &n);
    cr_assert_eq(n, N_VOLUMES);
    cr_expect_eq(times[2], 4.0, "the third volume is at %g s", times[2]);
    free(times);
    memory_chain_clear(&memory);
    free(image.data);
    remove_folder();
}

Test(run_volumes, same_bytes_for_slabs_and_threads)
{
    struct ts_image image = ts_test_image(N_VOLUMES * NZ, NY, NX, TS_I16, VALUES_CT, 6);
    struct memory_chain memory;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory.n_volumes = N_VOLUMES;
    add_stages(&memory);
    ts_test_same_for_slabs_and_threads(&memory, output);
    memory_chain_clear(&memory);
    free(image.data);
    remove_folder();
}

/* A result is a series of volumes again where it is the input of another run. */
Test(run_volumes, a_result_is_read_as_it_was_written)
{
    struct ts_image image = ts_test_image(N_VOLUMES * NZ, NY, NX, TS_I16, VALUES_CT, 9);
    struct memory_chain memory;
    char text[1024];
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory.n_volumes = N_VOLUMES;
    memory_chain_add(&memory, "box radius=1", NULL);
    run_chain(&memory, 2);
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    const struct ts_options options = {.device = "cpu", .threads = 2};
    snprintf(text, sizeof text, "result %s | save name=again | hdf5 %s", output, single);
    enum ts_status status = ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag);
    status = status == TS_OK ? ts_plan_create(chain, &options, &plan, diag) : status;
    status = status == TS_OK ? ts_plan_run(plan, diag) : status;
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
    size_t n_written, n_again;
    double *written = ts_test_read_hdf5_at(output, "/entry/data/data", &n_written),
           *again = ts_test_read_hdf5_at(single, "/entry/again/data", &n_again);
    cr_assert_eq(n_again, n_written);
    cr_expect_eq(memcmp(again, written, n_written * sizeof *written), 0);
    free(written);
    free(again);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
    memory_chain_clear(&memory);
    free(image.data);
    remove_folder();
}

/* ---- numbers of all volumes ------------------------------------------------------------------ */

/* With scope: series the volumes are as slices of one volume: the bytes of every image and table
 * are those of a volume that has all of their slices. */
static void check_series(enum ts_dtype dtype, const char *const *stages,
                         const char *const *datasets)
{
    struct ts_image image = ts_test_image(N_VOLUMES * NZ, NY, NX, dtype, VALUES_CT, 12);
    struct memory_chain memory, alone;
    for (int64_t z = 0; z < N_VOLUMES * NZ; z++) /* every volume has a range of its own */
        for (size_t i = 0; i < NY * NX; i++)
            if (dtype == TS_F32)
                ((float *)image.data)[(size_t)z * NY * NX + i] *= (float)(1 + z / NZ);
            else
                ((int16_t *)image.data)[(size_t)z * NY * NX + i] /= (int16_t)(4 - z / NZ);
    memory_chain_init(&memory, &image, NULL, output);
    memory.n_volumes = N_VOLUMES;
    memory_chain_init(&alone, &image, NULL, single);
    for (int i = 0; stages[i]; i++) {
        char of_volume[200];
        const char *scope = strstr(stages[i], "scope=series");
        snprintf(of_volume, sizeof of_volume, "%.*s%s%s", scope ? (int)(scope - stages[i]) : 200,
                 stages[i], scope ? "scope=volume" : "",
                 scope ? scope + strlen("scope=series") : "");
        memory_chain_add(&memory, stages[i], NULL);
        memory_chain_add(&alone, of_volume, NULL);
    }
    ts_test_same_for_slabs_and_threads(&memory, output);
    run_chain(&memory, 2);
    run_chain(&alone, 1);
    for (int i = 0; datasets[i]; i++) {
        size_t n_all, n;
        double *all = ts_test_read_hdf5_at(output, datasets[i], &n_all),
               *one = ts_test_read_hdf5_at(single, datasets[i], &n);
        cr_assert_eq(n_all, n, "%s has %zu elements, not %zu", datasets[i], n_all, n);
        cr_expect_eq(memcmp(all, one, n * sizeof *one), 0, "%s of %s differs", datasets[i],
                     stages[0]);
        free(all);
        free(one);
    }
    memory_chain_clear(&memory);
    memory_chain_clear(&alone);
    free(image.data);
}

Test(run_volumes, scope_series_takes_them_as_one)
{
    static const char *const in_a_row[] = {"rescale scope=series method=percentiles",
                                           "equalize scope=series",
                                           "histogram scope=series bins=13",
                                           "statistics scope=series percentiles=5,50 noise=both",
                                           "rescale scope=series method=z-score",
                                           NULL},
                             *const data[] = {
                                 "/entry/data/data",
                                 "/entry/process_1_rescale/tables/low",
                                 "/entry/process_3_histogram/tables/counts",
                                 "/entry/process_3_histogram/tables/edges",
                                 "/entry/process_4_statistics/tables/standard_deviation",
                                 "/entry/process_4_statistics/tables/percentiles",
                                 "/entry/process_4_statistics/tables/noise_wavelet",
                                 "/entry/process_4_statistics/tables/noise_immerkaer",
                                 NULL};
    make_folder();
    check_series(TS_F32, in_a_row, data);
    check_series(TS_I16, in_a_row, data);
    check_series(TS_I16,
                 (const char *const[]){"median radius=1", "histogram scope=series",
                                       "equalize scope=series", "save", NULL},
                 (const char *const[]){"/entry/data/data",
                                       "/entry/process_2_histogram/tables/counts", NULL});
    remove_folder();
}

/* A reduction of each volume may stand before one of all of them, and behind it. */
Test(run_volumes, scopes_mix)
{
    struct ts_image image = ts_test_image(N_VOLUMES * NZ, NY, NX, TS_F32, VALUES_CT, 13);
    struct memory_chain memory;
    size_t n;
    for (size_t i = 0; i < ts_image_count(&image); i++)
        ((float *)image.data)[i] *= (float)(1 + i / (NZ * NY * NX));
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory.n_volumes = N_VOLUMES;
    memory_chain_add(&memory, "rescale method=z-score", NULL);
    memory_chain_add(&memory, "box radius=1 dimensions=3d", NULL);
    memory_chain_add(&memory, "rescale scope=series", NULL);
    memory_chain_add(&memory, "statistics", NULL);
    ts_test_same_for_slabs_and_threads(&memory, output);
    run_chain(&memory, 2);
    double *low = ts_test_read_hdf5_at(output, "/entry/process_3_rescale/tables/low", &n);
    cr_expect_eq(n, 1);
    free(low);
    double *most = ts_test_read_hdf5_at(output, "/entry/process_4_statistics/tables/max", &n),
           largest = 0;
    cr_assert_eq(n, N_VOLUMES);
    for (int v = 0; v < N_VOLUMES; v++)
        largest = fmax(largest, most[v]);
    cr_expect_eq(largest, 1);
    free(most);
    memory_chain_clear(&memory);
    free(image.data);
    remove_folder();
}

/* The first volume has the noise of that volume by itself, and the others have noise of their own,
 * whatever the slabs. */
Test(run_volumes, have_noise_of_their_own)
{
    struct ts_image image = ts_test_image(N_VOLUMES * NZ, NY, NX, TS_F32, VALUES_CONSTANT, 3);
    const size_t n_one = NZ * NY * NX;
    struct memory_chain memory;
    image.quantity = TS_TRANSMISSION;
    image.unit = "1";
    for (size_t i = 0; i < N_VOLUMES * n_one; i++)
        ((float *)image.data)[i] = 0.5f;
    make_folder();
    memory_chain_init(&memory, &image, NULL, output);
    memory.n_volumes = N_VOLUMES;
    memory_chain_add(&memory, "noise photons=1000 electronic=3 seed=4", NULL);
    ts_test_same_for_slabs_and_threads(&memory, output);
    run_chain(&memory, 2);
    memory_chain_clear(&memory);
    struct ts_image alone = ts_image_slices(&image, 0, NZ);
    memory_chain_init(&memory, &alone, NULL, single);
    memory_chain_add(&memory, "noise photons=1000 electronic=3 seed=4", NULL);
    run_chain(&memory, 1);
    memory_chain_clear(&memory);
    check_part("/entry/data/data", 0);
    size_t n;
    double *all = ts_test_read_hdf5_at(output, "/entry/data/data", &n), covariance[N_VOLUMES] = {0};
    for (size_t i = 0; i < n_one; i++)
        for (int v = 0; v < N_VOLUMES; v++)
            covariance[v] += (all[i] - 0.5) * (all[(size_t)v * n_one + i] - 0.5);
    for (int v = 1; v < N_VOLUMES; v++)
        cr_expect_lt(fabs(covariance[v]), 0.1 * covariance[0], "volume %d is correlated by %g", v,
                     covariance[v] / covariance[0]);
    free(all);
    free(image.data);
    remove_folder();
}

/* A reference of one volume serves all, and a stage that would find other axes in each is
 * refused. */
Test(run_volumes, one_reference_serves_all_and_found_axes_are_refused)
{
    struct ts_image image = ts_test_image(N_VOLUMES * NZ, NY, NX, TS_U16, VALUES_CT, 7);
    struct ts_image atlas = ts_test_image(NZ, NY, NX, TS_U16, VALUES_CT, 8);
    struct memory_chain memory;
    make_folder();
    memory_chain_init(&memory, &image, &atlas, output);
    memory.n_volumes = N_VOLUMES;
    memory_chain_add(&memory, "equalize reference=atlas", NULL);
    run_chain(&memory, 2);
    size_t n;
    free(ts_test_read_hdf5_at(output, "/entry/data/data", &n));
    cr_expect_eq(n, (size_t)N_VOLUMES * NZ * NY * NX);
    memory_chain_clear(&memory);
    memory_chain_init(&memory, &image, NULL, output);
    memory_chain_add(&memory, "radon views=16", NULL);
    memory_chain_add(&memory, "center", NULL);
    const struct ts_options options = {.device = "cpu"};
    struct ts_plan *plan = ts_test_plan(&memory, &options);
    cr_expect(plan, "one volume is accepted");
    ts_plan_destroy(plan);
    memory.n_volumes = N_VOLUMES;
    cr_expect(!ts_test_plan(&memory, &options), "found axes of several volumes are accepted");
    memory_chain_clear(&memory);
    free(image.data);
    free(atlas.data);
    remove_folder();
}
