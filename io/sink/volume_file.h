/* SPDX-License-Identifier: Apache-2.0
 *
 * What sinks share that write a volume, or several, as one file: a header, and the values one after
 * the other with x fastest, raw or in one compressed stream: NIfTI, NRRD and MetaImage. If pixels
 * are invalid, a second image is written beside it, NAME_mask: u8 on the same grid, 1 if a pixel is
 * valid.
 */
#ifndef IO_SINK_VOLUME_FILE_H
#define IO_SINK_VOLUME_FILE_H

#include <stdio.h>

#include "io/sink/sink.h"

struct gzip_writer;
/* How the file holds the values; in VOLUME_GZIP_WHOLE the header is in the stream, too. */
enum volume_coding { VOLUME_RAW, VOLUME_GZIP_WHOLE, VOLUME_GZIP, VOLUME_ZLIB };

struct volume_file {
    struct sink sink; /* first */
    /* Writes the header, of the image or of the mask, by ts_volume_file_begin. */
    enum ts_status (*begin)(struct volume_file *file, struct ts_diag *diag);
    /* Completes the header when all values are written; NULL: it is complete. */
    enum ts_status (*end)(struct volume_file *file, struct ts_diag *diag);
    struct gzip_writer *gzip;
    uint64_t offset;
    unsigned char *reversed;   /* one slice with reversed rows; NULL: rows keep their order */
    char *beside[SINK_STAGED]; /* paths of the files beside the output */
};

/* The functions of their sink_format that the formats share; the first is that of formats which
   compress unless the request wants values as they are. */
size_t ts_volume_file_memory(const struct sink_request *request);
enum ts_status ts_volume_file_put(struct sink *sink, const struct ts_image *slab,
                                  struct ts_diag *diag);
enum ts_status ts_volume_file_finish(struct sink *sink, struct ts_diag *diag);
void ts_volume_file_free(struct sink *sink);

/* Writes the header, and begins the values. */
enum ts_status ts_volume_file_begin(struct volume_file *file, const void *header, size_t n,
                                    enum volume_coding coding, struct ts_diag *diag);
/* The same for a header of text, which `write` writes; values that the request wants as they are
   become VOLUME_RAW. */
typedef void volume_header_write(struct volume_file *file, FILE *stream);
enum ts_status ts_volume_file_begin_text(struct volume_file *file, volume_header_write *write,
                                         enum volume_coding coding, struct ts_diag *diag);
/* Stages a file of the output's name with another ending, which will hold `length` bytes of
   text. */
enum ts_status ts_volume_file_stage(struct volume_file *file, const char *ending, const char *text,
                                    size_t length, struct ts_diag *diag);
/* Fills in the transform of ts_sink_transform. If there is one slice, its step is the thickness
   that the input states, or 1 mm. */
void ts_volume_file_transform(const struct sink *sink, double rows[3][4]);
/* Returns the first axis whose spacing in mm is not known, or -1. If the image has a place in a
   patient, all are known. */
int ts_volume_file_unknown_axis(const struct ts_image *image);
/* Warns, at this code, of lengths that are not in mm, for a header that has one unit for all axes:
   programs take lengths without a unit for mm. */
void ts_volume_file_warn_of_unit(const struct volume_file *file, const char *code,
                                 struct ts_diag *diag);
/* Writes numbers as the shortest texts that read back, with this text before each but the first. */
void ts_volume_file_write_numbers(const double *values, int64_t n, const char *between,
                                  FILE *stream);
/* Writes those facts of the image that header_text.h names, one a line, with this text between name
   and value. */
void ts_volume_file_write_facts(const struct sink *sink, const char *between, FILE *stream);

#endif
