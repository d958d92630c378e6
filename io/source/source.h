/* SPDX-License-Identifier: Apache-2.0
 *
 * A source is an opened and checked input: its description is known, its pixels are read slab by
 * slab. A source format is a table, like a stage: name, parameters, open().
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

/* Facts about a slice that provenance records. Nothing here identifies a patient. */
struct source_slice {
    double slope, intercept;
    bool states_padding;   /* the input states a value that its pixels may have and that is no
                              measurement */
    double position_mm[3]; /* (0, 0, z) for an image without geometry, in the unit of its z axis */
    int64_t labeled, unlabeled; /* of a mask: voxels with a label, and without; after reading */
    int64_t padding_count; /* pixels whose stored value is the padding value or in its range; after
                              reading */
    struct ts_rounding
        rounding; /* of 64-bit floats or scaled integers, when they were read as 32-bit floats; of
                   * 32-bit integers, if a stage makes them into floats; after reading */
    char pixel_sha256[65];  /* of the decoded stored values, little-endian, sign-extended to
                             * BitsAllocated; "" before reading, and where the source has
                             * no_digests */
    char instance_hmac[65]; /* HMAC-SHA256 of the SOP Instance UID under the key SHA-256(stored
                             * values as above || "tomostage instance key"); after reading, "" if
                             * none */
};

/* A fact about the acquisition or the reading that is in no one's identity: a text of the whole
 * input, or numbers. */
struct source_attribute {
    const char *name, *value; /* value: the text; "" beside numbers */
    const double *numbers;    /* NULL: a text. NaN where a slice has none */
    int64_t n;                /* of numbers: 1 for the whole input, or one for each slice */
    const char *unit;         /* of the numbers; "" for none */
    const char
        *key; /* in JSON, where a number is multiplied by key_scale; NULL: the name in camel case */
    double key_scale;
    int64_t columns; /* of vectors: each of the n is so many numbers; 0: numbers are single */
};

/* This says how the files hold the pixels, on which the time to read them depends. */
enum source_coding {
    SOURCE_STORED,   /* as they are */
    SOURCE_DEFLATED, /* in compressed chunks, which threads inflate */
    SOURCE_ENCODED   /* in a codec's frames, which workers decode */
};

struct source {
    const struct source_ops *ops;
    struct ts_image image; /* the whole volume; data NULL. dtype holds every value of every slice
                              exactly, or is f32 */
    uint64_t *valid;  /* validity bits of all slices; NULL unless the image is masked. The first
                       * read() of a slice sets its bits, which never change */
    int64_t n_slices; /* of one volume, == image.axes[0].n */
    /* A series of volumes of one shape, such as the time points of a scan. `image` describes any of
     * them. Slice z of volume v has the number v * n_whole + z, for read(), prefetch() and
     * `slices`. */
    int64_t n_volumes;          /* 1: a single volume */
    struct ts_axis volume_axis; /* of n_volumes > 1: kind TS_AXIS_TIME, TS_AXIS_ECHO or TS_AXIS_B,
                                   with positions */
    const double
        *gradients; /* of a diffusion series (TS_AXIS_B): three numbers for each volume, the unit
                     * vector of its diffusion gradient in patient coordinates (LPS), or zeros where
                     * it has none, as at b = 0; NULL: no header states any */
    struct source_slice *slices;
    int64_t first_slice; /* number in the input of the first slice, where a range is read
                            (io/source/source_slices.h) */
    int64_t n_whole;     /* slices of the input; ts_source_open sets it */
    enum source_coding coding;
    /* Host memory that holds all slices, one after the other, as read() gives them: read() to their
     * own places there copies nothing. NULL: there is none. */
    const void *resident;
    bool in_place;   /* the source has prefetch_to() */
    bool no_digests; /* nobody asks for the digests of slices. Set before start() alone, as the next
                        one */
    bool no_rounding; /* nobody asks which 32-bit integers have no float */
    int64_t n_files;  /* whose headers were read to open the input */
    /* UID of the frame of reference that positions are in, as the input states it, to compare masks
     * with; it reaches no output. NULL: not stated. */
    const char *frame_of_reference;
    const struct source_attribute *attributes;
    size_t n_attributes;
};

/* This says how often a source reads its slices that may hold little. */
struct source_rereads {
    int64_t times; /* how often a chunk is decoded in place of once */
    /* > 0: each slab reads anew, in whole chunks of so many slices, what it shares with the one
     * before. */
    int64_t chunk;
};

