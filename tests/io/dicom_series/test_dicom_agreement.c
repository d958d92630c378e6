/* SPDX-License-Identifier: Apache-2.0
 *
 * Headers that state one thing by several attributes: orders and times of volumes, lengths of
 * frames, b-values, gradients, numbers of echoes. What contradicts is said, what agrees is not.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/vector3.h"
#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_study.h"
#include "tests/support/support.h"

enum { VOLUMES = 4, PLACES = 3, IMAGES = VOLUMES * PLACES, MOST_FIELDS = 8 };

/* An element of a volume, and its values as text; NULL: not stated. */
struct field {
    uint32_t tag;
    const char *vr, *values[VOLUMES];
};

struct row {
    struct field fields[MOST_FIELDS];
    const char *warning; /* of contradictions; NULL: none */
    const char *modality;
    double times[VOLUMES]; /* of the volumes, if the last one is not 0 */
    bool number_falls;     /* Instance Number counts the volumes backward */
    double slice_s;        /* what is added to Acquisition Times from slice to slice */
};

/* clang-format off */
#define TIMES(a, b, c, d) {0x00080032, "TM", {a, b, c, d}}
#define DATED {0x00080022, "DA", {"20240101", "20240101", "20240101", "20240101"}}
#define TRIGGERS(a, b, c, d) {0x00181060, "DS", {a, b, c, d}}
#define REFERENCES(a, b, c, d) {0x00541300, "DS", {a, b, c, d}}
#define DURATIONS(a, b, c, d) {0x00181242, "IS", {a, b, c, d}}
#define RESOLUTION(a) {0x00200110, "DS", {a, a, a, a}}
#define POSITIONS(a, b, c, d) {0x00200100, "IS", {a, b, c, d}}
#define ACQUISITIONS(a, b, c, d) {0x00200012, "IS", {a, b, c, d}}
/* clang-format on */

static void edit(struct dicom_fixture *f, int i, void *user)
{
    const struct row *row = user;
    const int v = i / PLACES, z = i % PLACES;
    char text[32];
    ts_fixture_text(f, 0x00080060, "CS", row->modality ? row->modality : "MR");
    snprintf(text, sizeof text, "0\\0\\%d", 2 * z);
    ts_fixture_text(f, 0x00200032, "DS", text);
    snprintf(text, sizeof text, "%d", (row->number_falls ? VOLUMES - 1 - v : v) * PLACES + z + 1);
    ts_fixture_text(f, 0x00200013, "IS", text);
    ts_fixture_text(f, 0x00180088, "DS", "2");
    for (int k = 0; k < MOST_FIELDS && row->fields[k].tag; k++) {
        const struct field *field = &row->fields[k];
        double number;
        if (!field->values[v])
            continue;
        if (!strcmp(field->vr, "FD")) {
            double numbers[3];
            const int n =
                sscanf(field->values[v], "%lf %lf %lf", numbers, numbers + 1, numbers + 2);
            ts_fixture_bytes(f, field->tag, "FD", numbers, (size_t)n * sizeof *numbers);
        } else if (field->tag == 0x00080032 && sscanf(field->values[v], "%lf", &number) == 1) {
            snprintf(text, sizeof text, "%013.6f", number + row->slice_s * z);
            ts_fixture_text(f, field->tag, "TM", text);
        } else {
            ts_fixture_text(f, field->tag, field->vr, field->values[v]);
        }
    }
}

/* These begin or are in the warnings that are tested here, and in no others. */
static const char *const contradictions[] = {
    "at all positions",    "the times of the volumes are those of",
    "are no unit vectors", "GE's private",
    "a private ",          "the values are counts, and Actual Frame Duration"};

static int count_warnings(const struct dicom_series *series, const char *text)
{
    int n = 0;
    for (size_t i = 0; i < series->n_warnings; i++)
        n += strstr(series->warnings[i], text) != NULL;
    return n;
}

