/* SPDX-License-Identifier: Apache-2.0
 *
 * A source is an opened and checked input: its description is known, its pixels are read slab by
 * slab. A source format is a table, as a stage is: name, parameters, open().
 * pipeline/chain/formats.c lists them.
 */
#ifndef IO_SOURCE_SOURCE_H
#define IO_SOURCE_SOURCE_H

#include <sys/types.h>

#include "core/diag.h"
#include "core/image.h"
#include "core/params.h"
#include "core/rounding.h"
#include "io/file/file_set.h"
#include "io/pool/pool.h"

/* Facts about a slice that results record. Nothing here identifies a patient. */
struct source_slice {
    double slope, intercept;
    /* the input states a value that means "no measurement", and its pixels may have it */
    bool states_padding;
    double position_mm[3]; /* (0, 0, z) for an image without geometry, in the unit of its z axis */
    int64_t labeled, unlabeled; /* of a mask, after reading: voxels with a label, and without */
    /* number of pixels whose stored value is the padding value or in its range; after reading */
    int64_t padding_count;
    struct ts_rounding
        rounding; /* after reading: loss of 64-bit floats or scaled integers that were read as
                     32-bit floats, or of 32-bit integers if a stage converts them to floats */
    /* of the decoded stored values, little-endian, sign-extended to BitsAllocated; "" before
       reading, or if the source has no_digests */
    char pixel_sha256[65];
    /* HMAC-SHA256 of the SOP Instance UID, with the key SHA-256(stored values as above ||
       "tomostage instance key"); after reading, "" if there is none */
    char instance_hmac[65];
};

/* A fact about the acquisition or the reading that identifies nobody: a text for the whole input,
   or numbers. */
struct source_attribute {
    const char *name, *value; /* value: the text, or "" if there are numbers */
    const double *numbers;    /* NULL: there is a text. NaN if a slice has no number */
    int64_t n;                /* number of numbers: 1 for the whole input, or one for each slice */
    const char *unit;         /* unit of the numbers; "" if they have none */
    const char *key; /* key in JSON, where a number is multiplied by key_scale; NULL: the name in
                        camel case */
    double key_scale;
    int64_t columns; /* each of the n is a vector of so many numbers; 0: a single number */
};

/* What a file says of how the frames that a source gives were taken: flats and darks of another
   file are compared with it. */
enum source_fact_kind {
    SOURCE_EXPOSURE,
    SOURCE_CURRENT,
    SOURCE_MONITOR,
    SOURCE_DIODE,
    SOURCE_X_FLIPPED,
    SOURCE_Y_FLIPPED,
    SOURCE_FACTS
};
struct source_fact {
    const char *name; /* of the field; NULL: the file does not say it */
    double low, high; /* its range over the frames that are given */
    char unit[16];    /* "s" and "A" for units of time and current, others as they are written */
};

/* How the files hold the pixels, which decides the time to read them. */
enum source_coding {
    SOURCE_STORED,   /* as they are */
    SOURCE_DEFLATED, /* in compressed chunks, which threads inflate */
    SOURCE_ENCODED   /* in frames of a codec, which workers decode */
};

