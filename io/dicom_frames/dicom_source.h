/* SPDX-License-Identifier: Apache-2.0
 *
 * The structs that the parts of the dicom source share: dicom.c opens it, dicom_frame.c decodes one
 * slice. If slices are compressed, dicom_ring.c lets workers do that and has their queue and shared
 * memory; else dicom_native.c reads them in the program. dicom_slice.c is for both.
 */
#ifndef IO_DICOM_FRAMES_DICOM_SOURCE_H
#define IO_DICOM_FRAMES_DICOM_SOURCE_H

#include "core/arena.h"
#include "core/params.h"
#include "io/dicom_frames/dicom_cells.h"
#include "io/dicom_header/dicom_codestream.h"
#include "io/dicom_header/dicom_file.h"
#include "io/file/inflate_file.h"
#include "io/sandbox/workers.h"
#include "io/source/read_ahead.h"

enum { DIGEST_BYTES = 32, DICOM_JOB_SECONDS = 60, DICOM_PENDING_MAX = 64 };

/* Rectangles of each slice that are blackened, for text that is burned into the pixels. The user
 * names them: no program finds all such text. */
struct dicom_mask {
    const struct ts_numbers
        *boxes; /* rows of first row, first column, end row, end column; NULL: there is none */
    double value;
};

/* A slice has its image, with the file as it was when its header was read. */
struct dicom_frame {
    const struct dicom_image *image;
    struct dicom_cells cells;
    double slope, intercept; /* as applied */
    bool dirty;              /* found while reading: bits outside of BitsStored were dropped */
    bool wrapped;            /* and the values are as those of the other sign are */
};

/* This is what values are of, which tells which of them are odd (dicom_frame.c). */
enum dicom_nature { DICOM_OF_ANY, DICOM_OF_CT, DICOM_OF_PET, DICOM_OF_MR, DICOM_OF_PHASE };

/* A worker gets this job to decode one slice. The file comes beside it, as a descriptor. */
struct dicom_job {
    int64_t place; /* where the result goes in the worker's memory, in slices */
    struct dicom_stream
        stream;             /* where the frame lies; without fragments if it is not compressed */
    int64_t deflate_offset; /* as in struct dicom_file, and so the next two */
    dev_t device;
    ino_t inode;
    struct dicom_frame_form form;
    size_t n, frame_n;   /* pixels of the slice and of its frame: a slice may be a tile */
    int columns;         /* of the slice */
    int64_t tile_offset; /* pixels of the frame before the first of the slice */
    int64_t
        words; /* where 8-bit pixels are in big-endian words: the offset of the first; else -1 */
    double slope, intercept;
    struct dicom_cells cells;
    bool reversed; /* the rows lie from the last to the first */
    struct dicom_lut lut;
    enum ts_dtype dtype;              /* dtype of the volume */
    double padding_low, padding_high; /* ts_dicom_padding_range */
    bool digest;                      /* the digests are asked for; else they stay 0 */
    bool loss_unsaid;                 /* neither the header nor the first frame tells of a loss */
    bool labels, bits;                /* as in struct dicom_source */
    enum dicom_nature nature;
    bool rounds; /* values may have no 32-bit float, and those that have none are counted */
    char sop_instance[DICOM_UID_MAX];
};

/* A thread or a worker keeps these from one job to the next. */
struct dicom_scratch {
    void *cells; /* one frame, as it comes from the file */
    struct inflate_file
        *inflated; /* the deflated data set that was read last; NULL until there was one */
};

/* A worker answers a job with this. The pixels are in the memory that the worker shares. */
struct dicom_reply {
    struct worker_verdict verdict; /* first */
    int32_t dirty;                 /* bits outside of BitsStored were dropped */
    int32_t wrapped;               /* as in struct dicom_frame */
    int64_t padding_count;
    struct ts_rounding rounding;
    unsigned char pixel_sha256[DIGEST_BYTES], instance_hmac[DIGEST_BYTES];
};

/* TAKEN: it was read, and is held for the next slab, which shares slices with this one. */
enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_READY, SLOT_TAKEN };

/* A place of the ring holds one slice in its final dtype. */
struct dicom_slot {
    enum slot_state state;
    int64_t z;
    struct dicom_reply reply;
};

struct slice_range {
    int64_t z, n;
};

