/* SPDX-License-Identifier: Apache-2.0
 *
 * libtomostage: run a declarative chain of stages over a medical image.
 *
 *     struct ts_diag *diag = ts_diag_create();
 *     struct ts_chain *chain = NULL;
 *     struct ts_plan *plan = NULL;
 *     struct ts_options options = TS_OPTIONS_DEFAULT;
 *     enum ts_status status = ts_chain_load("chain.yaml", &chain, diag);
 *     if (status == TS_OK) status = ts_plan_create(chain, &options, &plan, diag);
 *     if (status == TS_OK) status = ts_plan_run(plan, diag);
 *     if (status != TS_OK) ts_diag_print(diag, stderr);
 *
 * Rules that hold for every function:
 *  - a function that can fail returns enum ts_status and adds at least one record to the diag,
 *    except for a stop or pause that was asked for. It looks only at what it adds, so a diag may
 *    have records of earlier calls;
 *  - a pointer is NULL only if the function's comment allows it: else the status is TS_BAD_CHAIN
 *    (argument-null), without a record if the diag is NULL. Functions without a status do nothing
 *    for NULL and return 0 or NULL;
 *  - _create, _load and _parse make an object that the matching _destroy frees, or NULL if they
 *    fail;
 *  - the library prints only to a FILE * that the caller gives and never exits. What a process has
 *    once, such as the processes of the last rule and stages that the caller added to the context
 *    of the process, is listed in docs/library.md;
 *  - an object may be used by one thread at a time, whichever that is;
 *  - files are decoded in processes without rights, which the installed libexec/tomostage/sandbox
 *    starts. The caller's process is never forked, so that it may have threads and CUDA contexts.
 *    The processes are its children until they are done: one that waits for any child (wait())
 *    sees them, too.
 */
#ifndef TOMOSTAGE_H
#define TOMOSTAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#if defined(__GNUC__)
#define TS_PUBLIC __attribute__((visibility("default")))
#else
#define TS_PUBLIC
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status and diagnostics ------------------------------------------------------------------ */

/* The values are the exit codes of the program. */
enum ts_status {
    TS_OK = 0,
    TS_RUN_FAILED = 1, /* the run could not be carried out: memory, disk, device, decoder */
    TS_BAD_CHAIN = 2,  /* the chain, the command line, an argument or an option is wrong */
    TS_BAD_INPUT = 3,  /* the images are wrong, missing, or not one clean volume */
    TS_STOPPED = 4, /* a stop was asked for (ts_plan_stop); the program exits with 128 + signal */
    TS_PAUSED = 75  /* the run stopped at a checkpoint; EX_TEMPFAIL of sysexits.h: try again */
};

enum ts_severity { TS_NOTE, TS_WARNING, TS_ERROR };

/* A place in the chain's text. Line and column count from 1, and column and length are in bytes.
 * Line 0 means no place. */
struct ts_span {
    int32_t line, column, length;
};

struct ts_diag_record {
    enum ts_severity severity;
    enum ts_status status;
    const char *code; /* stable name for programs, e.g. "slice-missing" */
    struct ts_span span;
    const char *source;  /* name of the text that span points into, or NULL */
    const char *stage;   /* the stage or source that the record concerns, or NULL */
    const char *message; /* one sentence: what was found, and what was expected */
    const char *hint;    /* what the user can do about it, or NULL */
};

struct ts_diag;
/* Returns an empty list of records, or NULL if memory is out. */
TS_PUBLIC struct ts_diag *ts_diag_create(void);
TS_PUBLIC void ts_diag_destroy(struct ts_diag *diag);
/* Returns the number of records of every severity. At most 20 errors are kept until the list is
 * cleared; ts_diag_print counts the others. */
TS_PUBLIC size_t ts_diag_count(const struct ts_diag *diag);
/* Returns record i in the order of arrival, or NULL past the last one. It is valid until the diag
 * is cleared or destroyed. */
TS_PUBLIC const struct ts_diag_record *ts_diag_get(const struct ts_diag *diag, size_t i);
/* Removes all records, so that the list can be used again. */
TS_PUBLIC void ts_diag_clear(struct ts_diag *diag);
/* Writes each record as "file:line:column: error: stage.parameter: message [code]", followed by the
 * source line with a caret, and the hint. Control characters are escaped. */
TS_PUBLIC void ts_diag_print(const struct ts_diag *diag, FILE *stream);

/* ---- images ---------------------------------------------------------------------------------- */

/* The element types. Only tables have TS_U64 and TS_F64, images do not. TS_F16 is a type of files
 * only: 32-bit floats are rounded to it when they are written, and become 32-bit floats again when
 * they are read. */
