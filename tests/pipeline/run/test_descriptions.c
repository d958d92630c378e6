/* SPDX-License-Identifier: Apache-2.0
 *
 * What a caller says of an array is believed only as far as it makes sense: lengths in other units
 * are converted, and stages that reckon with distances refuse images that have none, or uneven
 * ones.
 */
#include <criterion/criterion.h>
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "include/tomostage_array.h"
#include "include/tomostage_operator.h"
#include "tests/support/array_run.h"
#include "tests/support/folders.h"

enum { N = 32, VIEWS = 40, NZ = 2 };

static struct ts_diag *diag;
static float values[NZ * VIEWS * N];

static void begin(void)
{
    diag = ts_diag_create();
    for (int i = 0; i < NZ * VIEWS * N; i++)
        values[i] = (float)(i * 7919 % 1000) / 1000;
}

static void end(void)
{
    ts_diag_destroy(diag);
}

TestSuite(descriptions, .init = begin, .fini = end);

static struct ts_image scan_of(struct ts_axis detector, enum ts_beam_kind beam)
{
    struct ts_image image = {.rank = 3,
                             .dtype = TS_F32,
                             .quantity = TS_LINE_INTEGRAL,
                             .unit = "1",
                             .axes = {{TS_AXIS_Z, NZ, 1, "mm"},
                                      {TS_AXIS_VIEW, VIEWS, 360.0 / VIEWS, "degree"},
                                      detector}};
    if (beam != TS_BEAM_PARALLEL)
        image.beam = (struct ts_beam){beam, 60, 90};
    return image;
}

static struct ts_image volume_of(struct ts_axis y, struct ts_axis x)
{
    y.kind = TS_AXIS_Y;
    x.kind = TS_AXIS_X;
    y.n = VIEWS;
    x.n = N;
    return (struct ts_image){.rank = 3,
                             .dtype = TS_F32,
                             .quantity = TS_ATTENUATION,
                             .unit = "1/mm",
                             .axes = {{TS_AXIS_Z, NZ, 1, "mm"}, y, x}};
}

/* Makes a run of the chain on an array that is called "in". */
static enum ts_status start(struct array_run *trial, const char *text, const struct ts_array *in,
                            const struct ts_image *about, const struct ts_options *options)
{
    struct ts_options own = TS_OPTIONS_DEFAULT;
    own.device = "cpu";
    own.threads = 2;
    return ts_array_run_start(trial, text, "in", in, about, options ? options : &own, diag);
}

static void ok(enum ts_status status)
{
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK);
}

/* The last record is an error of this code whose message has these words. */
static void refused(enum ts_status status, const char *code, const char *words)
{
    const struct ts_diag_record *record = ts_diag_get(diag, ts_diag_count(diag) - 1);
    cr_assert_neq(status, TS_OK, "expected %s", code);
    cr_assert(record);
    cr_assert_str_eq(record->code, code, "%s", record->message);
    cr_assert(strstr(record->message, words), "%s", record->message);
    ts_diag_clear(diag);
}

/* Runs a chain on these values and returns the image "data", which the caller frees. */
static float *run_chain_on(float *from, const char *text, const struct ts_image *about,
                           struct ts_image *image)
{
    struct array_run trial;
    const struct ts_array in = ts_test_array(from, TS_F32, NZ, VIEWS, N);
    ok(start(&trial, text, &in, about, NULL));
    ok(ts_plan_describe(trial.plan, "data", image, diag));
    const int64_t *n[3] = {&image->axes[0].n, &image->axes[1].n, &image->axes[2].n};
    float *made = calloc((size_t)(*n[0] * *n[1] * *n[2]), sizeof *made);
    const struct ts_array out = ts_test_array(made, TS_F32, *n[0], *n[1], *n[2]);
    ok(ts_run_set_array(trial.run, "data", &out, diag));
    ok(ts_run_execute(trial.run, diag));
    cr_assert_str_eq(image->axes[2].unit, "mm", "%s", text);
    image->unit = NULL; /* the plan's */
    ts_array_run_finish(&trial);
    return made;
}

static float *run_chain(const char *text, const struct ts_image *about, struct ts_image *image)
{
    return run_chain_on(values, text, about, image);
}

/* ---- lengths --------------------------------------------------------------------------------- */

