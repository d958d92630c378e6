/* SPDX-License-Identifier: Apache-2.0
 *
 * A run carries a plan out. The walk (pipeline/run/run_walk.c) fixes the order of reading,
 * computing and writing; drivers (stages/engine/driver.h) run the stages; a back end holds the
 * images and moves them: in host memory (pipeline/run/run_host.c) or on a CUDA device
 * (pipeline/run/run_cuda.c).
 */
#ifndef PIPELINE_RUN_RUN_H
#define PIPELINE_RUN_RUN_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "io/file/digest.h"
#include "io/hdf5/hdf5_write.h"
#include "io/source/source_slices.h"
#include "pipeline/fleet/ranks/ranks.h"
#include "pipeline/plan/plan.h"
#include "pipeline/plan/plan_reuse.h"

struct run_node {
    struct ts_image parts[PLAN_SPANS]; /* the slices in memory now; one part if the node is kept */
    int n_parts;
    /* memory of the parts: the kept image, or `copies` slabs side by side, which are used in
       turn */
    unsigned char *buffer;
    int copies;
    size_t copy_bytes;
    /* Bits of the valid pixels of a masked image: valid_bytes for each copy. */
    unsigned char *valid;
    size_t valid_bytes;
    /* of a masked output: the bits of the whole image, for the file; else NULL */
    unsigned char *saved;
    /* what each slice of an image of floats holds (pipeline/run/run_finite.h); else NULL */
    uint32_t *seen;
    unsigned char *done;         /* kept: per slice */
    struct stage_driver *driver; /* driver of a stage that computes something; else NULL */
};

/* The part of a run on one device, with its own images and drivers. */
struct run_device {
    struct run_node *nodes;
    unsigned char **done; /* nodes[i].done, in the form for ts_plan_step */
    void *back;           /* the back end's own */
};

/* What may be wrong with the rows of a scan. */
enum rows_kind {
    ROWS_CUT_OFF,
    ROWS_OBJECT_AS_AIR,
    ROWS_INVERTED,
    ROWS_DOUBTED,
    ROWS_BRIGHT,
    ROWS_AIR,
    ROWS_STEP,
    ROWS_DIM,
    ROWS_DRIFT,
    ROWS_DARK,
    ROWS_STARVED,
    ROWS_REPEATED,
    ROWS_BLANK,
    ROWS_CLIPPED, /* first: the level, in thousandths */
    ROWS_ZINGERS, /* first: half of the least excess, in thousandths */
    ROWS_OBJECT,  /* what is seen beside air, a share of it */
    ROWS_CENTER,  /* first: the detector pixel of the axis, last: its error */
    ROWS_LEANS,   /* of all slices that are looked at: the same of two, in `runs` with the slice */
    ROWS_KINDS
};
/* So many slices are looked at, the middle one among them. */
enum { ROWS_RUNS = 16, ROWS_PLACES = 5, ROWS_MIDDLE = ROWS_PLACES / 2 };
struct rows_found {
    int64_t amount;      /* in thousandths, or a number of views; 0: nothing is wrong */
    int64_t first, last; /* views, or what else the kind has */
    int64_t share;       /* of light, in thousandths */
    /* of numbers of views: ranges [first, end); only the first ROWS_RUNS are kept */
    int64_t n_runs, runs[ROWS_RUNS][2];
    int64_t elsewhere; /* the slice in which it was found, -1 if that is the middle one */
    char slice[24];    /* as it is called */
    bool own;          /* the stage has a rotation axis of its own */
};

