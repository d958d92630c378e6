/* SPDX-License-Identifier: Apache-2.0
 *
 * A stage is one constant table, struct stage. The registry lists the tables, and the framework
 * (plan, run, help, schema, docs, bench, tests) reads them. It treats all stages alike, so that a
 * new stage changes nothing in it. Code depends on certain stages in two places: lab/bench/bench.c
 * times a fixed chain, and the projector and backprojector of cuda/reconstruction/iterate.cu are
 * the CUDA sides of radon and backproject.
 *
 * Life of a stage in a run:
 *   plan:   resolve() fills derived parameters and checks them against the input; shape() gives the
 *           output. Where an earlier stage finds numbers of its axes while the chain runs, both are
 *           called again: sizes must not change.
 *   reduce: for each round, over all slices: reduce() makes partial results, merge() joins them in
 *           rising z, finish() turns the total into the result (a look-up table, say) and the
 *           tables.
 *   map:    map() maps a slab, with the finished result at hand. A stage without map() passes its
 *           input on.
 * On a CUDA device the launchers of `cuda` take the places of reduce() and map(); plan and finish()
 * are the same.
 */
#ifndef STAGES_ENGINE_STAGE_H
#define STAGES_ENGINE_STAGE_H

#include "core/arena.h"
#include "core/device_numbers.h"
#include "core/diag.h"
#include "core/fft.h"
#include "core/image.h"
#include "core/params.h"

enum {
    STAGE_REFERENCES = 4,
    STAGE_INPUTS = 1 + STAGE_REFERENCES,
    STAGE_TABLES = 16,
    STAGE_TRANSFORMS = 4
};

enum stage_axes { AXES_VOLUME = 1, AXES_SINOGRAM = 2 };

/* What plans, records and reports must know about a stage without asking for its name. */
enum stage_trait {
    TRAIT_KEEPS_IMAGE = 1,    /* it writes its image to the output file under its `name:` */
    TRAIT_NEW_DETECTOR = 2,   /* the index of a detector pixel changes from input to output */
    TRAIT_MAPS_BY_SHARES = 4, /* it maps a value to the fraction of values up to it, unless it is
                               * given those of another image */
    TRAIT_ROWS_END_IN_AIR =
        8, /* it treats what is beyond the ends of a sinogram's rows as air; runs warn of that */
    TRAIT_KEEPS_LABELS = 16, /* each value of the output is one of the input's, or one that the
                                chain gives; a parameter `interpolation` is nearest or labels
                                then */
    TRAIT_ENDS_LABELS = 32,  /* it makes other values of each value alone, as the chain says */
    TRAIT_ENDS_ARE_AIR =
        64, /* it takes the `detectors` outermost values of a sinogram's rows for air, likewise */
    TRAIT_MIRRORS = 128 /* it puts the detector pixels of every row in the opposite order */
};

/* scipy.ndimage's five borders. */
enum ts_border { BORDER_REFLECT, BORDER_MIRROR, BORDER_NEAREST, BORDER_CONSTANT, BORDER_WRAP };

/* How a stage's map treats invalid pixels of a masked input (include/tomostage.h: struct
 * ts_image). */
enum stage_validity {
    VALIDITY_UNAWARE, /* it treats their values as measured, of which the plan warns; the output is
                       * not masked */
    VALIDITY_SPREADS, /* it also treats them as measured, of which the plan warns; the output is
                       * masked as the input is */
    VALIDITY_SAME,    /* a pixel of the output is valid if that of the input is; map and reductions
                       * use only valid pixels */
    VALIDITY_MOVES,   /* it moves values without changing them, in the same way for every dtype; the
                       * framework lets it move the validity of the pixels in the same way */
    VALIDITY_ENDS /* output pixels do not correspond to input pixels: the output is not masked */
};

/* The reach of a stage is how far it looks in z. The runner gives map() a slab with `halo` more
 * slices on both sides, which the border rule has filled at the ends of the volume, so that map()
 * never sees the ends. With halo 0 each slice is mapped alone. */
struct stage_reach {
    int64_t halo;
    enum ts_border border;
    double constant; /* value of BORDER_CONSTANT, in units of the input */
    bool recomputes; /* map() also computes the halo, so that slabs shorter than the halo take a
                      * multiple of the time */
};

