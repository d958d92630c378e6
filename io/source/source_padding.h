/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameter `padding` of formats whose files can state which values are no measurements.
 */
#ifndef IO_SOURCE_SOURCE_PADDING_H
#define IO_SOURCE_SOURCE_PADDING_H

#include "io/source/source.h"

enum source_padding { PADDING_VALUE, PADDING_EXCLUDE };
extern const struct choice ts_source_padding_choices[];

/* The parameter of a format whose parameter struct has the field `int32_t padding`. */
#define PADDING_PARAM(type, which)                                                                 \
    PARAM(type, padding, .unit = "", .choices = ts_source_padding_choices,                         \
          .init.choice = PADDING_EXCLUDE, .old = {.until = 1, .init.choice = PADDING_VALUE},       \
          .doc = "what pixels " which " are")

/* Makes the image masked, and allocates its bits, if any of the slices states padding and the
   parameter excludes it. */
enum ts_status ts_source_set_padding(struct source *source, enum source_padding padding,
                                     struct ts_diag *diag);
/* Marks `padding` as unused if no slice states any. For resolve() of the format. */
void ts_source_resolve_padding(struct param_set *set, const struct source *source);

#endif