static void check(const struct dicom_series *series, const struct row *row, size_t r)
{
    int n = 0;
    for (size_t i = 0; i < sizeof contradictions / sizeof *contradictions; i++)
        n += count_warnings(series, contradictions[i]);
    cr_assert_null(series->refusal, "row %zu: %s", r, series->refusal);
    cr_assert_eq(series->n_volumes, VOLUMES, "row %zu", r);
    for (size_t i = 0; i < series->n_warnings && (n != (row->warning != NULL)); i++)
        fprintf(stderr, "row %zu: %s\n", r, series->warnings[i]);
    cr_expect_eq(n, row->warning != NULL, "row %zu: %d warnings", r, n);
    cr_expect(!row->warning || count_warnings(series, row->warning) == 1, "row %zu: %s", r,
              row->warning);
    for (int v = 0; row->times[VOLUMES - 1] > 0 && v < VOLUMES; v++)
        cr_expect_float_eq(ts_axis_position(&series->volume_axis, v), row->times[v], 1e-6,
                           "row %zu: %g", r, ts_axis_position(&series->volume_axis, v));
}

static void run(struct row *rows, size_t n, size_t n_series,
                void (*also)(const struct dicom_series *, size_t))
{
    for (size_t r = 0; r < n; r++) {
        char folder[256];
        struct dicom_study study;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, IMAGES, edit, &rows[r]);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        cr_assert_eq(study.n, n_series, "row %zu: %zu series", r, study.n);
        if (n_series == 1)
            check(&study.series[0], &rows[r], r);
        if (also)
            also(study.series, r);
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

#define RUN(rows, n_series, also) run(rows, sizeof(rows) / sizeof *(rows), n_series, also)

Test(dicom_agreement, attributes_that_give_another_order_are_warned_of)
{
    static struct row rows[] = {
        {.fields = {DATED, TIMES("100003", "100002", "100001", "100000")},
         .warning = "stand on Acquisition Time, which Instance Number contradicts at all"},
        {.fields = {DATED, TIMES("100002", "100000", "100003", "100001"),
                    TRIGGERS("0", "30", "60", "90")},
         .slice_s = 10,
         .warning = "Acquisition Time, which Trigger Time and Instance Number contradict at all"},
        {.fields = {DATED, TIMES("100009", "100006", "100003", "100000"),
                    REFERENCES("1500", "4500", "7500", "10500")},
         .modality = "PT",
         .warning = "which Frame Reference Time and Instance Number contradict at all"},
        {.fields = {POSITIONS("4", "3", "2", "1"), TRIGGERS("0", "30", "60", "90")},
         .warning =
             "stand on Temporal Position, which Trigger Time and Instance Number contradict"},
        {.fields = {TRIGGERS("0", "30", "60", "90")},
         .number_falls = true,
         .warning = "stand on Trigger Time, which Instance Number contradicts"},
        {.fields = {REFERENCES("0", "30", "60", "90"), ACQUISITIONS("1", "1", "1", "1")},
         .modality = "PT",
         .number_falls = true,
         .warning = "stand on Frame Reference Time, which Instance Number contradicts"},
        /* A heartbeat comes when it likes, and one order is enough. */
        {.fields = {DATED, TIMES("100000", "100001", "100002", "100003"),
                    TRIGGERS("250", "255", "248", "251")}},
        {.fields = {DATED, TIMES("100000", "100001", "100002", "100003"),
                    TRIGGERS("600", "800", "100", "300")}},
        {.fields = {DATED, TIMES("100000", "100000", "100000", "100000"),
                    TRIGGERS("0", "30", "60", "90")},
         .slice_s = 10,
         .times = {0, 0.03, 0.06, 0.09}},
        /* The series may begin with any phase of the cycle. */
        {.fields = {TRIGGERS("600", "800", "0", "300")}},
        {.fields = {POSITIONS("1", "2", "3", "4"), ACQUISITIONS("4", "3", "2", "1"),
                    TRIGGERS("0", "30", "60", "90")}},
    };
    RUN(rows, 1, NULL);
}

Test(dicom_agreement, times_that_others_contradict_are_warned_of)
{
    static struct row rows[] = {
        {.fields = {DATED, TIMES("100000", "100020", "100040", "100100"), RESOLUTION("2000")},
         .warning = "which step by 20 s, and Temporal Resolution is 2 s",
         .times = {0, 20, 40, 60}},
        {.fields = {DATED, TIMES("100000.25", "100002.25", "100004.25", "100006.25"),
                    RESOLUTION("500")},
         .warning = "which step by 2 s, and Temporal Resolution is 0.5 s"},
        {.fields = {DATED, TIMES("100000", "100020", "100040", "100100"),
                    TRIGGERS("0", "5000", "10000", "15000")},
         .warning = "of Acquisition Time, which Trigger Time contradicts by up to 45 s"},
        {.fields = {DATED, TIMES("100000", "100126", "100252", "100523"),
                    REFERENCES("7500", "22500", "45000", "90000"),
                    DURATIONS("15000", "15000", "30000", "60000")},
         .modality = "PT",
         .warning = "of Acquisition Time, which Frame Reference Time contradicts by up to"},
        {.fields = {DATED, TIMES("100000", "100010", "100020", "100030"),
                    REFERENCES("0", "60000", "120000", "180000")},
         .modality = "PT",
         .warning = "of Acquisition Time, which Frame Reference Time contradicts by up to"},
        {.fields = {DATED, TIMES("100000", "100010", "100020", "100030"),
                    DURATIONS("60000", "60000", "60000", "60000")},
         .modality = "PT",
         .warning = "a frame lasts 60 s, and the next one begins 10 s after it"},
        {.fields = {DATED, TIMES("100000", "100060", "100120", "100130"),
                    DURATIONS("60000", "60000", "60000", "60000")},
         .modality = "PT",
         .warning = "a frame lasts 60 s, and the next one begins"},
        /* These agree: rounded to seconds, with a pause, by any point of a frame. */
        {.fields = {DATED, TIMES("100000", "100001", "100003", "100004"), RESOLUTION("1500")}},
        {.fields = {DATED, TIMES("100000", "100002", "100034", "100036"), RESOLUTION("2000")}},
        {.fields = {DATED, TIMES("100000", "100015", "100030", "100100"),
                    REFERENCES("7500", "22500", "45000", "90000"),
                    DURATIONS("15000", "15000", "30000", "60000")},
         .modality = "PT",
         .times = {0, 15, 30, 60}},
        {.fields = {DATED, TIMES("100000", "100015", "100030", "100100"),
                    REFERENCES("0", "15000", "30000", "60000"),
                    DURATIONS("15000", "15000", "30000", "60000")},
         .modality = "PT"},
        {.fields = {DATED, TIMES("100000", "100200", "100400", "100600"),
                    DURATIONS("60000", "60000", "60000", "60000")},
         .slice_s = 20,
         .modality = "PT"},
        {.fields = {DATED, TIMES("100000", "100001", "100002", "100003"),
                    TRIGGERS("0", "30", "60", "90")}},
    };
    RUN(rows, 1, NULL);
}

static void check_gaps(const struct dicom_series *series, size_t r)
{
    static const char *const said[] = {"behind 1 of 4 frames, for up to 120 s",
                                       "behind 3 of 4 frames, for up to 1 s",
                                       "behind 2 of 4 frames, for up to 3480 s"};
    const bool warned = r < sizeof said / sizeof *said;
    cr_expect_eq(count_warnings(series, "nothing was measured"), warned, "row %zu", r);
    cr_expect(!warned || count_warnings(series, said[r]) == 1, "row %zu", r);
}

/* Times that are whole seconds were rounded, a scanner that goes from bed to bed measures others
 * meanwhile, and only PET promises to measure all the time. */
Test(dicom_agreement, gaps_between_pet_frames_are_warned_of)
{
    static struct row rows[] = {
        {.fields = {DATED, TIMES("100000", "100100", "100400", "100500"),
                    DURATIONS("60000", "60000", "60000", "60000")},
         .modality = "PT"},
        {.fields = {DATED, TIMES("100000.5", "100005.5", "100010.5", "100015.5"),
                    DURATIONS("4000", "4000", "4000", "4000")},
         .modality = "PT"},
        {.fields = {DATED, TIMES("100000", "100015", "100100", "110000"),
                    DURATIONS("15000", "30000", "60000", "60000")},
         .modality = "PT"},
        {.fields = {DATED, TIMES("100000", "100011", "100021", "100032"),
                    DURATIONS("10000", "10000", "10000", "10000")},
         .modality = "PT"},
        {.fields = {DATED, TIMES("100000.5", "100010.6", "100020.7", "100030.8"),
                    DURATIONS("10000", "10000", "10000", "10000")},
         .modality = "PT"},
        {.fields = {DATED, TIMES("100000", "100200", "100400", "100600"),
                    DURATIONS("60000", "60000", "60000", "60000")},
         .slice_s = 20,
         .modality = "PT"},
        {.fields = {DATED, TIMES("100000", "100100", "100400", "100500"),
                    DURATIONS("60000", "60000", "60000", "60000")}},
        {.fields = {DATED, TIMES("100000", "100100", "100400", "100500")}, .modality = "PT"},
    };
    RUN(rows, 1, check_gaps);
}

Test(dicom_agreement, reference_times_give_the_beginning_of_frames)
{
    static struct row rows[] = {
        {.fields = {REFERENCES("7500", "22500", "45000", "90000"),
                    DURATIONS("15000", "15000", "30000", "60000")},
         .modality = "PT",
         .times = {0, 15, 30, 60}},
        {.fields = {REFERENCES("0", "15000", "30000", "60000"),
                    DURATIONS("15000", "15000", "30000", "60000")},
         .modality = "PT",
         .times = {0, 15, 30, 60}},
        {.fields = {REFERENCES("30000", "75000", "97500", "108750"),
                    DURATIONS("60000", "30000", "15000", "7500")},
         .modality = "PT",
         .times = {0, 60, 90, 105}},
        {.fields = {REFERENCES("0", "60000", "120000", "180000")},
         .modality = "PT",
         .times = {0, 60, 120, 180}},
        {.fields = {REFERENCES("30000", "100000", "170000", "240000"),
                    DURATIONS("60000", "60000", "60000", "60000")},
         .modality = "PT",
         .times = {0, 70, 140, 210}},
        {.fields = {REFERENCES("7500", "22500", "45000", "90000")},
         .modality = "PT",
         .warning = "rather than of its beginning: Actual Frame Duration is not stated",
         .times = {0, 15, 37.5, 82.5}},
        {.fields = {REFERENCES("7500", "82500", "145000", "290000"),
                    DURATIONS("15000", "15000", "30000", "60000")},
         .modality = "PT",
         .warning = "by Actual Frame Duration the frames follow each other neither way"},
        {.fields = {REFERENCES("7500", "8500", "9500", "11500"),
                    DURATIONS("15000", "15000", "30000", "60000")},
         .modality = "PT",
         .warning = "by Actual Frame Duration the frames follow each other neither way"},
    };
    RUN(rows, 1, NULL);
}

#define WEIGHTED(a, b, c, d)                                                                       \
    {                                                                                              \
        0x00189087, "FD",                                                                          \
        {                                                                                          \
            a, b, c, d                                                                             \
        }                                                                                          \
    }
#define GRADIENTS(a, b, c, d)                                                                      \
    {                                                                                              \
        0x00189089, "FD",                                                                          \
        {                                                                                          \
            a, b, c, d                                                                             \
        }                                                                                          \
    }

static void check_units(const struct dicom_series *series, size_t r)
{
    cr_assert_not_null(series->gradients, "row %zu", r);
    for (int v = 1; v < VOLUMES; v++)
        cr_expect_float_eq(ts_length(series->gradients + 3 * v), 1, 1e-9, "row %zu: volume %d", r,
                           v);
}

Test(dicom_agreement, gradients_that_are_no_unit_vectors_are_warned_of)
{
    static struct row rows[] = {
        {.fields = {WEIGHTED("0", "1000", "1000", "1000"),
                    GRADIENTS(NULL, "0.5 0 0", "0.02 0 0.001", "0 3 4")},
         .warning = "of 3 volumes are no unit vectors (lengths 0.02 to 5)"},
        {.fields = {WEIGHTED("0", "500", "1000", "1000"),
                    GRADIENTS(NULL, "0.7071 0 0", "0 1 0", "0 0 1")},
         .warning = "of 1 volumes are no unit vectors (lengths 0.707 to 1)"},
        {.fields = {WEIGHTED("0", "1000", "1000", "1000"),
                    GRADIENTS(NULL, "0.001 0 0", "0 0.001 0", "0 0 0.001")},
         .warning = "of 3 volumes are no unit vectors (lengths 0.001 to 0.001)"},
        {.fields = {WEIGHTED("0", "1000", "1000", "1000"),
                    GRADIENTS("0 0 0", "0.577 0.577 0.577", "0 0.98 0", "0 0 1.02")}},
    };
    RUN(rows, 1, check_units);
}

/* clang-format off */
#define GE {0x00430010, "LO", {"GEMS_PARM_01", "GEMS_PARM_01", "GEMS_PARM_01", "GEMS_PARM_01"}}, \
           {0x00190010, "LO", {"GEMS_ACQU_01", "GEMS_ACQU_01", "GEMS_ACQU_01", "GEMS_ACQU_01"}}
#define PRIVATE(a, b, c, d) {0x00431039, "IS", {a, b, c, d}}
#define ALONG(a, b, c, d) {0x001910BB, "DS", {a, b, c, d}}
#define ACROSS(a, b, c, d) {0x001910BC, "DS", {a, b, c, d}}, {0x001910BD, "DS", {a, b, c, d}}
/* clang-format on */

static void check_b_values(const struct dicom_series *series, size_t r)
{
    static const double last[] = {1400, 1400, 1000, 1000, 1000, 1000};
    const double b = series->images[IMAGES - 1]->b_value;
    cr_expect_float_eq(b, last[r], 1e-9, "row %zu: %g", r, b);
}

Test(dicom_agreement, b_values_of_ge_that_contradict_the_standard_are_warned_of)
{
    static struct row rows[] = {
        {.fields = {GE, WEIGHTED("0", "0", "0", "0"),
                    PRIVATE("0\\8", "700\\8", "1000\\8", "1400\\8"), ACROSS("0", "0", "0", "0")},
         .warning = "is 0 in all images, and GE's private one (0043,1039) is not"},
        {.fields = {GE, WEIGHTED("0", "0", "0", "0"), POSITIONS("1", "2", "3", "4"),
                    PRIVATE("1000001400\\8", "1000001400\\8", "1000001400\\8", "1000001400\\8")},
         .warning = "is 0 in all images, and GE's private one (0043,1039) is not"},
        {.fields = {GE, WEIGHTED("0", "700", "1000", "1000"),
                    PRIVATE("0\\8", "700\\8", "1400\\8", "1400\\8"), POSITIONS("1", "2", "3", "4")},
         .warning = "in 6 of 12 images, first as 1000 and 1400 s/mm2"},
        /* These agree: the same, a share by the gradient, without gradient. */
        {.fields = {GE, WEIGHTED("0", "700", "900", "1000"),
                    PRIVATE("0\\8", "700\\8", "900\\8", "1000\\8"), ACROSS("0", "0", "0", "0")}},
        {.fields = {GE, WEIGHTED("0", "1000", "640", "250"), ALONG("0", "1", "0.8", "0.5"),
                    ACROSS("0", "0", "0", "0"),
                    PRIVATE("1000\\8", "1000\\8", "1000\\8", "1000\\8")}},
        {.fields = {GE, WEIGHTED("0", "250", "640", "1000"), ALONG("0", "0.5", "0.8", "1"),
                    ACROSS("0", "0", "0", "0"),
                    PRIVATE("1000\\8", "1000\\8", "1000\\8", "1000\\8")}},
    };
    RUN(rows, 1, check_b_values);
}

/* clang-format off */
#define SIEMENS {0x00190010, "LO", {"SIEMENS MR HEADER", "SIEMENS MR HEADER", "SIEMENS MR HEADER", "SIEMENS MR HEADER"}}
#define OWN(a, b, c, d) {0x0019100C, "IS", {a, b, c, d}}
#define OWN_GRADIENTS(a, b, c, d) {0x0019100E, "FD", {a, b, c, d}}
/* clang-format on */

Test(dicom_agreement, private_weightings_that_contradict_the_standard_are_warned_of)
{
    static struct row rows[] = {
        {.fields = {SIEMENS, WEIGHTED("0", "0", "0", "0"), OWN("0", "500", "1000", "1500")},
         .warning = "a private b-value is another one than Diffusion b-value (0018,9087)"},
        {.fields = {SIEMENS, WEIGHTED("0", "500", "1000", "1500"), OWN("0", "500", "1000", "1000"),
                    GRADIENTS(NULL, "1 0 0", "0 1 0", "0 0 1")},
         .warning = "a private b-value is another one than Diffusion b-value (0018,9087)"},
        {.fields = {SIEMENS, WEIGHTED("0", "1000", "1000", "1000"),
                    OWN("0", "1000", "1000", "1000"), GRADIENTS(NULL, "1 0 0", "0 1 0", "0 0 1"),
                    OWN_GRADIENTS(NULL, "1 0 0", "0 0 1", "0 1 0")},
         .warning = "a private gradient is another one than Diffusion Gradient Orientation"},
        {.fields = {SIEMENS, WEIGHTED("5", "995", "1000", "1005"), OWN("0", "1000", "1000", "1000"),
                    GRADIENTS("0 0 0", "1 0 0", "0 0.6 0.8", "0 0 1"),
                    OWN_GRADIENTS(NULL, "-1 0 0", "0 0.61 0.79", "0 0 1")}},
    };
    RUN(rows, 1, NULL);
}

#define UNITS(a)                                                                                   \
    {                                                                                              \
        0x00541001, "CS",                                                                          \
        {                                                                                          \
            a, a, a, a                                                                             \
        }                                                                                          \
    }

Test(dicom_agreement, counts_of_several_durations_are_warned_of)
{
    static struct row rows[] = {
        {.fields = {UNITS("CNTS"), DATED, TIMES("100000", "100500", "101000", "101500"),
                    DURATIONS("180000", "180000", "90000", "180000")},
         .modality = "PT",
         .warning = "the values are counts, and Actual Frame Duration is 90 to 180 s"},
        {.fields = {UNITS("PROPCNTS"), DATED, TIMES("100000", "100500", "101000", "101500"),
                    DURATIONS("15000", "30000", "60000", "60000")},
         .modality = "PT",
         .warning = "the values are counts, and Actual Frame Duration is 15 to 60 s"},
        {.fields = {UNITS("CNTS"), DATED, TIMES("100000", "100500", "101000", "101500"),
                    DURATIONS("180000", "179999", "180000", "180001")},
         .modality = "PT"},
        {.fields = {UNITS("BQML"), DATED, TIMES("100000", "100500", "101000", "101500"),
                    DURATIONS("15000", "30000", "60000", "60000")},
         .modality = "PT"},
    };
    RUN(rows, 1, NULL);
}

#define ECHOES(a, b, c, d)                                                                         \
    {                                                                                              \
        0x00180086, "IS",                                                                          \
        {                                                                                          \
            a, b, c, d                                                                             \
        }                                                                                          \
    }
#define ECHO_TIMES(a, b, c, d)                                                                     \
    {                                                                                              \
        0x00180081, "DS",                                                                          \
        {                                                                                          \
            a, b, c, d                                                                             \
        }                                                                                          \
    }

static void check_echoes(const struct dicom_series *series, size_t r)
{
    for (size_t i = 0; i < 2; i++) {
        char text[32];
        snprintf(text, sizeof text, "echo number %zu", i + 1);
        cr_expect(strstr(series[i].label, text), "row %zu: %s", r, series[i].label);
        cr_expect_eq(series[i].n_images, IMAGES / 2, "row %zu", r);
    }
}

Test(dicom_agreement, numbers_of_echoes_of_one_echo_time_make_series)
{
    static struct row rows[] = {
        {.fields = {ECHOES("1", "2", "1", "2"), ECHO_TIMES("13", "13", "13", "13"), DATED,
                    TIMES("100000", "100000", "100002", "100002")}},
        {.fields = {ECHOES("1", "1", "2", "2"), ECHO_TIMES("13", "13", "13", "13"), DATED,
                    TIMES("100000", "100002", "100004", "100006")}},
        {.fields = {ECHOES("1", "2", "1", "2"), ACQUISITIONS("1", "1", "2", "2")}},
    };
    static struct row one[] = {
        {.fields = {ECHOES("1", "1", "1", "1"), ECHO_TIMES("13", "13", "13", "13"), DATED,
                    TIMES("100000", "100002", "100004", "100006")}},
    };
    RUN(rows, 2, check_echoes);
    RUN(one, 1, NULL);
}

/* ---- series that share the slices of a volume ------------------------------------------------ */

enum { SLICES = 8 };

struct shared {
    int series[SLICES]; /* of each slice */
    bool numbered;      /* Series Numbers differ too */
    const char *thickness, *join;
};

static void share(struct dicom_fixture *f, int z, void *user)
{
    const struct shared *row = user;
    char text[32];
    snprintf(text, sizeof text, "0\\0\\%d", 3 * z);
    ts_fixture_text(f, 0x00200032, "DS", text);
    ts_fixture_text(f, 0x00180050, "DS", row->thickness);
    snprintf(text, sizeof text, "1.2.826.0.1.82.%d", row->series[z]);
    ts_fixture_text(f, 0x0020000E, "UI", text);
    snprintf(text, sizeof text, "%d", row->numbered ? row->series[z] : 1);
    ts_fixture_text(f, 0x00200011, "IS", text);
}

Test(dicom_agreement, series_whose_slices_lie_between_each_other_can_be_joined)
{
    static struct shared rows[] = {
        {{1, 2, 1, 2, 1, 2, 1, 2}, false, "3", "`join: [series]` reads them as one"},
        {{1, 2, 3, 1, 2, 3, 1, 2}, false, "9", "`join: [series]` reads them as one"},
        {{1, 1, 1, 2, 2, 1, 1, 1}, false, "6", "`join: [series]` reads them as one"},
        {{1, 2, 1, 2, 1, 2, 1, 2}, true, "3", "`join: [series, number]` reads them as one"},
        /* Thick slices overlap, and a series may begin behind another one. */
        {{1, 2, 1, 2, 1, 2, 1, 2}, true, "6", NULL},
        {{1, 1, 1, 1, 2, 2, 2, 2}, false, "3", NULL},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct dicom_study study;
        struct dicom_series *joined;
        size_t n;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, SLICES, share, &rows[r]);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        for (size_t i = 0; i < study.n; i++) {
            const char *text = rows[r].join ? rows[r].join : "`join:";
            cr_expect_eq(count_warnings(&study.series[i], text), rows[r].join != NULL,
                         "row %zu: series %zu", r, i);
        }
        study.files.join = 1U << KEY_SERIES | 1U << KEY_NUMBER;
        cr_assert_eq(ts_dicom_group(&study.files, &ts_dicom_default_rules, study.arena, &joined, &n,
                                    study.diag),
                     TS_OK);
        cr_expect(study.n > 1 && n == 1 && joined->n_images == SLICES && !joined->refusal,
                  "row %zu: %zu series, then %zu", r, study.n, n);
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}
