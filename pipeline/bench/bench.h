/* SPDX-License-Identifier: Apache-2.0
 *
 * The benchmark of the stages. Its cases come from the stage tables: element types, methods, required parameters.
 * tomostage-bench (tests/bench.c) is the program that also knows the oracles.
 */
#ifndef PIPELINE_BENCH_BENCH_H
#define PIPELINE_BENCH_BENCH_H

#include "cuda/bench/ceilings.h"
#include "stages/engine/stage.h"

enum bench_values {
    BENCH_CT,       /* air, soft tissue with noise, bone: few values, many runs; of line integrals: its projections */
    BENCH_UNIFORM,  /* every value of the type alike (floats: [0, 4096)) */
    BENCH_CONSTANT, /* the worst case of tables that are shared */
    BENCH_CHECKER,  /* two values that take turns: the worst case of runs */
    BENCH_VALUES
};
extern const char *const ts_bench_values_names[BENCH_VALUES];

/* The one reference that the benchmark can give: the image itself. */
#define BENCH_ITSELF "itself"
/* Before the beam of the sinogram that a case is timed on, where it is not the first that the stage takes; or before
 * half-acquisition, a whole turn of parallel views with the rotation axis near an end of the detector. */
#define BENCH_SCAN "scan="

/* One thing to time. */
struct bench_case {
    const struct stage *stage;
    char parameters[256]; /* "radius=3 method=direct"; "scan=fan-arc" tells the beam of the sinogram */
    enum ts_dtype dtype;
    enum bench_values values;
    int64_t nz, ny, nx;
};

/* What an oracle fills in of a stage's tables, in the order in which the stage describes them. */
struct bench_tables {
    const struct stage_table *tables;
    int n;
    double *values[STAGE_TABLES]; /* zeros at first */
    bool known[STAGE_TABLES];
};
/* The values of a table, which are known from then on; NULL where the stage has none of this name. */
double *ts_bench_table(struct bench_tables *tables, const char *name);

/* A whole image as doubles, to the whole result as doubles; of a stage without references. */
typedef void bench_oracle(const struct stage_context *context, const double *in, double *out);
/* The tables of a stage whose map has a bench_oracle: in as it is given to that, out as it comes from there. */
typedef void bench_tables_oracle(const struct stage_context *context, const double *in, const double *out,
                                 struct bench_tables *tables);
/* All that comes of a stage: inputs[0] is its image, inputs[1 + i] reference i, data NULL where it is not given. out:
 * of a stage that maps. Tables that it does not ask for are not compared. */
typedef void bench_results_oracle(const struct stage_context *context, const struct ts_image inputs[STAGE_INPUTS],
                                  double *out, struct bench_tables *tables);
/* Of a stage; NULL: there is none. */
struct bench_oracles {
    bench_oracle *map;
    bench_tables_oracle *tables;   /* beside map */
    bench_results_oracle *results; /* before the others, where it is there too */
};

/* How far a case is from its oracle. */
struct bench_error {
    double distance;   /* the largest, as a share of the oracle's largest value; NAN: unknown */
    char unknown[192]; /* why it is; or which of the tables the oracle does not know; "": all was compared */
};

struct bench_request {
    const char *stage;      /* NULL: all, and the chain on one slice of this size; "chain": that alone */
    const char *parameters; /* NULL: the stage's own cases; else these, as ts_bench_split_cases() takes them */
    int dtype, values;      /* -1: all that are benchmarked */
    /* 0: 32 x 512 x 512 on the CPU; on a device 512 x 512 x 512, or 1 GiB of what only reads. Of a stage that is named
     * also one such slice, and as many pixels in slices of 2,048 x 2,048. */
    int64_t nz, ny, nx;
    int runs;                /* 0: as many as fit a quarter of a second, at least 5 */
    int threads;             /* 0: one thread, and all */
    const char *device;      /* NULL, "auto": the CPU, and CUDA where it is; or one of them */
    bool json;               /* an array of one object a row */
    const char *save, *plot; /* files for the rows as JSON and as a plot (SVG), or NULL */
    struct bench_oracles (*oracles)(const struct stage *stage); /* NULL: errors are not known */
};

/* ---- options of the command line (bench_options.c) ----------------------------------------------- */

