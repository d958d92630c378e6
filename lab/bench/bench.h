/* SPDX-License-Identifier: Apache-2.0
 *
 * This is the benchmark of the stages. Its cases come from the stages' tables: element types,
 * methods, required parameters. Errors are distances from the naive oracles in double precision
 * beside the tests.
 */
#ifndef LAB_BENCH_BENCH_H
#define LAB_BENCH_BENCH_H

#include "core/arena.h"
#include "lab/bench/bench_devices.h"
#include "lab/bench/table.h"
#include "lab/cuda/ceilings.h"
#include "program/cli/command.h"
#include "stages/engine/stage.h"

enum bench_values {
    BENCH_CT, /* air, soft tissue with noise, bone: few values, many runs; line integrals are its
                 projections */
    BENCH_UNIFORM,  /* every value of the type is equally likely (floats: [0, 4096)) */
    BENCH_CONSTANT, /* the worst case of tables that are shared */
    BENCH_CHECKER,  /* two values that alternate: the worst case of runs */
    BENCH_VALUES
};
extern const char *const ts_bench_values_names[BENCH_VALUES];

/* The one reference that the benchmark can give: the image itself. */
#define BENCH_ITSELF "itself"
/* "scan=fan-arc" among the parameters sets the beam of the sinogram, where it is not the first that
 * the stage takes; "scan=half-acquisition" is a whole turn of parallel views with the rotation axis
 * near an end of the detector. */
#define BENCH_SCAN "scan="

/* A slice of a user, of which a case's images are made: each pixel is the nearest one of the slice.
 * Integers are counted from its smallest value on, and scaled where the case's type does not hold
 * them. */
struct bench_slice {
    int64_t ny, nx;
    double low, high; /* smallest and largest value */
    double *values;   /* (y, x) */
};
/* Reads the middle slice of a DICOM file or folder (bench_slice.c); free(slice->values) whatever it
 * returns. TS_BAD_INPUT: it cannot be read. */
enum ts_status ts_bench_slice_read(const char *path, struct bench_slice *slice,
                                   struct ts_diag *diag);
struct source;
/* Opens the path with the usual parameters of the format `dicom`; the arena outlives the source,
 * and NULL is one that found no memory. */
enum ts_status ts_bench_dicom_open(const char *path, struct arena *arena, struct source **source,
                                   struct ts_diag *diag);

/* The most stages of a chain. */
enum { BENCH_STAGES = 4 };

/* A stage to time. */
struct bench_case {
    const struct stage *stage;
    char parameters[256]; /* "radius=3 method=direct" */
    enum ts_dtype dtype;
    enum bench_values values;
    int64_t nz, ny, nx;
    const struct bench_slice *
        given; /* its pixels take the place of BENCH_CT's where the image is no sinogram; or NULL */
};

/* The distance of a case from its oracle. */
struct bench_error {
    double distance;   /* the largest, as a share of the oracle's largest value; NAN: unknown */
    double allowed;    /* by the stage's tolerance, as a share likewise */
    char unknown[192]; /* why it is; or the names of the tables that the oracle does not know; "":
                          all was compared */
};
/* Compares a case on a device (NULL: the CPU) with its oracle, on a small image. */
typedef struct bench_error bench_compare(const struct bench_case *which,
                                         const struct device_numbers *device);
/* Does so with the stage's own oracle (tests/support/oracle_error.c). */
bench_compare ts_oracle_compare;
/* The error of a row that was not compared with anything, and why. */
struct bench_error ts_bench_no_error(const char *why);

struct bench_request {
    const char *stage; /* NULL: all, and the chain on one slice of this size; "chain": that alone */
    const char *parameters; /* NULL: the stage's own cases; else these, as ts_bench_split_cases()
                               takes them */
    int dtype, values;      /* -1: all that are benchmarked */
    /* 0: 32 x 512 x 512 on the CPU; on a device 512 x 512 x 512, or 1 GiB for a stage that only
     * reads. A stage that is named is also timed on one such slice, and on as many pixels in slices
     * of 2,048 x 2,048. */
    int64_t nz, ny, nx;
    int runs;                /* 0: as many as fit a quarter of a second, at least 5 */
    int threads;             /* 0: one thread, and all */
    const char *device;      /* as ts_bench_devices_choose() takes it */
    bool json;               /* an array of one object a row */
    const char *save, *plot; /* files for the rows as JSON and as a plot (SVG), or NULL */
    bench_compare *compare;  /* NULL: rows have no errors */
};
#define BENCH_REQUEST_DEFAULT                                                                      \
    {                                                                                              \
        .dtype = -1, .values = -1                                                                  \
    }

