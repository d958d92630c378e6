/* SPDX-License-Identifier: Apache-2.0
 *
 * What the formats whose header is a text share, NRRD and MetaImage: lines, numbers, the file of
 * the values, and the facts that this program writes of its own.
 */
#ifndef IO_VOLUME_HEADER_TEXT_H
#define IO_VOLUME_HEADER_TEXT_H

#include "io/volume/volume_source.h"

struct header_text {
    char *text;       /* the first bytes of the file; its lines become separate texts */
    size_t n, length; /* bytes of the text; bytes of the lines that were taken */
    int64_t skip;     /* bytes before the values; -1: the values are at the file's end */
    const char *file; /* where the values are; NULL: behind the header */
    const char *quantity, *unit, *volumes; /* own facts; NULL: not stated */
    bool labels;
};

/* These names of facts are the same in both formats. */
#define HEADER_QUANTITY "tomostage_quantity"
#define HEADER_UNIT "tomostage_unit"
#define HEADER_LABELS "tomostage_labels"
#define HEADER_VOLUMES "tomostage_volumes" /* name, unit, and first and step, or all positions */

/* Reads the first bytes of the layout's file. */
enum ts_status ts_header_read(struct volume_layout *layout, struct header_text *header,
                              struct ts_diag *diag);
/* Returns the next line without its end; NULL if it does not end in a line feed, and the file goes
   on, or if there is none. */
char *ts_header_line(struct header_text *header);
/* Cuts blanks off the end of a text. */
void ts_header_trim(char *text);
/* Reads the next number, which ends at a blank, a comma, a bracket or the end, and moves *at behind
   it. */
bool ts_header_number(const char **at, double *value);
/* Reads n numbers, separated by blanks. If `unknown`, the word nan is allowed, and gives 0. */
bool ts_header_numbers(const char *text, int n, bool unknown, double *values);
/* Reads the sizes of so many axes into the layout. */
bool ts_header_sizes(struct volume_layout *layout, const char *text, int rank);
/* Returns true if the header may name this file of values: one that is beside the header or
   below it. */
bool ts_header_may_name(const char *file);
/* Opens the file of the values, if that is another one, and finds where they begin. */
enum ts_status ts_header_find_values(struct volume_layout *layout, const struct header_text *header,
                                     const struct param_set *set, struct ts_diag *diag);
/* Reads how many bytes are before the values into the header. Returns false if the number is none,
   or larger than is read. */
bool ts_header_take_skip(struct header_text *header, const char *value);
/* Refuses a field, in words that say what it does, with its value. */
enum ts_status ts_header_refuse(const struct volume_layout *layout, const char *code,
                                struct ts_diag *diag, const char *what, const char *value);
/* Takes a fact of this program. Returns false if it is none of them. */
bool ts_header_take_own(struct header_text *header, const char *name, const char *value);
/* Puts the facts of this program into the layout: what the values and the volumes are. `given`: the
   user said what the values are. */
enum ts_status ts_header_use_own(struct volume_layout *layout, const struct header_text *header,
                                 bool given, struct ts_diag *diag);

#endif