/* A fan's distances are in mm, so that a detector in another unit has to be converted. */
Test(descriptions, lengths_in_other_units_give_the_bytes_of_mm)
{
    static const char *const texts[] = {"memory in | fbp", "memory in | backproject",
                                        "memory in | rebin | fbp", "memory in | sirt iterations=2",
                                        "memory in | filter"};
    static const struct ts_axis units[] = {{TS_AXIS_DETECTOR, N, 1e-3, "m", NULL, -15.5e-3, NULL},
                                           {TS_AXIS_DETECTOR, N, 0.1, "cm", NULL, -1.55, NULL},
                                           {TS_AXIS_DETECTOR, N, 1000, "um", NULL, -15500, NULL}};
    const struct ts_axis mm = {TS_AXIS_DETECTOR, N, 1, "mm", NULL, -15.5, NULL};
    for (int t = 0; t < 5; t++) {
        const enum ts_beam_kind beam = t < 4 ? TS_BEAM_FAN_FLAT : TS_BEAM_PARALLEL;
        const struct ts_image right = scan_of(mm, beam);
        struct ts_image image, other;
        float *made = run_chain(texts[t], &right, &image);
        const size_t bytes = (size_t)(NZ * image.axes[1].n * image.axes[2].n) * sizeof *made;
        for (int u = 0; u < 3; u++) {
            const struct ts_image about = scan_of(units[u], beam);
            float *same = run_chain(texts[t], &about, &other);
            cr_assert_eq(other.axes[2].spacing, image.axes[2].spacing);
            cr_assert_eq(memcmp(made, same, bytes), 0, "%s in %s", texts[t], units[u].unit);
            free(same);
        }
        free(made);
    }
}

Test(descriptions, rows_and_columns_may_be_in_different_units_of_length)
{
    const struct ts_image right = volume_of((struct ts_axis){.spacing = 2, .unit = "mm"},
                                            (struct ts_axis){.spacing = 1, .unit = "mm"}),
                          about = volume_of((struct ts_axis){.spacing = 0.2, .unit = "cm"},
                                            (struct ts_axis){.spacing = 1000, .unit = "um"});
    struct ts_image image, other;
    float *made = run_chain("memory in | radon views=4", &right, &image),
          *same = run_chain("memory in | radon views=4", &about, &other);
    cr_assert_eq(image.axes[2].n, other.axes[2].n);
    cr_assert_eq(memcmp(made, same, (size_t)(NZ * 4 * image.axes[2].n) * sizeof *made), 0);
    free(made);
    free(same);
}

Test(descriptions, operators_convert_lengths_too)
{
    const struct ts_image about = scan_of(
        (struct ts_axis){TS_AXIS_DETECTOR, N, 1000, "um", NULL, -15500, NULL}, TS_BEAM_FAN_ARC);
    struct ts_operator *op = NULL;
    struct ts_image in, out;
    ok(ts_operator_create("backproject", &about, NULL, &op, diag));
    ts_operator_describe(op, &in, &out);
    cr_assert_str_eq(in.axes[2].unit, "mm");
    cr_assert(in.axes[2].spacing == 1 && in.axes[2].first == -15.5);
    cr_assert_float_eq(out.axes[2].spacing, 60.0 / 90, 1e-12);
    ts_operator_destroy(op);
}

/* ---- distances that are not known, or not even ----------------------------------------------- */

Test(descriptions, stages_that_measure_refuse_uneven_and_mixed_axes)
{
    static double uneven[VIEWS];
    const struct ts_axis mm = {.spacing = 1, .unit = "mm"}, none = {.spacing = 1, .unit = "pixel"},
                         lists = {.spacing = 1, .unit = "mm", .positions = uneven};
    struct ts_image about;
    static const struct {
        const char *text, *code;
        char axis; /* that is uneven: z, y, x or d; m: rows in pixels, columns in mm */
    } cases[] = {
        {"radon views=4", "axis-uneven", 'x'},
        {"radon views=4", "axis-uneven", 'y'},
        {"radon views=4", "axis-units", 'm'},
        {"circle value=0", "axis-uneven", 'y'},
        {"circle value=0", "axis-units", 'm'},
        {"gaussian sigma=2 unit=mm", "sigma-unit", 'x'},
        {"gaussian sigma=2 unit=mm dimensions=3d", "sigma-unit", 'z'},
        {"gaussian sigma=2 unit=mm", "sigma-unit", 'm'},
        {"resample spacing=2", "axis-uneven", 'z'},
        {"filter", "detectors-uneven", 'd'},
        {"fbp", "detectors-uneven", 'd'},
        {"backproject", "detectors-uneven", 'd'},
        {"fourier", "detectors-uneven", 'd'},
        {"sirt iterations=1", "detectors-uneven", 'd'},
        {"cgls iterations=1", "detectors-uneven", 'd'},
        {"pad left=2 right=2", "detectors-uneven", 'd'},
        {"flip", "detectors-uneven", 'd'},
        {"center center=3", "detectors-uneven", 'd'},
        {"nifti uneven.nii", "output-cannot-hold", 'z'},
    };
    const struct ts_array in = ts_test_array(values, TS_F32, NZ, VIEWS, N),
                          deep = ts_test_array(values, TS_F32, N, NZ, VIEWS);
    for (int i = 0; i < VIEWS; i++)
        uneven[i] = (double)i * (i + 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char axis = cases[i].axis;
        struct array_run trial;
        char text[128];
        snprintf(text, sizeof text, "memory in | %s", cases[i].text);
        if (axis == 'd')
            about = scan_of(lists, TS_BEAM_PARALLEL);
        else if (axis == 'm')
            about = volume_of(none, mm);
        else
            about = volume_of(axis == 'y' ? lists : mm, axis == 'x' ? lists : mm);
        about.axes[2].kind = axis == 'd' ? TS_AXIS_DETECTOR : TS_AXIS_X;
        about.axes[2].n = N;
        if (axis == 'z') {
            about.axes[0] = (struct ts_axis){TS_AXIS_Z, N, 1, "mm", uneven, 0, NULL};
            about.axes[1].n = NZ;
            about.axes[2].n = VIEWS;
        }
        refused(start(&trial, text, axis == 'z' ? &deep : &in, &about, NULL), cases[i].code, "");
        ts_array_run_finish(&trial);
    }
}

