/* SPDX-License-Identifier: Apache-2.0
 *
 * Slices of one series that were measured in several ways: by several repetition times, after other
 * delays from a heartbeat, with nearly one echo time, with blood labeled or not, and with
 * weightings that only Philips' private elements state.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/files/dicom_fixture.h"
#include "tests/files/dicom_study.h"
#include "tests/support/support.h"

enum { PLACES = 6, MOST_LABELS = 2 };

struct row {
    int volumes;
    void (*edit)(struct dicom_fixture *f, int v, int z);
    size_t series;                                                  /* how many there are */
    size_t n_volumes;                                               /* of each */
    const char *order, *warning, *not_warned, *labels[MOST_LABELS]; /* NULL: any, or none */
};

static void put_number(struct dicom_fixture *f, uint32_t tag, const char *vr, double number)
{
    char text[32];
    snprintf(text, sizeof text, "%.10g", number);
    ts_fixture_text(f, tag, vr, text);
}

static void edit(struct dicom_fixture *f, int i, void *user)
{
    const struct row *row = user;
    const int v = i / PLACES, z = i % PLACES;
    char text[32];
    ts_fixture_text(f, 0x00080060, "CS", "MR");
    ts_fixture_remove(f, 0x00281052);
    ts_fixture_remove(f, 0x00281053);
    snprintf(text, sizeof text, "0\\0\\%d", 2 * z);
    ts_fixture_text(f, 0x00200032, "DS", text);
    put_number(f, 0x00200013, "IS", v * PLACES + z + 1);
    ts_fixture_text(f, 0x00180088, "DS", "2");
    ts_fixture_text(f, 0x00180080, "DS", "500");
    ts_fixture_text(f, 0x00180081, "DS", "10");
    row->edit(f, v, z);
}

static const char *find_warning(const struct dicom_series *series, const char *text)
{
    for (size_t i = 0; text && i < series->n_warnings; i++)
        if (strstr(series->warnings[i], text))
            return series->warnings[i];
    return NULL;
}

static void run(struct row *rows, size_t n)
{
    for (size_t r = 0; r < n; r++) {
        char folder[256];
        struct dicom_study study;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, rows[r].volumes * PLACES, edit, &rows[r]);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        cr_assert_eq(study.n, rows[r].series, "row %zu: %zu series", r, study.n);
        for (size_t i = 0; i < study.n; i++) {
            const struct dicom_series *series = &study.series[i];
            cr_assert_null(series->refusal, "row %zu: %s", r, series->refusal);
            cr_expect_eq(series->n_volumes, rows[r].n_volumes, "row %zu: %zu volumes", r,
                         series->n_volumes);
            cr_expect(!rows[r].order || !strcmp(series->order, rows[r].order), "row %zu: %s", r,
                      series->order);
            cr_expect(!rows[r].warning || find_warning(series, rows[r].warning),
                      "row %zu: no warning", r);
            cr_expect_null(find_warning(series, rows[r].not_warned), "row %zu", r);
            cr_expect(!rows[r].labels[0] || strstr(series->label, rows[r].labels[i]), "row %zu: %s",
                      r, series->label);
        }
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}

#define RUN(rows) run(rows, sizeof(rows) / sizeof *(rows))

/* ---- repetition times ------------------------------------------------------------------------ */

static void in_halves(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180080, "DS", z < 3 ? 500 : 3000);
}

static void odd_one(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180080, "DS", z == 2 ? 3000 : 500);
}

static void inversions(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180082, "DS", z < 2 ? 100 : 900);
}

static void flips(struct dicom_fixture *f, int v, int z)
{
    put_number(f, 0x00180080, "DS", 500 + v);
    put_number(f, 0x00181314, "DS", z > 3 ? 10 : 90);
}

static void beats(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180080, "DS", z < 3 ? 800 : 1000);
    ts_fixture_text(f, 0x00180022, "CS", "PFP\\CG");
}

static void triggers_in_halves(struct dicom_fixture *f, int v, int z)
{
    in_halves(f, v, z);
    put_number(f, 0x00181060, "DS", 300 + 50 * z);
}

static void each_its_own(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180080, "DS", 800 + 37 * z);
}

static void rounded(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180080, "DS", z % 2 ? 500 : 505);
}

static void trains(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180091, "IS", z < 3 ? 1 : 16);
}

static void bandwidths(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180095, "DS", z % 3 == 0 ? 100 : 400);
}

static void fields(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180087, "DS", z < 3 ? 1.5 : 3);
}

static void scanned(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    ts_fixture_text(f, 0x00180020, "CS", z < 3 ? "SE" : "GR");
}

