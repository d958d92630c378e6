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

/* What plans, records and reports must know of a stage, so that none of them asks for its name. */
enum stage_trait {
    TRAIT_KEEPS_IMAGE = 1,  /* it writes its image to the output file under its `name:` */
    TRAIT_NEW_DETECTOR = 2, /* a detector pixel of the output has another index than in the input */
    TRAIT_MAPS_BY_SHARES =
        4, /* it maps a value to the share of the values up to it, unless it is given others' */
    TRAIT_ROWS_END_IN_AIR =
        8, /* it takes what is beyond the ends of a sinogram's rows for air, of which runs warn */
    TRAIT_KEEPS_LABELS = 16, /* each value of the output is one of the input's, or one that the
                                chain gives; a parameter `interpolation` is nearest then */
    TRAIT_ENDS_LABELS = 32,  /* it makes other values of each value alone, as the chain says */
    TRAIT_ENDS_ARE_AIR =
        64 /* it takes the `detectors` outermost values of a sinogram's rows for air, likewise */
};

/* scipy.ndimage's five borders. */
enum ts_border { BORDER_REFLECT, BORDER_MIRROR, BORDER_NEAREST, BORDER_CONSTANT, BORDER_WRAP };

/* A stage's map treats invalid pixels of a masked input (include/tomostage.h: struct ts_image) in
 * one of these ways. */
enum stage_validity {
    VALIDITY_UNAWARE, /* it takes their values for measured ones, of which the plan warns; the
                         output is not masked */
    VALIDITY_SPREADS, /* it takes them so as well, of which the plan warns; the output is masked as
                         the input is */
    VALIDITY_SAME,  /* a pixel of the output is as valid as that of the input; it and reductions use
                       valid ones alone */
    VALIDITY_MOVES, /* it moves values and never changes them, and does so in every dtype alike: the
                     * framework has it move the validity of the pixels as it moves their values */
    VALIDITY_ENDS   /* a pixel of the output belongs to no pixel of the input: the output is not
                       masked */
};

/* The reach of a stage is how far it looks in z. The runner gives map() a slab with `halo` more
 * slices on both sides, which the border rule has filled at the ends of the volume, so that map()
 * never sees the ends. With halo 0 each slice is mapped alone. */
struct stage_reach {
    int64_t halo;
    enum ts_border border;
    double constant; /* of BORDER_CONSTANT, in values of the input */
    bool recomputes; /* map() computes the halo as well, so that a slab shorter than it costs a
                        multiple */
};

/* Slices [first, end) of an image. */
struct stage_slices {
    int64_t first, end;
};

/* A map that iterates reports this of the slices on which it works. */
struct stage_iteration {
    int64_t done, most; /* iterations */
    double residual;    /* what the stage's table holds of them, the largest of the slices; NaN: not
                           computed */
    double part;        /* of this call of map(), 0 to 1, if all iterations are needed */
};

struct stage_context;

/* A listener is told how far maps are, by several threads at once. */
struct stage_listener {
    void (*iterated)(void *user, const struct stage_context *, const struct stage_iteration *);
    void *user;
};

/* The context is everything that a stage's code may see. `in` and `out` describe whole images and
 * have no data. */
struct stage_context {
    const struct stage *stage;
    struct param_set
        *set;           /* for resolve() and messages; resolve() marks idle parameters through it */
    const void *params; /* the resolved parameter struct */
    struct ts_image in, out;
    const struct ts_image *references[STAGE_REFERENCES]; /* one per parameter of kind REFERENCE, in
                                                            their order; NULL: not given */
    int threads;                                         /* for num_threads(...) */
    const struct device_numbers *device; /* the CUDA device that runs the stage; NULL: the CPU */
    struct ts_diag *diag;
    int64_t volume; /* in map(): the volume of a series at hand; 0 where there is one, or the image
                       is that of all */
    int round;      /* of the reduction in progress */
    bool joined; /* other processes reduce parts of the volume: merge() gets their totals, those of
                    devices as well */
    /* The result that finish() wrote: that of the round before during a reduction, that of the last
     * round in map(). A reduction per slice has a result for each slice of the slab, result_bytes
     * apart (stages/values/scope.h: ts_scope_result). */
    const void *result;
    /* In map(): for each of the stage's tables() the rows of the output's slices, in host or device
     * memory as the output is. */
    const struct ts_image *tables;
    struct fft *transforms[STAGE_TRANSFORMS]; /* those of transforms(), in reduce() and map(); NULL
                                                 while planning */
    /* A number on the device, set by a stage that calls another's launchers. Where it is not 0
     * their results will not be used, and kernels return at once. NULL: the results are needed. */
    const int32_t *halt;
    /* It is told of the iterations of map() on the CPU; NULL: nobody is. CUDA has
     * cuda_call.progress for it. */
    const struct stage_listener *listener;
};

