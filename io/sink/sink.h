/* SPDX-License-Identifier: Apache-2.0
 *
 * A sink is an opened output: it takes the slices of an image in rising order. HDF5 takes several
 * images, which hdf5_sink.c adds. A sink format is a table, as a source format is. Sinks are
 * finished one by one, and then published together, so that all their files get their names or none
 * does.
 */
#ifndef IO_SINK_SINK_H
#define IO_SINK_SINK_H

#include <string.h>
#include <strings.h>

#include "io/file/file_commit.h"
#include "io/hdf5/hdf5_write.h"
#include "io/source/source.h"

/* SINK_FORMATS: number of formats besides HDF5 that sink.c lists. */
enum { SINK_FORMATS = 6, SINK_SUFFIXES = 3, SINK_STAGED = 5 };

/* A window for gray values: `low` becomes black, and `high` white. */
struct sink_window {
    bool given;
    double low, high;
};

enum sink_codec { SINK_CODEC_NONE, SINK_CODEC_RLE, SINK_CODEC_J2K }; /* of DICOM's pixels */

struct sink_request {
    const char *path;
    const struct ts_image
        *image; /* the whole image, or one volume of a series, without its data; HDF5: NULL */
    const struct ts_axis *volumes; /* the axis of a series of volumes; NULL: there is one volume */
    const struct ts_image *input;  /* the image to which the attributes belong; NULL: not known */
    const char *name;              /* name of the image: "data", or the name that `save` gave it */
    /* Those facts about the input that may be written; none identifies a patient. */
    const struct source_attribute *attributes;
    size_t n_attributes;
    struct sink_window window;
    enum sink_codec codec;
    const struct hdf5_options *hdf5; /* of an HDF5 file alone */
    bool stored;                     /* values are not compressed, if the suffix does not say it */
    int threads;
    bool force; /* replace what has this name */
};

struct sink {
    const struct sink_format *format;
    struct sink_request request; /* its pointers must outlive the sink */
    struct ts_image image;
    struct staged staged[SINK_STAGED]; /* the output, and files beside it if the format has them */
    int n_staged;
    /* after ts_sink_mask: bits as in struct ts_image, of all slices; NULL: all pixels are valid */
    const uint64_t *valid;
};

struct sink_format {
    const char *name; /* the key under `output:` whose value is the path */
    const char *summary;
    /* Files end in one of these; the first is the usual one. A format that writes folders also has
       `part`. */
    const char *suffixes[SINK_SUFFIXES];
    /* endings of files that may be beside the output, in place of its suffix */
    const char *beside[SINK_STAGED];
    bool has_codec, has_window; /* the format uses sink_request.codec; it uses its window */
    const char *part;  /* suffix of the files in a folder; NULL: the format writes only files */
    size_t sink_bytes; /* size of its struct, which begins with struct sink */
    /* Returns why the format cannot hold such an image: a phrase such as "a sinogram is no volume";
       NULL if it can. Every format has this function. */
    const char *(*refusal)(const struct sink_request *request);
    /* Returns how readers will misunderstand such an image, as a phrase; NULL if they will not. The
       pointer is NULL if they never do. */
    const char *(*warning)(const struct sink_request *request);
    size_t (*memory_bytes)(const struct sink_request *request); /* returns the bytes that the sink
                                                                   holds in memory; NULL: none */
    /* Begins the output, which is staged already. */
    enum ts_status (*open)(struct sink *sink, struct ts_diag *diag);
    /* Takes a slab. Its z_first is counted through all volumes. */
    enum ts_status (*put)(struct sink *sink, const struct ts_image *slab, struct ts_diag *diag);
    /* Takes a slab of the image of this number, in a format that holds several; used in place of
       put(). */
    enum ts_status (*put_image)(struct sink *sink, int id, const struct ts_image *slab);
    /* Writes the rest. ts_sink_finish then syncs the files of the output. NULL: there is no
       rest. */
    enum ts_status (*finish)(struct sink *sink, struct ts_diag *diag);
    void (*free)(struct sink *sink); /* frees what the format allocated; NULL: nothing */
};

extern const struct sink_format *const ts_sink_formats[SINK_FORMATS + 1]; /* NULL ends it */
const struct sink_format *ts_sink_find(const char *name);
/* Returns the format of a file of this name, by its suffix in any case; NULL if no format has
   it. */
const struct sink_format *ts_sink_of_path(const char *path);
/* Returns true if the format writes a file of this name; else it writes a folder, if it can. */
bool ts_sink_is_file(const struct sink_format *format, const char *path);
/* Returns the length of the path without the format's suffix, which it may lack. */
size_t ts_sink_stem(const struct sink_format *format, const char *path);
/* Writes the suffixes of one format ("hdf5" or one of the list), or of all if `name` is NULL: ".h5,
   .hdf5, .nxs". Those of a format that writes folders are included. */
void ts_sink_list_suffixes(const char *name, char *out, size_t size);
/* Returns true if the name is one of an HDF5 file. */
bool ts_sink_is_hdf5(const char *path);
/* Returns NULL if the format (NULL: HDF5) can write an output of this name, else what is wrong with
   the name: a phrase such as "the path ends in the suffix of another format, or in none". *hint
   then says what to do. */
const char *ts_sink_misnamed(const struct sink_format *format, const char *path, char *hint,
                             size_t size);

/* Checks before a run if the output can be written: its place, and the image if it is known already
   (else NULL). Returns TS_RUN_FAILED or TS_BAD_CHAIN if not. */
