/* SPDX-License-Identifier: Apache-2.0
 *
 * The program holds page.css and page.js as texts, so that a report needs no other file.
 * cmake/embed.cmake makes the file that defines them.
 */
#ifndef PROGRAM_REPORT_FILES_H
#define PROGRAM_REPORT_FILES_H

extern const char ts_report_css[], ts_report_js[];

#endif