/* A table is a small result beside the image. axes[0] is z for a stage that reduces per slice, and
 * for tables of the map. */
struct stage_table {
    const char *name; /* "counts" */
    const char *doc;
    struct ts_image
        image; /* rank 0 to 3, dtype any; axis positions may be NULL; strings are literals */
    /* In a table that counts losses, such as dead pixels: the most that one number can count. The
     * run fails where all numbers reach it, because nothing was measured then. 0: the table has no
     * such limit. */
    uint64_t of;
    /* A run ends with a note of the sum of a table that a map counts. These make it a warning of
     * this code, for a loss that nothing mends. NULL: a note. */
    const char *code, *hint;
    /* The hint's %lld stands for the largest number of the table of this index. 0: it has none. */
    int number;
    /* Returns true for a stage that mends what is counted. No warning is given where all that take
     * the image do. */
    bool (*mended)(const struct stage_context *next);
};

struct stage_reduction {
    /* True where each slice has a total of its own, false where the whole volume has one. */
    bool (*per_slice)(const struct stage_context *);
    /* True where merging in any grouping gives the same bytes, as with integer counts. Where false,
     * each slice has a partial of its own. */
    bool exact;
    /* True where the result does not depend on where in its slice a pixel lies. reduce() then gets
     * slices of which invalid pixels are left out, and those that the parameter `mask` leaves out
     * (stages/engine/validity.h): images of shape (1, 1, n), where n may be 0. */
    bool order_free;
    /* Returns true where the round at hand of an order_free reduction looks at neighbors of pixels,
     * and therefore gets whole slices with the bits of their valid pixels, and the mask as it is.
     * NULL: no round does. */
    bool (*whole_slices)(const struct stage_context *);
    /* True where the map needs the finished result (equalize), false where only the tables matter
     * (histogram). */
    bool feeds_map;
    /* The result holds numbers of the output's axes, such as a center that is found. After the last
     * finish() shape() is called again, with context->result set (NULL before), and may then give
     * other `first` and `spacing` of axes, and nothing else; every later stage is resolved again
     * from what it gives, and its constants are written again. Only a reduction of the whole volume
     * may set it, and finish() of this table must end it. Where no input is reduced with the
     * parameters at hand (partial_bytes() 0 for all), nothing is found and shape() is not called
     * again. */
    bool finds_axes;
    int (*rounds)(const struct stage_context *); /* NULL: 1 */
    /* input 0 is the stage's input, input i > 0 is references[i - 1]; 0 bytes: this input is not
     * reduced. */
    size_t (*partial_bytes)(const struct stage_context *, int input);
    /* Returns true where the reduction of input 0 over the whole volume looks at slices [*first,
     * *end) alone: a run then computes no others for it. reduce() may be given more. NULL: it looks
     * at all slices. */
    bool (*looks_at)(const struct stage_context *, int64_t *first, int64_t *end);
    /* Overwrites *partial with the reduction of these slices, in the calling thread. Several
     * threads call it at once. */
    void (*reduce)(const struct stage_context *, int input, const struct ts_image *slices,
                   void *partial);
    void (*merge)(const struct stage_context *, int input, void *into, const void *from);
    size_t (*result_bytes)(const struct stage_context *);
    /* Writes *result, which is kept from round to round and zero at first, and in the last round
     * also the tables' data. totals[input] is the total after the last merge, or NULL where that
     * input has no part in this call. tables[i] covers the whole table, or one z of it for a
     * reduction per slice. A reduction per slice with references calls it for the references first
     * (totals[0] NULL, tables NULL, every round); each slice's result then starts as a copy of that
     * result, and the calls for slices have totals[input > 0] NULL, so the result must keep what
     * they need of a reference. */
    enum ts_status (*finish)(const struct stage_context *, const void *const totals[], void *result,
                             const struct ts_image *tables);
    /* Describes the tables (nz rows where per slice) and returns how many there are. Pure. NULL:
     * there are none. */
    int (*tables)(const struct stage_context *, struct stage_table tables[STAGE_TABLES]);
    /* Writes to *result what shape() needs of it, out of the finished tables, for a stage that
     * finds axes. */
    void (*recall)(const struct stage_context *, const struct stage_table *tables, void *result);
};

/* The tolerance is how far a float result may be from the double oracle. 0, 0: it is equal to the
 * bit. */