/* What a node gives, on whichever device it is computed. */
struct run_result {
    int dataset;                             /* the writer's id, or -1 */
    struct stage_table tables[STAGE_TABLES]; /* tables of all volumes, if there are several */
    int n_tables;
    /* for each input: the device that has the running total of its reduction; -1: it is empty */
    int totals[STAGE_INPUTS];
    int written; /* the device that has written its slices last; -1: none */
    /* the first slice, counted through all volumes, in which the stage made NaN or infinite values
       from others; INT64_MAX: none */
    int64_t not_finite;
    struct rows_found rows[ROWS_PLACES][ROWS_KINDS]; /* what is wrong with its input (run_rows.h) */
    /* largest magnitude that became infinite when this rank rounded to halves before the writer; 0:
       none */
    float largest;
};

enum { RUN_SINKS = SINK_FORMATS + 1 };

/* How far the walk is. A thread that reports an event has a copy. */
struct run_position {
    int pass;
    int64_t surveyed;                                               /* as in struct run */
    int64_t volume, slices_done, n_slices, slab_slices, bytes_done; /* as in struct run */
    struct timespec pass_started;
    int32_t iterating;
};

enum { RUN_PASSES_TIMED = 32 };

struct run {
    const struct ts_plan *plan; /* `own` */
    struct ts_plan
        own; /* the plan with a copy of its nodes, some of which the run resolves again */
    const struct run_options *options;
    struct run_state *state;
    struct ts_diag *diag;
    const struct run_back_end *back_end;
    const struct run_fleet *fleet; /* NULL: there is one rank with one device */
    struct CUstream_st *captured;  /* the caller's stream, of which a graph is made; NULL: none */
    int capture_mode;              /* of the thread before the run */
    struct run_device devices[PLAN_DEVICES];
    int device; /* the current device (ts_run_use), to which nodes, done and back point */
    struct run_node *nodes;
    unsigned char **done;
    void *back;
    struct run_result *results; /* one for each node */
    struct plan_step *now, *next;
    bool first_planned; /* `now` is the first slab of the pass already */
    struct hdf5_writer
        *writer; /* writer of the HDF5 output, for what only it can hold; NULL: there is none */
    char digest[DIGEST_TEXT_BYTES]; /* digest of that output, once it is written */
    /* The opened outputs: those of other formats, in the chain's order, which take the image of
       sink_node, and HDF5 last. NULL: not opened. */
    struct sink *sinks[RUN_SINKS];
    int32_t sink_node;
    /* slices or chunks of an output that are received from, or sent to, another rank; NULL if there
       are none */
    void *received;
    /* number of outputs of the current slab that rank 0 still has to get from this rank */
    int owed;
    bool lost; /* rank 0 has not got all of them, because another rank has failed */
    /* the bits that the sinks got, if their image has invalid pixels; else NULL */
    uint64_t *sink_valid;
    struct timespec started, pass_started;
    atomic_int iterating; /* 1 + the node whose stage iterates in this pass; 0: none has begun */
    int64_t volume, next_volume;
    int pass;
    /* While all volumes are surveyed for reductions of a series (plan_node.series): the pass whose
       reductions are made, and nothing is written. -1: the volumes are mapped. */
    int survey;
    int64_t surveyed; /* number of passes over a volume that surveys have made */
    /* Slabs of all passes are counted from 0. Device d has slab d, and every n-th one after it if
       there are n devices. A number is skipped if a volume ends before its device's turn. */
    int64_t slab_number, first_slab; /* first_slab: that of the current domain */
    int64_t slices_done, n_slices, bytes_done;
    int64_t slab_slices; /* of the slab at hand */
    /* seconds that each of the first passes took for the last volume that had it; 0: none had */
    double pass_took[RUN_PASSES_TIMED];
    double reported;                                /* when the last event was reported */
    void (*on_node)(struct run *run, int32_t node); /* is told of each computed node of a slab */
    struct run_checkpoint *checkpoint;              /* NULL: nothing is kept */
    pthread_mutex_t lock; /* guards events, which several threads report if stages iterate */
    struct stage_listener listener;
};