enum ts_dtype { TS_U8, TS_I8, TS_U16, TS_I16, TS_U32, TS_I32, TS_F32, TS_U64, TS_F64, TS_F16 };
/* What an axis counts: slices, rows, columns, projection angles, detector pixels, the bins or items
 * of a table, or the volumes of a series by time (s), echo time (ms) or diffusion weighting b
 * (s/mm2). */
enum ts_axis_kind {
    TS_AXIS_Z,
    TS_AXIS_Y,
    TS_AXIS_X,
    TS_AXIS_VIEW,
    TS_AXIS_DETECTOR,
    TS_AXIS_BIN,
    TS_AXIS_ITEM,
    TS_AXIS_TIME,
    TS_AXIS_ECHO,
    TS_AXIS_B
};
/* The quantity is what the values of an image measure. */
enum ts_quantity {
    TS_COUNTS,        /* detector counts */
    TS_TRANSMISSION,  /* I / I0 */
    TS_LINE_INTEGRAL, /* -log(I / I0), or the integral of the image along a ray */
    TS_ATTENUATION,   /* 1/mm */
    TS_HU,            /* Hounsfield units */
    TS_DOSE,          /* absorbed dose of radiotherapy: Gy, or relative to a reference */
    TS_INTENSITY      /* anything else: MR, PET, filtered or equalized images */
};

/* How the rays of a sinogram run. The angle theta of a view is that of its central ray, which
 * passes through the rotation axis: x cos(theta) + y sin(theta) = 0. Detector positions are in mm
 * from the central ray, and rise towards (cos theta, sin theta) in all beams. */
enum ts_beam_kind {
    TS_BEAM_PARALLEL, /* position s: the ray x cos(theta) + y sin(theta) = s */
    TS_BEAM_FAN_ARC,  /* equiangular: position in mm along an arc around the source; the fan angle
                       * in radians is position / source_detector */
    TS_BEAM_FAN_FLAT  /* equispaced: position in mm along a line at a right angle to the central
                       * ray */
};

/* The beam of a sinogram. The source of a fan is at source_axis_mm * (-sin(theta), cos(theta)), and
 * the central ray meets the detector at source_detector_mm from the source, beyond the axis. Both
 * are 0 for a parallel beam. */
struct ts_beam {
    enum ts_beam_kind kind;
    double source_axis_mm, source_detector_mm;
};

enum { TS_MAX_RANK = 4 };

struct ts_axis {
    enum ts_axis_kind kind;
    int64_t n;
    double spacing;          /* distance of neighbors in `unit`; 0 if it has no meaning */
    const char *unit;        /* of positions and spacing: "mm" (or m, cm, um), "degree", "pixel" */
    const double *positions; /* the place of each index, in `unit`; NULL if steps are even */
    double first;     /* position of index 0 if positions is NULL; i is at first + i * spacing. Of a
                       * detector 0 is the rotation axis: first 0 has the axis on pixel 0 */
    const char *name; /* what a TS_AXIS_ITEM counts, such as "box_radius" or "iteration"; NULL means
                       * "item" */
};

/* The one data type: a volume (z, y, x) or a sinogram (z, view, detector), row-major, the last axis
 * fastest. origin_mm and direction are DICOM patient coordinates (LPS): the center of voxel (0, 0,
 * 0), and the unit vectors of increasing x, y and z, one after the other. step_z_mm is the exact
 * vector from one slice to the next, which is not parallel to direction[6..8] if the gantry was
 * tilted; its component along direction[6..8] is the spacing of axis 0, and all 0 means that it is
 * not tilted. A sinogram keeps those of its volume; its origin is the center of its first slice. */
struct ts_image {
    int rank;
    struct ts_axis axes[TS_MAX_RANK];
    enum ts_dtype dtype;
    enum ts_quantity quantity;
    const char *unit; /* unit of the values: "HU", "1/mm", "Bq/ml", "1", "mm" (line integral of
                         unitless values) */
    bool has_geometry;
    int frame; /* number of the frame of reference of origin_mm within one plan; 0: not stated */
    double origin_mm[3], direction[9], step_z_mm[3];
    struct ts_beam beam; /* the beam of a sinogram; every field is 0 for a volume */
    int64_t z_first;     /* index of this slab's first slice in the whole image */
    void *data;          /* host memory, or NULL for a description */
    bool masked; /* true if pixels may be invalid: their values are not measurements, such as a
                  * CT's padding */
    unsigned char labels; /* 0: the values measure; 1: they are a mask of 0 and 1; 2: they are
                             labels, numbers of regions that no arithmetic may mix */
    uint64_t *valid; /* for a masked image with data: one bit for each pixel, 1 if it is valid. Each
                      * slice begins at a word of its own, and its pixel i is bit i % 64 of word i /
                      * 64; unused bits are 0 */
};

/* ---- chains, plans, runs --------------------------------------------------------------------- */