/* Listed positions that are even count as a first one and a distance. */
Test(descriptions, even_positions_are_no_list)
{
    static double even[N], falling[N];
    struct ts_image listed, plain, image, other;
    for (int i = 0; i < N; i++) {
        even[i] = 0.5 * i - 7.75;
        falling[i] = -even[i];
    }
    plain = scan_of((struct ts_axis){TS_AXIS_DETECTOR, N, 0.5, "mm", NULL, -7.75, NULL},
                    TS_BEAM_PARALLEL);
    listed =
        scan_of((struct ts_axis){TS_AXIS_DETECTOR, N, 0, "mm", even, 0, NULL}, TS_BEAM_PARALLEL);
    float *made = run_chain("memory in | fbp", &plain, &image),
          *same = run_chain("memory in | fbp", &listed, &other);
    cr_assert_eq(memcmp(made, same, (size_t)(NZ * N * N) * sizeof *made), 0);
    free(made);
    free(same);
    struct array_run trial;
    const struct ts_array in = ts_test_array(values, TS_F32, NZ, VIEWS, N);
    listed.axes[2].positions = falling;
    cr_assert_neq(start(&trial, "memory in | fbp", &in, &listed, NULL), TS_OK);
    const struct ts_diag_record *record = ts_diag_get(diag, ts_diag_count(diag) - 1);
    cr_assert_str_eq(record->code, "detectors-uneven");
    cr_assert(strstr(record->message, "rise"), "%s", record->message);
    cr_assert(strstr(record->hint, "times -1") && strstr(record->hint, "`flip`"));
    ts_array_run_finish(&trial);
}

/* What the hint about positions that fall says gives the slices of the scan whose positions rise,
 * for all beams. */
Test(descriptions, positions_that_fall_are_turned_round)
{
    static float rising[NZ * VIEWS * N];
    static double turned[N];
    static const char *const texts[] = {"fbp", "gaussian sigma=1 dimensions=2d | fbp",
                                        "sirt iterations=2"};
    for (int i = 0; i < NZ * VIEWS * N; i++)
        rising[i] = values[i - i % N + N - 1 - i % N];
    for (int i = 0; i < N; i++)
        turned[i] = -(0.5 * (N - 1 - i) - 5); /* times -1 */
    for (int beam = TS_BEAM_PARALLEL; beam <= TS_BEAM_FAN_FLAT; beam++)
        for (int t = 0; t < 3; t++) {
            char text[128];
            struct ts_image image, other;
            struct ts_axis detector = {TS_AXIS_DETECTOR, N, 0.5, "mm", NULL, -5, NULL};
            struct ts_image about = scan_of(detector, (enum ts_beam_kind)beam);
            snprintf(text, sizeof text, "memory in | %s", texts[t]);
            float *right = run_chain_on(rising, text, &about, &image);
            about.axes[2].positions = turned;
            about.axes[2].first = 0;
            snprintf(text, sizeof text, "memory in | flip | %s", texts[t]);
            float *made = run_chain_on(values, text, &about, &other);
            cr_assert_eq(memcmp(right, made, (size_t)(NZ * N * N) * sizeof *made), 0, "%s, beam %d",
                         text, beam);
            free(right);
            free(made);
        }
}

