/* SPDX-License-Identifier: Apache-2.0
 *
 * Uptake values of PET against factors worked out by hand from the header, and what is refused.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/dicom/dicom.h"
#include "io/dicom_series/dicom_geometry.h"
#include "tests/files/dicom_bytes.h"
#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_open.h"
#include "tests/support/support.h"

enum { SLICES = 3, PIXELS = FIXTURE_ROWS * FIXTURE_COLUMNS };

/* A header, of which NULL stands for what `usual` has and "" for an element that is absent. */
struct pet {
    const char *units, *corrected, *decay, *series_date, *series_time, *date, *acquired, *zone;
    const char *reference, *lasts, *factor; /* Frame Reference Time, Actual Frame Duration (ms),
                                               Decay Factor */
    const char *weight, *size, *sex, *suv_type;
    const char *start, *start_datetime, *dose, *half_life;
    const char *ge_scan, *philips_suv, *philips_activity;
    const char *enhanced, *corrected_to;
    const char *nuclide, *attenuated; /* the code; Attenuation Corrected */
    const char *last_start, *last_weight, *last_reference, *last_decay, *last_corrected_to; /* of
                                                                                  the last slice */
    bool lut;       /* in place of Rescale Slope */
    int injections; /* 0: one */
};

static const struct pet usual = {.units = "BQML",
                                 .corrected = "DECY\\ATTN\\SCAT",
                                 .decay = "START",
                                 .series_date = "20240305",
                                 .series_time = "100000",
                                 .date = "20240305",
                                 .acquired = "100000",
                                 .zone = "",
                                 .reference = "59900",
                                 .lasts = "120000",
                                 .factor = "1.00632",
                                 .weight = "75",
                                 .size = "1.8",
                                 .sex = "M",
                                 .suv_type = "",
                                 .start = "090000",
                                 .start_datetime = "",
                                 .dose = "350000000",
                                 .half_life = "6586.2",
                                 .ge_scan = "",
                                 .philips_suv = "",
                                 .philips_activity = "",
                                 .enhanced = "",
                                 .corrected_to = "",
                                 .nuclide = "",
                                 .attenuated = ""};

static const char *chosen(const char *given, const char *else_text)
{
    return given ? given : else_text;
}

#define OF(member) chosen(pet->member, usual.member)

static void put(struct dicom_fixture *f, uint32_t tag, const char *vr, const char *text)
{
    if (*text)
        ts_fixture_text(f, tag, vr, text);
    else
        ts_fixture_remove(f, tag);
}

static void put_in(struct dicom_bytes *out, uint32_t tag, const char *vr, const char *text)
{
    if (*text)
        ts_bytes_text(out, tag, vr, text);
}

/* Puts a Modality LUT in the place of Rescale Slope. */
static void put_table(struct dicom_fixture *f)
{
    static struct dicom_bytes item, sequence;
    static uint16_t entries[4096];
    const uint16_t descriptor[] = {4096, 0, 16};
    for (int i = 0; i < 4096; i++)
        entries[i] = (uint16_t)(5 * i);
    item.n = sequence.n = 0;
    ts_bytes_element(&item, 0x00283002, "US", descriptor, sizeof descriptor);
    ts_bytes_text(&item, 0x00283004, "LO", "US");
    ts_bytes_element(&item, 0x00283006, "US", entries, sizeof entries);
    ts_bytes_item(&sequence, &item);
    ts_fixture_remove(f, 0x00281052);
    ts_fixture_remove(f, 0x00281053);
    ts_fixture_bytes(f, 0x00283000, "SQ", sequence.at, sequence.n);
}