struct ts_chain;
/* Reads a chain file of at most 1 MiB of YAML; paths in it are relative to the file. Reports all
 * errors of the text at once, as TS_BAD_CHAIN. TS_RUN_FAILED: memory is out. */
TS_PUBLIC enum ts_status ts_chain_load(const char *path, struct ts_chain **chain,
                                       struct ts_diag *diag);
/* Reads a chain from a text of `length` bytes: YAML, or the one-line form "dicom ./study | box
 * radius=2 | hdf5 out.h5". `name` stands for the file in messages; paths are relative to `folder`
 * (NULL: the current one). Errors: those of ts_chain_load. No bytes, also NULL: chain-empty. */
TS_PUBLIC enum ts_status ts_chain_parse(const char *text, size_t length, const char *name,
                                        const char *folder, struct ts_chain **chain,
                                        struct ts_diag *diag);
TS_PUBLIC void ts_chain_destroy(struct ts_chain *chain);
/* Replaces one parameter of a stage or source: "box.radius=3", "input.series=2", or
 * "box#2.radius=3" if several stages have the name. TS_BAD_CHAIN: there is no such parameter, or
 * the value is wrong; the chain is then as before. */
TS_PUBLIC enum ts_status ts_chain_set(struct ts_chain *chain, const char *assignment,
                                      struct ts_diag *diag);
/* Replace the path of the input, which keeps its format (if the chain names none, the file's first
 * bytes tell), and replace all outputs by one, whose suffix names its format. Paths are relative to
 * the current folder. TS_BAD_CHAIN: the path is empty or has no suffix. */
TS_PUBLIC enum ts_status ts_chain_set_input(struct ts_chain *chain, const char *path,
                                            struct ts_diag *diag);
TS_PUBLIC enum ts_status ts_chain_set_output(struct ts_chain *chain, const char *path,
                                             struct ts_diag *diag);

enum ts_event_kind { TS_EVENT_STARTED, TS_EVENT_PROGRESS, TS_EVENT_FINISHED, TS_EVENT_ITERATION };
struct ts_event {
    enum ts_event_kind kind;
    int pass, n_passes;                    /* pass counts from 1 */
    int64_t slices_done, n_slices;         /* slices of this pass */
    double seconds;                        /* seconds since the run began */
    double bytes_per_second, seconds_left; /* the last: NaN as long as it is not known */
    const char *output; /* for TS_EVENT_FINISHED: the path of the HDF5 file, or of the first output;
                         * else NULL */
    const char *search; /* the stage whose box is searched by a run of the stages before it; NULL:
                         * this is the run itself */
    /* For TS_EVENT_ITERATION: `stage` has done this many of at most n_iterations, on the slices
     * that it works on. */
    const char *stage;
    int64_t iteration, n_iterations;
    double residual; /* what the stage's table holds: a relative residual or a distance; NaN if it
                      * was not computed */
};

/* Memory of CUDA devices from a caller's allocator, such as the caching one of PyTorch, CuPy or
 * RMM. Both functions, which are not NULL, are called on the thread that called this library, one
 * call at a time for each plan or operator, with that device as the current one. */
struct ts_allocator {
    size_t size; /* sizeof(struct ts_allocator) */
    /* Returns so many bytes, more than 0, of the device's memory at a multiple of 256, or NULL if
     * there are none. Work that is enqueued on `stream`, a cudaStream_t of the library's, may use
     * them. */
    void *(*allocate)(void *user, size_t bytes, int32_t device, void *stream);
    /* Takes them back. All work with them is done. */
    void (*free)(void *user, void *at, size_t bytes, int32_t device, void *stream);
    void *user; /* handed to both */
};

/* A number below 0 is refused (option-negative). */
struct ts_options {
    /* sizeof(struct ts_options) as the caller was compiled; 0: the size in this library. Later
     * versions append members; callers that do not know them get their defaults. */
    size_t size;
    const char *device;       /* "auto", "cpu", "cuda", "cuda:N", "cuda:N,M", "cuda:all" */
    int threads;              /* 0: one per core that this process may use */
    int64_t memory_bytes;     /* budget of host memory; 0: 60 % of what is free now */
    int64_t gpu_memory_bytes; /* budget of memory on a CUDA device; 0: 80 % of what it has */
    bool force;               /* replace an existing output */
    /* Reports progress; NULL: nobody wants it. Calls come one at a time, but those of iterations
     * from any thread. */
    void (*on_event)(void *user, const struct ts_event *event);
    void *user; /* handed to on_event */
    /* Record what each part of a run does and when: the run ends by writing NAME.svg and NAME.json,
     * and ts_plan_print_profile has a table. NULL: nothing is recorded. */
    const char *profile;
    /* File of the rates of this machine, as `tomostage bench rates` writes it: the plan then
     * predicts its time, and "auto" takes the device that is predicted to be done first. Rates of
     * another machine or version are not used. NULL: nothing is predicted. */
    const char *rates;
    /* Folder of a checkpoint, which keeps what each slab computes until the run has succeeded.
     * NULL: there is none, or, if one of the members below is set, it is OUTPUT.checkpoint beside
     * the output. */
    const char *checkpoint;
    bool resume; /* continue from the checkpoint if there is one; the output has the same bytes */
    double time_limit_s; /* stop at the last slab boundary within so many seconds; 0: no limit */
    /* Takes all device memory of the plan's runs, or of an operator, from there; it is copied. What
     * CUDA and cuFFT allocate for themselves is theirs. NULL: cudaMalloc(). */
    const struct ts_allocator *allocator;
    /* Not 0: images go to arrays of ts_run_set_array() too. Beside an HDF5 file a CUDA device then
     * hands over values for the host to compress. With 0 the device compresses them itself, if all
     * that is written is such a file, and no array can have them. */
    int64_t arrays;
};
#define TS_OPTIONS_DEFAULT                                                                         \
    {                                                                                              \
        sizeof(struct ts_options), "auto", 0, 0, 0, false, NULL, NULL, NULL, NULL, NULL, false, 0, \
            NULL, 0                                                                                \
    }

