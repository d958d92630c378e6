/* SPDX-License-Identifier: Apache-2.0
 *
 * This reads the parts of a chain on one line: words, quoted texts, lists between commas or brackets, and sweeps.
 */
#ifndef PIPELINE_CHAIN_ONELINE_VALUE_H
#define PIPELINE_CHAIN_ONELINE_VALUE_H

#include "pipeline/chain/oneline.h"

struct reader {
    struct tree *tree;
    size_t at;
    bool to_end;       /* spaces and | are part of a value */
    int depth;         /* of the brackets around the item that is read */
    bool knows_last;   /* last_stage is known */
    size_t last_stage; /* where the last segment begins that is no output; 0: none was behind the place of the search */
};

bool ts_reader_is_space(char c);
bool ts_reader_is_name(char c);
/* Returns the character at the reader's place, or zero at the end of the text. */
char ts_reader_peek(const struct reader *reader);
bool ts_reader_at_end(const struct reader *reader);
void ts_reader_skip_spaces(struct reader *reader);
/* Returns a place in the text. It is one line, so that no search for its start is needed, which would be quadratic. */
struct ts_span ts_reader_span(size_t offset, size_t length);
/* Reports an error (oneline-syntax) and stops reading the text. */
void ts_reader_refuse(struct reader *reader, size_t offset, size_t length, const char *message);
/* Read a word or a quoted text, which ends at a comma too where `commas`; and a value, which may be a list. NULL where
 * it is refused (reported). */
struct node *ts_reader_item(struct reader *reader, bool commas);
struct node *ts_reader_value(struct reader *reader);

#endif
