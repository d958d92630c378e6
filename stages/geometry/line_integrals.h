/* SPDX-License-Identifier: Apache-2.0
 *
 * Hints for the tables of stages whose input is line integrals: each says how to make line
 * integrals from what a scan may have instead.
 */
#ifndef STAGES_GEOMETRY_LINE_INTEGRALS_H
#define STAGES_GEOMETRY_LINE_INTEGRALS_H

#define LINE_INTEGRAL_HINTS                                                                        \
    {                                                                                              \
        [TS_COUNTS] =                                                                              \
            "`flat_field`, or `air` without flats, and then `minus_log` make them from counts",    \
        [TS_TRANSMISSION] = "`minus_log` makes them from a transmission",                          \
        [TS_INTENSITY] = ("where the values are line integrals, say `quantity: line_integral` at " \
                          "the input, or in "                                                      \
                          "`rescale` with its `range`")                                            \
    }

#endif