/* The walk passes images on that are in the back end's buffers. */
struct run_back_end {
    /* Makes the current device that of the calling thread. All other calls are for the current
       device. NULL: there is one. */
    enum ts_status (*use)(struct run *run);
    /* Copies the running total of an input's reduction from another device. NULL: there is one. */
    enum ts_status (*bring_total)(struct run *run, int from, int32_t node, int input);
    /* Copies the running total of an input's reduction from the current device to the driver's
       state, where ranks join theirs; all devices then begin a new total. NULL: it is there
       already. */
    enum ts_status (*collect)(struct run *run, int32_t node, int input);
    /* Sets run->captured, and refuses a run that no graph can hold; surrounds the walk, which then
       only enqueues work there. NULL: there are no streams. */
    enum ts_status (*ask_capture)(struct run *run);
    enum ts_status (*end_capture)(struct run *run, enum ts_status status);
    /* Sends the outputs of all slabs up to this one to the writer, or from another rank to rank 0.
       Several ranks send in turn, and only in this call. NULL: write() does it. */
    enum ts_status (*leave)(struct run *run, int64_t slab_number);
    /* Called before and after each call of a stage's driver, if that returns before its work is
       done: the back end adds the work to the node's time, at the latest in drain(), and traces it.
       NULL: the walk does both. */
    enum ts_status (*begin_call)(struct run *run, int32_t node);
    enum ts_status (*end_call)(struct run *run, const struct ts_image *made);
    /* Allocate all memory: before the workers start, and after. They fill in buffer, copies,
       copy_bytes and driver of the nodes. attach NULL: nothing is left to do. */
    enum ts_status (*allocate)(struct run *run);
    enum ts_status (*attach)(struct run *run);
    /* Called between these two: starts what attach() will wait for. NULL: nothing. */
    enum ts_status (*open)(struct run *run);
    void (*free)(struct run *run); /* another thread may call it, after settle() for all devices */
    /* Waits for everything that is under way. NULL: nothing can be. */
    enum ts_status (*settle)(struct run *run);
    enum ts_status (*begin_slab)(struct run *run); /* NULL: there is nothing to begin */
    enum ts_status (*end_slab)(struct run *run);   /* NULL: there is nothing to end */
    /* Reads a source's slices to `target`, with their bits if it is masked. NULL: `target` is host
       memory. */
    enum ts_status (*read)(struct run *run, int32_t node, struct ts_image *target);
    /* Notes in run_node.seen what slices of a node hold, like ts_run_look_host(). */
    enum ts_status (*look)(struct run *run, int32_t node, const struct ts_image *slices,
                           uint32_t also);
    /* write() sends slices to the outputs that hold the node's image. After drain() all of them
       have arrived, and the tables of maps are in the nodes' states. NULL: they are in host
       memory. */
    enum ts_status (*write)(struct run *run, int32_t node, const struct ts_image *slices);
    enum ts_status (*drain)(struct run *run);
    /* Copies bits to run_node.saved. */
    enum ts_status (*save)(struct run *run, void *saved, const void *valid, size_t bytes);
    /* Copy bytes of images and of run_node.saved to host memory, and from there to images. The copy
       is complete when the call returns. */
    enum ts_status (*fetch)(struct run *run, void *host, const void *data, size_t bytes);
    enum ts_status (*load)(struct run *run, void *data, const void *host, size_t bytes);
    /* Copy the tables of a node's map to its state, and from there to where the map writes them.
       NULL: both are the same. */
    enum ts_status (*fetch_tables)(struct run *run, int32_t node);
    enum ts_status (*load_tables)(struct run *run, int32_t node);
};

/* Returns true if the image goes to an array in the memory of a device. */
static inline bool ts_run_takes_on_device(const struct run_taker *taker)
{
    return taker && !taker->take && !taker->take_device && taker->array.cuda_device >= 0;
}

/* Returns true if the taker gets the image in the memory of a device. */
static inline bool ts_run_stays_there(const struct run_taker *taker)
{
    return taker && (taker->take_device || ts_run_takes_on_device(taker));
}