struct source_ops {
    /* Sets how many bytes of slices the source may hold beyond those that it was asked for, so that
     * it reads each part of its files once. Called before memory_bytes, any number of times; no
     * effect once it has started. NULL: it holds none, or always the same. */
    void (*may_hold)(struct source *, size_t bytes);
    /* Returns the bytes that the source will hold while it reads, once it is started with these
     * numbers. For the plan. NULL: none. */
    size_t (*memory_bytes)(const struct source *, int threads, int64_t ahead);
    /* Returns how often slices will be read at most, where `ahead` slices may be read before they
     * are asked for. NULL: once in each pass. */
    struct source_rereads (*rereads)(const struct source *, int64_t ahead);
    /* Starts the threads or workers that read ahead, before other threads exist; a second call does
     * nothing. `ahead` is the most slices that may be read but not yet asked for. May be NULL. */
    enum ts_status (*start)(struct source *, int threads, int64_t ahead, struct ts_diag *);
    /* Announces which slices will be read next, in this order; returns at once. Failures show at
     * the read. May be NULL. */
    void (*prefetch)(struct source *, int64_t z, int64_t n);
    /* Begins to read slices [z, z + n) to `out` in the background, in place of what it was given
     * before. The read() that asks for them at this place waits until they are there; what fails is
     * read again then. n == 0 waits until nothing is being read. For sources with in_place, of
     * which `prefetch` is not called then. */
    void (*prefetch_to)(struct source *, int64_t z, int64_t n, void *out);
    /* Writes slices [z, z + n) to out (n * slice bytes). A slice may be read several times. One
     * thread calls this and `prefetch`. */
    enum ts_status (*read)(struct source *, int64_t z, int64_t n, void *out, struct ts_diag *);
    /* Returns TS_BAD_INPUT (file-changed) where a file was changed since it was opened, as far as
     * the system tells. NULL: each read tells, or the source reads no file. */
    enum ts_status (*check_unchanged)(const struct source *, struct ts_diag *);
    /* Returns true where the source reads one of these files. NULL: it reads no file. */
    bool (*holds)(const struct source *, const struct file_set *files);
    void (*close)(struct source *); /* frees the source too */
};

struct source_format {
    const char *name; /* the YAML key whose value is the path: `input: {dicom: ./study}` */
    const char *summary;
    const struct param *params; /* the one called like the format holds the path or paths */
    size_t n_params, params_bytes;
    /* Opens the input and checks its headers; reads no pixel. `set` holds the values with their
     * places in the chain; relative paths in it are already joined to the chain's folder. Returns
     * TS_BAD_INPUT with named records where it refuses the input. */
    enum ts_status (*open)(const struct param_set *set, struct source **source,
                           struct ts_diag *diag);
    /* Opens an input that is put on the grid of another one, which is open: the one that the text
     * parameter `on` of the set names. Else as open(), which such a format does not have. NULL: the
     * format stands for itself. */
    enum ts_status (*open_on)(const struct param_set *set, const struct source *image,
                              struct source **source, struct ts_diag *diag);
    /* Called after open(), on a copy of the values. Fills in values that the input decided and
     * marks parameters that play no part, so that the set, written out, describes the same source.
     * Lists may be the source's. NULL: there is nothing to do. */
    void (*resolve)(struct param_set *set, const struct source *source);
};

/* Returns how many slices the source has in all its volumes. */
static inline int64_t ts_source_total(const struct source *source)
{
    return source->n_slices * (source->n_volumes > 1 ? source->n_volumes : 1);
}

/* Returns the bits of the pixels of slice z, or NULL where the image is not masked. */
static inline uint64_t *ts_source_valid(const struct source *source, int64_t z)
{
    return source->valid ? source->valid +
                               (size_t)z * (ts_valid_bytes(&source->image) / sizeof *source->valid)
                         : NULL;
}

/* ---- for the formats ------------------------------------------------------------------------- */

/* Return the bytes of `valid` of all slices, and make it, with all pixels invalid, where the image
 * is masked. The format's close() frees it. */
size_t ts_source_valid_bytes(const struct source *source);
enum ts_status ts_source_make_valid(struct source *source, struct ts_diag *diag);

/* Writes what an input is beside its pixels, slices and angles: type, quantity and unit of the
 * values, axes, geometry and beam, in numbers that read back as they are. Equal texts are equal
 * images to every stage. */
enum { SOURCE_GRID_BYTES = 2048 };
void ts_source_grid_text(const struct ts_image *image, char text[SOURCE_GRID_BYTES]);
/* Returns the unit of values that are stored as this quantity: "counts", "HU", "1/mm" or "1". */
const char *ts_source_unit(enum ts_quantity quantity);
/* Returns true where whole values of up to this magnitude may have no 32-bit float. */
bool ts_source_rounds(double largest);
/* Notes that slices [z, z + n) lost something together when they were read, and how much at most.
 * The values are not counted, since the ranges of two readings may overlap, and a result does not
 * depend on how z is cut. */
void ts_source_note_rounding(struct source *source, int64_t z, int64_t n,
                             const struct ts_rounding *rounding);
/* Returns an even axis of n elements that are spacing_mm apart, or one pixel for 0. Positions of a
 * detector count from its middle. */
struct ts_axis ts_source_axis(enum ts_axis_kind kind, int64_t n, double spacing_mm);
/* Makes source->slices with the places of the image's slices, those of n_volumes volumes, and sets
 * n_slices. */
enum ts_status ts_source_make_slices(struct source *source, struct ts_diag *diag);
/* Reads slices [z, z + n). Where that fails because a file of the input was changed since it was
 * opened, which may look like damage, the change is reported (file-changed) in place of what was
 * met. */
enum ts_status ts_source_read(struct source *source, int64_t z, int64_t n, void *out,
                              struct ts_diag *diag);
/* Notes the digests of slices [z, z + n), which were read to `data`, where they are asked for. The
 * readers compute them, a slice each. Returns TS_BAD_INPUT (file-changed) where a slice has another
 * digest than when it was read before. */
enum ts_status ts_source_digest(struct source *source, struct pool *readers, int64_t z, int64_t n,
                                const void *data, struct ts_diag *diag);

#endif
