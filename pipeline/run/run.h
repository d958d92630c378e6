/* SPDX-License-Identifier: Apache-2.0
 *
 * A run is a plan being carried out. The walk (pipeline/run/run_walk.c) fixes the order of reading,
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
    struct ts_image parts[PLAN_SPANS]; /* the slices at hand: one part where kept */
    int n_parts;
    unsigned char *buffer; /* where parts lie: the kept image, or `copies` slabs side by side, used
                              one after another */
    int copies;
    size_t copy_bytes;
    /* A masked image has the bits of its valid pixels here, beside `buffer`: valid_bytes for each
     * copy. */
    unsigned char *valid;
    size_t valid_bytes;
    unsigned char *saved; /* of a masked output: the bits of the whole image, for the file. NULL: it
                             has none */
    uint32_t *seen;      /* what each slice of an image of floats holds (pipeline/run/run_finite.h),
                            beside it; else NULL */
    unsigned char *done; /* kept: per slice */
    struct stage_driver *driver; /* driver of a stage that computes something, else NULL */
};

/* A run's share of one device: its own images and drivers. */
struct run_device {
    struct run_node *nodes;
    unsigned char **done; /* nodes[i].done, as ts_plan_step takes them */
    void *back;           /* the back end's own */
};

/* What is wrong with the rows of a scan. */
enum rows_kind {
    ROWS_CUT_OFF,
    ROWS_OBJECT_AS_AIR,
    ROWS_INVERTED,
    ROWS_DOUBTED,
    ROWS_BRIGHT,
    ROWS_AIR,
    ROWS_STEP,
    ROWS_REPEATED,
    ROWS_BLANK,
    ROWS_KINDS
};
struct rows_found {
    int64_t amount;      /* in thousandths, or views; 0: nothing is wrong */
    int64_t first, last; /* views, or what else the kind has */
};

/* What a node gives, whichever device computes it. */
struct run_result {
    int dataset;                             /* the writer's id, or -1 */
    struct stage_table tables[STAGE_TABLES]; /* those of all volumes, where there are several */
    int n_tables;
    int totals[STAGE_INPUTS]; /* the device that has the running total of this input's reduction;
                                 -1: it is empty */
    int written;              /* the device that has written slices of it last; -1: none has */
    int64_t not_finite;       /* the first slice, counted over all volumes, in which it made NaN or
                               * infinite values of others;       INT64_MAX: none */
    struct rows_found rows[ROWS_KINDS]; /* of its input, see run_rows.h */
    float largest; /* magnitude that became infinite where this rank rounded to halves before the
                      writer; 0: none */
};

enum { RUN_SINKS = SINK_FORMATS + 1 };

/* How far the walk is. Who reports an event from another thread has a copy. */
struct run_position {
    int pass;
    int64_t surveyed;                                               /* as in struct run */
    int64_t volume, slices_done, n_slices, slab_slices, bytes_done; /* as in struct run */
    struct timespec pass_started;
    int32_t iterating;
};

struct run {
    const struct ts_plan *plan; /* `own` */
    struct ts_plan
        own; /* the plan with a copy of its nodes, of which the run resolves some again */
    const struct run_options *options;
    struct run_state *state;
    struct ts_diag *diag;
    const struct run_back_end *back_end;
    const struct run_fleet *fleet; /* NULL: there is one rank with one device */
    struct run_device devices[PLAN_DEVICES];
    int device; /* the one at hand (ts_run_use), whose nodes, done and back follow */
    struct run_node *nodes;
    unsigned char **done;
    void *back;
    struct run_result *results; /* one for each node */
    struct plan_step *now, *next;
    bool first_planned; /* `now` is the first slab of the pass already */
    struct hdf5_writer
        *writer; /* of the HDF5 output, for what it alone holds; NULL: there is none */
    char digest[DIGEST_TEXT_BYTES]; /* of that output, once it is written */
    /* The outputs that are opened: those of other formats, in the chain's order, which take the
     * image of sink_node, and HDF5 last. NULL: it is not opened. */
    struct sink *sinks[RUN_SINKS];
    int32_t sink_node;
    void *received; /* slices or chunks of an output, from or for another rank; NULL where none come
                       or go */
    int owed;       /* outputs of the slab that leaves, which rank 0 still awaits from this rank */
    bool lost;      /* rank 0 has missed something of them, because another rank has failed */
    uint64_t *sink_valid; /* the bits that the sinks were given, where pixels of their image are
                             invalid; else NULL */
    struct timespec started, pass_started;
    atomic_int iterating; /* 1 + the node whose stage iterates in this pass; 0: none has begun to */
    int64_t volume, next_volume;
    int pass;
    /* While all volumes are surveyed for reductions of a series (plan_node.series): those of this
     * pass are filled, and nothing is written. -1: the volumes are mapped. */
    int survey;
    int64_t surveyed; /* passes over a volume that are done for surveys */
    /* Slabs of all passes, counted from 0: that of device d is d, and d more than a multiple of the
     * devices. A number is left out where a volume ends before its device's turn. */
    int64_t slab_number, first_slab; /* first_slab: that of the domain at hand */
    int64_t slices_done, n_slices, bytes_done;
    int64_t slab_slices;               /* of the slab at hand */
    struct run_checkpoint *checkpoint; /* NULL: nothing is kept */
    pthread_mutex_t lock; /* of events, which come from several threads where stages iterate */
    struct stage_listener listener;
};

