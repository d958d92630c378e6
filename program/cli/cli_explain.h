/* SPDX-License-Identifier: Apache-2.0
 *
 * docs/errors.md as a text, which the build puts into the program (cmake/embed.cmake).
 */
#ifndef PROGRAM_CLI_CLI_EXPLAIN_H
#define PROGRAM_CLI_CLI_EXPLAIN_H

extern const char ts_cli_error_page[];

#endif
