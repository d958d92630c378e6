/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a sinogram as NXtomo: as the frames of a scan, for programs that reconstruct scans.
 */
#ifndef IO_SINK_NXTOMO_H
#define IO_SINK_NXTOMO_H

#include "io/hdf5/hdf5_write.h"
#include "io/source/source.h"

#define NXTOMO_DETECTOR "/entry/instrument/detector"
#define NXTOMO_SAMPLE "/entry/sample"

/* Writes the projections of a source as the new file `path`. Their slices become the rows of
 * frames. Returns TS_BAD_CHAIN (code export-no-scan) if the image is no sinogram of a parallel beam
 * with angles, or is one of a series; TS_RUN_FAILED if the file cannot be written; TS_BAD_INPUT if
 * the source cannot be read. After a failure no file is left. */
enum ts_status ts_nxtomo_write(struct source *source, const char *path,
                               const struct hdf5_options *options, struct ts_diag *diag);

/* ---- for all that write an NXtomo ------------------------------------------------------------ */

/* Writes n numbers, or a scalar if n is 0. Does nothing if the writer has failed, so the status
   need not be checked after each call. */
void ts_nxtomo_numbers(struct hdf5_writer *writer, const char *path, enum ts_dtype dtype, int64_t n,
                       const void *numbers, const char *unit);
/* Links the frames, their angles and their keys into /entry/data, which exists. Returns the
 * writer's status. */
enum ts_status ts_nxtomo_links(struct hdf5_writer *writer);

#endif