struct dicom_source {
    struct source base; /* first */
    struct arena *arena;
    struct dicom_frame *frames;
    size_t cell_bytes; /* the most that the cells of a frame need, but for the ends of words */
    bool labels;       /* pixels are labels: a frame that was compressed with loss is refused */
    bool bits;         /* RLE and deflate hold packed bits, which become cells of a byte */
    bool noted_dirty, noted_wrapped;
    struct dicom_mask mask; /* blackened in each slice that is read */

    struct read_ahead *native; /* reads slices that are not compressed; NULL until started */
    int n_threads;
    struct dicom_scratch *scratch; /* of each thread */

    struct sandbox *sandbox;  /* the server of its workers, as in ts_sandbox_start() */
    struct worker_pool *pool; /* decodes compressed slices; NULL until started */
    int n_workers;
    size_t slot_bytes;
    struct dicom_slot *slots;
    int64_t n_slots;  /* slot i is in the memory of worker i % n_workers */
    int32_t *slot_of; /* a slice's slot, or -1 */
    struct slice_range pending[DICOM_PENDING_MAX]; /* asked for, oldest first */
    int n_pending;
};

/* Fills the job of slice z, with the place of its result still 0. */
void ts_dicom_job(const struct dicom_source *source, int64_t z, struct dicom_job *job);
/* Opens the slice's file. Returns -1 with the reason in the reply if it cannot, or if it is not the
 * file whose header was checked. */
int ts_dicom_frame_open(const struct dicom_file *file, struct dicom_reply *reply);
/* Returns true if an open file is the one whose header was checked; else the reply has the reason.
 */
bool ts_dicom_frame_check(const struct dicom_file *file, int fd, struct dicom_reply *reply);
/* Decodes the frame of one slice into out (n elements of job->dtype), and into `valid` (NULL: not
 * wanted) the bits of pixels that are no padding, in a worker or, if it is not compressed,
 * anywhere. */
void ts_dicom_frame_decode(const struct dicom_job *job, int fd, struct dicom_scratch *scratch,
                           void *out, uint64_t *valid, struct dicom_reply *reply);
/* Makes the scratch of a thread or worker. Returns false if memory is out. */
bool ts_dicom_scratch_init(struct dicom_scratch *scratch, size_t cell_bytes);
void ts_dicom_scratch_clear(struct dicom_scratch *scratch);
/* Makes the crypto library load what it needs from files, before the worker is locked. Returns
 * false if it cannot. */
bool ts_dicom_frame_prepare(void);
/* Returns the bytes of the cells of one frame of the files. */
size_t ts_dicom_cell_bytes(const struct dicom_source *source);

/* Keeps the facts about slice z, or reports why it cannot be used. Threads may do so for different
 * slices. */
enum ts_status ts_dicom_accept(struct dicom_source *source, int64_t z,
                               const struct dicom_reply *reply, struct ts_diag *diag);
/* Notes once that bits were dropped, and once that the sign is wrong, where that is so in one of
 * slices [z, z + n), which have been read. */
void ts_dicom_note_pixels(struct dicom_source *source, int64_t z, int64_t n, struct ts_diag *diag);
/* TS_RUN_FAILED if there are no such slices. */
enum ts_status ts_dicom_check_range(const struct dicom_source *source, int64_t z, int64_t n,
                                    struct ts_diag *diag);

/* Returns true if no slice is compressed. */
bool ts_dicom_is_native(const struct dicom_source *source);
/* The same operations for slices that are not compressed as below for others. */
enum ts_status ts_dicom_native_start(struct source *base, int threads, int64_t ahead,
                                     struct ts_diag *diag);
void ts_dicom_native_prefetch(struct source *base, int64_t z, int64_t n);
void ts_dicom_native_prefetch_to(struct source *base, int64_t z, int64_t n, void *out);
enum ts_status ts_dicom_native_read(struct source *base, int64_t z, int64_t n, void *out,
                                    struct ts_diag *diag);
void ts_dicom_native_end(struct dicom_source *source);
size_t ts_dicom_native_bytes(const struct dicom_source *source, int threads, int64_t ahead);

/* Three operations of struct source_ops, and the function that close() calls to end them. */
enum ts_status ts_dicom_ring_start(struct source *base, int threads, int64_t ahead,
                                   struct ts_diag *diag);
void ts_dicom_ring_prefetch(struct source *base, int64_t z, int64_t n);
enum ts_status ts_dicom_ring_read(struct source *base, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag);
void ts_dicom_ring_end(struct dicom_source *source);
/* Returns the bytes that the source holds while reading, with this many workers and slots. */
size_t ts_dicom_ring_bytes(const struct dicom_source *source, int threads, int64_t ahead);

#endif