/* Images that the walk hands over lie where the back end's buffers are. */
struct run_back_end {
    /* All calls are for the device at hand. This makes it the one of the thread. NULL: there is
     * one. */
    enum ts_status (*use)(struct run *run);
    /* Brings the running total of an input's reduction from another device. NULL: there is one. */
    enum ts_status (*bring_total)(struct run *run, int from, int32_t node, int input);
    /* Brings the running total of an input's reduction, which the device at hand has, to the
     * driver's state, where ranks join theirs, and has all devices begin anew. NULL: it is
     * there. */
    enum ts_status (*collect)(struct run *run, int32_t node, int input);
    /* Lets the outputs of all slabs up to this one leave: to the writer, or from another rank to
     * rank 0. Those of several ranks leave in turns, so nothing leaves without this call where
     * there are several. NULL: write() does it. */
    enum ts_status (*leave)(struct run *run, int64_t slab_number);
    /* Called before and after each call of a stage's driver, which returns before its work is done:
     * the back end adds the work to the node's time, at the latest in drain(), and traces it
     * itself. NULL: the walk does both. */
    enum ts_status (*begin_call)(struct run *run, int32_t node);
    enum ts_status (*end_call)(struct run *run, const struct ts_image *made);
    /* Allocate all memory, before the workers start and after. They fill buffer, copies, copy_bytes
     * and driver of the nodes. attach NULL: nothing is left. */
    enum ts_status (*allocate)(struct run *run);
    enum ts_status (*attach)(struct run *run);
    /* Called between them: starts what attach() will wait for. NULL: it waits for nothing. */
    enum ts_status (*open)(struct run *run);
    void (*free)(
        struct run *run); /* may be called by another thread, after settle() for all devices */
    /* Waits for everything that is under way. NULL: nothing is. */
    enum ts_status (*settle)(struct run *run);
    enum ts_status (*begin_slab)(struct run *run); /* NULL: nothing has to be begun */
    enum ts_status (*end_slab)(struct run *run);   /* NULL: nothing has to be ended */
    /* Reads a source's slices to `target`, with their bits where it is masked. NULL: `target` is
     * host memory. */
    enum ts_status (*read)(struct run *run, int32_t node, struct ts_image *target);
    /* Notes in run_node.seen what slices of a node hold, as ts_run_look_host() does. */
    enum ts_status (*look)(struct run *run, int32_t node, const struct ts_image *slices,
                           uint32_t also);
    /* write() sends slices to the outputs that hold the node's image. After drain() all of them
     * have got there, and the tables of maps have reached the nodes' states. NULL: they are in host
     * memory. */
    enum ts_status (*write)(struct run *run, int32_t node, const struct ts_image *slices);
    enum ts_status (*drain)(struct run *run);
    /* Copies bits to run_node.saved. */
    enum ts_status (*save)(struct run *run, void *saved, const void *valid, size_t bytes);
    /* Copy bytes of images, and of run_node.saved, to host memory, and from there to images. They
     * are there when the call returns. */
    enum ts_status (*fetch)(struct run *run, void *host, const void *data, size_t bytes);
    enum ts_status (*load)(struct run *run, void *data, const void *host, size_t bytes);
    /* Copy the tables of a node's map to its state, and from there to where the map writes them.
     * NULL: they are one. */
    enum ts_status (*fetch_tables)(struct run *run, int32_t node);
    enum ts_status (*load_tables)(struct run *run, int32_t node);
};

/* Carries a plan out, which may be done again. `state` is that of this run. */
enum ts_status ts_run(const struct ts_plan *plan, const struct run_options *options,
                      struct run_state *state, struct ts_diag *diag);

extern const struct run_back_end ts_run_host;
#ifdef TS_HAVE_CUDA
extern const struct run_back_end ts_run_cuda;
#endif

/* ---- several ranks or devices ---------------------------------------------------------------- */

/* A part of an encoded output. */
enum { RUN_CHUNKS = 128 };
struct run_chunk {
    uint64_t offset, bytes; /* in the data of all, in rising order */
};

