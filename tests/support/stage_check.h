/* SPDX-License-Identifier: Apache-2.0
 *
 * The one comparison loop: every stage, method, dtype and shape against its naive double oracle.
 *
 * For each case the loop fills a random input (fixed seed, printed on failure), poisons the output
 * and guards both ends of it, runs the stage through ts_stage_apply over slabs of 1, 2, 3 slices
 * and whole, on 1, 2 and 3 threads, demands the same bytes of all, and compares with the oracle
 * under the method's tolerance. NaN fails where the oracle has none. On a CUDA device the same,
 * over the same slabs; integer results must also be the bytes of the CPU, where it has the method.
 * Cases whose method the device does not have are left out and not counted; those that a device
 * with less shared memory or without tensor cores refuses are counted, each with a line that says
 * so.
 */
#ifndef TESTS_SUPPORT_STAGE_CHECK_H
#define TESTS_SUPPORT_STAGE_CHECK_H

#include "stages/engine/driver.h"
#include "tests/support/test_device.h"

/* The whole input and output as doubles in the image's order. `context` carries the resolved
 * parameters and both descriptions; references are not supported here. */
typedef void stage_oracle(const struct stage_context *context, const double *in, double *out);

enum stage_values {
    VALUES_RANDOM, /* over the dtype's range; floats in [-1000, 3000] */
    VALUES_CT,     /* smooth, like a CT in HU, clipped to the dtype */
    VALUES_CONSTANT,
    VALUES_EXTREME /* only the dtype's lowest and highest values */
};

struct stage_case {
    const char *assignments; /* parameters in the chain's one-line form: "radius=2 border=wrap", ""
                                for defaults */
    int64_t nz, ny, nx;      /* 0: the loop's own list of shapes */
    unsigned dtypes;         /* TS_DTYPE_BITs; 0: all that the stage takes */
    enum stage_values values;
    enum ts_quantity quantity;
    double absolute; /* added to the stage's tolerance, where a case is harder and says why */
};

/* Runs the cases, with sinograms where the stage takes no volumes; returns how many images were
 * compared (assert that it is not 0), with those that were planned alone (ts_test_few) or skipped
 * (ts_test_beyond), of which a line tells. */
size_t ts_stage_check(const struct stage *stage, stage_oracle *oracle,
                      const struct stage_case *cases, size_t n_cases);

/* The environment variable TOMOSTAGE_TESTS_FEW, for tools that make everything slow: ts_stage_check
 * runs each row of its cases on one or a few images, in one way each, and only plans the others.
 * Tests that take long may do less as well. */
bool ts_test_few(void);
/* Applies the prepared context on its device. */
enum ts_status ts_test_apply(struct stage_context *context, const struct ts_image *in,
                             struct ts_image *out,
                             const struct ts_image *const references[STAGE_REFERENCES],
                             int64_t slab, struct stage_reduced **reduced);

/* For tests of tables and special rules: a parameter set from assignments ("bins=256 low=0"),
 * numbers as "angles=0,10,20" and "weights=1,2,3;4,5,6;7,8,9". Fails the test where they are wrong.
 * Freed by ts_test_params_clear. */
void ts_test_params(const struct stage *stage, const char *assignments, struct param_set *set);
void ts_test_params_clear(struct param_set *set);
/* An image of this shape with allocated data, spacing (2, 0.7, 0.5) mm; free(image.data). */
struct ts_image ts_test_image(int64_t nz, int64_t ny, int64_t nx, enum ts_dtype dtype,
                              enum stage_values values, uint64_t seed);
/* Its axes y and x become views evenly over [0, 180) degrees and detectors 0.5 mm apart about the
 * axis of rotation; its values line integrals in unit 1. */
void ts_test_sinogram(struct ts_image *image);

#endif