struct stage_tolerance {
    double relative, absolute;
    const char *why;
};

/* The tolerance of one method (a choice of the parameter `method`) that has another tolerance than
 * its stage. */
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
    void *scratch; /* device, as many bytes as the call's scratch_bytes() said; 256-byte aligned,
                      not cleared */
    const void *constants; /* device copy of what constants() wrote */
    const void *result;    /* device: as context->result. Per slice: that of the slab's first output
                            * slice; the next one result_bytes further. In reduce(): of the earlier
                            * rounds (round 0: zero bytes) */
    struct cuda_fft *const *
        transforms; /* as the stage's transforms() of stage_cuda asked for: ts_cuda_fft_forward() */
    const struct cuda_texture
        *textures; /* in map(): the input, where textures() of stage_cuda is true */
    int n_textures;
    /* In map(): where its kernels report their iterations (cuda/device/progress.cuh), and the
     * number of this call among those of the run. NULL: nobody asks. */
    struct cuda_progress *progress;
    int64_t number;
};

/* A texture is whole rows of the map's input, n from row `first` on, counted over all slices.
 * Sample x of row y is element before + (y - first) * nx + x of the CUDA texture object `object`,
 * which has the type of the input. */
enum { STAGE_TEXTURE_ROW = 1 << 26 }; /* samples of the longest row */
struct cuda_texture {
    unsigned long long object;
    int64_t first, n, before;
};

/* The first slice that a check on the device refuses. */
struct cuda_refused {
    int64_t past; /* the slice after it, in the volume; 0: none is refused */
    unsigned char partial[56];
};

struct cuda_reduction {
    /* Returns the device bytes of one partial (of the volume, or of one slice). Zero bytes are an
     * empty partial: the framework clears them at the start of a round. 0: this input is not
     * reduced. May depend on context->round. */
    size_t (*partial_bytes)(const struct stage_context *, int input);
    /* True where reduce() overwrites the partials of slices, which are then not cleared. NULL:
     * never. */
    bool (*overwrites)(const struct stage_context *);
    /* Returns the bytes of scratch of one reduce() over n slices. NULL: 0. */
    size_t (*scratch_bytes)(const struct stage_context *, int input, int64_t n);
    /* Adds the slices to the volume's partial. A reduction per slice adds slice i to the partial at
     * (char *)partials + i * rounded, where rounded is partial_bytes up to the next multiple of
     * 256. Any grouping of slices must give the same bytes in the end. */
    enum ts_status (*reduce)(const struct stage_context *, int input, const struct ts_image *slices,
                             void *partials, const struct cuda_call *);
    /* Turns a partial that was copied to the host into the totals[input] of the stage's
     * finish(). */
    void (*collect)(const struct stage_context *, int input, const void *partial, void *total);
    /* True where finish() below takes the place of the stage's own in every round: nothing then
     * goes through the host, and there must be no tables and no references. NULL: never. */
    bool (*finishes)(const struct stage_context *);
    /* Writes n results, a multiple of 256 bytes apart, from n partials. Where finishes() is true
     * the launchers choose the layout. */
    size_t (*result_bytes)(const struct stage_context *);
    enum ts_status (*finish)(const struct stage_context *, const void *partials, void *results,
                             int64_t n, const struct cuda_call *);
    /* This takes the place of the stage's finish() of slices where that only refuses values, so
     * that the host need not wait for the slabs before a map. It writes n results, a multiple of
     * 256 bytes apart as the n partials are. It keeps in *refused the partial of the first slice,
     * from slice z_first on, that finish() refuses, unless one is there; the host asks finish()
     * about it once it sees it. Stages that iterate do without, because their maps take long. NULL:
     * the host's finish() is asked before each map. */
    enum ts_status (*check)(const struct stage_context *, const void *partials, void *results,
                            int64_t z_first, int64_t n, struct cuda_refused *refused,
                            const struct cuda_call *);
};