/* Finds what a plan must know about pixels, such as the box of `crop: {above: -500}`, by running
 * the stages before, and writes it into the chain as if the user had given it. A chain that needs
 * no such search is left as it is. Without this call a plan assumes the largest box, and refuses to
 * run. */
TS_PUBLIC enum ts_status ts_chain_search(struct ts_chain *chain, const struct ts_options *options,
                                         struct ts_diag *diag);

struct ts_plan;
/* Works out every shape, unit, dtype, device and byte of the run. It opens the inputs and checks
 * their headers, but reads no pixel. The chain must outlive the plan; `options` need not. NULL:
 * every option has its default. All errors are reported at once: TS_BAD_CHAIN, also for a budget of
 * the options that is too small and a device that this build or machine does not have;
 * TS_BAD_INPUT; TS_RUN_FAILED if the machine has too little memory or its device does not work. */
TS_PUBLIC enum ts_status ts_plan_create(const struct ts_chain *chain,
                                        const struct ts_options *options, struct ts_plan **plan,
                                        struct ts_diag *diag);
/* Lets the plan start from the images that an earlier result of the same inputs holds: stages that
 * are the same there are not computed again, and the result will have the same digest as without.
 * Call it before ts_plan_run, once. The file is verified; while the plan runs, the pixels of the
 * inputs are compared with its record. TS_BAD_INPUT: the file is damaged or is not a result;
 * TS_BAD_CHAIN (resume-nothing): nothing in it can be used. The plan can then only be destroyed. */
TS_PUBLIC enum ts_status ts_plan_resume(struct ts_plan *plan, const char *path,
                                        struct ts_diag *diag);
TS_PUBLIC void ts_plan_destroy(struct ts_plan *plan);
/* Writes the table of `tomostage check`, or the same as one JSON object if `json` is set. */
TS_PUBLIC void ts_plan_print(const struct ts_plan *plan, FILE *stream, bool json);
/* Carries the plan out. All outputs appear complete under their names, or none does. Errors are
 * TS_RUN_FAILED, TS_BAD_INPUT, TS_STOPPED after ts_plan_stop, and TS_PAUSED after ts_plan_pause or
 * when the time is up. */
TS_PUBLIC enum ts_status ts_plan_run(struct ts_plan *plan, struct ts_diag *diag);
/* Writes the table of the parts of the ts_plan_run that has ended: when each began and ended, how
 * long it was busy, how many bytes it moved and how fast; nothing without options.profile. */
TS_PUBLIC void ts_plan_print_profile(const struct ts_plan *plan, FILE *stream);
/* Asks ts_plan_run to end with TS_STOPPED. It may be called in a signal handler and from any
 * thread. It stops one run: the one at work or, if none is at work, the next one as soon as it
 * begins. Later ones are not stopped, nor is a run of ts_run_create (ts_run_stop). */
TS_PUBLIC void ts_plan_stop(struct ts_plan *plan);
/* Asks ts_plan_run to end with TS_PAUSED once the present slab is computed and kept, if the plan
 * has a checkpoint, from which the next one goes on. Any thread or signal handler may call it. */
TS_PUBLIC void ts_plan_pause(struct ts_plan *plan);

/* Removes the temporary files and folders of ts_plan_run, for a signal handler that must end the
 * process at once. It is async-signal-safe; only _exit may follow (ts_run_abandon). */
TS_PUBLIC void ts_plan_abandon(const struct ts_plan *plan);

/* Returns the version of this library, such as "0.2.0". */
TS_PUBLIC const char *ts_version(void);

#ifdef __cplusplus
}
#endif
#endif
