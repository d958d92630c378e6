/* SPDX-License-Identifier: Apache-2.0
 *
 * fbp reconstructs every slice by filtered backprojection; fbp.c has the formula. The stage
 * `fourier` computes the same integral in the frequency domain and takes its filter, the weights of
 * its views and its unit from here, so that both stages agree in everything but the method.
 */
#ifndef STAGES_PROJECTION_FBP_H
#define STAGES_PROJECTION_FBP_H

#include "stages/projection/reconstruction.h"

/* Both stages have these parameters beside those of the volume. */
#define FBP_PARAMS                                                                                 \
    ROW_FILTER_PARAMS(struct reconstruction_params),                                               \
        PARAM(struct reconstruction_params, gaps, .init.choice = VIEW_GAPS_REFUSE,                 \
              .choices = ts_view_gaps_choices, .unit = "",                                         \
              .doc = "if neighboring views are more than 4 times their mean angle apart")

/* resolve() and shape(). Warning: axis-near-end. */
enum ts_status ts_fbp_resolve(const struct stage_context *context, void *values);
enum ts_status ts_fbp_shape(const struct stage_context *context, struct ts_image *out);

#endif
