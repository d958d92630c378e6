/* SPDX-License-Identifier: Apache-2.0
 *
 * tomostage check --picture: what is drawn is where the numbers say.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/show/geometry_picture.h"
#include "tests/support/program.h"

TestSuite(geometry_picture);

static char *draw(const struct ts_image *sinogram)
{
    char *text = NULL;
    size_t n;
    FILE *stream = open_memstream(&text, &n);
    const struct rotation_axis axis = {-sinogram->axes[2].first / sinogram->axes[2].spacing, false,
                                       NULL};
    ts_geometry_picture(sinogram, &axis, stream, NULL);
    fclose(stream);
    return text;
}

static struct ts_image sinogram_of(enum ts_beam_kind kind)
{
    return (struct ts_image){
        .rank = 3,
        .axes = {{.kind = TS_AXIS_Z, .n = 5, .spacing = 2, .unit = "mm"},
                 {.kind = TS_AXIS_VIEW, .n = 180, .spacing = 2, .unit = "degree"},
                 {.kind = TS_AXIS_DETECTOR, .n = 201, .spacing = 1.5, .first = -120, .unit = "mm"}},
        .beam = {kind, kind ? 300 : 0, kind ? 450 : 0}};
}

/* Numbers of the circle drawn with this fill. */
static void circle(const char *svg, const char *fill, double *x, double *y)
{
    const char *at = svg, *found = NULL;
    for (; (at = strstr(at, "<circle ")); at++) {
        char color[32];
        double r;
        if (sscanf(at, "<circle cx='%lf' cy='%lf' r='%lf' fill='%31[^']'", x, y, &r, color) == 4 &&
            !strcmp(color, fill)) {
            found = at;
            break;
        }
    }
    cr_assert(found, "no circle in %s", fill);
}

Test(geometry_picture, the_source_stands_above_the_axis_where_theta_is_0)
{
    for (int kind = TS_BEAM_FAN_ARC; kind <= TS_BEAM_FAN_FLAT; kind++)
        for (int quarter = 0; quarter < 4; quarter++) {
            struct ts_image sinogram = sinogram_of((enum ts_beam_kind)kind);
            sinogram.axes[1].first = 90 * quarter;
            char *svg = draw(&sinogram);
            double axis_x, axis_y, x, y;
            circle(svg, "black", &axis_x, &axis_y);
            circle(svg, "#d08000", &x, &y);
            static const int across[] = {0, -1, 0, 1}, up[] = {1, 0, -1, 0};
            cr_assert(fabs((x - axis_x) - across[quarter] * hypot(x - axis_x, y - axis_y)) < 0.2);
            cr_assert(fabs((axis_y - y) - up[quarter] * hypot(x - axis_x, y - axis_y)) < 0.2);
            free(svg);
        }
}

Test(geometry_picture, holds_the_numbers)
{
    static const char *const expected[3][3] = {
        {"parallel beam", "theta from 0 to 358 degree", "field of view: a circle of 240 mm"},
        {"fan-arc beam", "source to axis 300 mm, source to detector 450 mm", "along the arc"},
        {"fan-flat beam", "fan angle 36.7328 degree", "rotation axis at detector pixel 80 "}};
    for (int kind = TS_BEAM_PARALLEL; kind <= TS_BEAM_FAN_FLAT; kind++) {
        const struct ts_image sinogram = sinogram_of((enum ts_beam_kind)kind);
        char *svg = draw(&sinogram);
        for (int i = 0; i < 3; i++)
            cr_assert(strstr(svg, expected[kind][i]), "%s is not in %s", expected[kind][i], svg);
        cr_assert(!strstr(svg, "nan") && !strstr(svg, "inf"));
        free(svg);
    }
    struct ts_image outside = sinogram_of(TS_BEAM_FAN_FLAT);
    outside.axes[2].first = 10;
    char *svg = draw(&outside);
    cr_assert(strstr(svg, "field of view: none"));
    free(svg);
}