Test(descriptions, senseless_ones_are_refused)
{
    static double equal[N];
    const struct ts_axis mm = {.spacing = 1, .unit = "mm"};
    struct ts_image wrong[9];
    static const char *const words[9] = {"'furlong'",
                                         "'degree'",
                                         "neither rise nor fall",
                                         "a spacing of 0",
                                         "fan, and the distance",
                                         "volume",
                                         "right angles",
                                         "along their normal",
                                         "axis z has no spacing in mm"};
    const struct ts_array in = ts_test_array(values, TS_F32, NZ, VIEWS, N);
    for (int i = 0; i < 9; i++)
        wrong[i] = volume_of(mm, mm);
    wrong[0].axes[2].unit = "furlong";
    wrong[1].axes[0].unit = "degree";
    wrong[2].axes[2].positions = equal;
    wrong[3] = scan_of((struct ts_axis){TS_AXIS_DETECTOR, N, 0, "mm", NULL, -15.5, NULL},
                       TS_BEAM_PARALLEL);
    wrong[4] = scan_of((struct ts_axis){TS_AXIS_DETECTOR, N, 1, "pixel", NULL, -15.5, NULL},
                       TS_BEAM_FAN_FLAT);
    wrong[5].beam = (struct ts_beam){TS_BEAM_FAN_FLAT, 60, 90};
    for (int i = 6; i < 9; i++) {
        wrong[i].has_geometry = true;
        wrong[i].direction[0] = wrong[i].direction[4] = wrong[i].direction[8] = 1;
        wrong[i].step_z_mm[2] = i == 8 ? 0 : 1;
    }
    wrong[6].direction[3] = 1;
    wrong[7].step_z_mm[2] = -1;
    wrong[8].axes[0].spacing = 0;
    for (int i = 0; i < 9; i++) {
        struct array_run trial;
        refused(start(&trial, "memory in | box radius=1", &in, &wrong[i], NULL), "memory-about",
                words[i]);
        ts_array_run_finish(&trial);
    }
}

/* A step between slices that was left out is along their normal. */
Test(descriptions, a_step_that_is_left_out_is_the_spacing)
{
    struct array_run trial;
    struct ts_image about = volume_of((struct ts_axis){.spacing = 1, .unit = "mm"},
                                      (struct ts_axis){.spacing = 1, .unit = "mm"}),
                    image;
    const struct ts_array in = ts_test_array(values, TS_F32, NZ, VIEWS, N);
    about.has_geometry = true;
    about.direction[0] = about.direction[4] = about.direction[8] = 1;
    about.axes[0].spacing = 0.25;
    about.axes[0].unit = "cm";
    ok(start(&trial, "memory in | box radius=1", &in, &about, NULL));
    ok(ts_plan_describe(trial.plan, "data", &image, diag));
    cr_assert_eq(image.axes[0].spacing, 2.5);
    cr_assert(image.step_z_mm[0] == 0 && image.step_z_mm[1] == 0 && image.step_z_mm[2] == 2.5);
    ts_array_run_finish(&trial);
}

/* A place in the patient is in mm, so that all lengths are. */
Test(descriptions, a_geometry_without_lengths_is_refused)
{
    static const struct {
        const char *unit;
        double spacing;
    } unknown[] = {{"mm", 0}, {"pixel", 1}, {"pixel", 0.7}, {"", 2}, {NULL, 1}, {"voxels", 1}};
    static double listed[N];
    const struct ts_axis mm = {.spacing = 1, .unit = "mm"};
    const struct ts_array in = ts_test_array(values, TS_F32, NZ, VIEWS, N);
    struct array_run trial;
    for (int i = 0; i < N; i++)
        listed[i] = (double)i * (i + 20);
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        for (int d = 0; d < 4; d++) { /* 3: of a detector */
            static const char *const names[] = {"axis z", "axis y", "axis x", "axis detector"};
            struct ts_image about = volume_of(mm, mm);
            if (d == 3)
                about = scan_of((struct ts_axis){TS_AXIS_DETECTOR, N, 1, "mm", NULL, 0, NULL},
                                TS_BEAM_PARALLEL);
            about.has_geometry = true;
            about.direction[0] = about.direction[4] = about.direction[8] = 1;
            about.step_z_mm[2] = 1;
            ok(start(&trial, "memory in | box radius=1", &in, &about, NULL));
            ts_array_run_finish(&trial);
            struct ts_axis *axis = &about.axes[d < 3 ? d : 2];
            axis->unit = unknown[i].unit;
            axis->spacing = unknown[i].spacing;
            refused(start(&trial, "memory in | box radius=1", &in, &about, NULL), "memory-about",
                    names[d]);
            ts_array_run_finish(&trial);
            about.has_geometry = false; /* lengths need not be known then */
            ok(start(&trial, "memory in | box radius=1", &in, &about, NULL));
            ts_array_run_finish(&trial);
        }
    struct ts_image about = volume_of(mm, (struct ts_axis){.unit = "mm", .positions = listed});
    about.has_geometry = true;
    about.direction[0] = about.direction[4] = about.direction[8] = 1;
    ok(start(&trial, "memory in | box radius=1", &in, &about, NULL));
    ts_array_run_finish(&trial);
}

