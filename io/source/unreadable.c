/* SPDX-License-Identifier: Apache-2.0
 *
 * The choices of `unreadable`: see unreadable.h.
 */
#include "io/source/unreadable.h"

const struct choice ts_unreadable_choices[] = {
    {"refuse", UNREADABLE_REFUSE, "slices may be among them: the input is refused"},
    {"skip", UNREADABLE_SKIP, "what is left is read; the output records how many there were"},
    {NULL, 0, NULL},
};