/* Slices [first, end) of an image. */
struct stage_slices {
    int64_t first, end;
};

/* What a map that iterates reports about the slices on which it works. */
struct stage_iteration {
    int64_t done, most; /* iterations that are done, and the most that there can be */
    double residual;    /* what the stage's table holds, the largest of these slices; NaN if it was
                         * not computed */
    double part;        /* part of this call of map() that is done, 0 to 1, if all iterations are
                         * needed */
};

struct stage_context;

/* A listener is told how far maps are, and says whether they go on: of one that does not, nobody
 * uses the result. Several threads may call it at once. */
struct stage_listener {
    bool (*iterated)(void *user, const struct stage_context *, const struct stage_iteration *);
    void *user;
};

/* The context is everything that a stage's code may see. `in` and `out` describe whole images and
 * have no data. */
struct stage_context {
    const struct stage *stage;
    struct param_set *set; /* for resolve() and messages; resolve() marks idle parameters in it */
    const void *params;    /* the resolved parameter struct */
    struct ts_image in, out;
    const struct ts_image *references[STAGE_REFERENCES]; /* one for each parameter of kind
                                                          * REFERENCE, in their order; NULL: not
                                                          * given */
    int threads;                                         /* number of threads, for
                                                          * num_threads(...) */
    const struct device_numbers *device; /* the CUDA device that runs the stage; NULL: the CPU */
    struct ts_diag *diag;
    int64_t volume; /* in map(): the present volume of a series; 0 if there is only one, or if the
                     * image is that of all */
    int round;      /* round of the reduction in progress */
    bool joined; /* other processes reduce parts of the volume, and merge() gets their totals, even
                  * those of devices */
    /* The result that finish() wrote: during a reduction that of the round before, in map() that of
     * the last round. A reduction per slice has a result for each slice of the slab, result_bytes
     * apart (stages/values/scope.h: ts_scope_result). */
    const void *result;
    /* In map(): for each of the stage's tables(), the rows of the output's slices, in the same
     * memory (host or device) as the output. */
    const struct ts_image *tables;
    struct fft *transforms[STAGE_TRANSFORMS]; /* those of transforms(), in reduce() and map(); NULL
                                               * in a plan */
    /* A number on the device, which is set by a stage that calls another stage's launchers. If it
     * is not 0 their results will not be used, and kernels return at once. NULL: the results are
     * needed. */
    const int32_t *halt;
    /* Is told about the iterations of map() on the CPU; NULL: nobody listens. CUDA uses
     * cuda_call.progress instead. */
    const struct stage_listener *listener;
};

/* A table is a small result beside the image. axes[0] is z for a stage that reduces per slice, and
 * for tables of the map. */
struct stage_table {
    const char *name; /* "counts" */
    const char *doc;
    struct ts_image
        image; /* rank 0 to 3, dtype any; axis positions may be NULL; strings are literals */
    /* For a table that counts losses, such as dead pixels: the most that one number can count. If
     * all numbers reach it, nothing was measured and the run fails. 0: the table has no such
     * limit. */
    uint64_t of;
    /* A run ends with a note of the sum of a table that a map counts. With a code and a hint it
     * becomes a warning, for a loss that nothing repairs. NULL: a note. */
    const char *code, *hint;
    /* Index of a table whose largest number replaces %lld in the hint; 0: the hint has none. */
    int number;
    /* Returns true for a stage that repairs what is counted. There is no warning if all stages that
     * take the image do. */
    bool (*mended)(const struct stage_context *next);
};

