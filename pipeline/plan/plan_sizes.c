/* SPDX-License-Identifier: Apache-2.0
 *
 * Both limits leave room for what is usual: the sinogram of a slice has 2 to 4 times its bytes, and floats twice those
 * of 16-bit integers. Stages behind the first one that is warned of work on its large image, so that they get no
 * warning of their own.
 */
#include "pipeline/plan/plan_sizes.h"

#include <inttypes.h>

#include "core/number.h"

static const double unusual_bytes = 4e9, unusual_growth = 16;

void ts_plan_warn_sizes(const struct ts_plan *plan, struct ts_diag *diag)
{
    for (int32_t i = plan->n_sources; i < plan->n_nodes; i++) {
        const struct plan_node *node = &plan->nodes[i];
        const struct ts_axis *axes = node->out.axes;
        const double volumes = node->by_volume ? (double)plan->n_volumes : 1,
                     bytes = volumes * (double)ts_image_bytes(&node->out),
                     growth = (double)ts_image_bytes(&node->out) / (double)ts_image_bytes(&node->context.in);
        char size[32];
        if (bytes < unusual_bytes || growth < unusual_growth)
            continue;
        ts_bytes_format(size, sizeof size, bytes);
        ts_diag_warning(diag, &(struct diag_site){.code = "size-unusual", .span = node->set.span, .stage = node->label},
                        "makes %s of %" PRId64 " x %" PRId64 " x %" PRId64 " values, %.0f times the bytes of its input",
                        size, axes[0].n, axes[1].n, axes[2].n, growth);
        ts_diag_hint(diag, "check its numbers; `tomostage check` prints the size that every stage makes");
        return;
    }
}