/* A slice by itself has a place and no thickness, in every format. */
Test(descriptions, one_slice_has_a_place_without_a_thickness)
{
    static const char *const units[] = {"mm", "pixel", "", NULL};
    static const char *const reads[][2] = {
        {"nifti", ".nii"}, {"nrrd", ".nrrd"}, {"mha", ".mha"}, {"result", ".h5"}, {"dicom", ""}};
    const struct ts_array in = ts_test_array(values, TS_F32, 1, VIEWS, N);
    for (int u = 0; u < 4; u++) {
        char folder[64], text[512], input[128];
        struct array_run trial;
        struct ts_image about = volume_of((struct ts_axis){.spacing = 0.7, .unit = "mm"},
                                          (struct ts_axis){.spacing = 0.5, .unit = "mm"}),
                        image;
        about.axes[0] = (struct ts_axis){.kind = TS_AXIS_Z, .n = 1, .unit = units[u]};
        about.quantity = TS_HU; /* a CT, which DICOM gives back */
        about.unit = "HU";
        about.has_geometry = true;
        about.direction[1] = about.direction[5] = about.direction[6] = 1;
        memcpy(about.origin_mm, (double[]){-31, 17.5, 240}, sizeof about.origin_mm);
        ts_test_folder(folder, sizeof folder);
        snprintf(text, sizeof text,
                 "memory in | nifti %s/o.nii | nrrd %s/o.nrrd | mha %s/o.mha | hdf5 %s/o.h5 | "
                 "dicom %s/o",
                 folder, folder, folder, folder, folder);
        ok(start(&trial, text, &in, &about, NULL));
        ok(ts_plan_describe(trial.plan, "data", &image, diag));
        cr_assert(image.axes[0].spacing == 0 && !strcmp(image.axes[0].unit, "mm"));
        ok(ts_run_execute(trial.run, diag));
        ts_array_run_finish(&trial);
        for (int f = 0; f < 5; f++) {
            struct ts_plan *plan = NULL;
            struct ts_chain *chain = NULL;
            snprintf(input, sizeof input, "%s %s/o%s", reads[f][0], folder, reads[f][1]);
            snprintf(text, sizeof text, "%s | box radius=0", input);
            ok(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag));
            ok(ts_plan_create(chain, NULL, &plan, diag));
            ok(ts_plan_describe(plan, "data", &image, diag));
            cr_assert(image.has_geometry, "%s", input);
            for (int i = 0; i < 3; i++)
                cr_assert_float_eq(image.origin_mm[i], about.origin_mm[i], 1e-5, "%s", input);
            for (int d = 1; d < 3; d++) {
                cr_assert_str_eq(image.axes[d].unit, "mm", "%s", input);
                cr_assert_float_eq(image.axes[d].spacing, d == 1 ? 0.7 : 0.5, 1e-6, "%s", input);
            }
            ts_plan_destroy(plan);
            ts_chain_destroy(chain);
        }
        ts_test_remove_folder(folder);
    }
}

/* ---- values ---------------------------------------------------------------------------------- */

Test(descriptions, a_unit_fits_its_quantity)
{
    static const struct {
        enum ts_quantity quantity;
        const char *unit, *words; /* NULL: it fits */
    } cases[] = {
        {TS_HU, "1/mm", "quantity hu, whose values are not in '1/mm' (but in 'HU' or '1')"},
        {TS_HU, "Gy", "(but in 'HU'"},
        {TS_HU, "mm", "quantity hu"},
        {TS_ATTENUATION, "HU", "(but in '1/mm' or '1')"},
        {TS_ATTENUATION, "mm", "quantity attenuation"},
        {TS_COUNTS, "HU", "(but in 'counts' or '1')"},
        {TS_COUNTS, "1/mm", "quantity counts"},
        {TS_TRANSMISSION, "counts", "(but in '1')"},
        {TS_DOSE, "HU", "(but in 'Gy' or '1')"},
        {TS_LINE_INTEGRAL, "HU", "quantity line_integral"},
        {TS_HU, "HU", NULL},
        {TS_HU, "1", NULL},
        {TS_HU, "", NULL},
        {TS_HU, NULL, NULL},
        {TS_ATTENUATION, "1/mm", NULL},
        {TS_ATTENUATION, "1/cm", NULL},
        {TS_COUNTS, "counts", NULL},
        {TS_COUNTS, "1", NULL},
        {TS_TRANSMISSION, "1", NULL},
        {TS_DOSE, "Gy", NULL},
        {TS_LINE_INTEGRAL, "mm", NULL},
        {TS_LINE_INTEGRAL, "HU mm", NULL},
        {TS_LINE_INTEGRAL, "1", NULL},
        {TS_INTENSITY, "HU", NULL}, /* the difference of two CTs */
        {TS_INTENSITY, "Bq/ml", NULL},
        {TS_INTENSITY, "", NULL},
    };
    const struct ts_array in = ts_test_array(values, TS_F32, NZ, VIEWS, N);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct array_run trial;
        struct ts_image about = volume_of((struct ts_axis){.spacing = 1, .unit = "mm"},
                                          (struct ts_axis){.spacing = 1, .unit = "mm"}),
                        image;
        about.quantity = cases[i].quantity;
        about.unit = cases[i].unit;
        const enum ts_status status = start(&trial, "memory in | box radius=1", &in, &about, NULL);
        if (cases[i].words) {
            refused(status, "memory-about", cases[i].words);
        } else {
            ok(status);
            ok(ts_plan_describe(trial.plan, "data", &image, diag));
            cr_assert(*image.unit);
        }
        ts_array_run_finish(&trial);
    }
}