struct stage_reduction {
    /* True if each slice has a total of its own, false if the whole volume has one. */
    bool (*per_slice)(const struct stage_context *);
    /* True if merging in any grouping gives the same bytes, as with integer counts. If false, each
     * slice has a partial of its own. */
    bool exact;
    /* True if the result does not depend on the places of pixels in their slice. reduce() then gets
     * slices without invalid pixels and without those that the parameter `mask` leaves out
     * (stages/engine/validity.h), as images of shape (1, 1, n), where n may be 0. */
    bool order_free;
    /* Returns true if the present round of an order_free reduction looks at neighbors of pixels,
     * and therefore gets whole slices with the bits of their valid pixels, and the mask as it is.
     * NULL: no round does. */
    bool (*whole_slices)(const struct stage_context *);
    /* True if the map needs the finished result (equalize), false if only the tables matter
     * (histogram). */
    bool feeds_map;
    /* True if the result has numbers of the output's axes, such as a center that is found. After
     * the last finish() shape() is called again, with context->result set (NULL before), and may
     * then give other `first` and `spacing` of axes, and nothing else; every later stage is
     * resolved again with them, and its constants are written again. Only a reduction of the whole
     * volume may set it, and finish() of this table must end it. If no input is reduced with these
     * parameters (partial_bytes() is 0 for all), nothing is found and shape() is not called
     * again. */
    bool finds_axes;
    int (*rounds)(const struct stage_context *); /* Returns the number of rounds. NULL: 1 */
    /* Returns the bytes of a partial result. Input 0 is the stage's input, input i > 0 is
     * references[i - 1]. 0 bytes: this input is not reduced. */
    size_t (*partial_bytes)(const struct stage_context *, int input);
    /* Returns true if the reduction of input 0 over the whole volume only looks at slices [*first,
     * *end): a run then computes no others for it. reduce() may be given more. NULL: it looks at
     * all slices. */
    bool (*looks_at)(const struct stage_context *, int64_t *first, int64_t *end);
    /* Overwrites *partial with the reduction of these slices, in the calling thread. Several
     * threads call it at once. */
    void (*reduce)(const struct stage_context *, int input, const struct ts_image *slices,
                   void *partial);
    void (*merge)(const struct stage_context *, int input, void *into, const void *from);
    /* Adds the slices to *total, which is zero at first, on the context's threads. It takes the
     * place of reduce() for an exact reduction of volumes whose partials would be as large as the
     * image: merge() then only joins totals of other processes. NULL: reduce() is there. */
    void (*add)(const struct stage_context *, int input, const struct ts_image *slices,
                void *total);
    size_t (*result_bytes)(const struct stage_context *);
    /* Writes *result, which is kept from round to round and zero at first, and in the last round
     * also the tables' data. totals[input] is the total after the last merge, or NULL if that
     * input has no part in this call. tables[i] covers the whole table, or one z of it for a
     * reduction per slice. A reduction per slice with references calls it for the references first
     * (totals[0] NULL, tables NULL, every round); each slice's result then starts as a copy of that
     * result, and the calls for slices have totals[input > 0] NULL, so the result must keep what
     * they need of a reference. */
    enum ts_status (*finish)(const struct stage_context *, const void *const totals[], void *result,
                             const struct ts_image *tables);
    /* Describes the tables (with nz rows for a reduction per slice), and returns how many there
     * are. Pure. NULL: there are none. */
    int (*tables)(const struct stage_context *, struct stage_table tables[STAGE_TABLES]);
    /* Writes to *result what shape() needs, from the finished tables, for a stage that finds
     * axes. */
    void (*recall)(const struct stage_context *, const struct stage_table *tables, void *result);
};

/* How far a float result may be from the double oracle. 0, 0 means that it is equal to the bit. */
struct stage_tolerance {
    double relative, absolute;
    const char *why;
};

/* The tolerance of one method (a choice of the parameter `method`), if it differs from the
 * stage's. */
struct stage_method_tolerance {
    const char *method; /* NULL ends the list */
    struct stage_tolerance tolerance;
};

/* ---- the CUDA side of a stage (cuda/ROOM/NAME.cu) -----------------------------------------------
 *
 * Launchers enqueue on the call's stream; they neither allocate nor synchronize, and end in
 * ts_cuda_launched(). Their images have device pointers. All else is as for map() and reduce() on
 * the CPU: whole slices, z_first, the halo around map()'s in[0], and the slices of references that
 * stream with the input. */