static void models(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    ts_fixture_text(f, 0x00081090, "LO", z < 3 ? "Avanto" : "Skyra");
}

static void agents(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    if (z > 2)
        ts_fixture_text(f, 0x00180010, "LO", "Gd");
}

static void filters(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    ts_fixture_text(f, 0x00080060, "CS", "CT");
    ts_fixture_text(f, 0x00181160, "SH", z < 3 ? "BODY FILTER" : "HEAD FILTER");
}

/* With and without a pulse that transfers magnetization, by turns or one after the other. */
static void variants(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    ts_fixture_text(f, 0x00180021, "CS", v % 2 ? "MTC" : "NONE");
}

static void put_b_value(struct dicom_fixture *f, double b)
{
    ts_fixture_bytes(f, 0x00189087, "FD", &b, sizeof b);
}

static void weighted_variants(struct dicom_fixture *f, int v, int z)
{
    variants(f, v, z);
    put_b_value(f, 700 * v);
}

Test(dicom_sequences, volumes_of_several_sequences_are_series_of_their_own)
{
    static struct row rows[] = {
        {.volumes = 2, variants, 2, 1, .labels = {"variant 1", "variant 2"}},
        {.volumes = 4, variants, 2, 2, .labels = {"variant 1", "variant 2"}},
        {.volumes = 2, weighted_variants, 1, 2, .order = "b-value"},
    };
    RUN(rows);
}

Test(dicom_sequences, slices_of_several_sequences_are_warned_of)
{
    static const char several[] = "they may be of several sequences";
    static struct row rows[] = {
        {.volumes = 1, in_halves, 1, 1, .warning = "Repetition Time, 500 to 3000 ms: they may be"},
        {.volumes = 1, odd_one, 1, 1, .warning = several},
        {.volumes = 1, inversions, 1, 1, .warning = "Inversion Time, 100 to 900 ms"},
        {.volumes = 1, flips, 1, 1, .warning = "Flip Angle, 10 to 90 degrees"},
        {.volumes = 1, trains, 1, 1, .warning = "Echo Train Length, 1 to 16: they may be"},
        {.volumes = 1, bandwidths, 1, 1, .warning = "Pixel Bandwidth, 100 to 400 Hz"},
        {.volumes = 1, fields, 1, 1, .warning = "Magnetic Field Strength, 1.5 to 3"},
        {.volumes = 1, scanned, 1, 1, .warning = "Scanning Sequence: they may be"},
        {.volumes = 1, models, 1, 1, .warning = "Manufacturer's Model Name: they may be"},
        {.volumes = 1, agents, 1, 1, .warning = "Contrast/Bolus Agent: they may be"},
        {.volumes = 1, filters, 1, 1, .warning = "Filter Type: they may be"},
        /* A scan that waits for the heart, and one that follows it slice by slice. */
        {.volumes = 1, beats, 1, 1, .not_warned = several},
        {.volumes = 1, triggers_in_halves, 1, 1, .not_warned = several},
        {.volumes = 1, each_its_own, 1, 1, .not_warned = several},
        {.volumes = 1, rounded, 1, 1, .not_warned = several},
    };
    RUN(rows);
}

/* ---- trigger times --------------------------------------------------------------------------- */

static void rising(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00181060, "DS", 300 + 50 * z);
}

static void phases(struct dicom_fixture *f, int v, int z)
{
    static const double cycles[PLACES] = {800, 900, 750, 1000, 820, 880};
    put_number(f, 0x00181060, "DS", cycles[z] * v / 4);
}

static void delayed_phases(struct dicom_fixture *f, int v, int z)
{
    put_number(f, 0x00181060, "DS", 50 * v + 400 * (z % 2));
}

/* Each slice waited for a heartbeat of its own: the least delays rise by 10 ms. */
static double delay(int v, int z)
{
    return 300 + 100 * z + 10 * v * (z % 2 ? 10 : 1);
}

static void numbered_delays(struct dicom_fixture *f, int v, int z)
{
    put_number(f, 0x00200100, "IS", v + 1);
    put_number(f, 0x00181060, "DS", delay(v, z));
}

static void delays(struct dicom_fixture *f, int v, int z)
{
    put_number(f, 0x00181060, "DS", delay(v, z));
}

static void long_steps(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    ts_fixture_text(f, 0x00080022, "DA", "20240101");
    put_number(f, 0x00080032, "TM", 100000 + 3 * v);
    put_number(f, 0x00181060, "DS", 4200 * v);
}

static void short_steps(struct dicom_fixture *f, int v, int z)
{
    long_steps(f, v, z);
    put_number(f, 0x00181060, "DS", 1000 * v);
}

