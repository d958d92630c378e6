/* SPDX-License-Identifier: Apache-2.0
 *
 * Inputs that take over what the chain says of another one; what is refused stands in
 * tests/chains/like.yaml.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "io/scan/exchange.h"
#include "pipeline/chain/chain.h"
#include "tests/support/chain_text.h"

TestSuite(like);

/* An input that is like another one takes over what the chain says there, and follows its path. */
Test(like, takes_over_format_parameters_and_path)
{
    static const char text[] = "tomostage: 2\n"
                               "input: {exchange: a.h5, angle_unit: degree}\n"
                               "inputs:\n"
                               "  flats: {like: input, frames: flats}\n"
                               "  darks: {like: flats, frames: darks}\n"
                               "  others: {like: input, exchange: b.h5}\n"
                               "stages: [{flat_field: {flats: flats, darks: darks}}, {compare: "
                               "{reference: others, data_range: 1}}]\n";
    static const char *const paths[][4] = {
        {"folder/a.h5", "folder/a.h5", "folder/a.h5", "folder/b.h5"},
        {"c.h5", "c.h5", "c.h5", "folder/b.h5"},
        {"d.h5", "d.h5", "d.h5", "folder/b.h5"},
        {"d.h5", "e.h5", "d.h5", "folder/b.h5"}};
    struct ts_diag *diag;
    struct ts_chain *chain;
    cr_assert_eq(ts_test_parse(text, &chain, &diag), TS_OK, "%s", ts_test_errors(diag));
    for (int round = 0; round < 4; round++) {
        if (round == 1)
            cr_assert_eq(ts_chain_set_input(chain, "c.h5", diag), TS_OK);
        if (round > 1)
            cr_assert_eq(ts_chain_set(chain,
                                      round == 2 ? "input.exchange=d.h5" : "flats.exchange=e.h5",
                                      diag),
                         TS_OK);
        for (int i = 0; i < 4; i++)
            cr_expect_str_eq(
                ((const struct exchange_params *)chain->sources[i].set.values)->exchange,
                paths[round][i], "round %d, input %d", round, i);
    }
    char *canonical = ts_chain_canonical(chain);
    cr_expect(strstr(canonical, "flats: {exchange: flats, frames: flats, ") &&
                  strstr(canonical, "frames: darks"),
              "%s", canonical);
    free(canonical);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
}