struct cuda_call {
    struct CUstream_st *stream;
    void *scratch; /* on the device: as many bytes as the call's scratch_bytes() said, 256-byte
                    * aligned and not cleared */
    const void *constants; /* device copy of what constants() wrote */
    const void *result;    /* On the device: the same as context->result. For a reduction per slice:
                            * the result of the slab's first output slice; the next ones follow,
                            * result_bytes apart. In reduce(): of the earlier rounds (in round 0
                            * zero bytes). */
    struct cuda_fft *const *transforms; /* those that the stage's transforms() in stage_cuda asked
                                         * for, to be used with ts_cuda_fft_forward() */
    const struct cuda_texture
        *textures; /* in map(): textures of the input, if textures() of stage_cuda returns true */
    int n_textures;
    /* In map(): where its kernels report their iterations (cuda/device/progress.cuh), and the
     * number of this call in the run. NULL: nobody asks. */
    struct cuda_progress *progress;
    int64_t number;
};

/* A texture has n whole rows of the map's input, from row `first` on, counted over all slices.
 * Sample x of row y is element before + (y - first) * nx + x of the CUDA texture object `object`,
 * which has the input's type. */
enum { STAGE_TEXTURE_ROW = 1 << 26 }; /* samples of the longest row */
struct cuda_texture {
    unsigned long long object;
    int64_t first, n, before;
};

/* The first slice that a check on the device refuses. */
struct cuda_refused {
    int64_t past; /* index in the volume of the slice after it; 0: none is refused */
    unsigned char partial[56];
};

struct cuda_reduction {
    /* Returns the device bytes of one partial (of the volume, or of one slice). Zero bytes are an
     * empty partial: the framework clears them at the start of a round. 0: this input is not
     * reduced. May depend on context->round. */
    size_t (*partial_bytes)(const struct stage_context *, int input);
    /* True if reduce() overwrites the partials of slices, which are then not cleared. NULL:
     * never. */
    bool (*overwrites)(const struct stage_context *);
    /* Returns the bytes of scratch of one reduce() over n slices. NULL: 0. */
    size_t (*scratch_bytes)(const struct stage_context *, int input, int64_t n);
    /* Adds the slices to the volume's partial. A reduction per slice adds slice i to the partial at
     * (char *)partials + i * rounded, where rounded is partial_bytes rounded up to a multiple of
     * 256. Any grouping of slices must give the same bytes in the end. */
    enum ts_status (*reduce)(const struct stage_context *, int input, const struct ts_image *slices,
                             void *partials, const struct cuda_call *);
    /* Turns a partial that was copied to the host into the totals[input] of the stage's
     * finish(). NULL if finishes() below is always true. */
    void (*collect)(const struct stage_context *, int input, const void *partial, void *total);
    /* True if finish() below replaces the stage's own in every round, and nothing goes through the
     * host. No reference may be reduced. If the reduction is of the volume and has tables, the
     * stage's finish() is called too, once the device is done: totals[0] is then what the device
     * wrote as the result, which must fit partial_bytes of struct stage_reduction. NULL: never. */
    bool (*finishes)(const struct stage_context *);
    /* Writes n results from n partials; both are a multiple of 256 bytes apart. If finishes() is
     * true, the launchers choose the layout. */
    size_t (*result_bytes)(const struct stage_context *);
    enum ts_status (*finish)(const struct stage_context *, const void *partials, void *results,
                             int64_t n, const struct cuda_call *);
    /* Replaces the stage's finish() of slices if that only refuses values, so that the host need
     * not wait for the slabs before a map. It writes n results from n partials; both are a multiple
     * of 256 bytes apart. If finish() refuses a slice, *refused gets the partial of the first such
     * slice (counted from z_first), unless it has one already; the host passes it to finish() once
     * it sees it. Stages that iterate do not need this, because their maps take long. NULL: the
     * host's finish() is called before each map. */
    enum ts_status (*check)(const struct stage_context *, const void *partials, void *results,
                            int64_t z_first, int64_t n, struct cuda_refused *refused,
                            const struct cuda_call *);
};

