/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs of several formats appear together or not at all: where one is refused, or its name comes
 * into being during the run, nothing of the others is left, and what they would have replaced is
 * there as before.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/sink/sink.h"
#include "io/volume/nifti.h"
#include "tests/support/chain_run.h"
#include "tests/support/chain_text.h"
#include "tests/support/program.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

static char folder[256], names[4096];

static void begin(void)
{
    static struct program_outcome outcome;
    ts_test_folder(folder, sizeof folder);
    ts_program_run(
        folder,
        (const char *[]){"phantom", "disc", "-o", "in", "--size", "32", "--slices", "3", NULL},
        &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
}

static void end(void)
{
    ts_program_folder_remove(folder);
}

TestSuite(sinks, .init = begin, .fini = end);

static const char *in_folder(const char *name)
{
    static char paths[4][512];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = fopen(in_folder(name), "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void expect_text(const char *name, const char *text)
{
    size_t length;
    char *found = ts_test_read(in_folder(name), &length);
    cr_assert(found && !strcmp(found, text), "%s: %s", name, found ? found : "gone");
    free(found);
}

static void expect_names(const char *expected)
{
    ts_program_folder_list(folder, names, sizeof names);
    cr_assert_str_eq(names, expected);
}

#define CHAIN(outputs) "tomostage: 2\ninput: {dicom: in}\nstages: [invert]\noutput: {" outputs "}\n"

Test(sinks, are_written_beside_and_instead_of_hdf5)
{
    ts_test_chain_runs(CHAIN("hdf5: a.h5, nifti: a.nii.gz"), folder);
    expect_names("a.h5 a.json a.nii.gz in ");
    ts_test_chain_runs(CHAIN("nifti: b.nii"), folder);
    expect_names("a.h5 a.json a.nii.gz b.json b.nii in ");
    ts_test_chain_runs("dicom in | invert | hdf5 c.h5 | nifti c.nii compression=none", folder);
    expect_names("a.h5 a.json a.nii.gz b.json b.nii c.h5 c.json c.nii in ");
}

/* An output that exists ends the run before it begins, and the names of the others stay free. */
Test(sinks, one_that_exists_keeps_all_from_being_written)
{
    static const char *const taken[] = {"a.h5", "a.json", "a.nii"};
    static struct program_outcome outcome;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        char expected[64];
        write_text(taken[i], "mine");
        ts_program_run(folder,
                       (const char *[]){"run", "dicom in | invert | hdf5 a.h5 | nifti a.nii", NULL},
                       &outcome);
        cr_assert(outcome.code == 1 && strstr(outcome.err, "already exists"), "%s", outcome.err);
        snprintf(expected, sizeof expected, "%s in ", taken[i]);
        expect_names(expected);
        expect_text(taken[i], "mine");
        unlink(in_folder(taken[i]));
    }
}

Test(sinks, wrong_suffixes_are_refused)
{
    ts_test_chain_refused(CHAIN("hdf5: a.nii"), folder, TS_BAD_CHAIN, "output-suffix");
    ts_test_chain_refused(CHAIN("nifti: a.h5"), folder, TS_BAD_CHAIN, "output-suffix");
    ts_test_chain_refused(CHAIN("nifti: a"), folder, TS_BAD_CHAIN, "output-suffix");
    ts_test_chain_refused(CHAIN("nifty: a.nii"), folder, TS_BAD_CHAIN, "unknown-format");
    /* A user who gives a folder such a name expects a file, or a stream. */
    static const char *const misnamed[] = {CHAIN("dicom: a.dcm"), CHAIN("png: A.JPG"),
                                           CHAIN("tiff: a.nrrd"), CHAIN("png: -"),
                                           CHAIN("hdf5: -"),      "dicom in | invert | dicom -"};
    for (size_t i = 0; i < sizeof misnamed / sizeof *misnamed; i++)
        ts_test_chain_refused(misnamed[i], folder, TS_BAD_CHAIN, "output-suffix");
    ts_test_chain_runs(CHAIN("dicom: a.dcm/, png: v1.2"), folder);
    expect_names("a.dcm in v1.2 ");
    struct ts_diag *diag;
    struct ts_chain *chain;
    cr_assert_eq(ts_test_parse(CHAIN("hdf5: a.h5"), &chain, &diag), TS_OK);
    cr_assert_eq(ts_chain_set_output(chain, "a.foo", diag), TS_BAD_CHAIN);
    cr_assert(ts_test_record(diag, "output-suffix") &&
              strstr(ts_diag_get(diag, 0)->hint, ".nii.gz"));
    cr_assert(strstr(chain->output.path, "a.h5") && chain->output.n_sinks == 0);
    cr_assert_eq(ts_chain_set_output(chain, "b.NII", diag), TS_OK);
    cr_assert(!chain->output.path && chain->output.n_sinks == 1);
    cr_assert_eq(ts_chain_set_output(chain, "b.nxs", diag), TS_OK);
    cr_assert(chain->output.path && chain->output.n_sinks == 0);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}

/* Outputs that would have one name, or lie in a folder that is another's, end the plan. */
Test(sinks, names_of_their_own)
{
    static const char *const wrong[] = {
        CHAIN("png: a, dicom: a"),           CHAIN("png: a, tiff: ./in/../a"),
        CHAIN("nifti: a.nii, png: a.json/"), CHAIN("nifti: a.nii.gz, dicom: a.bvec/"),
        CHAIN("hdf5: a/r.h5, png: a"),       CHAIN("png: a/b, dicom: a")};
    mkdir(in_folder("a"), 0700);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ts_test_chain_refused(wrong[i], folder, TS_BAD_CHAIN, "output-collides");
    expect_names("a in ");
    ts_test_chain_refused(CHAIN("nifti: a.nii, codec: rle"), folder, TS_BAD_CHAIN,
                          "parameter-unused");
    ts_test_chain_refused("dicom in | invert | hdf5 b.h5 codec=j2k", folder, TS_BAD_CHAIN,
                          "parameter-unused");
    ts_test_chain_refused(CHAIN("tiff: b, window: [40, 400]"), folder, TS_BAD_CHAIN,
                          "parameter-unused");
    ts_test_chain_runs(CHAIN("nifti: a.nii, hdf5: a.h5, png: b, dicom: c, tiff: ab, codec: j2k"),
                       folder);
    expect_names("a a.h5 a.json a.nii ab b c in ");
}

Test(sinks, a_sinogram_is_no_nifti)
{
    ts_test_chain_refused("dicom in | radon | nifti a.nii", folder, TS_BAD_CHAIN,
                          "output-cannot-hold");
}

static struct sink *open_nifti(const struct ts_image *image, const char *name, bool force,
                               struct ts_diag *diag)
{
    struct sink *sink;
    const struct sink_request request = {.path = strdup(in_folder(name)),
                                         .image = image,
                                         .name = "data",
                                         .threads = 2,
                                         .force = force};
    cr_assert_eq(ts_sink_open(&nifti_sink, &request, &sink, diag), TS_OK, "%s",
                 ts_test_errors(diag));
    cr_assert_eq(ts_sink_put(sink, image, diag), TS_OK);
    cr_assert_eq(ts_sink_finish(sink, diag), TS_OK);
    return sink;
}

static void close_nifti(struct sink *sink)
{
    char *path = (char *)sink->request.path;
    ts_sink_close(sink);
    free(path);
}

/* The second name comes into being after its check: the first one is taken back, and what it
 * replaced is there. */
Test(sinks, names_are_taken_back_where_one_cannot_be_given)
{
    static int16_t values[2 * 3 * 4];
    const struct ts_image image = {.rank = 3,
                                   .axes = {{TS_AXIS_Z, 2, 1, "pixel", NULL, 0},
                                            {TS_AXIS_Y, 3, 1, "pixel", NULL, 0},
                                            {TS_AXIS_X, 4, 1, "pixel", NULL, 0}},
                                   .dtype = TS_I16,
                                   .quantity = TS_INTENSITY,
                                   .unit = "1",
                                   .data = values};
    struct ts_diag *diag = ts_diag_create();
    for (int force = 0; force < 2; force++) {
        if (force)
            write_text("first.nii", "old");
        struct sink *sinks[] = {open_nifti(&image, "first.nii", force, diag),
                                open_nifti(&image, "second.nii", false, diag)};
        write_text("second.nii", "came");
        cr_assert_eq(ts_sinks_publish(sinks, 2, diag), TS_RUN_FAILED);
        cr_assert(ts_test_record(diag, "output-exists"));
        for (int i = 0; i < 2; i++)
            close_nifti(sinks[i]);
        expect_names(force ? "first.nii in second.nii " : "in second.nii ");
        if (force)
            expect_text("first.nii", "old");
        expect_text("second.nii", "came");
        unlink(in_folder("second.nii"));
    }
    struct sink *sinks[] = {open_nifti(&image, "first.nii", true, diag)};
    cr_assert_eq(ts_sinks_publish(sinks, 1, diag), TS_OK);
    ts_sinks_retract(sinks, 1); /* as where the HDF5 file fails at last */
    close_nifti(sinks[0]);
    expect_names("first.nii in ");
    expect_text("first.nii", "old");
    ts_diag_destroy(diag);
}

/* The HDF5 file is a sink: it is there, and what it replaced is gone, only where all others get
 * their names. */
Test(sinks, an_hdf5_file_gets_its_name_with_the_others)
{
    static int16_t values[2 * 3 * 4];
    const struct ts_image image = {.rank = 3,
                                   .axes = {{TS_AXIS_Z, 2, 1, "pixel", NULL, 0},
                                            {TS_AXIS_Y, 3, 1, "pixel", NULL, 0},
                                            {TS_AXIS_X, 4, 1, "pixel", NULL, 0}},
                                   .dtype = TS_I16,
                                   .quantity = TS_INTENSITY,
                                   .unit = "1",
                                   .data = values};
    const struct hdf5_options options = {.level = 1, .threads = 2};
    char *path = strdup(in_folder("a.h5"));
    const struct sink_request request = {.path = path, .force = true, .hdf5 = &options};
    struct ts_diag *diag = ts_diag_create();
    for (int taken = 1; taken >= 0; taken--) {
        struct sink *sinks[2];
        int id;
        write_text("a.h5", "old");
        cr_assert_eq(ts_sink_open(&hdf5_sink, &request, &sinks[0], diag), TS_OK);
        struct hdf5_writer *writer = ts_hdf5_sink_writer(sinks[0]);
        cr_assert(ts_hdf5_group(writer, "/entry", "NXentry") == TS_OK &&
                  ts_hdf5_image(writer, "/entry/data", &image, &id) == TS_OK);
        cr_assert_eq(ts_sink_put_image(sinks[0], id, &image, diag), TS_OK);
        cr_assert_eq(ts_sink_finish(sinks[0], diag), TS_OK, "%s", ts_test_errors(diag));
        sinks[1] = open_nifti(&image, "b.nii", false, diag);
        if (taken)
            write_text("b.nii", "came");
        cr_assert_eq(ts_sinks_publish(sinks, 2, diag), taken ? TS_RUN_FAILED : TS_OK);
        ts_sink_close(sinks[0]);
        close_nifti(sinks[1]);
        expect_names(taken ? "a.h5 b.nii in " : "a.h5 b.json b.nii in ");
        if (taken)
            expect_text("a.h5", "old");
        unlink(in_folder("b.nii"));
    }
    size_t length;
    char *bytes = ts_test_read(in_folder("a.h5"), &length);
    cr_assert(length > 8 && !memcmp(bytes + 1, "HDF", 3));
    free(bytes);
    free(path);
    ts_diag_destroy(diag);
}

/* A file that is given up leaves nothing. */
Test(sinks, an_hdf5_file_that_is_not_finished_is_removed)
{
    const struct hdf5_options options = {.level = 1, .threads = 2};
    const struct sink_request request = {.path = in_folder("a.h5"), .hdf5 = &options};
    struct ts_diag *diag = ts_diag_create();
    struct sink *sink;
    cr_assert_eq(ts_sink_open(&hdf5_sink, &request, &sink, diag), TS_OK);
    ts_sink_close(sink);
    expect_names("in ");
    ts_diag_destroy(diag);
}

/* On a device the values leave it for all outputs alike, also where the HDF5 file has halves of
 * them. */
TEST_ON_BOTH(sinks, get_the_values_that_hdf5_gets)
{
    static const char *const forms[] = {"", ", compression: none", ", dtype: f16"};
    char chain[512];
    size_t length, first_length = 0;
    char *first = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(chain, sizeof chain,
                 "tomostage: 2\ninput: {dicom: in}\nstages: [gaussian: {sigma: 1, unit: pixel}]\n"
                 "output: {hdf5: a.h5, nifti: a.nii, tiff: a.tif%s}\n",
                 forms[i]);
        ts_test_chain_runs(chain, folder);
        char *bytes = ts_test_read(in_folder("a.nii"), &length);
        if (first)
            cr_assert(length == first_length && !memcmp(bytes, first, length), "%s", forms[i]);
        else
            first = bytes;
        if (first != bytes)
            free(bytes);
        first_length = length;
    }
    ts_test_chain_runs("dicom in | gaussian sigma=1 unit=pixel | hdf5 a.h5", folder);
    ts_test_chain_runs("result a.h5 | save name=same | nifti b.nii", folder);
    char *alone = ts_test_read(in_folder("b.nii"), &length);
    cr_assert(length == first_length &&
              !memcmp(alone, first, length)); /* as where HDF5 was the only output */
    free(alone);
    free(first);
}

/* Volumes follow each other; their axis is the fourth, with the step of time in seconds. */
Test(sinks, a_series_of_volumes_is_one_nifti)
{
    enum { NX = 4, NY = 3, NZ = 2, N = 3 };
    static const double seconds[N] = {0, 2, 4};
    const struct ts_axis time = {.kind = TS_AXIS_TIME, .n = N, .unit = "s", .positions = seconds};
    int16_t values[NZ * NY * NX];
    struct ts_image image = {.rank = 3,
                             .axes = {{TS_AXIS_Z, NZ, 2, "mm", NULL, 0},
                                      {TS_AXIS_Y, NY, 1, "mm", NULL, 0},
                                      {TS_AXIS_X, NX, 1, "mm", NULL, 0}},
                             .dtype = TS_I16,
                             .quantity = TS_INTENSITY,
                             .unit = "1"};
    struct ts_diag *diag = ts_diag_create();
    const struct sink_request request = {.path = in_folder("a.nii"),
                                         .image = &image,
                                         .volumes = &time,
                                         .name = "data",
                                         .threads = 2};
    struct sink *sink;
    struct nifti_header header;
    cr_assert_eq(ts_sink_open(&nifti_sink, &request, &sink, diag), TS_OK);
    image.data = values;
    for (int v = 0; v < N; v++) {
        for (int i = 0; i < NZ * NY * NX; i++)
            values[i] = (int16_t)(100 * v + i);
        image.z_first = v * NZ;
        cr_assert_eq(ts_sink_put(sink, &image, diag), TS_OK);
    }
    cr_assert(ts_sink_finish(sink, diag) == TS_OK && ts_sinks_publish(&sink, 1, diag) == TS_OK);
    ts_sink_close(sink);
    size_t length;
    char *bytes = ts_test_read(in_folder("a.nii"), &length);
    cr_assert_null(ts_nifti_decode((unsigned char *)bytes, length, &header));
    cr_assert(header.dim[0] == 4 && header.dim[3] == NZ && header.dim[4] == N &&
              header.pixdim[4] == 2);
    cr_assert_eq(length, NIFTI_1_BYTES + 4 + sizeof values * N);
    memcpy(values, bytes + NIFTI_1_BYTES + 4 + 2 * sizeof values, sizeof values);
    /* Without a place in a patient the last row comes first. */
    cr_assert(values[0] == 200 + (NY - 1) * NX && values[NZ * NY * NX - 1] == 223 - (NY - 1) * NX);
    free(bytes);
    cr_assert(dicom_sink.refusal(&request) == NULL && png_sink.refusal(&request) == NULL);
    ts_diag_destroy(diag);
}

/* These are the axis of a series of volumes, and what is expected of its fourth axis and of the
 * text beside it. */
struct series_of {
    struct ts_axis axis;
    double repetition_ms; /* 0: not known */
    double pixdim, time;  /* expected: the step and the unit of time */
    const char *timing;   /* expected in the sidecar */
};

static void write_series(const struct series_of *series)
{
    static int16_t values[2 * 3 * 4 * 3];
    const struct source_attribute repetition = {
        .name = "repetition_time", .numbers = &series->repetition_ms, .n = 1, .unit = "ms"};
    struct ts_image image = {.rank = 3,
                             .axes = {{TS_AXIS_Z, 2, 2, "mm", NULL, 0},
                                      {TS_AXIS_Y, 3, 1, "mm", NULL, 0},
                                      {TS_AXIS_X, 4, 1, "mm", NULL, 0}},
                             .dtype = TS_I16,
                             .quantity = TS_INTENSITY,
                             .unit = "1"};
    const struct sink_request request = {.path = in_folder("a.nii"),
                                         .image = &image,
                                         .volumes = &series->axis,
                                         .attributes = &repetition,
                                         .n_attributes = series->repetition_ms > 0,
                                         .name = "data",
                                         .threads = 1,
                                         .force = true};
    struct ts_diag *diag = ts_diag_create();
    struct sink *sink;
    cr_assert_eq(ts_sink_open(&nifti_sink, &request, &sink, diag), TS_OK);
    image.data = values;
    image.axes[0].n = 6;
    cr_assert(ts_sink_put(sink, &image, diag) == TS_OK && ts_sink_finish(sink, diag) == TS_OK);
    cr_assert_eq(ts_sinks_publish(&sink, 1, diag), TS_OK);
    ts_sink_close(sink);
    ts_diag_destroy(diag);
}

Test(sinks, say_of_the_fourth_axis_what_is_known)
{
    static const double even[] = {0, 3.0125, 6.025}, uneven[] = {0, 3, 20}, echoes[] = {7, 14, 21},
                        b[] = {0, 1000, 1000}, late[] = {-0.5, 2.5, 5.5}, near[] = {0, 2.095, 4.19},
                        clock[] = {0, 3.0025, 6.0025}, seconds[] = {0, 2, 5}, whole[] = {0, 3, 6},
                        quick[] = {0, 0.02, 0.04}, wavy[] = {0, 2, 4.15};
    static const struct series_of cases[] = {
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = even},
         3000,
         3,
         NIFTI_SECONDS,
         "\"RepetitionTime\": 3"},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = near},
         2000,
         2.095,
         NIFTI_SECONDS,
         "\"RepetitionTime\": 2.095"},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = clock},
         3000,
         3,
         NIFTI_SECONDS,
         "\"RepetitionTime\": 3,"},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = seconds},
         2600,
         2.6,
         NIFTI_SECONDS,
         "\"RepetitionTime\": 2.6"},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = whole},
         2900,
         3,
         NIFTI_SECONDS,
         "\"RepetitionTime\": 3,"},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = quick},
         15,
         0.02,
         NIFTI_SECONDS,
         "\"RepetitionTime\": 0.02,"},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = wavy},
         2000,
         2.075,
         NIFTI_SECONDS,
         "\"VolumeTiming\""},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = even},
         0,
         3.0125,
         NIFTI_SECONDS,
         "\"Axis\": \"time\""},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = even},
         5,
         3.0125,
         NIFTI_SECONDS,
         "\"RepetitionTimeExcitation\": 0.005"},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = late},
         3000,
         3,
         NIFTI_SECONDS,
         "\"RepetitionTime\": 3"},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "s", .positions = uneven},
         3000,
         10,
         NIFTI_SECONDS,
         "\"VolumeTiming\""},
        {{.kind = TS_AXIS_TIME, .n = 3, .unit = "", .spacing = 1},
         3000,
         1,
         0,
         "\"RepetitionTime\": 3"},
        {{.kind = TS_AXIS_ECHO, .n = 3, .unit = "ms", .positions = echoes},
         3000,
         1,
         0,
         "\"Axis\": \"echo\""},
        {{.kind = TS_AXIS_B, .n = 3, .unit = "s/mm2", .positions = b},
         3000,
         1,
         0,
         "\"Axis\": \"b\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nifti_header header;
        size_t length;
        write_series(&cases[i]);
        char *bytes = ts_test_read(in_folder("a.nii"), &length);
        cr_assert_null(ts_nifti_decode((unsigned char *)bytes, length, &header));
        cr_assert(header.pixdim[4] == cases[i].pixdim && header.units == NIFTI_MM + cases[i].time,
                  "case %zu: %g, %g", i, header.pixdim[4], header.units);
        cr_assert(header.sform == 0 && header.qform == 0);
        cr_assert_eq(header.first, cases[i].axis.positions == late ? -0.5 : 0);
        free(bytes);
        char *json = ts_test_read(in_folder("a.json"), &length);
        cr_assert(strstr(json, cases[i].timing), "case %zu: %s", i, json);
        cr_assert_eq(strstr(json, "VolumeTiming") != NULL,
                     cases[i].axis.positions == uneven || cases[i].axis.positions == wavy);
        free(json);
    }
    expect_text("a.bval", "0 1000 1000\n"); /* of the last case */
}