enum ts_status ts_sink_check(const struct sink_format *format, const struct sink_request *request,
                             struct ts_diag *diag);
/* Returns true if the format cannot write this image as a file, but as a folder. */
bool ts_sink_folder_holds(const struct sink_format *format, const struct sink_request *request);
/* Warns if readers will take the image for something else (`output-read-back`). */
void ts_sink_warn(const struct sink_format *format, const struct sink_request *request,
                  struct ts_diag *diag);
/* Opens an output under a temporary name. Leaves nothing if it fails. */
enum ts_status ts_sink_open(const struct sink_format *format, const struct sink_request *request,
                            struct sink **sink, struct ts_diag *diag);
/* Takes a slab of the image. Each slice comes once, in rising order. */
static inline enum ts_status ts_sink_put(struct sink *sink, const struct ts_image *slab,
                                         struct ts_diag *diag)
{
    return sink->format->put(sink, slab, diag);
}

/* Takes a slab of the image of this number; formats that hold one image ignore the number. */
static inline enum ts_status ts_sink_put_image(struct sink *sink, int id,
                                               const struct ts_image *slab, struct ts_diag *diag)
{
    return sink->format->put_image ? sink->format->put_image(sink, id, slab)
                                   : ts_sink_put(sink, slab, diag);
}

/* Returns the folder in which the output gets its name. */
const char *ts_sink_folder(const struct sink *sink);
/* Tells the sink, after all slices were put, which pixels are valid. Without this call all are. The
   bits must outlive the sink. */
void ts_sink_mask(struct sink *sink, const uint64_t *valid);
/* Completes the output and syncs it to the disk, still without its name. */
enum ts_status ts_sink_finish(struct sink *sink, struct ts_diag *diag);
/* Gives all outputs their names. If that fails, none has its name, and what they had replaced is
   restored. */
enum ts_status ts_sinks_publish(struct sink *const *sinks, int n, struct ts_diag *diag);
/* Takes the names back from published outputs. */
void ts_sinks_retract(struct sink *const *sinks, int n);
/* Frees the sink, and removes what was not published. NULL does nothing. */
void ts_sink_close(struct sink *sink);

/* ---- for the formats: sink_format.c ---------------------------------------------------------- */

/* Returns true if a path ends in a suffix, in any case, and has characters before it. */
static inline bool ts_sink_has_suffix(const char *path, const char *suffix)
{
    const size_t length = strlen(path), end = strlen(suffix);
    return length > end && strcasecmp(path + length - end, suffix) == 0;
}
/* Reports that writing failed with this errno. Returns TS_RUN_FAILED. */
enum ts_status ts_sink_failed(const struct sink *sink, int error, struct ts_diag *diag);
/* Returns true if pixel i of slice z, counted through all volumes, is valid. */
static inline bool ts_sink_is_valid(const struct sink *sink, int64_t z, size_t i)
{
    const size_t words = (ts_slice_count(&sink->image) + 63) / 64;
    return !sink->valid || sink->valid[(size_t)z * words + i / 64] >> i % 64 & 1;
}
/* Returns the number of slices of all volumes. */
int64_t ts_sink_slices(const struct sink *sink);
/* Finds the attribute of the input with this name; NULL if there is none. */
const struct source_attribute *ts_sink_fact(const struct sink_request *request, const char *name);
/* Finds the number of an attribute for slice z, counted through all volumes. Returns false if the
   slices have different numbers and are not those of the input, or if the number is NaN. */
bool ts_sink_number(const struct sink_request *request, const struct source_attribute *fact,
                    int64_t z, double *value);
/* Copies a text without those of its values, separated by backslashes, that are placeholders:
   "unrecognized", "mixed". Returns false, with an empty text, if it does not fit. */
bool ts_sink_known_text(const char *text, char *out, size_t size);
/* Writes a text of the input as it applies to the image: its known values, with "COL" for "COLUMN".
   Returns false, with an empty text, if it does not fit or nothing is known. */
bool ts_sink_text(const struct source_attribute *fact, char *out, size_t size);
/* Returns true if an attribute of the input still applies to this image: slice thickness and
   distance if the slices have the same normal and step; the axis of phase encoding if rows and
   columns are not exchanged; the unit of pixels if the image has the same. An Inversion Time of 0
   means that there is none, and never applies. */
bool ts_sink_holds(const struct sink_request *request, const struct source_attribute *fact);
/* Returns the text of an attribute that applies; NULL if there is none. */
const char *ts_sink_attribute(const struct sink_request *request, const char *name);
/* Fills in the transform from voxel indices (x, y, z, 1) to coordinates in mm, three rows of four:
   LPS of the patient, or the positions along the axes if the image has no geometry. */
void ts_sink_transform(const struct ts_image *image, double rows[3][4]);
/* Returns true if the slices are those of the input, in its order, so that facts about each slice
   still apply. */
bool ts_sink_same_slices(const struct sink_request *request);
/* Returns a phrase of refusal for sinks that hold only volumes, if the image is a sinogram; else
   NULL. */
const char *ts_sink_no_volume(const struct sink_request *request);

extern const struct sink_format nifti_sink, nrrd_sink, mha_sink, tiff_sink, png_sink, dicom_sink;
extern const struct sink_format hdf5_sink; /* not in the list, because it holds several images */
/* Returns the writer of an HDF5 sink, for images, tables, masks and chunks, until the sink is
   finished. */
struct hdf5_writer *ts_hdf5_sink_writer(const struct sink *sink);

#endif
