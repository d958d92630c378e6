/* SPDX-License-Identifier: Apache-2.0
 *
 * libtomostage with stages from outside: a stage of a program's own, or of a plugin, in chains
 * beside the built-in ones.
 *
 *     static const struct ts_stage brighter = {
 *         .size = sizeof brighter, .name = "brighter", .version = "1.0", .dtypes = 1u << TS_F32,
 *         .summary = "add a number to every value", .axes = TS_TAKES_VOLUMES, .map = map};
 *     status = ts_context_add_stage(context, &brighter, diag);
 *     status = ts_context_parse(context, "memory volume | brighter", ...);
 *
 * A plugin is a shared library that shows one function of this name and type, which returns its
 * stages one after the other, and NULL past the last one:
 *
 *     const struct ts_stage *ts_plugin(size_t i);
 *
 * It needs this header, and no function of libtomostage. ts_context_load() opens it, and so does
 * `tomostage --plugin FILE`; no chain can.
 *
 * The rules of tomostage.h hold. A struct whose first member is `size` may grow at its end: set it
 * to sizeof of the struct as the caller was compiled.
 */
#ifndef TOMOSTAGE_STAGE_H
#define TOMOSTAGE_STAGE_H

#include "tomostage_context.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The type of a parameter's field. TS_PARAM_REFERENCE has none: it names an earlier image, which
 * the functions find in call->in. */
enum ts_param_kind {
    TS_PARAM_INTEGER,  /* int64_t */
    TS_PARAM_REAL,     /* double */
    TS_PARAM_CHOICE,   /* int32_t: the index in `choices` */
    TS_PARAM_BOOL,     /* bool */
    TS_PARAM_TEXT,     /* const char *; NULL: not given */
    TS_PARAM_REFERENCE /* no field */
};

/* A parameter: a field of the struct of parameters that the stage's functions get. */
struct ts_param {
    const char *name; /* a-z, 0-9 and _ */
    enum ts_param_kind kind;
    const char *unit; /* "mm", "degree", ...; "value": that of the image; "pixel": chains may give
                       * it in mm; NULL: none */
    const char *doc;  /* one line without a period */
    size_t offset;    /* of the field */
    double min, max;  /* closed range of a number; both 0: any finite number */
    double value;     /* the default, of a choice its index; NAN: the chain must give it. A text and
                       * a reference may be left out unless it is NAN. */
    const char *text; /* the default of a text */
    const char *const *choices; /* of a choice, ending in NULL */
};

/* Every function of a stage gets this. The slices of an image follow each other in memory, and its
 * rows have no gaps. */
struct ts_call {
    size_t size;
    const void *params; /* the struct of parameters, every field filled and within its range */
    /* in[0] is the stage's input, in[1], in[2], ... are its references in the order of their
     * parameters, which have the shape of the input; rank 0: not given. map() gets a slab: in[0]
     * has halo() more slices on both sides, in[0].axes[0].n in all, and references have the slices
     * of `out`. Other functions get descriptions without data. */
    const struct ts_image *in;
    int n_in;
    int threads;       /* map() may use so many; map_cuda(): 0 */
    void *scratch;     /* as many bytes as scratch() said, aligned to 64, not cleared */
    void *cuda_stream; /* map_cuda(): the cudaStream_t on which to enqueue */
    bool on_cuda;      /* the stage runs on a CUDA device: scratch and images have its memory */
    /* shape(), map() and map_cuda() call it to report an error, on the thread that called them. It
     * returns `status`. Pass TS_BAD_CHAIN if a parameter is wrong, TS_BAD_INPUT if the values are
     * wrong, else TS_RUN_FAILED. `code` is the short name of the error that is printed in brackets.
     * `hint` tells the user what to do; it may be NULL. */
    enum ts_status (*refuse)(const struct ts_call *call, enum ts_status status, const char *code,
                             const char *message, const char *hint);
    void *inside; /* the library's */
};

enum ts_takes { TS_TAKES_VOLUMES = 1, TS_TAKES_SINOGRAMS = 2 };

/* A stage. All but map() and map_cuda() are pure: the same answer for the same call. */
struct ts_stage {
    size_t size;
    const char *name;    /* its name in chains: a-z, 0-9 and _, and no other stage's */
    const char *version; /* results record it, with the SHA-256 of the plugin's file */
    const char *summary; /* one line without a period */
    const char *doc;     /* Markdown: formula, cost, source; NULL: the summary */
    unsigned axes;       /* enum ts_takes bits: what it takes */
    unsigned dtypes;     /* bits 1u << TS_U8 to 1u << TS_F32: the types that it takes */
    const struct ts_param *params;
    size_t n_params, param_size; /* param_size: sizeof(struct ts_param) */
    size_t params_bytes;         /* of the struct of parameters */
    /* A pixel of the output is valid if that of the input is, and map() does not use invalid ones
     * (in[0].valid) for others. false: runs warn of masked images, and the output is not masked. */
    bool keeps_valid;
    /* Changes the description of the output, which starts as the input's: type, quantity, unit, and
     * rows and columns (or views and detector pixels), but not the slices. Texts and positions have
     * to last as long as the stage. Lengths are in mm or "pixel"; others are converted, but
     * positions are not. NULL: nothing changes. */
    enum ts_status (*shape)(const struct ts_call *call, struct ts_image *out);
    /* Returns how many slices before and after a slice its output depends on; beyond the ends of
     * the volume, slices are reflected (c b a | a b c). NULL: 0 */
    int64_t (*halo)(const struct ts_call *call);
    /* Returns the bytes that map() or map_cuda() of so many output slices needs. NULL: 0 */
    size_t (*scratch)(const struct ts_call *call, int64_t slices);
    /* Fills the slices of `out`, the first of which is slice out->z_first of the volume. The bytes
     * of a slice depend neither on the other slices of the slab nor on the threads. */
    enum ts_status (*map)(const struct ts_call *call, struct ts_image *out);
    /* Does the same on a CUDA device: it enqueues kernels on the stream, and neither allocates nor
     * waits. NULL: the stage runs on the CPU only. */
    enum ts_status (*map_cuda)(const struct ts_call *call, struct ts_image *out);
};

/* Adds a stage to the context (NULL: that of the process), whose chains may name it from then on.
 * The table and its texts are copied; the functions must last as long as the context. TS_BAD_CHAIN:
 * the table is wrong (stage-table), or the name is taken (stage-taken). */
TS_PUBLIC enum ts_status ts_context_add_stage(struct ts_context *context,
                                              const struct ts_stage *stage, struct ts_diag *diag);
/* Opens a plugin and adds its stages, or none of them. A file that the context has already is not
 * added again. Its code has all rights of the process, and stays loaded until the process ends.
 * TS_BAD_CHAIN: it cannot be opened (plugin-unreadable) or is no plugin (plugin-foreign), or as
 * above. */
TS_PUBLIC enum ts_status ts_context_load(struct ts_context *context, const char *path,
                                         struct ts_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