struct stage_cuda {
    /* Constants are tables that constants() works out on the host once a run, such as sines. They
     * are copied to the device. */
    size_t (*constants_bytes)(const struct stage_context *);
    void (*constants)(const struct stage_context *, void *host);
    size_t (*scratch_bytes)(const struct stage_context *,
                            int64_t n); /* of one map() of n output slices. NULL: 0 */
    /* The launcher of map(). NULL where the stage has none. */
    enum ts_status (*map)(const struct stage_context *, const struct ts_image *in,
                          struct ts_image *out, const struct cuda_call *);
    const struct cuda_reduction *reduction; /* NULL where the stage has none */
    /* Returns the smallest number of slices in one map() that keeps the device busy. The runner
     * cuts z no finer where memory allows it. NULL: 1. */
    int64_t (*least_slices)(const struct stage_context *);
    /* Describes the Fourier transforms on the device, as transforms() of struct stage does for the
     * CPU. The framework provides their work areas. */
    int (*transforms)(const struct stage_context *, struct fft_shape shapes[STAGE_TRANSFORMS]);
    /* Returns true where map() reads its input through the texture unit. The framework makes the
     * textures, because a launcher must not. NULL: never. */
    bool (*textures)(const struct stage_context *);
    bool iterates; /* kernels of map() report their iterations */
};

#ifdef TS_HAVE_CUDA
#define STAGE_CUDA(name) (&(name))
#else
#define STAGE_CUDA(name) NULL
#endif

/* Sets the members for the parameters in a stage's table: the array of struct param and the struct
 * that it describes. */
#define STAGE_PARAMS(table, type)                                                                  \
    .params = (table), .n_params = sizeof(table) / sizeof *(table), .params_bytes = sizeof(type)
/* Defines params_of(context), which returns a stage's resolved parameters as the struct that its
 * code knows. `type` is the tag, without "struct". */
#define STAGE_PARAMS_OF(type)                                                                      \
    static inline const struct type *params_of(const struct stage_context *context)                \
    {                                                                                              \
        return (const struct type *)context->params;                                               \
    }
/* States in a stage's table that it accepts volumes and sinograms of every type, quantity and
 * beam. */
#define STAGE_TAKES_ALL                                                                            \
    .axes = AXES_VOLUME | AXES_SINOGRAM, .dtypes = TS_ANY_DTYPE, .quantities = TS_ANY_QUANTITY,    \
    .beams = TS_ANY_BEAM
/* States in a stage's table that it takes sinograms of every type, of these TS_QUANTITY_BITs and
 * TS_BEAM_BITs. */
#define STAGE_TAKES_SINOGRAMS(quantity_bits, beam_bits)                                            \
    .axes = AXES_SINOGRAM, .dtypes = TS_ANY_DTYPE, .quantities = (quantity_bits),                  \
    .beams = (beam_bits)

/* Parameters of a stage that are found in the pixels of its input before a plan is made, because
 * the size of the output depends on them. The run of a chain finds them first, by a run of the
 * stages before it and of the stage `by`; a plan without them takes the largest output. */
enum { STAGE_SEARCH_NUMBERS = 8 };
struct stage_search {
    const struct stage *by; /* its parameters have the values of those of the same names, and its
                               tables the answer */
    bool (*needed)(const struct param_set *set); /* returns true where something is left to find */
    /* Writes what was found into the parameters. `context` is that of the stage `by`; what the
     * parameters point to may lie in `memory`. */
    enum ts_status (*found)(struct param_set *set, const struct stage_context *context,
                            const struct stage_table *tables, int n_tables,
                            double memory[STAGE_SEARCH_NUMBERS]);
};

struct stage {
    const char *name;    /* == YAML name == file name */
    const char *summary; /* one line, no period */
    const char *doc;     /* Markdown: formula, cost, source */
    unsigned axes;       /* enum stage_axes bits */
    unsigned dtypes;     /* TS_DTYPE_BITs */
    unsigned quantities; /* TS_QUANTITY_BITs */
    unsigned
        beams; /* TS_BEAM_BITs of the sinograms it takes; TS_ANY_BEAM where no ray matters to it */
    /* By enum ts_quantity: what the user can do about a quantity that is not accepted. NULL where
     * the message's list of accepted ones is enough. */
    const char *quantity_hints[TS_INTENSITY + 1];
    const struct param *params;
    size_t n_params, params_bytes;
    unsigned traits; /* enum stage_trait bits */