struct stage_cuda {
    /* Constants are tables, such as sines, that constants() computes on the host once a run. They
     * are copied to the device. */
    size_t (*constants_bytes)(const struct stage_context *);
    void (*constants)(const struct stage_context *, void *host);
    size_t (*scratch_bytes)(const struct stage_context *,
                            int64_t n); /* scratch of one map() of n output slices. NULL: 0 */
    /* The launcher of map(). NULL if the stage has none. */
    enum ts_status (*map)(const struct stage_context *, const struct ts_image *in,
                          struct ts_image *out, const struct cuda_call *);
    const struct cuda_reduction *reduction; /* NULL if the stage has none */
    /* Returns the smallest number of slices in one map() that keeps the device busy. If memory
     * allows, the runner makes no smaller slabs. NULL: 1. */
    int64_t (*least_slices)(const struct stage_context *);
    /* Describes the Fourier transforms on the device, as transforms() of struct stage does for the
     * CPU. The framework provides their work areas. */
    int (*transforms)(const struct stage_context *, struct fft_shape shapes[STAGE_TRANSFORMS]);
    /* Returns true if map() reads its input through the texture unit. The framework makes the
     * textures, because a launcher must not. NULL: never. */
    bool (*textures)(const struct stage_context *);
    bool iterates; /* true if kernels of map() report their iterations */
};

#ifdef TS_HAVE_CUDA
#define STAGE_CUDA(name) (&(name))
#else
#define STAGE_CUDA(name) NULL
#endif

/* Sets the members of a stage's table that describe parameters: the array of struct param and the
 * struct. */
#define STAGE_PARAMS(table, type)                                                                  \
    .params = (table), .n_params = sizeof(table) / sizeof *(table), .params_bytes = sizeof(type)
/* Defines params_of(context), which returns a stage's resolved parameters as a struct of this type.
 * `type` is the tag, without "struct". */
#define STAGE_PARAMS_OF(type)                                                                      \
    static inline const struct type *params_of(const struct stage_context *context)                \
    {                                                                                              \
        return (const struct type *)context->params;                                               \
    }
/* Says in a stage's table that it accepts volumes and sinograms of every type, quantity and
 * beam. */
#define STAGE_TAKES_ALL                                                                            \
    .axes = AXES_VOLUME | AXES_SINOGRAM, .dtypes = TS_ANY_DTYPE, .quantities = TS_ANY_QUANTITY,    \
    .beams = TS_ANY_BEAM
/* Says in a stage's table that it takes sinograms of every type, with these TS_QUANTITY_BITs and
 * TS_BEAM_BITs. */
#define STAGE_TAKES_SINOGRAMS(quantity_bits, beam_bits)                                            \
    .axes = AXES_SINOGRAM, .dtypes = TS_ANY_DTYPE, .quantities = (quantity_bits),                  \
    .beams = (beam_bits)

/* Parameters of a stage that are found from the pixels of its input before a plan is made, because
 * the size of the output depends on them. To find them, a run carries out the stages before and
 * then the stage `by`. A plan without them assumes the largest output. */
enum { STAGE_SEARCH_NUMBERS = 8 };
struct stage_search {
    const struct stage *by; /* its parameters get the values of those with the same names; its
                             * tables have the answer */
    bool (*needed)(const struct param_set *set); /* Returns true if something still must be
                                                  * found. */
    /* Writes what was found into the parameters. `context` is that of the stage `by`; `memory` is
     * for what the parameters point to. */
    enum ts_status (*found)(struct param_set *set, const struct stage_context *context,
                            const struct stage_table *tables, int n_tables,
                            double memory[STAGE_SEARCH_NUMBERS]);
};

/* Where a stage from outside comes from (include/tomostage_stage.h). */
struct stage_origin {
    const char *version;
    const char *sha256; /* digest of the plugin's file; NULL: a program added the stage */
};

/* A sparse product along each axis: sample i of axis d of the result is the sum of weight[d][k]
 * times sample index[d][k] of the input over start[d][i] <= k < start[d][i + 1]. */
struct stage_gather {
    int64_t n_in[3], n_out[3]; /* n_in[0] 0: there is none */
    const int64_t *start[3], *index[3];
    const float *weight[3];
};

/* How the transpose A' of map() is computed, as a linear function A of float images: by map() of a
 * stage, or by a gather, or by map() of an image with zeros around it and then the gather, whose
 * input is that larger image. */
