/* SPDX-License-Identifier: Apache-2.0
 *
 * Flats and darks of another file that were taken otherwise than the views are warned of by name:
 * another exposure, another beam, a detector that lay the other way. Files that say the same, or
 * nothing, are not warned of.
 */
#include <criterion/criterion.h>
#include <hdf5.h>
#include <string.h>

#include "tests/files/scan_file.h"
#include "tests/support/chain_run.h"
#include "tests/support/support.h"

TestSuite(other_scans, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

enum { FRAMES = 4 }; /* four views; two darks and two flats */

/* A field of one number, or of one for each frame; or an axis that turns the detector by 180
 * degrees. */
struct field {
    const char *path;
    int n;
    double values[FRAMES];
    const char *units;
    char turns_about; /* x, y or z */
};

static void put_axis(hid_t detector, char about)
{
    const double half = 180, vector[3] = {about == 'x', about == 'y', about == 'z'};
    const hsize_t size = 3;
    const hid_t group = ts_scan_file_group(detector, "transformations", "NXtransformations");
    ts_scan_file_numbers(group, "turn", 0, &half, "deg");
    const hid_t axis = H5Dopen2(group, "turn", H5P_DEFAULT),
                space = H5Screate_simple(1, &size, NULL);
    const hid_t attribute =
        H5Acreate2(axis, "vector", H5T_IEEE_F64LE, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Awrite(attribute, H5T_NATIVE_DOUBLE, vector) >= 0);
    ts_scan_file_text(axis, "transformation_type", "rotation");
    H5Aclose(attribute);
    H5Sclose(space);
    H5Dclose(axis);
    H5Gclose(group);
}

static hid_t create_file(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", ts_scan_file.folder, name);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(file >= 0);
    return file;
}

static void make_nexus(const char *name, const double keys[FRAMES], const struct field *field)
{
    static const double angles[FRAMES] = {0, 45, 90, 135};
    static const char *const groups[][2] = {{"instrument", "NXinstrument"},
                                            {"instrument/detector", "NXdetector"},
                                            {"instrument/source", "NXsource"},
                                            {"instrument/diode", "NXdetector"},
                                            {"sample", "NXsample"},
                                            {"control", "NXmonitor"}};
    const hid_t file = create_file(name), entry = ts_scan_file_group(file, "entry", "NXentry");
    ts_scan_file_word(entry, "definition", "NXtomo");
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        H5Gclose(ts_scan_file_group(entry, groups[i][0], groups[i][1]));
    const hid_t detector = H5Gopen2(entry, "instrument/detector", H5P_DEFAULT);
    ts_scan_file_frames(detector, "data", FRAMES, NULL);
    ts_scan_file_numbers(detector, "image_key", FRAMES, keys, NULL);
    ts_scan_file_numbers(entry, "sample/rotation_angle", FRAMES, angles, "degree");
    if (field->path)
        ts_scan_file_numbers(entry, field->path, field->n, field->values, field->units);
    if (field->turns_about)
        put_axis(detector, field->turns_about);
    H5Gclose(detector);
    H5Gclose(entry);
    cr_assert(H5Fclose(file) >= 0);
}

/* Runs flat_field on a format's files; `before` are stages before it. Returns the records. */
static struct ts_diag *run_chain(const char *format, const char *frames_of, const char *before,
                                 const char *takes)
{
    char chain[1000];
    struct ts_diag *diag = ts_diag_create();
    snprintf(chain, sizeof chain,
             "tomostage: 2\ninput: {%s: views.h5}\ninputs:\n  f: {%s: %s, frames: flats}\n  d: "
             "{%s: %s, frames: darks}\nstages: [%sflat_field: {%s}]\n"
             "output: {hdf5: out.h5}\n",
             format, format, frames_of, format, frames_of, before, takes);
    (void)ts_test_chain(chain, ts_scan_file.folder, diag);
    char path[512];
    snprintf(path, sizeof path, "%s/out.h5", ts_scan_file.folder);
    remove(path);
    return diag;
}

/* Fails unless there are so many records of a kind `reference-...`, all with this code, and the
 * first has these words. */
static void expect_records(const struct ts_diag *diag, size_t row, int expected, const char *code,
                           const char *words)
{
    int n = 0;
    for (size_t i = 0; i < ts_diag_count(diag); i++) {
        const struct ts_diag_record *record = ts_diag_get(diag, i);
        if (strncmp(record->code, "reference-", 10) != 0)
            continue;
        n++;
        cr_expect(code && !strcmp(record->code, code), "row %zu: %s: %s", row, record->code,
                  record->message);
        cr_expect(n > 1 || !words || strstr(record->message, words), "row %zu: no '%s' in '%s'",
                  row, words, record->message);
        cr_expect_not_null(record->hint, "row %zu", row);
    }
    cr_expect_eq(n, expected, "row %zu: %d", row, n);
    cr_expect_null(ts_diag_first_error(diag), "row %zu: %s", row, ts_diag_first_error(diag));
}

#define EXPOSURE "instrument/detector/count_time"
#define SOURCE "instrument/source/current"
#define X_FLIPPED "instrument/detector/x_flipped"
#define Y_FLIPPED "instrument/detector/y_flipped"
#define EACH(...)                                                                                  \
    FRAMES,                                                                                        \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
static const struct {
    struct field views, frames;
    const char *code, *words; /* NULL: no warning */
    int n;                    /* of flats and darks, how many are warned of, at how many ends */
} rows[] = {
    {{EXPOSURE, 0, {0.1}, "s"},
     {EXPOSURE, 0, {0.2}, "s"},
     "reference-exposure",
     "count_time of `flats` is 0.2 s, and count_time of the image is 0.1 s",
     2},
    {{EXPOSURE, 0, {0.1}, "s"},
     {"instrument/detector/exposure_time", 0, {50}, "ms"},
     "reference-exposure",
     "exposure_time of `flats` is 0.05 s",
     2},
    {{EXPOSURE, 0, {0.1}, "s"},
     {EXPOSURE, EACH(0.1, 0.1, 0.2, 0.2), "s"},
     "reference-exposure",
     "0.2 s",
     1},
    {{EXPOSURE, 0, {0.1}, "s"},
     {EXPOSURE, EACH(5, 5, 0.1, 0.1), "s"},
     "reference-exposure",
     "count_time of `darks` is 5 s",
     1},
    {{EXPOSURE, 0, {0.1}, "s"}, {EXPOSURE, 0, {100}, "ms"}},
    {{EXPOSURE, 0, {0.1}}, {EXPOSURE, 0, {0.1}, "s"}},
    {{EXPOSURE, 0, {0.1}, "s"}, {EXPOSURE, 0, {0.1005}, "s"}},
    {{EXPOSURE, 0, {0.1}, "s"}, {NULL}},
    {{NULL}, {EXPOSURE, 0, {0.1}, "s"}},
    {{EXPOSURE, EACH(0.1, 0.3, 0.1, 0.3), "s"}, {EXPOSURE, 0, {0.2}, "s"}}, /* the reader warns */
    {{NULL}, {NULL}},
    {{SOURCE, 0, {200}, "mA"},
     {SOURCE, 0, {100}, "mA"},
     "reference-beam",
     "current of the source of `flats` is 0.1 A",
     1},
    {{SOURCE, EACH(200, 199, 198, 197), "mA"},
     {SOURCE, 0, {0.15}, "A"},
     "reference-beam",
     "current of the source of the image is 0.1985 A",
     1},
    {{SOURCE, 0, {200}, "mA"}, {SOURCE, 0, {0.2}, "A"}},
    {{SOURCE, 0, {200}, "mA"}, {SOURCE, 0, {5}, "V"}}, /* not to be compared */
    {{"control/data", EACH(1000, 1001, 1000, 999)},
     {"control/data", EACH(0, 0, 500, 502)},
     "reference-beam",
     "data of control of `flats` is 501",
     1},
    {{"control/data", EACH(1000, 990, 980, 970)}, {"control/data", EACH(0, 0, 985, 1001)}},
    {{"instrument/diode/data", EACH(4, 4, 4, 4)},
     {"instrument/diode/data", EACH(0, 0, 5, 5)},
     "reference-beam",
     "data of the diode",
     1},
    {{X_FLIPPED, 0, {1}},
     {X_FLIPPED, 0, {0}},
     "reference-flipped",
     "detector pixels of `flats` run the other way",
     2},
    {{X_FLIPPED, 0, {1}}, {NULL}, "reference-flipped", "detector pixels of `flats`", 2},
    {{NULL}, {X_FLIPPED, 0, {1}}, "reference-flipped", "detector pixels of `flats`", 2},
    {{X_FLIPPED, 0, {1}}, {X_FLIPPED, 0, {1}}},
    {{Y_FLIPPED, 0, {1}}, {Y_FLIPPED, 0, {0}}, "reference-flipped", "the rows of `flats`", 2},
    {{Y_FLIPPED, 0, {1}}, {.turns_about = 'x'}},
    {{.turns_about = 'y'}, {NULL}, "reference-flipped", "detector pixels of `flats`", 2},
    {{NULL}, {.turns_about = 'x'}, "reference-flipped", "the rows of `flats`", 2},
    {{NULL}, {.turns_about = 'z'}, "reference-flipped", "detector pixels of `flats`", 4},
    {{.turns_about = 'z'}, {.turns_about = 'z'}},
    {{X_FLIPPED, 0, {1}, .turns_about = 'y'}, {NULL}}, /* twice the other way */
};

static const double of_views[FRAMES] = {0}, of_frames[FRAMES] = {2, 2, 1, 1};
static const char as_read[] = "flats: f, darks: d, dead: nan";

Test(other_scans, flats_and_darks_that_were_taken_otherwise_are_told)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_nexus("views.h5", of_views, &rows[i].views);
        make_nexus("frames.h5", of_frames, &rows[i].frames);
        struct ts_diag *diag = run_chain("nexus", "frames.h5", "", as_read);
        expect_records(diag, i, rows[i].n, rows[i].code, rows[i].words);
        ts_diag_destroy(diag);
    }
}