/* ---- arrays of a chain ----------------------------------------------------------------------- */

/* A plan keeps the array that it was made with, and a chain keeps the newest only. */
Test(descriptions, an_array_may_take_the_place_of_another)
{
    static float other[NZ * VIEWS * N], made[NZ * VIEWS * N];
    static uint64_t bits[NZ * VIEWS * N / 64];
    struct array_run trial;
    const struct ts_array in = ts_test_array(values, TS_F32, NZ, VIEWS, N),
                          second = ts_test_array(other, TS_F32, NZ, VIEWS, N),
                          out = ts_test_array(made, TS_F32, NZ, VIEWS, N);
    struct ts_image about = volume_of((struct ts_axis){.spacing = 1, .unit = "mm"},
                                      (struct ts_axis){.spacing = 1, .unit = "mm"});
    about.masked = true;
    about.valid = bits;
    memset(bits, 0xFF, sizeof bits);
    ok(start(&trial, "memory in | rescale range=[0,1]", &in, NULL, NULL));
    size_t before = 0;
    for (int i = 0; i < 400; i++) {
        ok(ts_chain_set_array(trial.chain, "in", &second, &about, diag));
        if (i == 10)
            before = mallinfo2().uordblks;
    }
    cr_assert_leq(mallinfo2().uordblks, before + (16 << 10), "copies are kept");
    ok(ts_run_set_array(trial.run, "data", &out, diag));
    ok(ts_run_execute(trial.run, diag));
    cr_assert_eq(memcmp(made, values, sizeof made), 0, "the plan has lost its array");
    ts_array_run_finish(&trial);
}

Test(descriptions, names_of_arrays_are_no_paths)
{
    static const char text[] = "memory a/in | input m memory b/in | apply_mask mask=m";
    struct ts_chain *chain = NULL;
    const struct ts_array in = ts_test_array(values, TS_F32, NZ, VIEWS, N);
    char line[128];
    ok(ts_chain_parse(text, strlen(text), "test", "/folder", &chain, diag));
    ok(ts_chain_set_array(chain, "a/in", &in, NULL, diag));
    ok(ts_chain_set_array(chain, "b/in", &in, NULL, diag));
    refused(ts_chain_set_array(chain, "in", &in, NULL, diag), "memory-unknown", "'memory in'");
    ts_chain_text(chain, true, line, sizeof line);
    cr_assert(strstr(line, "memory a/in ") && strstr(line, "memory b/in"), "%s", line);
    ts_chain_destroy(chain);
    refused(ts_chain_parse(NULL, 3, "test", NULL, &chain, diag), "argument-null", "'text'");
}

static void *allocate(void *user, size_t bytes, int32_t device, void *stream)
{
    (void)user;
    (void)device;
    (void)stream;
    return malloc(bytes);
}