    /* Pure. Fills derived parameters of `values`, to which the context's params point, and checks
     * what `params` cannot state, through ts_param_error. NULL: there is nothing to do. */
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
    struct stage_reach (*reach)(const struct stage_context *); /* NULL: slice by slice */
    /* For a stage whose output has slices of its own, in another number, place or order than the
     * input's: returns the input slices, at least one and all within the input, from which output
     * slices [first, end) are made. map() finds these in in[0], from its z_first on, without halo.
     * Such a stage has no reach, reduces nothing slice by slice, has no tables of its map, and no
     * reference streams with its input. NULL: output slice z is made from input slice z and those
     * within the reach of it. */
    struct stage_slices (*reads)(const struct stage_context *, int64_t first, int64_t end);
    const struct stage_reduction *reduction; /* NULL: none */
    /* Describes the Fourier transforms on the CPU that the stage's functions find in
     * context->transforms, and returns how many there are. Pure. Runs on a CUDA device have them
     * too, for the stage's code on the host. A transform has its own batch whatever the slab: calls
     * fill it up with zeros, so that results do not depend on how z is cut. NULL: none. */
    int (*transforms)(const struct stage_context *, struct fft_shape shapes[STAGE_TRANSFORMS]);
    /* Describes the tables that the map writes, beside those of the reduction (no more than
     * STAGE_TABLES together), and returns how many there are. Pure. axes[0] is z, and map() and the
     * CUDA launcher write all rows in context->tables[i] for the slices of their output. Rows
     * depend on the slice alone, because a slice may be computed again. NULL: none. */
    int (*tables)(const struct stage_context *, struct stage_table tables[STAGE_TABLES]);
    /* Returns the bytes of scratch of one map() of n output slices with context->threads threads. A
     * buffer of each thread is a part of it: ts_scratch_part() (stages/engine/scratch.h) lays them
     * out. NULL: 0. */
    size_t (*scratch_bytes)(const struct stage_context *, int64_t n);
    /* Maps in[0], a slab with its halo, to the n slices of `out`, of which out->z_first is the
     * first one's index in the volume. in[1 + reference] are the slices of a reference that streams
     * with the input. scratch is 64-byte aligned and not cleared. The bytes of the result depend
     * neither on how z is cut nor on the threads. */
    enum ts_status (*map)(const struct stage_context *, const struct ts_image *in,
                          struct ts_image *out, void *scratch);
    /* States how map() treats invalid pixels. Where its input is masked, in[0].valid has the bits
     * of the slab and its halo; the framework writes the bits of the output. If the
     * stage has reads() or slices of another size, and VALIDITY_SAME, map() writes them itself. */
    enum stage_validity validity;
    /* Returns true where the pixels that the reference `mask` leaves out become invalid, so that
     * the output is masked. The mask streams with the input, and `validity` is VALIDITY_SAME. NULL:
     * never. */
    bool (*masks)(const struct stage_context *);
    const struct stage_search *search; /* NULL: all parameters are known before the run */
    /* Returns the value that map() finds in place of invalid pixels. NULL: it finds what the input
     * has there. */
    double (*invalid_value)(const struct stage_context *);
    /* The CUDA side, such as STAGE_CUDA(box_cuda), defined in cuda/filters/box.cu. NULL where the
     * stage has neither map() nor a reduction, and where cpu_only is set. */
    const struct stage_cuda *cuda;
    /* Why a stage that computes has no CUDA code, as a first contribution may: "its sort has no
     * kernel yet". The plan, the stage's page, the benchmark and the tests report it. NULL: the
     * stage has CUDA code. */
    const char *cpu_only;
    struct stage_tolerance tolerance;
    const struct stage_method_tolerance
        *method_tolerances; /* NULL: the stage's holds for every method */
    /* Parameters of the benchmark's cases, '|' between them: "radius=1|radius=3 border=wrap". The
     * benchmark adds every method and the element types. NULL: worked out from `params`. */
    const char *bench;
    /* NaN in its output is an answer that `doc` states, for finite input as well. A run warns of it
     * in all others. */
    bool gives_nan;
    bool counts_values; /* its time depends on the values: the benchmark then has cases of every
                           distribution */
};

/* This declares for every stage of stages.def its two tables, such as box_stage, defined in
 * stages/filters/box.c, and box_cuda, in cuda/filters/box.cu. Only builds with CUDA define the
 * second, which is why tables name it by STAGE_CUDA(). */
#define STAGE(room, name)                                                                          \
    extern const struct stage name##_stage;                                                        \
    extern const struct stage_cuda name##_cuda;
#include "stages/stages.def"
#undef STAGE

/* Every stage of stages.def in that order, from stages/engine/registry.c. NULL ends the list. */
extern const struct stage *const ts_stages[];
/* Returns the stage of this name, or NULL where there is none. */
const struct stage *ts_stage_find(const char *name);

/* Refuses reference i (code reference-shape) where it is given and does not have the input's shape.
 * For resolve(). */
enum ts_status ts_stage_same_shape(const struct stage_context *context, int reference);

/* Tells the listener of a map, if there is one, of its iterations. */
static inline void ts_stage_iterated(const struct stage_context *context,
                                     struct stage_iteration iteration)
{
    if (context->listener)
        context->listener->iterated(context->listener->user, context, &iteration);
}

#endif