/* flip before flat_field mirrors the image, its frames, or both. */
Test(other_scans, flip_must_mirror_image_and_frames)
{
    static const char one[] = "flip: {input: f, name: g}, ",
                      both[] = "flip: {input: f, name: g}, flip: {input: d, name: e}, ";
    static const struct {
        double flipped; /* of the frames; the image's is 0 */
        const char *before, *takes, *words;
        int n;
    } cases[] = {
        {0, "flip: {}, ", as_read, "flip mirrors the image before this, and not `flats`", 2},
        {0, both, "input: input, flats: g, darks: e, dead: nan", "flip mirrors `flats` before this",
         2},
        {0, "flip: {}, flip: {}, ", as_read, NULL, 0},
        {1, "flip: {}, ", as_read, NULL, 0},
        {1, both, "input: input, flats: g, darks: e, dead: nan", NULL, 0},
        {1, one, "input: input, flats: g, darks: d, dead: nan",
         "pixels of `darks` run the other way", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_nexus("views.h5", of_views, &(struct field){0});
        make_nexus("frames.h5", of_frames, &(struct field){X_FLIPPED, 0, {cases[i].flipped}});
        struct ts_diag *diag = run_chain("nexus", "frames.h5", cases[i].before, cases[i].takes);
        expect_records(diag, i, cases[i].n, "reference-flipped", cases[i].words);
        ts_diag_destroy(diag);
    }
}

Test(other_scans, air_divides_by_the_beam_beside_the_object)
{
    static const char *const takes[] = {as_read,
                                        "flats: f, darks: d, dead: nan}, air: {detectors: 1"};
    make_nexus("views.h5", of_views, &(struct field){SOURCE, 0, {200}, "mA"});
    make_nexus("frames.h5", of_frames, &(struct field){SOURCE, 0, {100}, "mA"});
    for (size_t i = 0; i < 2; i++) {
        struct ts_diag *diag = run_chain("nexus", "frames.h5", "", takes[i]);
        expect_records(diag, i, i == 0, "reference-beam", NULL);
        ts_diag_destroy(diag);
    }
}

static void make_exchange(const char *name, double seconds, double milliampere)
{
    static const double theta[FRAMES] = {0, 45, 90, 135};
    const hid_t file = create_file(name), exchange = ts_scan_file_group(file, "exchange", NULL);
    ts_scan_file_frames(exchange, "data", FRAMES, NULL);
    ts_scan_file_frames(exchange, "data_white", 3, NULL);
    ts_scan_file_frames(exchange, "data_dark", 2, NULL);
    ts_scan_file_numbers(exchange, "theta", FRAMES, theta, NULL);
    H5Gclose(exchange);
    H5Gclose(ts_scan_file_group(file, "measurement", NULL));
    const hid_t instrument = ts_scan_file_group(file, "measurement/instrument", NULL);
    H5Gclose(ts_scan_file_group(instrument, "detector", NULL));
    H5Gclose(ts_scan_file_group(instrument, "source", NULL));
    if (seconds > 0)
        ts_scan_file_numbers(instrument, "detector/exposure_time", 0, &seconds, NULL);
    if (milliampere > 0)
        ts_scan_file_numbers(instrument, "source/current", 0, &milliampere, "mA");
    H5Gclose(instrument);
    cr_assert(H5Fclose(file) >= 0);
}

Test(other_scans, those_of_data_exchange_are_told_too)
{
    static const struct {
        double seconds[2], milliampere[2];
        const char *code;
        int n;
    } cases[] = {{{0.1, 0.2}, {0}, "reference-exposure", 2},
                 {{0.1, 0.1}, {100, 50}, "reference-beam", 1},
                 {{0.1, 0.1}, {100, 100}, NULL, 0},
                 {{0.1, 0}, {0, 100}, NULL, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_exchange("views.h5", cases[i].seconds[0], cases[i].milliampere[0]);
        make_exchange("frames.h5", cases[i].seconds[1], cases[i].milliampere[1]);
        struct ts_diag *diag = run_chain("exchange", "frames.h5", "", as_read);
        expect_records(diag, i, cases[i].n, cases[i].code, NULL);
        ts_diag_destroy(diag);
    }
    struct ts_diag *diag = run_chain("exchange", "views.h5", "flip: {}, ", as_read);
    expect_records(diag, 9, 2, "reference-flipped", "flip mirrors the image");
    ts_diag_destroy(diag);
}