/* Carries a plan out; a plan can be carried out repeatedly. `state` belongs to this run. */
enum ts_status ts_run(const struct ts_plan *plan, const struct run_options *options,
                      struct run_state *state, struct ts_diag *diag);

/* Surround a run of a state that runs share. What was asked of one is not asked of the next; a stop
   that comes in between is. */
void ts_run_state_begin(struct run_state *state);
void ts_run_state_end(struct run_state *state);

extern const struct run_back_end ts_run_host;
#ifdef TS_HAVE_CUDA
extern const struct run_back_end ts_run_cuda;
#endif

/* ---- several ranks or devices ---------------------------------------------------------------- */

/* A part of an encoded output. */
enum { RUN_CHUNKS = 128 };
struct run_chunk {
    uint64_t offset, bytes; /* position in the data of all parts, which is rising */
};

/* What a run of several ranks or several devices does in addition. If there is one of each, nothing
   of it is called. Errors are those of any rank. */
struct run_fleet {
    /* Makes a device the current one. Device 0 is current whenever no slab is computed. */
    enum ts_status (*use)(struct run *run, int device);
    /* Calls a function with each device as the current one, until one call fails. */
    enum ts_status (*on_devices)(struct run *run, enum ts_status (*call)(struct run *run));
    /* Waits for all devices and frees their images. */
    void (*free_devices)(struct run *run);
    /* Copies the running total of an input's reduction to the current device before slices are
       added to it, so that sums are those of one device, including their rounding. */
    enum ts_status (*bring_total)(struct run *run, int32_t node, int input);
    /* Returns true if the host knows that a reduction of slices has refused one; the other waits
       for all devices and reports the first slice that was refused. */
    bool (*has_refused)(const struct run *run, int32_t node);
    enum ts_status (*refuse)(struct run *run, int32_t node);
    /* Ends a round of a node's reductions on every device. Reports only what the first device
       reports, since others would repeat it. */
    enum ts_status (*finish_reduction)(struct run *run, int32_t node);
    /* Gives a stage's drivers the node's context, after it was prepared again. */
    enum ts_status (*renew)(struct run *run, int32_t node);
    /* Copies the rows of tables that other devices have filled in to device 0. */
    enum ts_status (*join_tables)(struct run *run);
    /* Copies the bits of an output that the devices have saved to host memory. */
    enum ts_status (*fetch_saved)(struct run *run, int32_t node, void *bits, size_t bytes);

    /* Refuses a run of ranks that have made different plans. */
    enum ts_status (*compare_plans)(const struct ts_plan *plan, struct ts_diag *diag);
    /* Notes which rank this is, and its device, if a device has failed, since several machines may
       have equal devices. */
    void (*name_rank)(const struct run *run);
    /* Joins the totals of the reductions that end with the pass: bit `input` of ends[node]. */
    enum ts_status (*join_totals)(struct run *run, const unsigned *ends);
    /* Hands each rank's current slab to the outputs if `status` is TS_OK; n == 0: this rank has
       none in this round. Returns the resulting status. All ranks call it together. At the end of a
       domain they call the other function, which hands over the last slabs. */
    enum ts_status (*write_slab)(struct run *run, int32_t domain, int64_t z, int64_t n,
                                 enum ts_status status);
    enum ts_status (*write_rest)(struct run *run, int32_t domain, enum ts_status status);
    /* Hands over the slab of an output, which is in host memory, or a part of it: as slices, or as
       1 to RUN_CHUNKS encoded chunks. The outputs are on rank 0, to which other ranks send it.
       `last`: it is the last part of the output's slab. */
    enum ts_status (*hand_output)(struct run *run, int32_t node, const struct ts_image *computed);
    enum ts_status (*hand_slices)(struct run *run, int32_t node, const struct ts_image *slices,
                                  bool last);
    enum ts_status (*hand_chunks)(struct run *run, int32_t node, const struct run_chunk *chunks,
                                  int64_t n, const unsigned char *data, bool last);
    /* Give all ranks the rows of tables that any rank has filled in; and, at the end of a run, what
       they know of the inputs' slices, and the bits of outputs. */
    enum ts_status (*unite_tables)(struct run *run, enum ts_status status);
    enum ts_status (*unite_slices)(struct run *run, enum ts_status status);
};