static void make_slice(struct dicom_fixture *f, const struct pet *pet, int z)
{
    static struct dicom_bytes doses, dose, code;
    ts_fixture_init(f, z);
    ts_fixture_remove(f, 0x00281054);
    ts_fixture_text(f, 0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.128");
    ts_fixture_text(f, 0x00080060, "CS", "PT");
    ts_fixture_text(f, 0x00281052, "DS", "0");
    ts_fixture_text(f, 0x00281053, "DS", z == 1 ? "2.5" : "1.25");
    put(f, 0x00080021, "DA", OF(series_date));
    put(f, 0x00080022, "DA", OF(date));
    put(f, 0x00080031, "TM", OF(series_time));
    put(f, 0x00080032, "TM", OF(acquired));
    put(f, 0x00080201, "SH", OF(zone));
    put(f, 0x00100040, "CS", OF(sex));
    put(f, 0x00101020, "DS", OF(size));
    put(f, 0x00101030, "DS", pet->last_weight && z == SLICES - 1 ? pet->last_weight : OF(weight));
    put(f, 0x00181242, "IS", OF(lasts));
    put(f, 0x00189701, "DT",
        pet->last_corrected_to && z == SLICES - 1 ? pet->last_corrected_to : OF(corrected_to));
    put(f, 0x00189759, "CS", OF(attenuated));
    put(f, 0x00189758, "CS", OF(enhanced));
    put(f, 0x00280051, "CS", OF(corrected));
    put(f, 0x00541001, "CS", OF(units));
    put(f, 0x00541006, "CS", OF(suv_type));
    put(f, 0x00541102, "CS", pet->last_decay && z == SLICES - 1 ? pet->last_decay : OF(decay));
    put(f, 0x00541300, "DS",
        pet->last_reference && z == SLICES - 1 ? pet->last_reference : OF(reference));
    put(f, 0x00541321, "DS", OF(factor));
    if (*OF(ge_scan)) {
        put(f, 0x00090010, "LO", "GEMS_PETD_01");
        put(f, 0x0009100D, "DT", OF(ge_scan));
    }
    put(f, 0x70530010, "LO", "Philips PET Private Group");
    put(f, 0x70531000, "DS", OF(philips_suv));
    put(f, 0x70531009, "DS", OF(philips_activity));
    doses.n = 0;
    for (int i = 0; i < (pet->injections ? pet->injections : 1); i++) {
        dose.n = 0;
        put_in(&dose, 0x00181072, "TM",
               pet->last_start && z == SLICES - 1 ? pet->last_start : OF(start));
        put_in(&dose, 0x00181074, "DS", OF(dose));
        put_in(&dose, 0x00181075, "DS", OF(half_life));
        put_in(&dose, 0x00181078, "DT", OF(start_datetime));
        code.n = 0;
        put_in(&code, 0x00080100, "SH", OF(nuclide));
        put_in(&code, 0x00080102, "SH", "SCT");
        ts_bytes_group(&dose, 0x00540300, &code);
        ts_bytes_item(&doses, &dose);
    }
    ts_fixture_bytes(f, 0x00540016, "SQ", doses.at, doses.n);
    if (pet->lut)
        put_table(f);
}

/* Opens the series with these parameters; NULL if it is refused. */
static struct source *open_pet(const struct pet *pet, const char *folder, int to_suv, double factor,
                               struct ts_diag *diag)
{
    struct dicom_params params = {0};
    struct param_set set = {.params = dicom_format.params,
                            .n_params = dicom_format.n_params,
                            .values = &params,
                            .owner = "input"};
    struct source *source = NULL;
    for (int z = 0; z < SLICES; z++) {
        struct dicom_fixture f;
        make_slice(&f, pet, z);
        ts_fixture_finish(&f, folder, z);
    }
    ts_params_init(&set);
    params.dicom = (struct ts_texts){1, &folder};
    params.to_suv = to_suv;
    if (factor > 0) {
        params.suv_factor = factor;
        ts_param_give(&set, "suv_factor");
    }
    return dicom_format.open(&set, &source, diag) == TS_OK ? source : NULL;
}

/* Returns the true rescale slope of slice z. */
static double slope_of(int z)
{
    return z == 1 ? 2.5 : 1.25;
}

/* Compares every value with the stored one times the slope and the factor. */
static void expect_factor(const struct pet *pet, int to_suv, double given, double factor,
                          const char *unit, const char *row)
{
    char folder[256];
    struct ts_diag *diag = ts_diag_create();
    ts_test_folder_in_memory(folder, sizeof folder);
    struct source *source = open_pet(pet, folder, to_suv, given, diag);
    cr_assert_not_null(source, "%s: %s", row, ts_test_first_message(diag));
    cr_expect_str_eq(source->image.unit, unit, "%s", row);
    float *data = ts_test_read_all(source, diag);
    for (int z = 0; z < SLICES; z++)
        for (int i = 0; i < PIXELS; i++) {
            const double right = ts_fixture_stored(i % FIXTURE_COLUMNS, i / FIXTURE_COLUMNS, z) *
                                 slope_of(z) * factor;
            cr_assert(fabs(data[z * PIXELS + i] - right) <= 1e-6 * right,
                      "%s: %d, %d: %.9g, not %.9g", row, z, i, (double)data[z * PIXELS + i], right);
        }
    free(data);
    source->ops->close(source);
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}

/* Weight in g by dose in Bq, when so many seconds have passed since the injection. */
static double by_weight(double seconds)
{
    return 75000 / (350e6 * pow(2, -seconds / 6586.2));
}

Test(dicom_uptake, is_by_the_body)
{
    static const struct pet woman = {.sex = "F", .size = "1.62", .weight = "58.5"};
    const double hour = pow(2, 3600 / 6586.2) / 350e6;
    expect_factor(&usual, TO_SUV_BODY_WEIGHT, 0, by_weight(3600), "g/ml", "by weight");
    /* 9270 * 75 / (6680 + 216 * 75 / 1.8^2) kg */
    expect_factor(&usual, TO_SUV_LEAN_BODY_MASS, 0, 695250e3 / 11680 * hour, "g/ml", "lean, man");
    /* 1.10 * 75 - 128 * (75 / 180)^2 kg */
    expect_factor(&usual, TO_SUV_LEAN_BODY_MASS_JAMES, 0, (82.5 - 22.22222222222222) * 1000 * hour,
                  "g/ml", "James, man");
    /* 71.84 * 75^0.425 * 180^0.725 = 71.84 * 6.265143 * 43.157505 cm2 */
    expect_factor(&usual, TO_SUV_BODY_SURFACE_AREA, 0,
                  71.84 * exp(0.425 * log(75) + 0.725 * log(180)) * hour, "cm2/ml", "surface");
    expect_factor(&woman, TO_SUV_LEAN_BODY_MASS, 0,
                  9270 * 58500 / (8780 + 244 * 58.5 / 2.6244) * hour, "g/ml", "lean, woman");
    expect_factor(&woman, TO_SUV_LEAN_BODY_MASS_JAMES, 0,
                  (62.595 - 148 * 0.36111111111111111 * 0.36111111111111111) * 1000 * hour, "g/ml",
                  "James, woman");
    expect_factor(&usual, TO_SUV_FACTOR, 0.00025, 0.00025, "g/ml", "given");
}

/* Each header that says when decay was corrected to, with the seconds since the injection. */
Test(dicom_uptake, has_decayed_since_the_injection)
{
    static const struct {
        const char *name;
        struct pet pet;
        double seconds;
    } rows[] = {
        {"start", {.units = NULL}, 3600},
        {"injection", {.decay = "ADMIN"}, 0},
        {"date and time", {.start = "", .start_datetime = "20240305083000"}, 5400},
        {"both", {.start = "083000.00", .start_datetime = "20240305083000"}, 5400},
        {"without dates", {.series_date = "", .date = ""}, 3600},
        {"across midnight, with dates",
         {.start = "",
          .start_datetime = "20240304233000",
          .series_time = "003000",
          .acquired = "003000"},
         3600},
        {"across midnight, by time",
         {.start = "233000", .series_time = "003000", .acquired = "003000"},
         3600},
        {"a dynamic scan that began before", {.start = "100010"}, -10},
        {"the nuclide by its code", {.nuclide = "77004003"}, 3600},
        {"the same in two zones",
         {.zone = "+0100", .start = "090000", .start_datetime = "20240305080000+0000"},
         3600},
        {"zones", {.zone = "+0200", .start = "", .start_datetime = "20240305073000+0000"}, 1800},
        {"bed positions", {.acquired = "100500", .reference = "359900", .factor = "1.03861"}, 3600},
        {"a series made later, of GE",
         {.series_time = "143000",
          .ge_scan = "20240305095900",
          .acquired = "100000",
          .reference = "",
          .factor = "1.0128"},
         3540},
        /* 120 s of decay at ln 2 / 6586.2 s: the mean is at 60 - 120 x / 24 s,
         * x = 0.012629 */
        {"a series made later, by its frames",
         {.series_time = "143000", .reference = "359936.855", .factor = ""},
         3300},
        {"one time for all frames", {.last_reference = "1328700", .factor = ""}, 3600},
        {"a series made later, whose first frame has not decayed",
         {.series_time = "143000", .reference = "0", .factor = "1"},
         3600},
        {"no factor of decay", {.factor = "", .reference = ""}, 3600},
        {"enhanced", {.decay = "", .enhanced = "YES", .corrected_to = "20240305101500"}, 4500},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_factor(&rows[i].pet, TO_SUV_BODY_WEIGHT, 0, by_weight(rows[i].seconds), "g/ml",
                      rows[i].name);
}

/* Without correction each frame has the mean of its own decay. */
Test(dicom_uptake, of_frames_that_are_not_corrected)
{
    static const struct pet none = {.decay = "NONE", .corrected = "ATTN"},
                            enhanced = {.decay = "", .enhanced = "NO", .corrected = ""};
    const double rate = log(2) / 6586.2,
                 factor = 75000 / 350e6 * exp(rate * 3600) * rate * 120 / (1 - exp(-rate * 120));
    expect_factor(&none, TO_SUV_BODY_WEIGHT, 0, factor, "g/ml", "none");
    expect_factor(&enhanced, TO_SUV_BODY_WEIGHT, 0, factor, "g/ml", "enhanced, none");
}

Test(dicom_uptake, of_counts_and_of_what_is_uptake_already)
{
    static const struct pet suv = {.units = "CNTS", .philips_suv = "0.0003"},
                            activity = {.units = "CNTS",
                                        .philips_suv = "0",
                                        .philips_activity = "4.5"},
                            both = {.units = "CNTS",
                                    .philips_suv = "0.00109",
                                    .philips_activity = "3.48"},
                            there = {.units = "GML", .weight = "", .dose = ""},
                            lean = {.units = "GML", .suv_type = "LBMJANMA"},
                            area = {.units = "CM2ML"};
    expect_factor(&suv, TO_SUV_BODY_WEIGHT, 0, 0.0003, "g/ml", "Philips");
    expect_factor(&suv, TO_SUV_LEAN_BODY_MASS, 0, 0.0003 * 695250 / 11680 / 75, "g/ml",
                  "Philips, lean");
    expect_factor(&activity, TO_SUV_BODY_WEIGHT, 0, 4.5 * by_weight(3600), "g/ml",
                  "Philips, activity");
    expect_factor(&both, TO_SUV_BODY_WEIGHT, 0, 0.00109, "g/ml", "Philips, both");
    expect_factor(&there, TO_SUV_BODY_WEIGHT, 0, 1, "g/ml", "there");
    expect_factor(&lean, TO_SUV_LEAN_BODY_MASS, 0, 1, "g/ml", "there, lean");
    expect_factor(&area, TO_SUV_BODY_SURFACE_AREA, 0, 1, "cm2/ml", "there, surface");
}

Test(dicom_uptake, is_refused_in_doubt)
{
    static const struct {
        struct pet pet;
        int to_suv;
        const char *code, *text;
    } rows[] = {
        {{.weight = ""}, 0, "suv-missing", "Patient's Weight"},
        {{.lut = true}, 0, "suv-units", "Modality LUT"},
        {{.lut = true}, TO_SUV_FACTOR, "suv-units", "Modality LUT"},
        {{.last_start = "091500"}, 0, "suv-value", "slices disagree"},
        {{.last_decay = "ADMIN"}, 0, "suv-value", "to another time"},
        {{.decay = "",
          .enhanced = "YES",
          .corrected_to = "20240305101500",
          .last_corrected_to = "20240305103500"},
         0,
         "suv-value",
         "to another time"},
        {{.decay = "", .enhanced = "YES", .corrected_to = "20240305101500", .attenuated = "NO"},
         0,
         "suv-value",
         "attenuation"},
        {{.nuclide = "49927009"}, 0, "suv-value", "Radionuclide Code Sequence"},
        {{.nuclide = "C-111A1", .half_life = "1221.8"},
         0,
         "suv-value",
         "Radionuclide Code Sequence"},
        {{.corrected = "ATTN\\SCAT"}, 0, "suv-value", "contradict each other"},
        {{.decay = "NONE"}, 0, "suv-value", "contradict each other"},
        {{.zone = "+0100", .start_datetime = "20240305090000+0000"},
         0,
         "suv-time",
         "contradict each other"},
        {{.dose = "350000"}, 0, "suv-value", "Radionuclide Total Dose"},
        {{.dose = "10000"}, 0, "suv-value", "Radionuclide Total Dose"},
        {{.units = "CNTS", .philips_suv = "0.0005", .philips_activity = "3.5"},
         0,
         "suv-value",
         "private factors"},
        {{.weight = "0"}, 0, "suv-value", "Patient's Weight"},
        {{.weight = "75000"}, 0, "suv-value", "Patient's Weight"},
        {{.weight = "75,5"}, 0, "suv-missing", "Patient's Weight"},
        {{.last_weight = "76"}, 0, "suv-value", "slices disagree"},
        {{.injections = 2}, 0, "suv-value", "several injections"},
        {{.size = "180"}, TO_SUV_LEAN_BODY_MASS, "suv-value", "Patient's Size"},
        {{.size = ""}, TO_SUV_BODY_SURFACE_AREA, "suv-missing", "Patient's Size"},
        {{.sex = "O"}, TO_SUV_LEAN_BODY_MASS, "suv-missing", "Patient's Sex"},
        {{.weight = "350", .size = "1.2"}, TO_SUV_LEAN_BODY_MASS_JAMES, "suv-value", "not above 0"},
        {{.dose = "350"}, 0, "suv-value", "Radionuclide Total Dose"},
        {{.dose = ""}, 0, "suv-missing", "Radionuclide Total Dose"},
        {{.half_life = "109.77"}, 0, "suv-value", "Half Life"},
        {{.half_life = ""}, 0, "suv-missing", "Half Life"},
        {{.decay = ""}, 0, "suv-missing", "Decay Correction"},
        {{.decay = "NONE", .corrected = "ATTN", .lasts = ""},
         0,
         "suv-missing",
         "Actual Frame Duration"},
        {{.corrected = "DECY"}, 0, "suv-value", "attenuation"},
        {{.units = "PROPCPS"}, 0, "suv-units", "no activity by volume"},
        {{.units = "CNTS"}, 0, "suv-units", "private factors"},
        {{.units = "GML", .suv_type = "LBM"}, 0, "suv-units", "already"},
        {{.units = "GML"}, TO_SUV_LEAN_BODY_MASS, "suv-units", "already"},
        {{.units = "GML"}, TO_SUV_FACTOR, "suv-units", "no activity by volume"},
        {{.start = ""}, 0, "suv-missing", "Radiopharmaceutical Start"},
        {{.start_datetime = "20240305083000"}, 0, "suv-time", "contradict each other"},
        {{.start = "", .start_datetime = "20240305113000"}, 0, "suv-time", "after the scan"},
        {{.start = "", .start_datetime = "20240301090000"}, 0, "suv-time", "10 half-lives"},
        {{.start = "110000"}, 0, "suv-time", "no date"},
        {{.half_life = "282240", .factor = ""}, 0, "suv-time", "no date"},
        {{.start = "", .start_datetime = "20240305083000+0100"}, 0, "suv-time", "offset from UTC"},
        {{.series_time = "094000"}, 0, "suv-time", "contradicts"},
        {{.series_time = "094000", .reference = "", .factor = ""},
         0,
         "suv-time",
         "more than a minute"},
        {{.series_time = "143000", .reference = "", .factor = ""}, 0, "suv-time", "nothing says"},
        {{.series_time = "", .reference = "", .factor = ""}, 0, "suv-time", "nothing says"},
        {{.reference = "1328700", .factor = ""}, 0, "suv-time", "contradicts"},
        {{.factor = "1.2"}, 0, "suv-time", "contradict each other"},
        {{.acquired = ""}, 0, "suv-missing", "Acquisition Time"},
        {{.enhanced = "YES", .decay = ""}, 0, "suv-missing", "Decay Correction DateTime"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char folder[256];
        struct ts_diag *diag = ts_diag_create();
        ts_test_folder_in_memory(folder, sizeof folder);
        const int to_suv = rows[i].to_suv ? rows[i].to_suv : TO_SUV_BODY_WEIGHT;
        struct source *source =
            open_pet(&rows[i].pet, folder, to_suv, to_suv == TO_SUV_FACTOR ? 1e-4 : 0, diag);
        cr_assert_null(source, "row %zu", i);
        ts_test_expect(diag, rows[i].code, rows[i].text);
        ts_test_remove_folder(folder);
        ts_diag_destroy(diag);
    }
}

/* A weight that cannot be read, or a second injection, harms no PET that stays as it is. */
Test(dicom_uptake, is_of_no_matter_to_other_values)
{
    static const struct pet rows[] = {
        {.weight = "75,5"}, {.injections = 2}, {.start = "9 o'clock"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_factor(&rows[i], TO_SUV_NONE, 0, 1, "Bq/ml", "as it is");
}

Test(dicom_uptake, factor_and_choice_need_each_other)
{
    struct ts_diag *diag = ts_diag_create();
    char folder[256];
    ts_test_folder_in_memory(folder, sizeof folder);
    cr_expect_null(open_pet(&usual, folder, TO_SUV_FACTOR, 0, diag));
    ts_test_expect(diag, "suv-factor", "need each other");
    cr_expect_null(open_pet(&usual, folder, TO_SUV_BODY_WEIGHT, 1e-4, diag));
    ts_test_expect(diag, "suv-factor", "need each other");
    ts_test_remove_folder(folder);
    ts_diag_destroy(diag);
}