Test(descriptions, an_allocator_has_both_functions)
{
    const struct ts_array in = ts_test_array(values, TS_F32, NZ, VIEWS, N);
    const struct ts_image about = volume_of((struct ts_axis){.spacing = 1, .unit = "mm"},
                                            (struct ts_axis){.spacing = 1, .unit = "mm"});
    const struct ts_allocator lacks = {.size = sizeof lacks, .allocate = allocate};
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_operator *op = NULL;
    struct array_run trial;
    options.device = "cpu";
    options.allocator = &lacks;
    refused(start(&trial, "memory in | box radius=1", &in, NULL, &options), "argument-null",
            "allocator->free");
    ts_array_run_finish(&trial);
    refused(ts_operator_create("box radius=1", &about, &options, &op, diag), "argument-null",
            "allocator->free");
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Two images in one array would leave one of them. */
Test(descriptions, images_have_arrays_of_their_own)
{
    static float one[NZ * VIEWS * N], two[NZ * VIEWS * N];
    struct array_run trial;
    const struct ts_array in = ts_test_array(values, TS_F32, NZ, VIEWS, N),
                          a = ts_test_array(one, TS_F32, NZ, VIEWS, N),
                          b = ts_test_array(two, TS_F32, NZ, VIEWS, N);
    ok(start(&trial, "memory in | box radius=1 | save name=smooth | invert", &in, NULL, NULL));
    ok(ts_run_set_array(trial.run, "smooth", &a, diag));
    ok(ts_run_set_array(trial.run, "data", &a, diag));
    refused(ts_run_execute(trial.run, diag), "memory-array", "'smooth' and 'data' overlap");
    ok(ts_run_set_array(trial.run, "data", &b, diag));
    ok(ts_run_execute(trial.run, diag));
    ok(ts_run_set_array(trial.run, "data", &a, diag)); /* they change places */
    ok(ts_run_set_array(trial.run, "smooth", &b, diag));
    ok(ts_run_execute(trial.run, diag));
    ts_array_run_finish(&trial);
}

/* Arrays whose elements alternate in one buffer share none. */
Test(descriptions, arrays_may_interleave)
{
    static float buffer[4][2][VIEWS][N], plain[4 * VIEWS * N], made[4 * VIEWS * N];
    struct array_run trial;
    struct ts_array in = ts_test_array(&buffer[0][0][0][0], TS_F32, 4, VIEWS, N), out,
                    packed = ts_test_array(plain, TS_F32, 4, VIEWS, N);
    for (int i = 0; i < 4 * VIEWS * N; i++)
        plain[i] = buffer[i / (VIEWS * N)][0][i / N % VIEWS][i % N] = (float)(i * 7919 % 1000);
    in.stride[0] = 2 * VIEWS * N * (int64_t)sizeof(float);
    in.stride[1] = N * (int64_t)sizeof(float);
    in.stride[2] = sizeof(float);
    out = in;
    out.data = &buffer[0][1][0][0];
    ok(start(&trial, "memory in | gaussian sigma=1 dimensions=3d", &in, NULL, NULL));
    ok(ts_run_set_array(trial.run, "data", &out, diag));
    ok(ts_run_execute(trial.run, diag));
    out.data = &buffer[0][0][1][0];
    refused(ts_run_set_array(trial.run, "data", &out, diag), "memory-array", "overlaps an input");
    out.data = (char *)&buffer[0][1][0][0] + 2; /* half an element beyond it meets the next image */
    refused(ts_run_set_array(trial.run, "data", &out, diag), "memory-array", "overlaps an input");
    ts_array_run_finish(&trial);
    ok(start(&trial, "memory in | gaussian sigma=1 dimensions=3d", &packed, NULL, NULL));
    packed.data = made;
    ok(ts_run_set_array(trial.run, "data", &packed, diag));
    ok(ts_run_execute(trial.run, diag));
    for (int z = 0; z < 4; z++)
        cr_assert_eq(memcmp(buffer[z][1], made + z * VIEWS * N, sizeof buffer[z][1]), 0);
    ts_array_run_finish(&trial);
}

static enum ts_status note_first(void *user, const struct ts_image *slab)
{
    *(double *)user = slab->axes[2].first;
    return TS_OK;
}

static enum ts_status fail_with(void *user, const struct ts_image *slab)
{
    (void)slab;
    return (enum ts_status) * (int *)user;
}

/* Fills one slice of a scan of half a turn, whose axis is at detector pixel `middle`, with a disc
 * at (8, 4). */
static void fill_disc(float *scan, int views, int n, double middle, double radius)
{
    for (int v = 0; v < views; v++)
        for (int d = 0; d < n; d++) {
            const double angle = v * M_PI / views, s = d - middle - 8 * cos(angle) - 4 * sin(angle);
            scan[v * n + d] = (float)(fabs(s) < radius ? 2 * sqrt(radius * radius - s * s) : 0);
        }
}

/* The plan cannot know the axis that `center` finds; the run does. */
Test(descriptions, a_run_describes_the_axis_that_it_found)
{
    enum { VIEWS_OF_DISC = 180, WIDTH = 64 };
    static float scan[VIEWS_OF_DISC * WIDTH];
    const double middle = 27.25;
    struct array_run trial;
    struct ts_image image,
        about = {.rank = 3,
                 .dtype = TS_F32,
                 .quantity = TS_LINE_INTEGRAL,
                 .unit = "1",
                 .axes = {{TS_AXIS_Z, 1, 1, "mm"},
                          {TS_AXIS_VIEW, VIEWS_OF_DISC, 1, "degree"},
                          {TS_AXIS_DETECTOR, WIDTH, 1, "mm", NULL, -31.5, NULL}}};
    const struct ts_array in = ts_test_array(scan, TS_F32, 1, VIEWS_OF_DISC, WIDTH);
    double first = 0;
    fill_disc(scan, VIEWS_OF_DISC, WIDTH, middle, 9);
    ok(start(&trial, "memory in | center", &in, &about, NULL));
    ok(ts_run_set_take(trial.run, "data", note_first, &first, diag));
    ok(ts_run_describe(trial.run, "data", &image, diag));
    cr_assert_eq(image.axes[2].first, -31.5, "as planned");
    ok(ts_run_execute(trial.run, diag));
    ok(ts_run_describe(trial.run, "data", &image, diag));
    cr_assert_float_eq(image.axes[2].first, -middle, 0.5);
    cr_assert_eq(image.axes[2].first, first, "as the slabs say");
    ok(ts_plan_describe(trial.plan, "data", &image, diag));
    cr_assert_eq(image.axes[2].first, -31.5);
    refused(ts_run_describe(trial.run, "other", &image, diag), "image-unknown", "'other'");
    ts_array_run_finish(&trial);
}

/* Where the axis was before `center` finds it is no cause to warn or to refuse. */
Test(descriptions, an_axis_that_is_found_later_is_judged_later)
{
    enum { VIEWS_OF_DISC = 180, WIDTH = 64 };
    static float scan[VIEWS_OF_DISC * WIDTH], made[VIEWS_OF_DISC * WIDTH];
    static const struct {
        const char *text;
        double first, middle;
        int warnings; /* once the axis is known */
        bool at_plan; /* the warning comes with the plan */
    } cases[] = {
        {"memory in | center | fbp", 0, 31, 0, false},
        {"memory in | center | fbp", 12, 31, 0, false},
        {"memory in | center | fbp", -1000, 31, 0, false},
        {"memory in | center | gaussian sigma=1 | fbp", -1, 29, 0, false},
        {"memory in | center | fourier", 0, 31, 0, false},
        {"memory in | center | filter | backproject", 100, 31, 0, false},
        {"memory in | center | fbp", -31, 18, 1, false}, /* it is near the end */
        {"memory in | center | fbp center=9", -31, 31, 1, true},
        {"memory in | center center=9 | fbp", -31, 31, 1, true},
    };
    const struct ts_array in = ts_test_array(scan, TS_F32, 1, VIEWS_OF_DISC, WIDTH),
                          out = ts_test_array(made, TS_F32, 1, WIDTH, WIDTH);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct array_run trial;
        struct ts_image about =
            scan_of((struct ts_axis){TS_AXIS_DETECTOR, WIDTH, 1, "mm", NULL, cases[i].first, NULL},
                    TS_BEAM_PARALLEL);
        int warnings = 0;
        about.axes[0].n = 1;
        about.axes[1] = (struct ts_axis){TS_AXIS_VIEW, VIEWS_OF_DISC, 1, "degree"};
        fill_disc(scan, VIEWS_OF_DISC, WIDTH, cases[i].middle, 7);
        ts_diag_clear(diag);
        ok(start(&trial, cases[i].text, &in, &about, NULL));
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            warnings += !strcmp(ts_diag_get(diag, k)->code, "axis-near-end");
        cr_assert_eq(warnings, cases[i].at_plan, "%s, first %g", cases[i].text, cases[i].first);
        ok(ts_run_set_array(trial.run, "data", &out, diag));
        ok(ts_run_execute(trial.run, diag));
        warnings = 0;
        for (size_t k = 0; k < ts_diag_count(diag); k++)
            warnings += !strcmp(ts_diag_get(diag, k)->code, "axis-near-end");
        cr_assert_eq(warnings, cases[i].warnings, "%s, first %g", cases[i].text, cases[i].first);
        ts_array_run_finish(&trial);
    }
}

