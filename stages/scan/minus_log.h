/* SPDX-License-Identifier: Apache-2.0
 *
 * minus_log turns transmission into line integrals by the law of Lambert and Beer, y = -log(t).
 * Parameters decide what happens to values that have no logarithm, because a scan may have a few of
 * them (dead detector pixels) or not be a transmission at all. The CPU code and
 * cuda/scan/minus_log.cu share the counts of such values.
 */
#ifndef STAGES_SCAN_MINUS_LOG_H
#define STAGES_SCAN_MINUS_LOG_H

#include "stages/engine/stage.h"

struct minus_log_params {
    int32_t nonpositive; /* enum minus_log_rule */
    double floor;
    int32_t nonfinite; /* enum minus_log_rule, except MINUS_LOG_FLOOR */
};
enum minus_log_rule { MINUS_LOG_ERROR, MINUS_LOG_FLOOR, MINUS_LOG_NAN };

/* The kinds of values without a logarithm, each of which has a message, and the values that were
 * raised to the floor. */
enum minus_log_kind {
    KIND_ZERO,
    KIND_NEGATIVE,
    KIND_NAN,
    KIND_INFINITE,
    KIND_RAISED,
    MINUS_LOG_KINDS
};

/* The counts of the whole image; zero bytes are empty. If there are tables, the counts of slices
 * follow. */
struct minus_log_found {
    unsigned long long count[MINUS_LOG_KINDS];
    unsigned long long not_first[KIND_RAISED]; /* ~index in the image of the first value of each
                                                * kind */
};
/* The counts of one slice. */
struct minus_log_slice {
    unsigned long long nonpositive, nonfinite;
};

/* Returns true if slices are counted one by one. */
bool ts_minus_log_tabulates(const struct stage_context *context);
/* Returns the floor, to which lower values are raised, or -infinity. */
float ts_minus_log_lowest(const struct stage_context *context);

#endif
