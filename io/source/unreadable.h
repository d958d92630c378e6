/* SPDX-License-Identifier: Apache-2.0
 *
 * The parameter `unreadable`, which inputs that are folders of files share. It decides whether a
 * file that cannot be read ends the run or is skipped with a warning. io/source/source.c has the
 * texts of its choices, so that every format describes them in the same words.
 */
#ifndef IO_SOURCE_UNREADABLE_H
#define IO_SOURCE_UNREADABLE_H

#include "core/params.h"

enum unreadable { UNREADABLE_REFUSE, UNREADABLE_SKIP };

extern const struct choice ts_unreadable_choices[];

/* The parameter of a format whose parameter struct has the field `int32_t unreadable`. */
#define UNREADABLE_PARAM(type)                                                                     \
    PARAM(type, unreadable, .unit = "", .choices = ts_unreadable_choices,                          \
          .init.choice = UNREADABLE_REFUSE,                                                        \
          .doc = "what to do with files that cannot be read, and with empty, cut or damaged ones " \
                 "among the others")

#endif