struct stage_transpose {
    const char *by;    /* the name of the stage; NULL: the same */
    bool only_gathers; /* true if no map() is needed */
    /* Returns a table that no chain names and that takes the place of the stage `by`, or NULL: with
     * these parameters none does. NULL: never. */
    const struct stage *(*table)(const struct stage_context *);
    /* Describes the transpose of the map with these resolved parameters: fills the parameters of
     * the stage in `set`, which has its defaults, and the bits `given`; and *gather if one is
     * needed, with memory of the arena. Reports why if the map is not linear, or if its transpose
     * is not known. */
    enum ts_status (*describe)(const struct stage_context *, struct param_set *set,
                               struct stage_gather *gather, struct arena *arena);
};

struct stage {
    const char *name;    /* the same as the YAML name and the file name */
    const char *summary; /* one line, no period */
    const char *doc;     /* Markdown: formula, cost, source */
    unsigned axes;       /* enum stage_axes bits */
    unsigned dtypes;     /* TS_DTYPE_BITs */
    unsigned quantities; /* TS_QUANTITY_BITs */
    unsigned beams; /* TS_BEAM_BITs of the sinograms that it takes; TS_ANY_BEAM if it does not use
                     * rays */
    /* By enum ts_quantity: what the user can do about a quantity that is not accepted. NULL if the
     * list of accepted quantities in the message is enough. */
    const char *quantity_hints[TS_INTENSITY + 1];
    const struct param *params;
    size_t n_params, params_bytes;
    unsigned traits; /* enum stage_trait bits */

    /* Pure. Fills derived parameters of `values`, to which the context's params point, and checks
     * what the rows of `params` cannot express, through ts_param_error. NULL: there is nothing to
     * do. */
    enum ts_status (*resolve)(const struct stage_context *, void *values);
    /* Pure. Describes the output: *out starts as a copy of the input's description. NULL: they are
     * the same. Axis positions it makes must live in the parameter struct's memory or be static. */
    enum ts_status (*shape)(const struct stage_context *, struct ts_image *out);
    /* Returns true for a reference that streams with the input slab by slab, such as a mask or a
     * flat field. It has as many slices as the input: the framework refuses others, and resolve()
     * checks all else (ts_stage_same_shape helps). reduce(), for input 0, and map() find the same
     * slices as the input's, without halo, in the image 1 + reference of the array that they are
     * given; the launchers of CUDA likewise. Such a reference is not itself reduced:
     * partial_bytes() of it is 0. NULL: none streams. */
    bool (*streams_with_input)(const struct stage_context *, int reference);
    struct stage_reach (*reach)(const struct stage_context *); /* Returns the reach. NULL: slice by
                                                                * slice */
    /* For a stage whose output slices differ from the input's in number, place or order: returns
     * the input slices, at least one and all within the input, from which output slices [first,
     * end) are made. map() gets these in in[0], which starts at its z_first, without halo. Such a
     * stage has no reach, reduces nothing slice by slice, has no tables of its map, and no
     * reference streams with its input. NULL: output slice z is made from input slice z and those
     * within the reach of it. */
    struct stage_slices (*reads)(const struct stage_context *, int64_t first, int64_t end);
    const struct stage_reduction *reduction; /* NULL: none */
    /* Describes the Fourier transforms on the CPU that the stage's functions find in
     * context->transforms, and returns how many there are. Pure. Runs on a CUDA device have them
     * too, for the stage's code on the host. The batch of a transform does not depend on the slab:
     * calls fill it up with zeros, so that results do not depend on how z is cut. NULL: none. */
    int (*transforms)(const struct stage_context *, struct fft_shape shapes[STAGE_TRANSFORMS]);
    /* Describes the tables that the map writes, beside those of the reduction (no more than
     * STAGE_TABLES together), and returns how many there are. Pure. axes[0] is z, and map() and the
     * CUDA launcher write all rows in context->tables[i] for the slices of their output. A row may
     * only depend on its slice, because a slice may be computed again. NULL: none. */
    int (*tables)(const struct stage_context *, struct stage_table tables[STAGE_TABLES]);
    /* Returns the bytes of scratch of one map() of n output slices with context->threads threads,
     * including the buffers of each thread; ts_scratch_part() (stages/engine/scratch.h) lays them
     * out. NULL: 0. */
    size_t (*scratch_bytes)(const struct stage_context *, int64_t n);
    /* Maps in[0], a slab with its halo, to the n slices of `out`, of which out->z_first is the
     * first one's index in the volume. in[1 + reference] are the slices of a reference that streams
     * with the input. scratch is 64-byte aligned and not cleared. The bytes of the result depend
     * neither on how z is cut nor on the threads. */
    enum ts_status (*map)(const struct stage_context *, const struct ts_image *in,
                          struct ts_image *out, void *scratch);
    /* How map() treats invalid pixels. If its input is masked, in[0].valid has the bits of the slab
     * and its halo; the framework writes the bits of the output. A stage with VALIDITY_SAME that
     * has reads(), or slices of a different size, writes them itself in map(). */
    enum stage_validity validity;
    /* Returns true if map() makes pixels invalid, so that the output is masked even if the input is
     * not. map(), and the launcher of CUDA, then write the bits of out->valid themselves, unless it
     * is NULL. `validity` is VALIDITY_SAME. NULL: never. */
    bool (*masks)(const struct stage_context *);
    const struct stage_search *search; /* NULL: all parameters are known before the run */
    /* NULL: map() is not linear, or its transpose is not known. */
    const struct stage_transpose *transpose;
    /* Returns the value that replaces invalid pixels for map(). NULL: map() gets the input's values
     * there. */
    double (*invalid_value)(const struct stage_context *);
    /* The CUDA side, such as STAGE_CUDA(box_cuda), defined in cuda/filters/box.cu. NULL if the
     * stage has neither map() nor a reduction, or if cpu_only is set. */
    const struct stage_cuda *cuda;
    /* Why a stage that computes has no CUDA code (which a first contribution may lack), such as
     * "its sort has no kernel yet". The plan, the stage's page, the benchmark and the tests report
     * it. NULL: the stage has CUDA code. */
    const char *cpu_only;
    struct stage_tolerance tolerance;
    const struct stage_method_tolerance
        *method_tolerances; /* NULL: the stage's tolerance holds for every method */
    /* Parameters of the benchmark's cases, separated by '|': "radius=1|radius=3 border=wrap". The
     * benchmark adds every method and the element types. NULL: cases are derived from `params`. */
    const char *bench;
    /* True if NaN in its output is an answer that `doc` explains, even for finite input. For all
     * other stages a run warns of NaN. */
    bool gives_nan;
    bool counts_values; /* true if its time depends on the values: the benchmark then has cases of
                         * every distribution */
    const struct stage_origin *origin; /* NULL: the stage is built in */
};

