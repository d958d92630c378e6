/* SPDX-License-Identifier: Apache-2.0
 *
 * A scratch file keeps the slices of a sink whose output depends on all of them: on the range of
 * the values, on their percentiles, or on a digest. It has no name and lies on the output's disk.
 */
#ifndef IO_SINK_SINK_SCRATCH_H
#define IO_SINK_SINK_SCRATCH_H

#include "io/file/digest.h"
#include "io/sink/sink.h"

struct sink_scratch {
    int fd;
    double low,
        high; /* range of the values that are finite and valid; low > high where there is none */
    double hidden_low, hidden_high; /* that of invalid pixels, after ts_scratch_end */
    double first,
        step; /* all finite and valid values are `first` plus a multiple of `step`, a power of two;
                 0: of none that 16 bits could count, INFINITY: they are all one */
    bool has_nan;  /* some values of valid pixels are not finite */
    float *sample; /* some values of every slice, evenly taken, but for those that are not finite or
                      not valid */
    size_t n_sample, most_sample;
    struct digest *digest;
    char digest_text[DIGEST_TEXT_BYTES]; /* of all values, after ts_scratch_end */
};

/* Creates the file. ts_scratch_clear ends it in every case. */
enum ts_status ts_scratch_create(struct sink_scratch *scratch, const struct sink *sink,
                                 struct ts_diag *diag);
/* Appends a slab. */
enum ts_status ts_scratch_put(struct sink_scratch *scratch, const struct sink *sink,
                              const struct ts_image *slab, struct ts_diag *diag);
/* Ends the digest. Slices are read after it. Where the sink has a mask, it looks at the values of
 * all slices again. */
enum ts_status ts_scratch_end(struct sink_scratch *scratch, const struct sink *sink,
                              struct ts_diag *diag);
/* Writes slice z, whose values are in `slice`. Returns 0, or an errno. */
typedef int scratch_write(const struct sink *sink, int64_t z, const unsigned char *slice);
/* Reads every slice and calls `write` for it, by the threads of the sink. Reports the failure of
 * one of them. */
enum ts_status ts_scratch_write_all(const struct sink_scratch *scratch, const struct sink *sink,
                                    scratch_write *write, struct ts_diag *diag);
/* Returns the window that the request asks for, or the range from the 1st to the 99th percentile of
 * the sample (nearest rank). Where that is empty, it is the range of the values, and where they are
 * all one, that value and a width of 1. */
struct sink_window ts_scratch_window(struct sink_scratch *scratch, const struct sink *sink);
void ts_scratch_clear(struct sink_scratch *scratch);

#endif
