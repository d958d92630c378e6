/* SPDX-License-Identifier: Apache-2.0
 *
 * Positions along axes, whose angles may fall.
 */
#include <criterion/criterion.h>

#include "core/image.h"
#include "tests/files/npy.h"
#include "tests/support/folders.h"
#include "tests/support/program.h"

Test(axis, positions_follow_the_spacing_whichever_sign_it_has)
{
    static const double listed[] = {7, 3, 5};
    static const struct {
        struct ts_axis axis;
        double second; /* the position of index 2 */
    } rows[] = {{{.n = 3, .first = 180, .spacing = -7.5}, 165},
                {{.n = 3, .first = 180, .spacing = 7.5}, 195},
                {{.n = 3, .first = 4, .spacing = 0}, 6}, /* none is stated: one apart */
                {{.n = 3, .first = 4, .spacing = -1, .positions = listed}, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect_eq(ts_axis_position(&rows[i].axis, 2), rows[i].second, "row %zu: %g", i,
                     ts_axis_position(&rows[i].axis, 2));
}

/* Scans of angles that fall by other steps are not of one grid. */
Test(axis, diff_tells_falling_angles_apart)
{
    static const char scan[] =
        "npy s.npy axes=view,z,detector quantity=counts theta_start=180 theta_stop=";
    static const float values[4 * 3 * 5] = {0};
    static struct program_outcome outcome;
    char folder[256], file[300], half[200], quarter[200];
    ts_program_make_study(folder, sizeof folder);
    snprintf(half, sizeof half, "%s0", scan);
    snprintf(quarter, sizeof quarter, "%s90", scan);
    snprintf(file, sizeof file, "%s/s.npy", folder);
    ts_test_npy_write(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 3, 5), }",
                      values, sizeof values);
    ts_program_run(folder, ARGUMENTS("diff", half, half), &outcome);
    cr_expect_eq(outcome.code, 0, "%s%s", outcome.out, outcome.err);
    ts_program_run(folder, ARGUMENTS("diff", half, quarter), &outcome);
    cr_expect_neq(outcome.code, 0);
    cr_expect(strstr(outcome.out, "along view"), "%s%s", outcome.out, outcome.err);
    ts_program_folder_remove(folder);
}