struct source {
    const struct source_ops *ops;
    /* the whole volume, without data. Its dtype holds every value of every slice exactly, or is
       f32 */
    struct ts_image image;
    /* validity bits of all slices; NULL unless the image is masked. The first read() of a slice
       sets its bits, which never change after that */
    uint64_t *valid;
    int64_t n_slices; /* slices of one volume, == image.axes[0].n */
    /* A series of volumes of one shape, such as the time points of a scan. `image` describes each
       of them. In read(), prefetch() and `slices`, slice z of volume v, z from 0 to n_slices - 1 in
       the range that is read, has the number v * n_whole + z. */
    int64_t n_volumes; /* 1: a single volume */
    /* if n_volumes > 1: of kind TS_AXIS_TIME, TS_AXIS_ECHO or TS_AXIS_B, with positions */
    struct ts_axis volume_axis;
    const double *gradients; /* of a diffusion series (TS_AXIS_B): three numbers for each volume,
                                the unit vector of its gradient in patient coordinates (LPS), or
                                zeros if it has none, as at b = 0; NULL: no header states one */
    struct source_slice *slices;
    /* number of the first slice in the input, if a range is read (io/source/source_slices.h) */
    int64_t first_slice;
    int64_t n_whole; /* slices of a volume of the input; ts_source_open sets it */
    enum source_coding coding;
    /* Memory that holds all slices, one after the other, as read() gives them: read() to their own
     * places there copies nothing. NULL: there is none. */
    const void *resident;
    /* The CUDA device whose memory that is, and the stream on which it was written: read() then
     * expects the slices in `out`, to which its caller has copied them. -1: host memory. */
    int resident_device;
    void *resident_stream;
    bool in_place; /* the source has prefetch_to() */
    /* nobody needs the digests of slices. Like no_rounding, it may only be set before start() */
    bool no_digests;
    bool no_rounding; /* nobody needs to know which 32-bit integers have no float */
    int64_t n_files;  /* number of files whose headers were read to open the input */
    /* UID of the frame of reference of the positions, as the input states it, to compare with
       masks; no output has it. NULL: not stated. */
    const char *frame_of_reference;
    const struct source_attribute *attributes;
    size_t n_attributes;
    struct source_fact facts[SOURCE_FACTS];
};

/* How often a source reads slices that it cannot hold. */
struct source_rereads {
    int64_t times; /* how often a chunk is decoded instead of once */
    /* > 0: each slab reads again what it shares with the previous one, in whole chunks of so many
       slices. */
    int64_t chunk;
};

struct source_ops {
    /* Sets how many bytes of slices the source may hold beyond those that it was asked for, so that
       it reads each part of its files once. It may be called repeatedly before memory_bytes, and
       has no effect after start(). NULL: it holds none, or always the same. */
    void (*may_hold)(struct source *, size_t bytes);
    /* Returns for the plan how many bytes the source will hold while it reads, if it is started
       with these numbers. NULL: none. */
    size_t (*memory_bytes)(const struct source *, int threads, int64_t ahead);
    /* Returns how often slices will be read at most, if `ahead` slices may be read before they are
       asked for. NULL: once in each pass. */
    struct source_rereads (*rereads)(const struct source *, int64_t ahead);
    /* Starts the threads or workers that read ahead, before other threads exist. A second call does
       nothing. `ahead` is the most slices that may be read but not yet asked for. May be NULL. */
    enum ts_status (*start)(struct source *, int threads, int64_t ahead, struct ts_diag *);
    /* Announces which slices will be read next, in this order, and returns at once. A failure is
       reported by read(). May be NULL. */
    void (*prefetch)(struct source *, int64_t z, int64_t n);
    /* Begins to read slices [z, z + n) to `out` in the background; replaces an earlier
       announcement. The read() that asks for them with the same `out` waits until they are there;
       if reading failed, it reads again. n == 0 waits until nothing is being read. For sources with
       in_place, for which `prefetch` is then not called. */
    void (*prefetch_to)(struct source *, int64_t z, int64_t n, void *out);
    /* Writes slices [z, z + n) to `out`, of n times the bytes of a slice. A slice may be read
       repeatedly. One thread calls this and `prefetch`. */
    enum ts_status (*read)(struct source *, int64_t z, int64_t n, void *out, struct ts_diag *);
    /* Returns TS_BAD_INPUT (file-changed) if a file was changed since it was opened, as far as the
       system can tell. NULL: each read checks that, or the source reads no file. */
    enum ts_status (*check_unchanged)(const struct source *, struct ts_diag *);
    /* Returns true if the source reads one of these files. NULL: it reads no file. */
    bool (*holds)(const struct source *, const struct file_set *files);
    void (*close)(struct source *); /* frees the source too */
};

