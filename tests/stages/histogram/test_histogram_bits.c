/* SPDX-License-Identifier: Apache-2.0
 *
 * Method warp-tagged keeps 27 bits of a count beside a lane's number: a warp that sees one value
 * more often has to add its table up on the way. To reach 2^27 in one warp takes half a minute; so
 * the same kernel counts with 15 bits.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/stage_check.h"

#ifdef TS_HAVE_CUDA
#include "tests/support/narrow_histogram.h"

Test(histogram, a_warp_adds_its_counts_up_before_they_reach_the_tag_on_cuda)
{
    enum { EACH = 3 << NARROW_BITS, N = NARROW_WARPS * EACH };
    const int n = ts_test_few() ? EACH / NARROW_WARPS
                                : N; /* few: nothing runs over, but every step is taken */
    const int others = ts_test_few() ? 1 : NARROW_WARPS;
    uint64_t counts[NARROW_KEYS];
    struct ts_diag *diag = ts_diag_create();
    uint8_t *pixels = malloc(N);
    ts_test_begin_cuda();
    memset(pixels, 3, N);
    for (int i = 0; i < NARROW_WARPS; i++)
        pixels[i * EACH + 77] = 200;
    cr_assert_eq(ts_test_narrow_histogram(ts_test_device, pixels, n, counts, diag), TS_OK, "%s",
                 ts_diag_count(diag) ? ts_diag_get(diag, 0)->message : "");
    for (int key = 0; key < NARROW_KEYS; key++)
        cr_assert_eq(counts[key],
                     key == 3     ? n - others
                     : key == 200 ? others
                                  : 0,
                     "%d: %llu", key, (unsigned long long)counts[key]);
    free(pixels);
    ts_diag_destroy(diag);
    ts_test_end_cuda();
}
#endif