/* What a run of several ranks, or several devices, does besides. Nothing of it is called where
 * there is one of each. Errors are those of any rank. */
struct run_fleet {
    /* Puts a device at hand. Device 0 is at hand wherever no slab is computed. */
    enum ts_status (*use)(struct run *run, int device);
    /* Calls a function with each device at hand, until one fails. */
    enum ts_status (*on_devices)(struct run *run, enum ts_status (*call)(struct run *run));
    /* Waits for all devices and frees their images. */
    void (*free_devices)(struct run *run);
    /* Brings the running total of an input's reduction to the device at hand, before slices are
     * added to it. So sums are those of one device, roundings and all. */
    enum ts_status (*bring_total)(struct run *run, int32_t node, int input);
    /* Returns true where the host knows that a reduction of slices has refused one; and waits for
     * all devices and reports the first slice that it has refused. */
    bool (*has_refused)(const struct run *run, int32_t node);
    enum ts_status (*refuse)(struct run *run, int32_t node);
    /* Ends a round of a node's reductions on every device. What one reports the others would
     * repeat. */
    enum ts_status (*finish_reduction)(struct run *run, int32_t node);
    /* Gives a stage's drivers the node's context, which was prepared again. */
    enum ts_status (*renew)(struct run *run, int32_t node);
    /* Gives device 0 the rows of tables that the others have filled in. */
    enum ts_status (*join_tables)(struct run *run);
    /* Copies the bits that the devices have saved of an output to host memory. */
    enum ts_status (*fetch_saved)(struct run *run, int32_t node, void *bits, size_t bytes);

    /* Refuses a run of ranks that have made different plans. */
    enum ts_status (*compare_plans)(const struct ts_plan *plan, struct ts_diag *diag);
    /* Notes which rank this is, and its device, where a device has failed: equal devices may stand
     * in several machines. */
    void (*name_rank)(const struct run *run);
    /* Joins the totals of the reductions that end with the pass: bit `input` of ends[node]. */
    enum ts_status (*join_totals)(struct run *run, const unsigned *ends);
    /* Hands the slab at hand of each rank to the outputs where `status` is TS_OK; n == 0: this rank
     * has none in this round. Returns what comes of it. All ranks call it together, and at the end
     * of a domain the other one, with which the last slabs leave. */
    enum ts_status (*write_slab)(struct run *run, int32_t domain, int64_t z, int64_t n,
                                 enum ts_status status);
    enum ts_status (*write_rest)(struct run *run, int32_t domain, enum ts_status status);
    /* Hands the slab of an output, which lies in host memory, over; or a part of it, as slices or
     * as 1 to RUN_CHUNKS encoded chunks. The outputs are on rank 0, and from another rank they go
     * there: `last` of them ends what this rank owes it of the output's slab. */
    enum ts_status (*hand_output)(struct run *run, int32_t node, const struct ts_image *computed);
    enum ts_status (*hand_slices)(struct run *run, int32_t node, const struct ts_image *slices,
                                  bool last);
    enum ts_status (*hand_chunks)(struct run *run, int32_t node, const struct run_chunk *chunks,
                                  int64_t n, const unsigned char *data, bool last);
    /* Give all ranks the rows of tables that any has filled in; and at the end of a run what they
     * know of the inputs' slices, and the bits of outputs. */
    enum ts_status (*unite_tables)(struct run *run, enum ts_status status);
    enum ts_status (*unite_slices)(struct run *run, enum ts_status status);
};

extern const struct run_fleet ts_run_fleet; /* pipeline/fleet */

static inline enum ts_status ts_run_use(struct run *run, int device)
{
    return run->fleet ? run->fleet->use(run, device) : TS_OK;
}

/* Calls a function (NULL: none) with each device at hand, until one fails. */
static inline enum ts_status ts_run_on_devices(struct run *run,
                                               enum ts_status (*call)(struct run *run))
{
    if (!call)
        return TS_OK;
    return run->fleet ? run->fleet->on_devices(run, call) : call(run);
}

/* Waits until all ranks meet. Returns the status of the first that failed. */
static inline enum ts_status ts_run_agree(const struct run *run, enum ts_status status)
{
    return run->fleet ? ts_ranks_agree(status) : status;
}

/* How far a run is. */
struct run_pace {
    double seconds, pass_seconds; /* since the run and since this pass began */
    double pass_done;             /* 0 to 1 */
    int64_t passes, n_passes;     /* that are done, and all, of all volumes */
    bool iterates;                /* a stage reports iterations in this pass */
    int64_t volumes_left,
        n_volumes;       /* a pass that iterates has so many volumes behind it, of all */
    int64_t values_left; /* and so many values of a sweep */
};