Test(geometry_picture, check_writes_it)
{
    static struct program_outcome outcome;
    char folder[256], names[512];
    ts_test_folder(folder, sizeof folder);
    const char *const phantom[] = {"phantom", "disc",     "-o", "d", "--size",
                                   "32",      "--slices", "3",  NULL};
    ts_program_run(folder, phantom, &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    const char *const chain =
        "dicom d | radon views=30 beam=fan-flat source_axis=900 source_detector=1200 | hdf5 o.h5";
    const char *const arguments[] = {"check", chain, "--device", "cpu", "--picture", "g.svg", NULL};
    ts_program_run(folder, arguments, &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    cr_assert(
        strstr(outcome.out, "fan-flat beam, source to axis 900 mm, source to detector 1200 mm"),
        "%s", outcome.out);
    ts_program_run(folder, arguments, &outcome);
    cr_assert_eq(outcome.code, 1);
    cr_assert(strstr(outcome.err, "'g.svg' already exists"), "%s", outcome.err);
    const char *const again[] = {"check",     chain,   "--device", "cpu",
                                 "--picture", "g.svg", "--force",  NULL};
    ts_program_run(folder, again, &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    const char *const nothing[] = {"check", "dicom d | invert | hdf5 o.h5", "--picture", "n.svg",
                                   NULL};
    ts_program_run(folder, nothing, &outcome);
    cr_assert_eq(outcome.code, 2);
    cr_assert(strstr(outcome.err, "no image of this chain is a sinogram"), "%s", outcome.err);
    const char *const no_folder[] = {"check",     chain,      "--device", "cpu",
                                     "--picture", "no/n.svg", NULL};
    ts_program_run(folder, no_folder, &outcome);
    cr_assert_eq(outcome.code, 1);
    cr_assert(strstr(outcome.err, "the folder 'no' of the output 'no/n.svg' does not exist"), "%s",
              outcome.err);
    const char *const elsewhere[] = {"run", chain, "--picture", "n.svg", NULL};
    ts_program_run(folder, elsewhere, &outcome);
    cr_assert_eq(outcome.code, 2);
    ts_program_folder_list(folder, names, sizeof names);
    cr_assert(strstr(names, "g.svg") && !strstr(names, "n.svg"), "%s", names);
    ts_program_folder_remove(folder);
}

/* The axis of the picture and of the plan is the one that the reconstruction takes. */
Test(geometry_picture, tells_the_axis_that_is_used)
{
    static const struct {
        const char *stages, *drawn, *planned;
    } rows[] = {
        {"fbp", "rotation axis at detector pixel 31.5 (0 is the first):",
         "rotation axis at detector pixel 31.5\n"},
        {"fbp center=25", "rotation axis at detector pixel 25 (0 is the first; as given to fbp)",
         "rotation axis at detector pixel 25, as given to fbp"},
        {"ring | fbp center=25", "rotation axis at detector pixel 25 (",
         "rotation axis at detector pixel 25, as given to fbp"},
        {"center center=28 | fbp", "rotation axis at detector pixel 28 (",
         "rotation axis at detector pixel 28\n"},
        {"center center=28 | fbp center=25", "rotation axis at detector pixel 25 (",
         "detector pixel 25, as given to fbp"},
        {"center | fbp", "rotation axis: found at run time; drawn as if at detector pixel 31.5",
         "rotation axis found at run time"},
        {"ring | center | fbp", "rotation axis: found at run time",
         "rotation axis found at run time by center\n"},
        {"pad left=10 right=4 | center center=38 | fbp", "rotation axis at detector pixel 38 (",
         "rotation axis at detector pixel 28, as given to center\n"},
        {"center | fbp center=25", "rotation axis at detector pixel 25 (",
         "detector pixel 25, as given to fbp"},
    };
    static struct program_outcome outcome;
    static char svg[1 << 16];
    char folder[256], chain[256], path[300];
    ts_test_folder(folder, sizeof folder);
    const char *const phantom[] = {"phantom", "disc",     "-o", "d", "--size",
                                   "32",      "--slices", "3",  NULL};
    ts_program_run(folder, phantom, &outcome);
    cr_assert_eq(outcome.code, 0, "%s", outcome.err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(chain, sizeof chain, "dicom d | radon views=30 detectors=64 | %s | hdf5 o.h5",
                 rows[i].stages);
        const char *const arguments[] = {"check",     chain,   "--device", "cpu",
                                         "--picture", "g.svg", "--force",  NULL};
        ts_program_run(folder, arguments, &outcome);
        cr_assert_eq(outcome.code, 0, "%s", outcome.err);
        cr_assert(strstr(outcome.out, rows[i].planned), "%s: %s", rows[i].stages, outcome.out);
        snprintf(path, sizeof path, "%s/g.svg", folder);
        FILE *file = fopen(path, "r");
        cr_assert(file);
        svg[fread(svg, 1, sizeof svg - 1, file)] = 0;
        fclose(file);
        cr_assert(strstr(svg, rows[i].drawn), "%s: %s", rows[i].stages, svg);
    }
    ts_program_folder_remove(folder);
}
