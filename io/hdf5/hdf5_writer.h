/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the HDF5 writer, from the bottom up: hdf5_writer.c (failures), hdf5_chunk.c (how one
 * chunk gets into the file), hdf5_dataset.c (types, attributes, small values, datasets that come in
 * pieces), hdf5_image.c (NXdata), hdf5_scales.c (dimension scales), hdf5_write.c (the file). A
 * writer that has failed does nothing more, so the state need only be checked at the end of a
 * sequence of calls.
 */
#ifndef IO_HDF5_HDF5_WRITER_H
#define IO_HDF5_HDF5_WRITER_H

#include <pthread.h>
#include <stdatomic.h>

#include "io/file/chunk_queue.h"
#include "io/file/file_commit.h"
#include "io/hdf5/hdf5_storage.h"
#include "io/hdf5/hdf5_write.h"

/* A chunked dataset while it is filled. The order of chunks in the file, and with it every byte,
 * must not depend on the size of slabs. So the first image is written straight to the file, and
 * chunks of the others wait in scratch files without a name and follow at commit. Stored chunks
 * have known sizes: all of them get their places when the dataset is created, and are written
 * straight there. */
struct hdf5_dataset {
    char *path;
    size_t slice_bytes;
    /* number of slices: indices of the first axis, or of the first two if the rank is 4 (volumes of
       slices) */
    int64_t n_slices;
    struct chunk_grid grid;
    struct chunk_filters filters;
    /* one element: NaN for floats, so that a lost chunk cannot be taken for values; else zeros */
    unsigned char fill[8];
    bool half;     /* it holds 16-bit floats, to which slabs of 32-bit floats are rounded */
    float largest; /* largest magnitude that exceeds the halves; 0: none */
    hid_t dataset;
    unsigned char *chunk; /* being filled; NULL between chunks */
    size_t chunk_filled;
    int64_t chunk_next; /* index of the chunk being filled */
    struct digest_tree *digest;
    uint64_t offset;              /* where the chunk being filled begins in the dataset's bytes */
    struct storage_chunk *chunks; /* where each chunk is; while `scratching`, in the scratch file */
    bool scratching;
    int scratch; /* descriptor, -1: none */
    uint64_t scratch_end;
    unsigned char (*scratch_sums)[DIGEST_SUM_BYTES]; /* digests of the encoded chunks */
    char text[DIGEST_TEXT_BYTES];                    /* the digest, once the dataset is finished */
};

struct labeled_axis {
    int64_t n;
    char *name;
    bool own;  /* the name is that of this axis, not of its kind */
    int scale; /* number of the dataset that is its scale; -1: not known yet */
};

/* A dataset whose dimensions get scales. */
struct hdf5_labeled {
    char *path;
    int rank;
    struct labeled_axis axes[TS_MAX_RANK];
    int n_uses; /* how many axes of other datasets it is the scale of */
};

struct hdf5_writer {
    struct hdf5_options options;
    struct ts_diag *diag;
    struct file_commit own, *file; /* `file` is `own`, or that of the caller */
    hid_t h5;
    struct chunk_queue *queue;
    /* digest of the file's bytes, to which chunks are added when read back */
    struct digest_tree *body;
    atomic_size_t written_bytes;
    pthread_mutex_t write_lock; /* held by the thread that writes a chunk */
    struct hdf5_dataset **datasets;
    int n_datasets, n_images;
    struct hdf5_labeled *labeled; /* those that ts_hdf5_scales gives scales */
    size_t n_labeled, labeled_capacity;
    char *default_entry, *default_data; /* the first NXentry, and the first NXdata of an image */

    pthread_mutex_t failure_lock;
    bool failed, reported;
    char failure_code[32], failure_text[600], failure_hint[160];
};

/* These keep the first failure of any thread, which ts_hdf5_state reports. They always return
   false. The last argument of most is the number of bytes that could not be written. */