/* The bytes of a gzip file depend neither on the slabs nor on the number of threads. */
Test(sinks, gzip_is_the_same_for_all_threads_and_slabs)
{
    enum { NX = 300, NY = 200, NZ = 40 };
    static float values[NX * NY * NZ];
    struct ts_image image = {.rank = 3,
                             .axes = {{TS_AXIS_Z, NZ, 1, "mm", NULL, 0},
                                      {TS_AXIS_Y, NY, 1, "mm", NULL, 0},
                                      {TS_AXIS_X, NX, 1, "mm", NULL, 0}},
                             .dtype = TS_F32,
                             .quantity = TS_INTENSITY,
                             .unit = "1"};
    struct ts_diag *diag = ts_diag_create();
    char *first = NULL;
    size_t first_length = 0, length;
    for (int i = 0; i < NX * NY * NZ; i++)
        values[i] = (float)(i % 1000) * 0.25F;
    for (int threads = 1; threads <= 4; threads++) {
        struct sink *sink;
        const struct sink_request request = {.path = in_folder("a.nii.gz"),
                                             .image = &image,
                                             .name = "data",
                                             .threads = threads,
                                             .force = true};
        cr_assert_eq(ts_sink_open(&nifti_sink, &request, &sink, diag), TS_OK);
        image.data = values;
        for (int64_t z = 0; z < NZ; z += threads) {
            const struct ts_image slab =
                ts_image_slices(&image, z, NZ - z < threads ? NZ - z : threads);
            cr_assert_eq(ts_sink_put(sink, &slab, diag), TS_OK);
        }
        cr_assert_eq(ts_sink_finish(sink, diag), TS_OK);
        cr_assert_eq(ts_sinks_publish(&sink, 1, diag), TS_OK);
        ts_sink_close(sink);
        char *bytes = ts_test_read(in_folder("a.nii.gz"), &length);
        if (!first) {
            first = bytes;
            first_length = length;
            continue;
        }
        cr_assert(length == first_length && !memcmp(bytes, first, length), "%d threads", threads);
        free(bytes);
    }
    free(first);
    ts_diag_destroy(diag);
}
