/* SPDX-License-Identifier: Apache-2.0
 *
 * A chain needs a stage; `save` changes nothing, and the chain is never run.
 */
#include "pipeline/chain/chain_input.h"

#include <stdlib.h>
#include <string.h>

/* Without this check, a stage or an output after the input would be silently ignored. */
static enum ts_status chain_input_check(const struct ts_chain *chain, const char *input,
                                        struct ts_diag *diag)
{
    if (chain->n_sources == 1 && chain->n_stages == 1 && !chain->output.path &&
        chain->output.n_sinks == 0)
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "not-an-input"},
                  "'%s' is more than an input, such as 'dicom FOLDER series=2'", input);
    return ts_diag_hint(diag, "run the chain, and give this command its result");
}

enum ts_status ts_chain_of_input(const char *input, const char *name, const char *path,
                                 struct ts_chain **chain, struct ts_diag *diag)
{
    const bool is_format = !strchr(input, ' ');
    char *text = NULL;
    *chain = NULL;
    if (asprintf(&text, "%s%s | save name=image", input, is_format ? " x" : "") < 0)
        return ts_diag_no_memory(diag, strlen(input));
    enum ts_status status = ts_chain_parse(text, strlen(text), name, NULL, chain, diag);
    free(text);
    if (status == TS_OK)
        status = chain_input_check(*chain, input, diag);
    return status == TS_OK && path ? ts_chain_set_input(*chain, path, diag) : status;
}

enum ts_status ts_chain_choose_image(struct ts_chain *chain, const char *image,
                                     struct ts_diag *diag)
{
    char *assignment = NULL;
    if (asprintf(&assignment, "input.image=%s", image) < 0)
        return ts_diag_no_memory(diag, strlen(image));
    const enum ts_status status = ts_chain_set(chain, assignment, diag);
    free(assignment);
    return status;
}