/* Returns how many seconds a run still takes, 0 where that is not known yet. Passes count alike,
 * but for one that iterates: it takes far longer than those that only read, and is judged by
 * itself. After it, only the remaining values of a sweep and the remaining volumes are counted,
 * each as long as this one. */
double ts_run_seconds_left(const struct run_pace *pace);

/* Returns how far the walk is. The walk's own thread calls it, or one for which that thread
 * waits. */
struct run_position ts_run_position(const struct run *run);
/* Reports iterations of the stage that iterates at this position. */
void ts_run_report_iteration(struct run *run, const struct run_position *at,
                             const struct stage_iteration *iteration);

/* Returns the state of a node with its tables, or NULL where it has none. */
static inline const struct stage_reduced *ts_run_reduced(const struct run *run, int32_t node)
{
    return run->nodes[node].driver ? run->nodes[node].driver->reduced : NULL;
}

/* Returns where this slab stands among those of its device. */
static inline int64_t ts_run_turn(const struct run *run, int64_t slab_number)
{
    return slab_number / run->plan->n_devices;
}

/* Returns the slice by which read() and prefetch() of a node's reader (ts_plan_reader) know slice z
 * of the run's volume. */
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
/* Returns the bits of slice z of what a node's reader has read; the image is masked. */
static inline const uint64_t *ts_run_read_valid(const struct run *run, int32_t node, int64_t z)
{
    const struct plan_node *of = &run->plan->nodes[node];
    const int64_t slice = ts_run_slice(run, node, z);
    if (of->reused && of->reused->valid)
        return of->reused->valid + (size_t)slice * (ts_valid_bytes(&of->out) / sizeof(uint64_t));
    return ts_source_valid(ts_plan_reader(of), slice);
}

/* Points *tables to all tables of a node, those of several volumes with the axis of volumes first.
 * Returns how many there are. */
int ts_run_tables(const struct run *run, int32_t node, const struct stage_table **tables);
/* Frees what the walk kept of the tables of volumes. */
void ts_run_free_tables(struct run *run);
/* Checks before a run that every output is named, can be written, and replaces no input. */
enum ts_status ts_run_check_outputs(const struct ts_plan *plan, const struct run_options *options,
                                    struct ts_diag *diag);
/* Opens the outputs with the images whose axes are known in this pass, and not before. */
enum ts_status ts_run_open_outputs(struct run *run, int pass);
/* Returns true where an output holds the image of this node. */
bool ts_run_holds(const struct run *run, int32_t node);
/* Returns who takes the image of this node beside files, or NULL. */
const struct run_taker *ts_run_taker(const struct run *run, int32_t node);
/* Hands chunks of the node's image, which lie encoded in `data`, to the HDF5 file. */
enum ts_status ts_run_put_chunks(struct run *run, int32_t node, const struct run_chunk *chunks,
                                 int64_t n, const unsigned char *data);
/* Completes all outputs and gives them their names, or removes them all where the status is not
 * TS_OK or becomes so. */
enum ts_status ts_run_end_outputs(struct run *run, enum ts_status status);
/* Applies the axes that the reductions of run->pass found: resolves the stages that wait for them
 * again, and creates the datasets that have them. */
enum ts_status ts_run_find_axes(struct run *run);

/* ---- invalid pixels (pipeline/run/run_valid.c) ----------------------------------------------- */

/* Returns the first stage that makes floats of the 32-bit integers of this source, or NULL.
 * References are no such source: stages compute with them in double precision. */
const struct plan_node *ts_run_maker_of_floats(const struct ts_plan *plan, int32_t source);
/* Writes the mask of each output that has invalid pixels beside its image, hands that of the last
 * one to the sinks, and warns of invalid pixels and of rounded values of the inputs. Called once,
 * after the walk. */
enum ts_status ts_run_write_masks(struct run *run);

/* ---- the walk (pipeline/run/run_walk.c) ------------------------------------------------------ */

/* Announces the slices of the first slab to the sources, so that they are read while the back end
 * attaches. */
void ts_run_announce(struct run *run);
/* Runs all passes, and calls on_slab after each slab. */
enum ts_status ts_run_walk(struct run *run, void (*on_slab)(struct run *run));
/* Returns true where outputs hold the node's image, and this pass writes it. */
bool ts_run_is_written(const struct run *run, int32_t node, int32_t domain);
/* Returns the slice of an output at which slice z of the node's image stands. */
int64_t ts_run_place(const struct run *run, int32_t node, int64_t z);
/* Hands slices in host memory to every output that holds the node's image. */
enum ts_status ts_run_put(struct run *run, int32_t node, const struct ts_image *slices);
/* Sends slices of the outputs to where they are written, and keeps which of their pixels are
 * valid. */
enum ts_status ts_run_write_own(struct run *run, int32_t domain, int64_t z, int64_t n);

#endif