struct source_format {
    const char *name; /* the YAML key whose value is the path: `input: {dicom: ./study}` */
    const char *summary;
    /* the parameter with the name of the format holds the path or paths */
    const struct param *params;
    size_t n_params, params_bytes;
    /* Opens the input and checks its headers; reads no pixels. `set` holds the values with their
       places in the chain; relative paths in it are already joined to the path of the chain's
       folder. Returns TS_BAD_INPUT with records if it refuses the input. */
    enum ts_status (*open)(const struct param_set *set, struct source **source,
                           struct ts_diag *diag);
    /* Opens an input on the grid of another input, which is open and which the text parameter `on`
       of the set names. Otherwise like open(), which such a format does not have. NULL: the format
       needs no other input. */
    enum ts_status (*open_on)(const struct param_set *set, const struct source *image,
                              struct source **source, struct ts_diag *diag);
    /* Called after open(), on a copy of the values. Fills in values that the input decided, and
       marks unused parameters, so that the set, written out, describes the same source. Lists may
       belong to the source. NULL: nothing to do. */
    void (*resolve)(struct param_set *set, const struct source *source);
};

/* Returns how many slices the source has in all its volumes. */
static inline int64_t ts_source_total(const struct source *source)
{
    return source->n_slices * (source->n_volumes > 1 ? source->n_volumes : 1);
}

/* Returns the bits of the pixels of slice z, or NULL if the image is not masked. */
static inline uint64_t *ts_source_valid(const struct source *source, int64_t z)
{
    return source->valid ? source->valid +
                               (size_t)z * (ts_valid_bytes(&source->image) / sizeof *source->valid)
                         : NULL;
}

/* ---- for the formats ------------------------------------------------------------------------- */

/* Return the bytes of `valid` of all slices; and allocate it, with all pixels invalid, if the image
   is masked. The format's close() frees it. */
size_t ts_source_valid_bytes(const struct source *source);
enum ts_status ts_source_make_valid(struct source *source, struct ts_diag *diag);

/* Writes what describes an input apart from its pixels, slices and angles: type, quantity and unit
   of the values, axes, geometry and beam, with numbers that are exact when read back. Images with
   equal texts are equal for every stage. */
enum { SOURCE_GRID_BYTES = 2048 };
void ts_source_grid_text(const struct ts_image *image, char text[SOURCE_GRID_BYTES]);
/* Returns the unit of values that are stored as this quantity: "counts", "HU", "1/mm" or "1". */
const char *ts_source_unit(enum ts_quantity quantity);
/* Returns true if some whole values of up to this magnitude may have no 32-bit float. */
bool ts_source_rounds(double largest);
/* Notes that reading slices [z, z + n) lost something, and how much at most. Values are not
   counted, since the ranges of two reads may overlap, and a result must not depend on how z is
   cut. */
void ts_source_note_rounding(struct source *source, int64_t z, int64_t n,
                             const struct ts_rounding *rounding);
/* Returns an even axis of n elements with a spacing of spacing_mm, or of one pixel if that is 0.
   Positions of a detector are relative to its middle. */
struct ts_axis ts_source_axis(enum ts_axis_kind kind, int64_t n, double spacing_mm);
/* Allocates source->slices for the slices of n_volumes volumes, with the positions of the image's
   slices, and sets n_slices. */
enum ts_status ts_source_make_slices(struct source *source, struct ts_diag *diag);
/* Reads slices [z, z + n). If that fails because a file of the input was changed since it was
   opened, which may look like damage, reports the change (file-changed) instead. */
enum ts_status ts_source_read(struct source *source, int64_t z, int64_t n, void *out,
                              struct ts_diag *diag);
/* Returns true if the source looks at the values that it reads, for digests or for what floats do
 * not hold. */
bool ts_source_looks(const struct source *source);
/* Notes the digests of slices [z, z + n), which were read to `data`, if digests are wanted. The
   readers compute them, a slice each. Returns TS_BAD_INPUT (file-changed) if a slice has another
   digest than when it was read before. */
enum ts_status ts_source_digest(struct source *source, struct pool *readers, int64_t z, int64_t n,
                                const void *data, struct ts_diag *diag);

#endif