extern const struct run_fleet ts_run_fleet; /* pipeline/fleet */

static inline enum ts_status ts_run_use(struct run *run, int device)
{
    return run->fleet ? run->fleet->use(run, device) : TS_OK;
}

/* Calls a function (NULL: none) with each device as the current one, until one call fails. */
static inline enum ts_status ts_run_on_devices(struct run *run,
                                               enum ts_status (*call)(struct run *run))
{
    if (!call)
        return TS_OK;
    return run->fleet ? run->fleet->on_devices(run, call) : call(run);
}

/* Waits until all ranks call it. Returns the status of the first that failed. */
static inline enum ts_status ts_run_agree(const struct run *run, enum ts_status status)
{
    return run->fleet ? ts_ranks_agree(status) : status;
}

/* How far a run is. */
struct run_pace {
    double seconds, pass_seconds; /* since the run began, and since this pass began */
    double pass_done;             /* 0 to 1 */
    /* seconds of the passes that follow in this volume, and of all passes over one volume; NaN if
       that is not known */
    double later, whole;
    bool iterates; /* a stage reports iterations in this pass */
    int64_t volumes_left,
        /* number of volumes that follow after this one in a pass that iterates, and of all */
        n_volumes;
    int64_t values_left; /* number of values of a sweep that follow in it */
};

/* Returns how many seconds a run still takes; NaN if that is not known yet. This pass is estimated
   by its own progress, and others as they were measured or predicted. After one that iterates,
   which takes far longer than those that only read, only the remaining values of a sweep and the
   remaining volumes are counted, each as long as this one. */
double ts_run_seconds_left(const struct run_pace *pace);

/* Returns how far the walk is. Only the walk's own thread may call it, or one for which that thread
   waits. */
struct run_position ts_run_position(const struct run *run);
/* Reports iterations of the stage that iterates at this position. */
void ts_run_report_iteration(struct run *run, const struct run_position *at,
                             const struct stage_iteration *iteration);

/* Returns the state of a node with its tables; NULL if it has none. */
static inline const struct stage_reduced *ts_run_reduced(const struct run *run, int32_t node)
{
    return run->nodes[node].driver ? run->nodes[node].driver->reduced : NULL;
}

/* Returns the index of this slab among those of its device. */
static inline int64_t ts_run_turn(const struct run *run, int64_t slab_number)
{
    return slab_number / run->plan->n_devices;
}

/* Returns the number of slice z of the run's volume for read() and prefetch() of a node's reader
   (ts_plan_reader). */
static inline int64_t ts_run_slice(const struct run *run, int32_t node, int64_t z)
{
    const struct plan_node *of = &run->plan->nodes[node];
    const struct source *reader = ts_plan_reader(of);
    const int64_t first = of->reused ? of->reused->saved_first : 0;
    const bool volumes = reader->n_volumes > 1 && (of->source || of->by_volume);
    return first + (volumes ? run->volume * reader->n_whole : 0) + z;
}

/* Reads the slices of a node, without their bits, to `to` in host memory. Adds the time to the
 * node's. */
enum ts_status ts_run_read(struct run *run, int32_t node, const struct ts_image *slices, void *to);
/* Returns the bits of slice z as a node's reader has read it; the image must be masked. */
static inline const uint64_t *ts_run_read_valid(const struct run *run, int32_t node, int64_t z)
{
    const struct plan_node *of = &run->plan->nodes[node];
    const int64_t slice = ts_run_slice(run, node, z);
    if (of->reused && of->reused->valid)
        return of->reused->valid + (size_t)slice * (ts_valid_bytes(&of->out) / sizeof(uint64_t));
    return ts_source_valid(ts_plan_reader(of), slice);
}

