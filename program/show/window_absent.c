/* SPDX-License-Identifier: Apache-2.0
 *
 * Replaces the windows in a program that has none.
 */
#include "program/show/window.h"

const struct view_window *const ts_view_window = NULL;
