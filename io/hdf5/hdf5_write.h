/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes the output file. It is written without a name (or under a temporary one if the file system
 * needs a name), closed, checked against its digests, synced, and only then given its name. Threads
 * of the writer compress and write the slabs; the file's bytes depend neither on their number nor
 * on how z was cut. The writer keeps its first failure: later calls do nothing and return
 * TS_RUN_FAILED.
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
    char *digest; /* the commit writes the file's digest here, DIGEST_TEXT_BYTES; NULL: nowhere */
};

/* Creates a new file under its temporary name, and the threads that compress. Returns
   TS_RUN_FAILED, and leaves nothing, if it cannot be made. Later calls then fail as well, and the
   writer must still be committed or abandoned. */
enum ts_status ts_hdf5_create(const char *path, const struct hdf5_options *options,
                              struct hdf5_writer **writer, struct ts_diag *diag);
/* Does the same in a file that the caller has created, and ends after ts_hdf5_finish() or
   ts_hdf5_abandon(). */
enum ts_status ts_hdf5_begin(struct file_commit *file, const struct hdf5_options *options,
                             struct hdf5_writer **writer, struct ts_diag *diag);
/* Creates a group with NX_class, whose parents must exist ("/entry" before "/entry/instrument"). */
enum ts_status ts_hdf5_group(struct hdf5_writer *writer, const char *path, const char *nx_class);
/* Write small values. They must not be called between the slabs of an image, since the file's bytes
   would then depend on how z was cut. `path` is a dataset, or "object@name" for an attribute of an
   existing object. */
enum ts_status ts_hdf5_text(struct hdf5_writer *writer, const char *path, const char *text);
/* `axis` names what a list counts, such as "slice", for ts_hdf5_scales; NULL: nothing of a name. */
enum ts_status ts_hdf5_texts(struct hdf5_writer *writer, const char *path, const char *axis,
                             const char *const *texts, size_t n);
/* Writes a whole small array with its dtype and shape from `image` (rank 0: scalar), and the
   attribute "units" if its unit is not "". */
enum ts_status ts_hdf5_values(struct hdf5_writer *writer, const char *path,
                              const struct ts_image *image);
enum ts_status ts_hdf5_link(struct hdf5_writer *writer, const char *path,
                            const char *target); /* hard link */
/* Gives every dimension of every dataset, frames excepted, a dimension scale, as netCDF and xarray
   expect. It is the dataset of the axis's name and length in the same group; else a list is its own
   scale, unless its axis has a name of its own; else a new dataset counts from 0, of the axis's own
   name or called index_N for N elements. Must be called after all datasets are created and all
   slabs written. */
enum ts_status ts_hdf5_scales(struct hdf5_writer *writer);
/* Returns true for the path of a dataset that such a count is; it says nothing of a result. */
bool ts_hdf5_is_index(const char *path);

/* Creates an NXdata group at `path` with the dataset "data" described by `image`, its axes (z, y, x
 * or z, view, detector: values and units), geometry and quantity attributes. Slabs follow through
 * ts_hdf5_write. *id names it. An image may be of TS_F16: its slabs are halves, or 32-bit floats,
 * which are then rounded (core/half.h). If the first axis is a TS_AXIS_ITEM, the values of a sweep,
 * the attribute "sweep" repeats its name, so that a reader finds it. */
enum ts_status ts_hdf5_image(struct hdf5_writer *writer, const char *path,
                             const struct ts_image *image, int *id);
/* Makes viewers plot the existing group as NXdata: its dataset `signal`, of the shape of `image`,
   gets a dataset for each axis, as in ts_hdf5_image. */
enum ts_status ts_hdf5_axes(struct hdf5_writer *writer, const char *group, const char *signal,
                            const struct ts_image *image);
/* Creates the dataset `path` with the dtype and shape of `image`, for frames of a detector. No two
   frames share a chunk, and chunks are stored without filters, as detectors do: so a reader can
   read only the rows that it needs. Only digests guard them. Slabs follow through ts_hdf5_write. */
enum ts_status ts_hdf5_frames(struct hdf5_writer *writer, const char *path,
                              const struct ts_image *image, int *id);
/* Creates the dataset "pixel_mask" in the group of an image that ts_hdf5_image created, for u8
   values of the same shape: 0 for a valid pixel, 1 if nothing was measured, as bit 0 of
   NXdetector's pixel_mask. Slabs follow through ts_hdf5_write. */
enum ts_status ts_hdf5_pixel_mask(struct hdf5_writer *writer, const char *path,
                                  const struct ts_image *mask, int *id);
/* Copies the slab, whose first slice is z_first, into the queue; z rises, and each slice comes
   once. For an image of rank 4 a slab has rank 3, and slice z of volume v is number v * nz + z.
   Waits while the queue is full. A write error is reported once, in a later call, at the latest in
   ts_hdf5_commit. */
enum ts_status ts_hdf5_write(struct hdf5_writer *writer, int id, const struct ts_image *slab);
/* Describe how an image is cut into chunks and how these are encoded, for callers that encode them
 * elsewhere. */
const struct chunk_grid *ts_hdf5_grid(const struct hdf5_writer *writer, int id);
const struct chunk_filters *ts_hdf5_filters(const struct hdf5_writer *writer, int id);
/* Writes the next chunk of the image's grid, encoded in the form of ts_chunk_encode: the bytes may
   differ, but must decode to the values; what is outside of the array does not matter. `encoded`
   was malloc'ed and always belongs to the writer from now on. An image may come partly in such
   chunks and partly through ts_hdf5_write, in order, if the slabs before a chunk fill the chunks
   before it. A chunk that does not decode is an error, reported as in ts_hdf5_write. */
enum ts_status ts_hdf5_write_chunk_take(struct hdf5_writer *writer, int id, void *encoded,
                                        size_t bytes);
/* Notes the largest magnitude that became infinite when values were rounded to halves elsewhere; 0
   if none did. As after rounding by ts_hdf5_write, the commit then fails, when the largest one of
   the whole image is known. */
void ts_hdf5_note_largest(struct hdf5_writer *writer, int id, float largest);
/* Returns true if another chunk would have to wait for the writer's threads. */
bool ts_hdf5_is_full(struct hdf5_writer *writer);
/* Returns for the plan the most bytes that the writer holds for these images: queue, chunk and
   compression buffers. The size of slabs does not matter, since chunks are cut from the slab while
   ts_hdf5_write waits. SIZE_MAX if an image's size does not fit. */
size_t ts_hdf5_memory_bytes(const struct ts_image *images, size_t n, int threads);

/* Ends the file: drains the queue, writes digests and the root attributes, closes, checks, appends
   the trailer, syncs and gives the file its name. Always frees the writer; on failure it leaves
   only what was there before. */
enum ts_status ts_hdf5_commit(struct hdf5_writer *writer);
/* Does the same without the sync and the name, which are up to the caller of ts_hdf5_begin(). */
enum ts_status ts_hdf5_finish(struct hdf5_writer *writer);
/* Returns the path of the temporary file, valid until the writer is freed. A signal handler may
   unlink it, even if there is no such file. */
const char *ts_hdf5_temporary(const struct hdf5_writer *writer);
/* Gives up: removes the temporary file, frees the writer. */
void ts_hdf5_abandon(struct hdf5_writer *writer);

#endif
