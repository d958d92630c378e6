/* SPDX-License-Identifier: Apache-2.0
 *
 * Stages of the tests' own, outside the registry: what the runner does with a stage shows in their
 * outputs.
 */
#ifndef TESTS_SUPPORT_LOCAL_STAGES_H
#define TESTS_SUPPORT_LOCAL_STAGES_H

#include "stages/engine/stage.h"

struct shift_params {
    int64_t by, constant;
    int32_t border; /* enum ts_border */
};

struct masked_params {
    struct ts_reference mask;
    bool slices;
};

struct add_rows_params {
    struct ts_reference rows;
    int64_t by;
};

struct find_params {
    double given;
    bool fault;
};

struct add_first_params {
    double first, most;
    bool fault;
};

/* out(z) = in(z + by), outside by the border rule: needs a halo of |by| on both sides. */
extern const struct stage shift_stage;
/* Sums the u16 pixels whose u8 mask is not 0, over the volume or (slices=true) each slice; every
 * pixel of the u8 output is the sum modulo 251. Tables: "sum"; "shown" (z) f64, of the map, the
 * value written. */
extern const struct stage masked_stage;
/* u16: out(z, y, x) = in(z + by, y, x) + the sum over r of rows(z, r, x), modulo 65536; in(z + by)
 * is the nearest slice outside. `rows` streams with the input: as many slices and columns as the
 * input, any number of rows. Tables of the map: "sums" (z, x) u64, what was added; "first" (z) f64,
 * the first value of the slice written. */
extern const struct stage add_rows_stage;
/* u16, passes its image on: finds out.x.first = in.x.first + given, where that is not 0, or else +
 * 1 + the sum of all values modulo 97. `fault` gives another width in place of that. */
extern const struct stage find_stage;
/* u16: out(z, y, x) = in(z, y, x) + (uint16_t)(10 first), where `first` is derived: in.x.first;
 * above `most` is refused. out.x.first = first + 0.5. `fault` gives an output of another width
 * where first is not 0. */
extern const struct stage add_first_stage;
/* shift without CUDA code, for a reason. */
extern const struct stage cpu_shift_stage;
/* Its CUDA code writes to an address that is not there. */
extern const struct stage lost_stage;

/* Fourier transforms of rows of pairs, or of planes (rows of pairs too); of real values there and
 * back. */
struct spectrum_params {
    bool real, plane;
};
extern const struct stage spectrum_stage;
enum { SPECTRUM_ROWS = 3 }; /* of one call */

#ifdef TS_HAVE_CUDA
extern const struct stage_cuda shift_cuda, masked_cuda, lost_cuda, spectrum_cuda, add_rows_cuda,
    find_cuda, add_first_cuda;
#endif

#endif
