/* SPDX-License-Identifier: Apache-2.0
 *
 * ts_chain_search() for callers that also prepare the plans of the stages before a search.
 */
#ifndef PIPELINE_RUN_RUN_SEARCH_H
#define PIPELINE_RUN_RUN_SEARCH_H

#include "pipeline/plan/plan.h"

/* Called with each such plan before it runs. The search ends if it does not return TS_OK. */
struct search_prepare {
    enum ts_status (*call)(const void *user, struct ts_plan *plan, struct ts_diag *diag);
    const void *user;
};

/* `prepare` may be NULL. */
enum ts_status ts_run_search(struct ts_chain *chain, const struct ts_options *options,
                             const struct search_prepare *prepare, struct ts_diag *diag);

#endif