/* What an execution left is gone after one that fails. */
Test(descriptions, a_run_that_fails_describes_the_plan)
{
    static float scan[VIEWS * N], made[VIEWS * N];
    struct array_run trial;
    struct ts_image image,
        about = scan_of((struct ts_axis){TS_AXIS_DETECTOR, N, 1, "mm", NULL, -15.5, NULL},
                        TS_BEAM_PARALLEL);
    const struct ts_array in = ts_test_array(scan, TS_F32, 1, VIEWS, N),
                          out = ts_test_array(made, TS_F32, 1, VIEWS, N);
    about.axes[0].n = 1;
    about.axes[1].spacing = 180.0 / VIEWS;
    fill_disc(scan, VIEWS, N, 14, 5);
    ok(start(&trial, "memory in | save name=copy | center", &in, &about, NULL));
    ok(ts_run_set_array(trial.run, "data", &out, diag));
    for (int round = 0; round < 3; round++) {
        ok(ts_run_execute(trial.run, diag));
        ok(ts_run_describe(trial.run, "data", &image, diag));
        cr_assert_float_eq(image.axes[2].first, -14, 0.3);
        cr_assert_not_null(ts_run_table_name(trial.run, 0));
        if (round == 0) {
            ts_run_stop(trial.run); /* the next one */
            cr_assert_eq(ts_run_execute(trial.run, diag), TS_STOPPED);
        } else if (round == 1) {
            ok(ts_run_set_array(trial.run, "copy", &out, diag));
            refused(ts_run_execute(trial.run, diag), "memory-array", "overlap");
            ok(ts_run_set_array(trial.run, "copy", NULL, diag));
        } else {
            int answer = TS_BAD_INPUT;
            ok(ts_run_set_take(trial.run, "copy", fail_with, &answer, diag));
            refused(ts_run_execute(trial.run, diag), "take-failed", "'copy'");
            ok(ts_run_set_take(trial.run, "copy", NULL, NULL, diag));
        }
        ok(ts_run_describe(trial.run, "data", &image, diag));
        cr_assert_eq(image.axes[2].first, -15.5, "as planned");
        cr_assert_null(ts_run_table_name(trial.run, 0));
    }
    ts_array_run_finish(&trial);
}
