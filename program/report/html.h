/* SPDX-License-Identifier: Apache-2.0
 *
 * These functions write parts of a page. Every text that comes from a file goes through
 * ts_svg_text, which leaves it no way to become a tag, an attribute or a control character. A
 * failed write sets the stream's error indicator.
 */
#ifndef PROGRAM_REPORT_HTML_H
#define PROGRAM_REPORT_HTML_H

#include <stdio.h>

#include "core/diag.h"
#include "core/svg.h"
#include "program/show/chart.h"

/* Writes a text that is formatted as by printf through ts_svg_text; at most 4 KiB of it. */
void ts_html_print(FILE *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Begins a part of the page with its heading and an id that links lead to; end it with
 * "</section>\n". */
void ts_html_section(FILE *stream, const char *id, const char *heading);
/* Writes a row of a table of two columns: `<tr><th>name<td>value unit`. */
void ts_html_row(FILE *stream, const char *name, const char *value, const char *unit);
/* Returns a unit as it stands behind a number: "" for the unit 1, which nobody writes. */
const char *ts_html_unit(const char *unit);
/* Writes an SVG picture of this program (core/svg.h) so that it is as wide as the page lets it
 * be. */
void ts_html_svg(FILE *stream, const char *svg);
/* Draws a chart in the same way. TS_RUN_FAILED where memory is out. */
enum ts_status ts_html_chart(FILE *stream, const struct chart *chart, struct ts_diag *diag);

#endif