Test(dicom_sequences, trigger_times_are_no_times_if_each_slice_has_its_own)
{
    static const char repetitions[] = "multiples of Repetition Time",
                      contradicts[] = "Acquisition Time, which Trigger Time contradicts by up to";
    static struct row rows[] = {
        {.volumes = 1, rising, 1, 1, .not_warned = "Trigger"},
        {.volumes = 4, phases, 1, 4, .order = "Trigger Time", .not_warned = repetitions},
        {.volumes = 4, delayed_phases, 1, 4, .order = "Trigger Time", .not_warned = repetitions},
        {.volumes = 3, numbered_delays, 1, 3, .order = "Temporal Position", .warning = repetitions},
        {.volumes = 3, delays, 1, 3, .order = "Instance Number", .warning = repetitions},
        {.volumes = 3, long_steps, 1, 3, .order = "Acquisition Time", .warning = contradicts},
        {.volumes = 3, short_steps, 1, 3, .order = "Acquisition Time", .not_warned = contradicts},
    };
    RUN(rows);
}

/* ---- echo times ------------------------------------------------------------------------------ */

static void alternate(struct dicom_fixture *f, int v, int z)
{
    put_number(f, 0x00200100, "IS", v + 1);
    put_number(f, 0x00180081, "DS", z % 2 ? 10.02 : 10);
}

static void three_echoes(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180081, "DS", 10 + 0.02 * (z % 3));
}

static void echoes_in_halves(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180081, "DS", z < 3 ? 10 : 10.03);
}

static void echo_pairs(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    put_number(f, 0x00180081, "DS", 10 + 0.02 * v);
}

static void other_echoes(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    put_number(f, 0x00180081, "DS", z < 3 ? 0.1 : 0.12);
}

Test(dicom_sequences, echo_times_that_nearly_agree_do_not_tear_a_volume)
{
    static const char one[] = "ms are taken as one: they differ by 0.05 ms at most";
    static struct row rows[] = {
        {.volumes = 1, alternate, 1, 1, .warning = one},
        {.volumes = 2, alternate, 1, 2, .order = "Temporal Position", .warning = one},
        {.volumes = 1, three_echoes, 1, 1, .warning = one},
        {.volumes = 1, echoes_in_halves, 1, 1, .warning = one},
        /* Echoes of one scan lie at the same positions, and short ones differ by a share. */
        {.volumes = 2, echo_pairs, 2, 1, .not_warned = one, .labels = {"10 ms", "10.02 ms"}},
        {.volumes = 1, other_echoes, 2, 1, .not_warned = one, .labels = {"0.1 ms", "0.12 ms"}},
    };
    RUN(rows);
}

/* ---- labels of perfusion --------------------------------------------------------------------- */

static void timed(struct dicom_fixture *f, int v)
{
    ts_fixture_text(f, 0x00080022, "DA", "20240101");
    put_number(f, 0x00080032, "TM", 100000 + 7 * v);
}

static void contexts(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    timed(f, v);
    ts_fixture_text(f, 0x00189257, "CS", v % 2 ? "LABEL" : "CONTROL");
}

static void repeated_contexts(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    put_number(f, 0x00200100, "IS", v / 2 + 1);
    ts_fixture_text(f, 0x00189257, "CS", v % 2 ? "LABEL" : "CONTROL");
}

static void of_philips(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    put_number(f, 0x00200100, "IS", v / 2 + 1);
    ts_fixture_text(f, 0x20050014, "LO", "Philips MR Imaging DD 005");
    ts_fixture_text(f, 0x20051429, "CS", v % 2 ? "LABEL" : "CONTROL");
}

static void types(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    timed(f, v);
    ts_fixture_text(f, 0x00080008, "CS",
                    v % 2 ? "ORIGINAL\\PRIMARY\\ASL\\LABEL" : "ORIGINAL\\PRIMARY\\ASL\\CONTROL");
}

static void comments(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    timed(f, v);
    ts_fixture_text(f, 0x00204000, "LT", v % 2 ? "label" : "Control");
}

static void slices_in_turn(struct dicom_fixture *f, int v, int z)
{
    (void)v;
    ts_fixture_text(f, 0x00189257, "CS", z % 2 ? "LABEL" : "CONTROL");
}

static void counted_contexts(struct dicom_fixture *f, int v, int z)
{
    contexts(f, v, z);
    put_number(f, 0x00200100, "IS", v + 1);
}

