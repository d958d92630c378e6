/* SPDX-License-Identifier: Apache-2.0
 *
 * This stands for the windows in the program that has none.
 */
#include "program/show/window.h"

const struct view_window *const ts_view_window = NULL;