/* Points *tables to all tables of a node; those of several volumes have the axis of volumes first.
   Returns how many there are. */
int ts_run_tables(const struct run *run, int32_t node, const struct stage_table **tables);
/* Frees the tables of volumes that the walk kept. */
void ts_run_free_tables(struct run *run);
/* Checks before a run that every output has a name, can be written, and replaces no input. */
enum ts_status ts_run_check_outputs(const struct ts_plan *plan, const struct run_options *options,
                                    struct ts_diag *diag);
/* Opens the outputs of images whose axes are first known in this pass. */
enum ts_status ts_run_open_outputs(struct run *run, int pass);
/* Returns true if an output holds the image of this node. */
bool ts_run_holds(const struct run *run, int32_t node);
/* The same of outputs in host memory and in files. */
bool ts_run_leaves(const struct run *run, int32_t node);
/* Returns the function of the library's caller that takes the image of this node, or NULL. */
const struct run_taker *ts_run_taker(const struct run *run, int32_t node);
/* Returns where in the caller's array the slices of this slab are computed, if they can be there:
 * on the CPU, in an array in C order, of an image of which no slices are needed again. Else NULL.
 */
unsigned char *ts_run_in_array(const struct run *run, int32_t node, const struct plan_step *step);
/* Reports what a caller's function has answered for a slab, unless it is TS_OK. */
enum ts_status ts_run_taken(const struct run *run, int32_t node, const struct ts_image *slab,
                            enum ts_status answer);
/* Hands encoded chunks of the node's image, which are in `data`, to the HDF5 file. */
enum ts_status ts_run_put_chunks(struct run *run, int32_t node, const struct run_chunk *chunks,
                                 int64_t n, const unsigned char *data);
/* Completes all outputs and gives them their names; or removes all if the status is not TS_OK or a
   failure occurs. */
enum ts_status ts_run_end_outputs(struct run *run, enum ts_status status);
/* Applies the axes that the reductions of run->pass found: resolves the stages that wait for them
   again, and creates the datasets with these axes. */
enum ts_status ts_run_find_axes(struct run *run);

/* ---- invalid pixels (pipeline/run/run_valid.c) ----------------------------------------------- */

/* Returns the first stage that converts this source's 32-bit integers to floats, or NULL. A source
   that is only a reference has none, since stages compute with references in double precision. */
const struct plan_node *ts_run_maker_of_floats(const struct ts_plan *plan, int32_t source);
/* Writes the mask of each output that has invalid pixels beside its image, hands that of the last
   image to the sinks, and warns of invalid pixels and of rounded values of the inputs. Called once,
   after the walk. */
enum ts_status ts_run_write_masks(struct run *run);

/* ---- the walk (pipeline/run/run_walk.c) ------------------------------------------------------ */

/* Announces the slices of the first slab to the sources, so that they are read while the back end
 * attaches. */
void ts_run_announce(struct run *run);
/* Runs all passes, and calls on_slab after each slab. */
enum ts_status ts_run_walk(struct run *run, void (*on_slab)(struct run *run));
/* Returns true if outputs hold the node's image, and this pass writes it. */
bool ts_run_is_written(const struct run *run, int32_t node, int32_t domain);
/* Returns the number that slice z of the node's image has in an output. */
int64_t ts_run_place(const struct run *run, int32_t node, int64_t z);
/* Hands slices in host memory to every output that holds the node's image. */
enum ts_status ts_run_put(struct run *run, int32_t node, const struct ts_image *slices);
/* Sends slices of the outputs to the writer, and keeps which of their pixels are valid. */
enum ts_status ts_run_write_own(struct run *run, int32_t domain, int64_t z, int64_t n);

#endif