static void only_asl(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    timed(f, v);
    ts_fixture_text(f, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\ASL\\NONE\\ND");
}

static void derived_asl(struct dicom_fixture *f, int v, int z)
{
    only_asl(f, v, z);
    ts_fixture_text(f, 0x00080008, "CS", "DERIVED\\PRIMARY\\ASL\\SUBTRACTION");
}

Test(dicom_sequences, labels_and_controls_are_told_apart)
{
    static const char unknown[] = "nothing states which are label and which are control";
    static struct row rows[] = {
        {.volumes = 4, contexts, 2, 2, .labels = {"ASL CONTROL", "ASL LABEL"}},
        {.volumes = 4, repeated_contexts, 2, 2, .labels = {"ASL CONTROL", "ASL LABEL"}},
        {.volumes = 2, repeated_contexts, 2, 1, .labels = {"ASL CONTROL", "ASL LABEL"}},
        {.volumes = 4, of_philips, 2, 2, .labels = {"ASL CONTROL", "ASL LABEL"}},
        {.volumes = 4, types, 2, 2, .labels = {"ASL CONTROL", "ASL LABEL"}},
        {.volumes = 4, comments, 2, 2, .labels = {"ASL CONTROL", "ASL LABEL"}},
        {.volumes = 1, slices_in_turn, 2, 1, .labels = {"ASL CONTROL", "ASL LABEL"}},
        {.volumes = 4,
         counted_contexts,
         1,
         4,
         .order = "Temporal Position",
         .warning = "2 of 4 volumes are LABEL by ASL Context, first 1, counted from 0"},
        {.volumes = 4, only_asl, 1, 4, .warning = unknown},
        {.volumes = 4, derived_asl, 1, 4, .not_warned = unknown},
    };
    RUN(rows);
}

/* ---- Philips' weightings --------------------------------------------------------------------- */

static void weight(struct dicom_fixture *f, int v)
{
    const float b = v > 0 ? 1000 : 0, gradient[] = {v == 1, v == 2, v == 3};
    ts_fixture_bytes(f, 0x20011003, "FL", &b, sizeof b);
    for (uint32_t k = 0; k < 3; k++)
        ts_fixture_bytes(f, 0x200510B0 + k, "FL", &gradient[k], sizeof *gradient);
}

static void named_weights(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    timed(f, v);
    ts_fixture_text(f, 0x20010010, "LO", "Philips Imaging DD 001");
    ts_fixture_text(f, 0x20050010, "LO", "Philips MR Imaging DD 001");
    weight(f, v);
}

static void unnamed_weights(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    timed(f, v);
    weight(f, v);
}

static void weights_of_others(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    timed(f, v);
    ts_fixture_text(f, 0x20010010, "LO", "SOMEBODY ELSE");
    ts_fixture_text(f, 0x20050010, "LO", "SOMEBODY ELSE");
    weight(f, v);
}

static void biased(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    timed(f, v);
    put_b_value(f, v > 0 ? 1000001000 : 0);
}

static void negative(struct dicom_fixture *f, int v, int z)
{
    (void)z;
    timed(f, v);
    put_b_value(f, v > 0 ? 1000 : -1);
}

Test(dicom_sequences, b_values_that_none_can_be_are_corrected)
{
    static struct row rows[] = {
        {.volumes = 2, biased, 1, 2, .warning = "1e9 is added to a Diffusion b-value"},
        {.volumes = 2, negative, 1, 2, .warning = "a Diffusion b-value is negative"},
        {.volumes = 2, weighted_variants, 1, 2, .not_warned = "Diffusion b-value"},
    };
    RUN(rows);
}

Test(dicom_sequences, private_weightings_of_philips_count)
{
    static const char guessed[] = "are taken for those of Philips";
    static struct row rows[] = {
        {.volumes = 4, named_weights, 1, 4, .not_warned = guessed},
        {.volumes = 4, unnamed_weights, 1, 4, .warning = guessed},
        {.volumes = 4, weights_of_others, 1, 4, .not_warned = guessed},
    };
    RUN(rows);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        char folder[256];
        struct dicom_study study;
        ts_test_folder_in_memory(folder, sizeof folder);
        ts_fixture_series(folder, rows[r].volumes * PLACES, edit, &rows[r]);
        ts_test_study_open(&study, folder, &ts_dicom_default_rules);
        const struct dicom_series *series = &study.series[0];
        cr_expect_eq(series->volume_axis.kind == TS_AXIS_B, r < 2, "row %zu", r);
        cr_assert_eq(series->gradients != NULL, r < 2, "row %zu", r);
        for (int i = 0; series->gradients && i < 9; i++)
            cr_expect_float_eq(series->gradients[3 + i], i % 4 == 0, 1e-6, "row %zu: %d", r, i);
        ts_test_study_close(&study);
        ts_test_remove_folder(folder);
    }
}