/* ---- the commands of tomostage-bench --------------------------------------------------------- */

extern const struct command ts_bench_command;
extern const struct command ts_bench_deflate_command,
    ts_bench_devices_command; /* in a build with CUDA */

/* These read the options that name a case, for every command whose arguments begin with a struct
 * bench_request. */
command_parse ts_bench_parse_dtype, ts_bench_parse_values, ts_bench_parse_size;
/* clang-format off */
#define BENCH_CASE_OPTIONS                                                                                             \
    {"parameters", 0, OPTION_TEXT, OPTION_AT(struct bench_request, parameters), "'A=1 B=name'",                        \
     "only with these parameters; 'A=1|A=2' is two cases, method=* every method"},                                     \
    {"size", 0, OPTION_PARSED, 0, 0, "ZxYxX",                                                                          \
     "only in this size; without it a device is timed on some of the slices where all take long",                      \
     .parse = ts_bench_parse_size},                                                                                    \
    {"dtype", 0, OPTION_PARSED, 0, 0, "TYPE", "only in this type: u8, i16, u16, f32, ...",                             \
     .parse = ts_bench_parse_dtype},                                                                                   \
    {"values", 0, OPTION_PARSED, 0, 0, "NAME", "only with these values: ct, uniform, constant or checker",             \
     .parse = ts_bench_parse_values}
/* clang-format on */

/* ---- the benchmark --------------------------------------------------------------------------- */

/* Times the cases and prints them; a case that the stage refuses is left out, a stage without any
 * case is named. TS_BAD_CHAIN: the request names something that does not exist (unknown-stage,
 * no-benchmark, parameters-too-long, benchmark-option, device); TS_RUN_FAILED: a file cannot be
 * written (not-written), or a device failed. */
enum ts_status ts_bench_run(const struct bench_request *request, FILE *stream,
                            struct ts_diag *diag);

/* ---- one case -------------------------------------------------------------------------------- */

/* The rates that a case is compared with. */
enum bench_ceiling { BENCH_MEMCPY, BENCH_COPY, BENCH_READ, BENCH_TEXTURE };

struct bench_row {
    struct bench_case
        which; /* for a chain: its first case, with the text of the whole chain as parameters */
    const char *name;   /* the stage's, or "chain" */
    const char *method; /* that ran; NULL: the stage has none */
    const char
        *cpu_only; /* why the stage has no CUDA code; NULL: it has some, or the row is a chain's */
    const char *device; /* NULL: the CPU */
    int threads;
    double seconds;          /* median; on a device of the kernels alone */
    double fastest, slowest; /* the 10th and the 90th percentile */
    double spread;           /* from the 10th to the 90th percentile, as a share of the median */
    double total_seconds;    /* on a device with the host's part of a reduction; NAN on the CPU */
    double cold_seconds;     /* time of the first run */
    double bytes;            /* each input read once a pass, each output written once */
    double samples;          /* values that the rays of a projection meet, or pixels in views of a
                                reconstruction; NAN: none */
    enum bench_ceiling ceiling;
    double ceiling_rate; /* bytes, or samples of a texture, a second; NAN: there is none */
    struct bench_error error;
    /* ts_bench_row_finish() works these out for tables and plots. */
    const char *dtype, *values, *place, *ceiling_name;
    int64_t cpu_threads; /* -1 on a device */
    double voxel_rate;   /* voxels a second */
    double rate;         /* GB/s, or G samples/s where there are samples */
    double percent;      /* share of the ceiling; NAN: there is none */
    char on[16], share[32], no_error[192], not_compared[192],
        why[448]; /* why: all that the row has to explain */
};

/* A prepared stage, with the case, parameters and images from which it was prepared. */
struct bench_stage {
    struct bench_case which;
    struct arena *arena; /* owns the values of the set */
    struct param_set set;
    struct stage_context context;
    struct ts_image in;
    struct ts_image
        frames; /* stands for required references: the first rows of each slice of the image */
};

/* Prepares the case's stage for the image `in` (NULL: the case's own) on a device (NULL: the CPU).
 * Needs ts_bench_stage_clear whatever it returns. */
