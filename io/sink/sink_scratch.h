/* SPDX-License-Identifier: Apache-2.0
 *
 * A scratch file keeps the slices of a sink whose output depends on all of them: on the range of
 * the values, on their percentiles, or on a digest. It has no name and is on the output's disk.
 */
#ifndef IO_SINK_SINK_SCRATCH_H
#define IO_SINK_SINK_SCRATCH_H

#include "io/file/digest.h"
#include "io/sink/sink.h"

struct sink_scratch {
    int fd;
    double low, high; /* range of the finite valid values; low > high if there are none */
    double hidden_low, hidden_high; /* range of the invalid ones, after ts_scratch_end */
    double first,
        /* all finite valid values are `first` plus a multiple of `step`, a power of two; 0: 16 bits
           cannot count the multiples; INFINITY: all values are equal */
        step;
    bool has_nan; /* some valid pixels are not finite */
    /* some values of every slice, evenly spaced, without those that are not finite or not valid */
    float *sample;
    size_t n_sample, most_sample;
    struct digest *digest;
    char digest_text[DIGEST_TEXT_BYTES]; /* digest of all values, after ts_scratch_end */
};

/* Creates the file. ts_scratch_clear must follow, even after a failure. */
enum ts_status ts_scratch_create(struct sink_scratch *scratch, const struct sink *sink,
                                 struct ts_diag *diag);
/* Appends a slab. */
enum ts_status ts_scratch_put(struct sink_scratch *scratch, const struct sink *sink,
                              const struct ts_image *slab, struct ts_diag *diag);
/* Ends the digest; slices can be read after that. If the sink has a mask, examines the values of
   all slices again. */
enum ts_status ts_scratch_end(struct sink_scratch *scratch, const struct sink *sink,
                              struct ts_diag *diag);
/* Writes slice z, whose values are in `slice`. Returns 0 or an errno. */
typedef int scratch_write(const struct sink *sink, int64_t z, const unsigned char *slice);
/* Reads every slice and calls `write` for it in the threads of the sink. Reports the failure of one
   of them. */
enum ts_status ts_scratch_write_all(const struct sink_scratch *scratch, const struct sink *sink,
                                    scratch_write *write, struct ts_diag *diag);
/* Returns the window that the request asks for, else the one that the image is known to have
   (core/gray_window.h), else the range from the 1st to the 99th percentile
   of the sample (nearest rank). If these are equal, it is the range of all values; if all values
   are equal, it is centered at that value with a width of 1. */
struct sink_window ts_scratch_window(struct sink_scratch *scratch, const struct sink *sink);
void ts_scratch_clear(struct sink_scratch *scratch);

#endif