enum bench_option {
    BENCH_STAGE = 256,
    BENCH_PARAMETERS,
    BENCH_DTYPE,
    BENCH_DISTRIBUTION,
    BENCH_SIZE,
    BENCH_RUNS,
    BENCH_THREADS,
    BENCH_DEVICE,
    BENCH_JSON,
    BENCH_SAVE,
    BENCH_PLOT,
    BENCH_OPTIONS_END /* a program's own follow */
};
/* For getopt_long, in both programs. */
/* clang-format off */
#define BENCH_OPTIONS                                                                                                  \
    {"parameters", required_argument, NULL, BENCH_PARAMETERS}, {"dtype", required_argument, NULL, BENCH_DTYPE},        \
    {"values", required_argument, NULL, BENCH_DISTRIBUTION}, {"size", required_argument, NULL, BENCH_SIZE},            \
    {"runs", required_argument, NULL, BENCH_RUNS}, {"threads", required_argument, NULL, BENCH_THREADS},                \
    {"device", required_argument, NULL, BENCH_DEVICE}, {"json", no_argument, NULL, BENCH_JSON},                        \
    {"save", required_argument, NULL, BENCH_SAVE}, {"plot", required_argument, NULL, BENCH_PLOT}
/* clang-format on */

/* Writes an option's value into the request. False: an unknown option, or a value that is none of its. */
bool ts_bench_option(struct bench_request *request, int option, const char *value);

/* ---- the benchmark ------------------------------------------------------------------------------- */

/* not-written where the request's files cannot be. */
enum ts_status ts_bench_files_check(const struct bench_request *request, struct ts_diag *diag);

/* Times the cases and prints them; a case that the stage refuses is left out, a stage without any case is named. */
enum ts_status ts_bench_run(const struct bench_request *request, FILE *stream, struct ts_diag *diag);

/* `tomostage bench [STAGE]`: hands its arguments (argv[1] on) over to the program tomostage-bench beside this one,
 * which also knows the oracles; where it is not installed, times the request and prints the table without errors.
 * Returns the exit code. */
int ts_bench(const struct bench_request *request, int argc, char **argv, FILE *stream);

/* bench_reduction.c: prints speed-up and efficiency of fan-in and two-level sums, products, minima, maxima, variances
 * and sums of tables against size and number of processors. Takes device, json, save, plot, runs and size (the most
 * values) of the request; its other members are refused (code benchmark-option). */
enum ts_status ts_bench_reduction(const struct bench_request *request, FILE *stream, struct ts_diag *diag);

/* ---- one case ---------------------------------------------------------------------------------- */

/* What a case is compared with. */
enum bench_ceiling { BENCH_MEMCPY, BENCH_COPY, BENCH_READ, BENCH_TEXTURE };

struct bench_row {
    struct bench_case which;
    const char *name;   /* the stage's, or "chain" */
    char method[32];    /* that ran; "" where the stage has none */
    const char *device; /* NULL: the CPU */
    int threads;
    double seconds;       /* median; on a device of the kernels alone */
    double spread;        /* from the 10th to the 90th percentile, as a share of the median */
    double total_seconds; /* on a device: with the host's part of a reduction; NAN on the CPU */
    double cold_seconds;  /* of the first run */
    double bytes;         /* each input read once a pass, each output written once */
    double samples; /* of a projection: values that its rays meet; of a backprojection: pixels in views; 0: none */
    enum bench_ceiling ceiling;
    double ceiling_rate; /* bytes, or samples of a texture, a second */
    struct bench_error error;
};

/* GB/s, or G samples/s where there are samples; and what of the ceiling that is, in percent. */
double ts_bench_rate(const struct bench_row *row);
double ts_bench_percent(const struct bench_row *row);

/* A prepared stage and what it was prepared from. */
struct bench_stage {
    struct param_set set;
    struct stage_context context;
    struct ts_image in;
    struct ts_image frames; /* of required references: the first rows of each slice of the image itself */
};

/* Prepares the case's stage; in NULL: for the case's image; device NULL: for the CPU. Needs
 * ts_bench_stage_clear whatever it returns. */
