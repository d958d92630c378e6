/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the tables of stages and sources for people and editors: help, docs pages, JSON Schema.
 */
#ifndef PIPELINE_CHAIN_DESCRIBE_H
#define PIPELINE_CHAIN_DESCRIBE_H

#include "stages/engine/stage.h"

void ts_describe_stage(const struct stage *stage, FILE *stream); /* one page, plain text */
void ts_describe_docs(const struct stage *stage,
                      FILE *stream); /* Print the same as Markdown: docs/stages/<name>.md. */
/* Print what the stage takes, "volumes (z, y, x); values of type u8, ...; any quantity". */
void ts_describe_accepted(const struct stage *stage, FILE *stream);
void ts_describe_schema(FILE *stream); /* Prints the JSON Schema (draft 2020-12) of a chain file. */

#endif