bool ts_hdf5_fail(struct hdf5_writer *writer, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Reports a system call that failed: "WHAT DETAIL of 'FILE': ERRNO TEXT". */
bool ts_hdf5_fail_system(struct hdf5_writer *writer, const char *what, int error_number,
                         const char *detail, int64_t bytes);
/* Reports a libhdf5 call that failed just now, between enter and leave. */
bool ts_hdf5_fail_library(struct hdf5_writer *writer, const char *what, int64_t bytes);
/* Reports that a libhdf5 call failed for a reason that is known already. */
bool ts_hdf5_fail_because(struct hdf5_writer *writer, const char *what,
                          const struct hdf5_failure *failure, int64_t bytes);
/* Reports a value that a dataset of halves cannot hold. */
bool ts_hdf5_fail_range(struct hdf5_writer *writer, const struct hdf5_dataset *dataset);
/* Reports that so many bytes could not be allocated. */
bool ts_hdf5_fail_memory(struct hdf5_writer *writer, size_t bytes);
/* Returns TS_OK, or TS_RUN_FAILED after it has reported the failure once. Only the thread that owns
 * the writer may call it. */
enum ts_status ts_hdf5_state(struct hdf5_writer *writer);
/* Returns true if any thread has failed. Every thread may call it. */
bool ts_hdf5_failed(struct hdf5_writer *writer);
/* Waits for all chunks and returns the state. Must be called before every call that changes
   anything else in the file. */
enum ts_status ts_hdf5_settle(struct hdf5_writer *writer);

/* Type and shape of a dataset or attribute, with its values if they are known already. */
struct hdf5_value {
    hid_t type; /* borrowed */
    size_t element_bytes;
    int rank; /* 0: scalar */
    int64_t n[TS_MAX_RANK];
    size_t bytes;     /* of all values */
    const void *data; /* NULL: slabs of the first axis follow */
    /* no two indices of the first axis share a chunk, and there are no filters and no checksum */
    bool frames;
};

/* Returns the little-endian file type, which is borrowed and never closed. Halves have
 * ts_hdf5_half_type. */
hid_t ts_hdf5_type(enum ts_dtype dtype);
/* Returns the creation properties of a dataset, group or file: no times, and all links and
   attributes in the object's header. By default the library would move many of them to fractal
   heaps and B-trees, in which one damaged byte can make it crash. */
hid_t ts_hdf5_create_properties(hid_t class_id);

/* Notes the axes of a dataset of rank 1 or more for ts_hdf5_scales. */
enum ts_status ts_hdf5_scales_note(struct hdf5_writer *writer, const char *path,
                                   const struct ts_image *image);
/* Frees what was noted. */
void ts_hdf5_scales_clear(struct hdf5_writer *writer);

/* Creates an empty chunked dataset, for ts_hdf5_dataset_write. If `value` has data, these follow in
   one call, and the chunks go directly to the file. */
enum ts_status ts_hdf5_dataset_create(struct hdf5_writer *writer, const char *path,
                                      const struct hdf5_value *value, int *id);
/* Returns how many bytes of values have come. */
uint64_t ts_hdf5_dataset_bytes(const struct hdf5_dataset *dataset);
/* Writes the next `slices` slices, which are cut into chunks before it returns. They have the
   dataset's type, or are 32-bit floats (`rounds`) for a dataset of halves. */
enum ts_status ts_hdf5_dataset_write(struct hdf5_writer *writer, int id, int64_t slices,
                                     const void *data, bool rounds);
/* Moves chunks from the scratch file to the output, writes the digest and closes the dataset.
 * Called at commit, when the queue is empty. */
enum ts_status ts_hdf5_dataset_finish(struct hdf5_writer *writer, int id);
/* Frees the struct; an open dataset is closed with its file. NULL does nothing. */
void ts_hdf5_dataset_destroy(struct hdf5_dataset *dataset);

/* The queue's steps; their `user` is the writer. */
extern const struct chunk_steps ts_hdf5_chunk_steps;
/* Makes libhdf5 give an encoded chunk of so many bytes its place, which goes to dataset->chunks. */
bool ts_hdf5_chunk_place(struct hdf5_writer *writer, struct hdf5_dataset *dataset, int64_t index,
                         size_t bytes);

#endif
