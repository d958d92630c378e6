/* SPDX-License-Identifier: Apache-2.0
 *
 * What the stages that filter the rows of a sinogram and put them back over a volume share beside the geometry of
 * stages/projection/reconstruction.h: rows of their tables, the model and weights of the sum over views, the result's
 * unit.
 */
#ifndef STAGES_PROJECTION_FILTERED_VOLUME_H
#define STAGES_PROJECTION_FILTERED_VOLUME_H

#include "stages/projection/reconstruction.h"

#define FILTERED_VOLUME_ROWS                                                                                           \
    ROW_FILTER_ROWS(struct reconstruction_params),                                                                     \
        PARAM(struct reconstruction_params, gaps, .init.choice = VIEW_GAPS_REFUSE, .choices = ts_view_gaps_choices,    \
              .unit = "", .doc = "where neighboring views are more than 4 times their mean angle apart")

enum ts_status ts_filtered_volume_resolve(const struct stage_context *context, void *values);
enum ts_status ts_filtered_volume_shape(const struct stage_context *context, struct ts_image *out);

#endif
