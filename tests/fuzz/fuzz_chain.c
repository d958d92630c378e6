/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains, as YAML and in one line: parsing, the canonical text, which must be a chain again, and
 * planning.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "include/tomostage.h"
#include "pipeline/chain/chain.h"
#include "tests/fuzz/fuzz.h"

static void plan(struct ts_chain *chain, struct ts_diag *diag)
{
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_plan *plan = NULL;
    options.device = "cpu";
    options.memory_bytes = (size_t)64 << 20;
    options.threads = 1;
    (void)ts_chain_set(chain, "box.radius=3", diag);
    (void)ts_plan_create(chain, &options, &plan, diag);
    ts_plan_destroy(plan);
}

/* Returns true where a text may name a file outside of the chain's folder, which does not exist: a
 * plan would search this machine's files. */
static bool names_outside(const char *text)
{
    for (const char *slash = strchr(text, '/'); slash; slash = strchr(slash + 1, '/'))
        if (slash == text || !(isalnum((unsigned char)slash[-1]) || strchr("._-", slash[-1])))
            return true;
    return strstr(text, "..") != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct ts_diag *diag = ts_diag_create();
    struct ts_chain *chain = NULL;
    char *text = malloc(bytes + 1);
    if (!diag || !text)
        abort();
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (ts_chain_parse(text, bytes, "fuzz", "/nonexistent", &chain, diag) == TS_OK) {
        free(ts_chain_canonical(chain));
        if (!names_outside(text))
            plan(chain, diag);
    }
    ts_diag_print(diag, fuzz_nowhere());
    ts_chain_destroy(chain);
    ts_diag_destroy(diag);
    free(text);
    return 0;
}
