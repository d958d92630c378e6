/* SPDX-License-Identifier: Apache-2.0
 *
 * This writes the output file. It is written without a name, or under a temporary one where the
 * file system wants a name, closed, checked against its digests, synced, and only then given its
 * name. Threads of the writer compress and write the slabs; the file's bytes depend neither on
 * their number nor on how z was cut. The writer keeps its first failure: later calls do nothing and
 * return TS_RUN_FAILED.
 */
#ifndef IO_HDF5_HDF5_WRITE_H
#define IO_HDF5_HDF5_WRITE_H

#include "core/diag.h"
#include "core/trace.h"
#include "io/file/chunks.h"
#include "io/file/file_commit.h"

struct hdf5_writer;

struct hdf5_options {
    int level;           /* deflate level 0 to 9; 0: stored, still chunked and checksummed */
    int threads;         /* that compress */
    bool force;          /* an existing file of this name may be replaced */
    struct trace *trace; /* records what the threads do; NULL: nothing is recorded */
    char *digest; /* the commit writes the file's digest here, DIGEST_TEXT_BYTES; NULL: nobody asks
                     for it */
};

/* Creates a new file under its temporary name, and the threads that compress. Returns TS_RUN_FAILED
 * where it cannot be made; nothing is left then. Later calls then fail with TS_RUN_FAILED as well,
 * and the writer must still be committed or abandoned. */
enum ts_status ts_hdf5_create(const char *path, const struct hdf5_options *options,
                              struct hdf5_writer **writer, struct ts_diag *diag);
/* Does the same in a file that the caller has created and ends, after ts_hdf5_finish() or
 * ts_hdf5_abandon(). */
enum ts_status ts_hdf5_begin(struct file_commit *file, const struct hdf5_options *options,
                             struct hdf5_writer **writer, struct ts_diag *diag);
/* Creates a group with NX_class, whose parents must exist ("/entry" before "/entry/instrument"). */
enum ts_status ts_hdf5_group(struct hdf5_writer *writer, const char *path, const char *nx_class);
/* Write small values. Call them never between the slabs of an image, since the file's bytes would
 * then depend on how z was cut. `path` is a dataset, or "object@name" for an attribute of an
 * existing object. */
enum ts_status ts_hdf5_text(struct hdf5_writer *writer, const char *path, const char *text);
enum ts_status ts_hdf5_texts(struct hdf5_writer *writer, const char *path, const char *const *texts,
                             size_t n);
/* Writes a whole small array with its dtype and shape from `image` (rank 0: scalar), and the
 * attribute "units" where its unit is not "". */
enum ts_status ts_hdf5_values(struct hdf5_writer *writer, const char *path,
                              const struct ts_image *image);
enum ts_status ts_hdf5_link(struct hdf5_writer *writer, const char *path,
                            const char *target); /* hard link */

/* Creates an NXdata group at `path` with the dataset "data" described by `image`, its axes (z, y, x
 * or z, view, detector: values and units), geometry and quantity attributes. Slabs follow through
 * ts_hdf5_write. *id names it. An image may be of TS_F16: its slabs are halves, or 32-bit floats,
 * which are then rounded (core/half.h). Where the first axis is a TS_AXIS_ITEM, the values of a
 * sweep, its name is the attribute "sweep" too, by which a reader finds it. */
enum ts_status ts_hdf5_image(struct hdf5_writer *writer, const char *path,
                             const struct ts_image *image, int *id);
/* Makes the existing group plot by itself as NXdata: its dataset `signal`, of the shape of `image`,
 * gets a dataset for each axis, as ts_hdf5_image writes them. */
enum ts_status ts_hdf5_axes(struct hdf5_writer *writer, const char *group, const char *signal,
                            const struct ts_image *image);
/* Creates the dataset `path` with the dtype and shape of `image`, for frames of a detector, of
 * which no two share a chunk, and which are stored as they are, as detectors do: a reader then
 * reads the rows that it wants. Their digests guard them. Slabs follow through ts_hdf5_write. */
enum ts_status ts_hdf5_frames(struct hdf5_writer *writer, const char *path,
                              const struct ts_image *image, int *id);
/* Creates the dataset "pixel_mask" in the group of an image that ts_hdf5_image created, for u8
 * values of the same shape: 0 where a pixel is valid, 1 where nothing was measured, as bit 0 of
 * NXdetector's pixel_mask says. Slabs follow through ts_hdf5_write. */
enum ts_status ts_hdf5_pixel_mask(struct hdf5_writer *writer, const char *path,
                                  const struct ts_image *mask, int *id);
/* Copies the slab, whose place is z_first, into the queue; z rises, and each slice comes once. For
 * an image of rank 4 a slab has rank 3, and slice z of volume v comes at v * nz + z. Waits while
 * the queue is full. An error of writing shows in a later call, in ts_hdf5_commit at the latest,
 * and is reported once. */
enum ts_status ts_hdf5_write(struct hdf5_writer *writer, int id, const struct ts_image *slab);
/* Describe how an image is cut into chunks and how these are encoded, for callers that encode them
 * elsewhere. */
const struct chunk_grid *ts_hdf5_grid(const struct hdf5_writer *writer, int id);
const struct chunk_filters *ts_hdf5_filters(const struct hdf5_writer *writer, int id);
/* Writes the next chunk of the image's grid, which is encoded as ts_chunk_encode does it: the bytes
 * may differ, but they decode to the values, and what lies outside of the array is up to the
 * caller. `encoded` was malloc'ed and belongs to the writer from now on, in every case. An image
 * may come partly in such chunks and partly through ts_hdf5_write, in order, where the slabs before
 * a chunk fill the chunks before it. A chunk that does not decode is an error, reported as
 * ts_hdf5_write does it. */
enum ts_status ts_hdf5_write_chunk_take(struct hdf5_writer *writer, int id, void *encoded,
                                        size_t bytes);
/* Notes the largest magnitude that rounding to halves elsewhere made infinite; 0 where there was
 * none. As after rounding by ts_hdf5_write, the commit then fails, when the largest one of the
 * whole image is known. */
void ts_hdf5_note_largest(struct hdf5_writer *writer, int id, float largest);
/* Returns true where handing over another chunk would wait for the writer's threads. */
bool ts_hdf5_is_full(struct hdf5_writer *writer);
/* Returns the most bytes that the writer holds, for the plan: queue, chunk and compression buffers
 * for these images. Chunks are cut from the slab while ts_hdf5_write waits, so its size does not
 * matter. SIZE_MAX where an image's size does not fit. */
size_t ts_hdf5_memory_bytes(const struct ts_image *images, size_t n, int threads);

/* Ends the file: drains the queue, writes digests and the root attributes, closes, checks, appends
 * the trailer, syncs and gives the file its name. Frees the writer in every case; on failure
 * nothing is left under either name but what was there before. */
enum ts_status ts_hdf5_commit(struct hdf5_writer *writer);
/* Does the same without the sync and the name, which the caller of ts_hdf5_begin() gives the
 * file. */
enum ts_status ts_hdf5_finish(struct hdf5_writer *writer);
/* Returns the path of the temporary file, valid until the writer is freed. A signal handler may
 * unlink it, which does no harm where there is no such file. */
const char *ts_hdf5_temporary(const struct hdf5_writer *writer);
/* Gives up: removes the temporary file, frees the writer. */
void ts_hdf5_abandon(struct hdf5_writer *writer);

#endif