enum ts_status ts_bench_prepare(struct bench_stage *ready, const struct bench_case *which,
                                const struct ts_image *in, int threads,
                                const struct device_numbers *device, struct ts_diag *diag);
struct stage_reduced;
/* Applies the prepared stage on its context's device to an image in host memory, which also stands
 * for all references. */
enum ts_status ts_bench_apply(struct stage_context *context, const struct ts_image *in,
                              struct ts_image *out, struct stage_reduced **reduced);
/* Frees what ts_bench_prepare allocated. */
void ts_bench_stage_clear(struct bench_stage *ready);
/* Fills in what follows from the n prepared stages of a subject (name, method, bytes, samples) and
 * clears the rest. */
void ts_bench_describe(struct bench_row *row, const struct bench_stage ready[], int n);

/* bench_cpu.c and bench_cuda.c: fill the row, but for its error. A subject is a stage (n 1), or a
 * chain of up to BENCH_STAGES cases, each on the result of the one before it; the row's times are
 * the whole chain's. may_shrink: a slow stage is timed on fewer slices. TS_BAD_CHAIN where a stage
 * refuses its case. */
enum ts_status ts_bench_cpu(const struct bench_case *cases, int n, int threads, int runs,
                            struct ts_diag *diag, struct bench_row *row);
#ifdef TS_HAVE_CUDA
enum ts_status ts_bench_cuda(const struct bench_case *cases, int n, bool may_shrink,
                             const struct device_numbers *device,
                             const struct cuda_ceilings *ceilings, int runs, struct ts_diag *diag,
                             struct bench_row *row);
/* Measures what the device can do at most, in a session of its own. */
enum ts_status ts_bench_ceilings(const struct device_numbers *device, struct ts_diag *diag,
                                 struct cuda_ceilings *ceilings);
#endif

/* ---- printing (bench_print.c) ---------------------------------------------------------------- */

/* The columns of rows, for text and JSON. */
extern const struct table ts_bench_table_of_rows;
/* Computes the members that follow from the measurements. */
void ts_bench_row_finish(struct bench_row *row);
/* Prints the lines above the table, for people: version, threads, device and ceilings, or why no
 * CUDA device takes part. */
void ts_bench_print_head(const struct bench_devices *devices, const struct cuda_ceilings *ceilings,
                         FILE *stream);
/* Draws a bar a row: percent of its ceiling. */
enum ts_status ts_bench_plot(const char *path, const struct table_rows *rows, struct ts_diag *diag);

/* ---- cases (bench_cases.c) ------------------------------------------------------------------- */

enum { BENCH_MAX_CASES = 64 };

/* Splits "bins=256|bins=4096 method=*" into cases, one text each, at the '|'; method=* becomes a
 * case of each method. Returns how many; 0 where one has more than 255 characters. */
int ts_bench_split_cases(const struct stage *stage, const char *cases,
                         char parameters[BENCH_MAX_CASES][256]);
/* Lists the parameters of a stage's own cases, with a case for every method; returns how many. */
int ts_bench_parameters(const struct stage *stage, char parameters[BENCH_MAX_CASES][256]);
/* Fills a set from the case's parameters, "a=1 b=name c=1,2", as a chain on one line would; the
 * arena owns the values. The only reference is BENCH_ITSELF (bad-value), and a parameter that is
 * missing is no error yet. TS_BAD_CHAIN: as for a chain. */
enum ts_status ts_bench_load(struct param_set *set, const struct bench_case *which,
                             struct arena *arena, struct ts_diag *diag);

/* Returns the case of a CT of this type and so many bytes, for values to compress. */
struct bench_case ts_bench_ct_case(enum ts_dtype dtype, size_t bytes);

/* ---- images (bench_images.c) ----------------------------------------------------------------- */

/* Returns the description of the case's image, without data. */
struct ts_image ts_bench_describe_image(const struct bench_case *which);
/* Writes the values of the case into an image that it describes. */
void ts_bench_fill(const struct bench_case *which, struct ts_image *image);
/* Returns an image of the case with 1 mm voxels and allocated data, which are NULL where memory is
 * out. */
struct ts_image ts_bench_image(const struct bench_case *which);

/* Marks the names, parted by commas, of a table of n structs whose first member is their name.
 * Returns false if one is not there. */
bool ts_bench_pick(const char *names, const void *table, size_t bytes, int n, bool *picked);

#endif