/* This declares the two tables of every stage of stages.def, such as box_stage, defined in
 * stages/filters/box.c, and box_cuda, in cuda/filters/box.cu. Only builds with CUDA define the
 * second, so tables name it with STAGE_CUDA(). */
#define STAGE(room, name)                                                                          \
    extern const struct stage name##_stage;                                                        \
    extern const struct stage_cuda name##_cuda;
#include "stages/stages.def"
#undef STAGE

/* All stages of stages.def in that order, from stages/engine/registry.c. NULL ends the list.
 * stages/engine/registry.h has those from outside, too. */
extern const struct stage *const ts_stages[];
/* Returns the stage of stages.def with this name, or NULL if there is none. */
const struct stage *ts_stage_find(const char *name);

/* Refuses reference i (code reference-shape) if it is given and does not have the input's shape.
 * For resolve(). */
enum ts_status ts_stage_same_shape(const struct stage_context *context, int reference);

/* Refuses reference i if its values have another unit (code reference-unit). For resolve(). */
enum ts_status ts_stage_same_unit(const struct stage_context *context, int reference);
/* Refuses reference i if its rows and columns, views or detector pixels are of another kind or
 * spacing (code reference-grid). For resolve(). */
enum ts_status ts_stage_same_spacing(const struct stage_context *context, int reference);

/* Tells the listener of a map, if there is one, about its iterations. Returns false if the map may
 * end. */
static inline bool ts_stage_iterated(const struct stage_context *context,
                                     struct stage_iteration iteration)
{
    return !context->listener ||
           context->listener->iterated(context->listener->user, context, &iteration);
}

#endif
