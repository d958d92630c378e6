/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers with units become the double that the same number in the other unit is written as.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "core/unit.h"

TestSuite(unit);

Test(unit, is_converted_to_the_double_of_the_same_number)
{
    static const struct {
        const char *text, *to;
        double value;
    } cases[] = {{"1um", "mm", 0.001},
                 {"1.3 um", "mm", 0.0013},
                 {"6.5\xC2\xB5m", "mm", 0.0065},
                 {"0.5 cm", "mm", 5},
                 {"-2.5e-1cm", "mm", -2.5},
                 {"650 nm", "mm", 0.00065},
                 {"0.12 m", "mm", 120},
                 {"3mm", "mm", 3},
                 {"90deg", "degree", 90},
                 {"1 rad", "degree", 180 / M_PI},
                 {"250 ms", "s", 0.25},
                 {"2 min", "s", 120},
                 {"0.2 1/cm", "1/mm", 0.02},
                 {"0.2cm^-1", "1/mm", 0.02},
                 {"12 %", "%", 12},
                 {"12 %", "1", 0.12},
                 {"40HU", "HU", 40},
                 {"3 px", "pixel", 3},
                 {"7 pixels", "detector", 7},
                 {"24 GiB", "GiB", 24},
                 {"0e9223372036854775807 cm", "mm", 0},
                 {"0e99999999999999999999 m", "mm", 0},
                 {"0e-99999999999999999999 um", "mm", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char number[40];
        const char *unit;
        double value = NAN;
        cr_assert(ts_unit_part(cases[i].text, number, sizeof number, &unit), "%s", cases[i].text);
        cr_expect(ts_unit_convert(number, unit, cases[i].to, &value), "%s", cases[i].text);
        cr_expect_eq(value, cases[i].value, "%s is %.17g", cases[i].text, value);
    }
}

Test(unit, what_means_something_else_is_refused)
{
    static const char *const cases[][2] = {{"1mm", "degree"}, {"1 um", "pixel"}, {"1 Mm", "mm"},
                                           {"1 MM", "mm"},    {"1 mm|cm", "mm"}, {"1 deg", "mm"},
                                           {"2 s", "mm"},     {"10%", "mm"},     {"1 hu", "HU"},
                                           {"1 value", "1"},  {"1e308 m", "mm"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char number[40];
        const char *unit;
        double value;
        cr_assert(ts_unit_part(cases[i][0], number, sizeof number, &unit), "%s", cases[i][0]);
        cr_expect(!ts_unit_convert(number, unit, cases[i][1], &value), "%s as %s", cases[i][0],
                  cases[i][1]);
    }
    char number[40];
    const char *unit;
    static const char *const none[] = {"", "mm", "3", "1,5mm", "0x10", "1.2.3 mm", "1e5", "- mm"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        cr_expect(!ts_unit_part(none[i], number, sizeof number, &unit), "%s", none[i]);
}
