/* SPDX-License-Identifier: Apache-2.0
 *
 * A program on libtomostage: plans a chain, prints the plan, runs it.
 *     cc example.c $(pkg-config --cflags --libs tomostage) \
 *         -Wl,-rpath,$(pkg-config --variable=libdir tomostage) -o example && ./example chain.yaml
 */
#include <tomostage.h>

int main(int argc, char **argv)
{
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status = argc == 2 && diag ? TS_OK : TS_BAD_CHAIN;
    if (status == TS_OK)
        status = ts_chain_load(argv[1], &chain, diag);
    if (status == TS_OK)
        status = ts_plan_create(chain, &options, &plan, diag);
    if (status == TS_OK) {
        ts_plan_print(plan, stdout, false);
        status = ts_plan_run(plan, diag);
    }
    if (argc != 2)
        fprintf(stderr, "usage: %s chain.yaml\n", argv[0]);
    if (diag)
        ts_diag_print(diag, stderr);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
    return status;
}