enum ts_status ts_bench_prepare(struct bench_stage *ready, const struct bench_case *which, const struct ts_image *in,
                                int threads, const struct device_numbers *device, struct ts_diag *diag);
/* Frees what ts_bench_prepare allocated. */
void ts_bench_stage_clear(struct bench_stage *ready);
/* Fills in what follows from the prepared stage: name, method, bytes, samples. */
void ts_bench_describe(struct bench_row *row, const struct bench_case *which, const struct bench_stage *ready);

/* bench_cpu.c and bench_cuda.c: fill the row, but for its error. may_shrink: what is slow is timed on fewer slices.
 * TS_BAD_CHAIN where the stage refuses the case. */
enum ts_status ts_bench_cpu(const struct bench_case *which, int threads, int runs, struct ts_diag *diag,
                            struct bench_row *row);
enum ts_status ts_bench_cuda(const struct bench_case *which, bool may_shrink, const struct device_numbers *device,
                             const struct cuda_ceilings *ceilings, int runs, struct ts_diag *diag,
                             struct bench_row *row);
/* Chains of up to four cases on one image; row->seconds is the whole chain's. */
enum ts_status ts_bench_cpu_chain(const struct bench_case *cases, int n, int threads, int runs, struct ts_diag *diag,
                                  struct bench_row *row);
enum ts_status ts_bench_cuda_chain(const struct bench_case *cases, int n, const struct device_numbers *device, int runs,
                                   struct ts_diag *diag, struct bench_row *row);
/* bench_error.c: on a small image, of the map and of all tables that the oracle knows. */
struct bench_error ts_bench_error(const struct bench_case *which, const struct device_numbers *device,
                                  struct bench_oracles oracles);
/* Of what was not compared with anything, and why. */
struct bench_error ts_bench_no_error(const char *why);

/* ---- printing (bench_print.c, bench_plot.c) ---------------------------------------------------- */

struct bench_report {
    const struct bench_request *request;
    FILE *stream;
    struct bench_row *rows;
    int n_rows, room, all_threads;
};

/* The table's head, a row as soon as it is measured, and the end; as JSON where the request says so. no_device: why no
 * CUDA device takes part, or NULL. first: of all rows. */
void ts_bench_print_head(const struct bench_report *report, const struct device_numbers *device, int driver,
                         const struct cuda_ceilings *ceilings, const char *no_device);
void ts_bench_print_row(const struct bench_report *report, const struct bench_row *row, bool first);
void ts_bench_print_end(const struct bench_report *report);
/* All rows as JSON. */
enum ts_status ts_bench_save(const char *path, const struct bench_row *rows, int n, struct ts_diag *diag);
/* A bar a row: percent of its ceiling. */
enum ts_status ts_bench_plot(const char *path, const struct bench_row *rows, int n, struct ts_diag *diag);

/* ---- cases (bench_cases.c) --------------------------------------------------------------------- */

enum { BENCH_MAX_CASES = 64 };

/* "box radius=2|equalize" as cases, at most n; returns how many, 0 where a stage is not there. */
int ts_bench_split(const char *chain, const struct bench_case *which, struct bench_case cases[], int n);
/* "bins=256|bins=4096 method=*" as cases, one text each: '|' stands between them, and method=* for one with each
 * method. Returns how many; 0 where one has more than 255 characters. */
int ts_bench_split_cases(const struct stage *stage, const char *cases, char parameters[BENCH_MAX_CASES][256]);
/* The parameters of a stage's own cases; returns how many. Every method has one. */
int ts_bench_parameters(const struct stage *stage, char parameters[BENCH_MAX_CASES][256]);
/* Fills a set (values: zeroed memory of params_bytes) from "a=1 b=name c=1,2"; numbers, lists of them, choices. */
enum ts_status ts_bench_assign(struct param_set *set, const char *parameters, struct ts_diag *diag);
/* Frees set->values and what it points to. */
void ts_bench_params_clear(struct param_set *set);

/* ---- images (bench_images.c) ------------------------------------------------------------------- */

/* The description of the case's image, without data. */
struct ts_image ts_bench_describe_image(const struct bench_case *which);
/* An image of the case, 1 mm voxels, with allocated data; data NULL where memory is out. */
struct ts_image ts_bench_image(const struct bench_case *which);

#endif
