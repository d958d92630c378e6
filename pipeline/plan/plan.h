/* SPDX-License-Identifier: Apache-2.0
 *
 * A plan is the chain after every shape, unit, type, device and byte has been worked out and before
 * anything runs.
 *
 * Nodes are the sources, then the stages in list order. A reduction over a whole volume ends only
 * when every slice was seen, so what needs its result runs in a later pass over z. In each pass the
 * volume is processed in slabs; for each slab ts_plan_step lists which slices every node needs
 * (halos included) and which it must compute. Slices that a later slab or pass needs again are
 * computed again, unless the node is kept whole in memory: the plan keeps nodes as far as they fit
 * the budget. Plan and run use the same ts_plan_step, so the memory counted is the memory used. A
 * domain is one z axis: that of a source, of a stage whose output has slices of its own, or of
 * several whose images stream together (an image and its mask).
 */
#ifndef PIPELINE_PLAN_PLAN_H
#define PIPELINE_PLAN_PLAN_H

#include <stdatomic.h>

#include "core/arena.h"
#include "core/trace.h"
#include "include/tomostage_array.h"
#include "io/file/chunks.h"
#include "pipeline/chain/chain.h"
#include "stages/engine/driver.h"

enum { PLAN_SPANS = 4, PLAN_DEVICES = 16 };

struct span {
    int64_t first, end;
};
/* A set of slices: disjoint ranges in rising order that do not touch. There are several if a
   wrapping halo reaches the other end of the volume. */
struct spans {
    int n;
    struct span at[PLAN_SPANS];
};

struct plan_node {
    /* unique, such as "input", "atlas", "box" or "box#2": the name for --set and in messages */
    const char *label;
    struct source *source; /* sources only */
    const struct chain_source *chain_source;
    int32_t on; /* of a source: the node on whose grid it is put; -1: none */
    const struct chain_stage *chain_stage; /* stages only */
    struct param_set set;                  /* the plan's own copy, resolved */
    struct stage_context context;
    struct ts_image out;
    /* nodes; [0] is the image, then the references in the order of params; -1: none */
    int32_t inputs[STAGE_INPUTS];
    /* the node that computes this node's image: itself, or, for a pass-through stage, that of its
       input */
    int32_t image_node;
    /* the node that sets the axes: as image_node, or a pass-through stage with a shape() */
    int32_t axes_node;
    int32_t
        domain; /* the node from which its z axis comes; the first, if several stream together */
    int level;  /* the first pass in which its image can be computed */
    /* The first passes in which the axes of its inputs and of its image are known; 0: known when
       planned. */
    int input_axes_pass, axes_pass;
    int first_pass, rounds; /* passes of its whole-volume reduction; rounds 0: it has none */
    /* pass of the tables per slice that its map does not need; -1: there are none */
    int tables_pass;
    const char *dataset; /* name in the output file if its image is written, else NULL */
    /* index of the value of a sweep to which the node belongs; -1: it is before the sweep */
    int64_t value;
    int32_t leader; /* the node of the first value of which it is a copy; else itself */
    /* one reduction over all volumes, which the run finishes before it maps any of them */
    bool series;
    bool by_volume; /* its image differs from volume to volume; false: it is the same for all */
    /* What is taken for the stage from an earlier result (pipeline/plan/plan_reuse.h); NULL: the
       run computes it. */
    const struct plan_reused *reused;
    bool keep; /* held whole in memory from its first computation on */
    int64_t buffer_slices,
        run_slices; /* most slices held at once (if not kept); most slices computed in one call */
    /* most slices that are read or computed, in all passes over a volume by all ranks and
       devices */
    int64_t computed_slices;
    /* Bytes copied to and from a CUDA device in the whole run: of a source, of an output, and of
       partial results with their totals. */
    int64_t upload_bytes, download_bytes, tables_bytes;
};

struct plan_step {
    struct spans need, todo;
    /* an output or a reduction uses its image, and not only nodes that compute theirs from it */
    bool demanded;
};

/* The file in the folder of a checkpoint that says to which run it belongs. Its first line has the
   plan's memory and threads, and the number of ranks that shared a machine, in this form. */
#define PLAN_CHECKPOINT_RUN "run.txt"
#define PLAN_CHECKPOINT_BUDGET                                                                     \
    "memory %lld, threads %d, threads of the writer %d, ranks of a machine %d\n"

/* The folder in which a run keeps what its slabs compute, so that another run of the same plan can
   go on (pipeline/run/run_checkpoint.h). */
struct plan_checkpoint {
    const char *folder; /* NULL: nothing is kept */
    bool resume;        /* what is there is used */
    /* when the run must have paused, in the seconds of ts_seconds(); 0: never */
    double ends;
};

/* Gets slices of an image that a caller of the library wants. */
struct run_taker {
    int32_t node;
    struct ts_array array; /* they are copied there, unless `take` is set */
    ts_take *take;
    ts_take_device *take_device; /* gets them where they are computed */
    void *user;
};

/* Memory that outlives a run, for the next one (pipeline/run/run_kept.h). */
struct run_kept;

struct run;
/* The options that concern only the run. Those that concern the plan are in ts_options. */
struct run_options {
    bool force; /* replace what has the name of an output */
    struct plan_checkpoint checkpoint;
    const char *profile; /* name of the profile's files; NULL: the run writes no profile */
    void (*on_event)(void *user, const struct ts_event *event);
    void *user;
    /* Called with the slices of each image that is written, before they are written, in the memory
       of the device that computes them. The run ends if it returns anything but TS_OK. NULL: not
       called. */
    enum ts_status (*on_slices)(void *user, int32_t node, const struct ts_image *slices);
    void *slices_user;
    /* Called with the tables of the last stage once all slices were seen. NULL: not called. */
    enum ts_status (*on_tables)(void *user, const struct stage_context *context,
                                const struct stage_table *tables, int n);
    void *tables_user;
    const struct run_taker *takers; /* at most one for each image */
    int n_takers;
    /* Called once a run has computed all that it will. NULL: not called. */
    enum ts_status (*on_end)(void *user, const struct run *run);
    void *end_user;
    struct ts_allocator allocator; /* all members are zero: there is none */
    bool arrays;                   /* as in ts_options */
    struct run_kept *kept;         /* NULL: the memory of the run is freed as it ends */
};

/* What other threads and signal handlers ask of a run, and what they learn of it, while it
   works. */
struct run_state {
    atomic_bool stop, pause;
    bool paused;            /* an earlier run has left a checkpoint, from which the next goes on */
    atomic_bool committing; /* the output is about to get its final name */
    _Atomic(const char *)
        temporary; /* path of the output's temporary file while a run writes it, else NULL */
    /* the same for outputs of other formats */
    _Atomic(const char *) sink_temporaries[SINK_FORMATS];
    _Atomic(const char *)
        /* folder of a result that nobody keeps, which is removed with all that it holds; NULL:
           none */
        private_folder;
    struct trace *trace; /* NULL if the run has no profile */
    /* Seconds of the calls of each node; on a device, of the work that they enqueue. */
    double seconds[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
};

/* A plan does not change once it is made: a run copies the nodes that it resolves again. */
struct ts_plan {
    const struct ts_chain *chain; /* the chain, with a copy of a stage for each value of a sweep
                                     (pipeline/plan/plan_sweep.h) */
    const struct ts_chain *given; /* the chain as it is written */
    struct arena *arena;
    struct plan_node *nodes;
    int32_t n_nodes, n_sources;
    /* A run goes over the volumes of its sources one after the other, in n_passes each. A source of
       one volume serves all of them. */
    int64_t n_volumes;
    struct ts_axis volume_axis;
    /* axis of the values of a sweep, named after its parameter, such as box_radius; n 0: no
       sweep */
    struct ts_axis value_axis;
    int n_passes;
    int64_t slab_slices;
    /* Slabs are dealt out to the ranks in turn (pipeline/fleet/ranks/ranks.h). A run of one rank
       has rank 0. */
    int rank, n_ranks;
    /* the ranks are assumed, by a prediction, and each is a device of one process */
    bool as_devices;
    bool weighing; /* set while choosing what to keep, which ignores reductions of a few slices */
    const char *device; /* "cpu", "cuda:0" or "cuda:0,2"; the result records only "cpu" or "cuda" */
    const char *device_note;           /* why `auto` chose the CPU, or NULL */
    const char *device_times;          /* the predictions from which `auto` chose, or NULL */
    const struct device_numbers *cuda; /* the first of cuda_devices, or NULL for the CPU */
    /* Several devices are of one model, and slabs are dealt out to them in turn. A device that is
       named twice counts as two that share its memory. The CPU counts as one. */
    int n_devices;
    struct device_numbers cuda_devices[PLAN_DEVICES];
    int cuda_driver;
    int threads;
    /* threads of rank 0 that compress; equal to `threads` if there is one rank */
    int writer_threads;
    int64_t budget_bytes, memory_bytes, output_bytes;
    bool budget_given, gpu_budget_given; /* false: they are a share of what the machine has */
    int64_t gpu_budget_bytes, gpu_bytes; /* of each device; 0 on the CPU */
    size_t piece_bytes;         /* PLAN_PIECE_BYTES, or less in a test that wants many pieces */
    struct plan_reuse *reuse;   /* what is taken from an earlier result; NULL: nothing */
    struct run_options options; /* of ts_plan_run() */
    struct run_state *state;    /* state of the run that ts_plan_run() begins or has begun */
    struct rates *rates; /* the kept rates of this machine; NULL: there are none that can be used */
    struct prediction *prediction; /* NULL: nothing can be predicted */
    const char *no_prediction;     /* why there is no prediction; NULL: there is one */
};

/* Returns the members of the options that the caller's version knows; the others are zero, which is
   the default of each. NULL has none. */
struct ts_options ts_options_known(const struct ts_options *given);
/* Refuses numbers below 0. */
enum ts_status ts_options_check(const struct ts_options *options, struct ts_diag *diag);
/* Returns the allocator of such options; all members are zero if they have none. */
struct ts_allocator ts_allocator_known(const struct ts_options *options);

/* Returns true if the device `wanted`, in the words of ts_device_choice_parse, may turn out to be a
   CUDA device. Only the chain decides; no driver is asked. */
bool ts_plan_may_use_cuda(const struct ts_chain *chain, const char *wanted);
/* Returns true if every stage of the chain can run on a CUDA device and at least one computes
   there, in any build. */
bool ts_plan_computes_on_cuda(const struct ts_chain *chain);
/* Fills device, cuda, the devices and gpu_budget_bytes for a word that ts_device_choice_parse
   knows. A budget of 0 is the default one. */
enum ts_status ts_plan_device(struct ts_plan *plan, const char *wanted, int64_t gpu_memory_bytes,
                              struct ts_diag *diag);

/* Chooses the CPU in place of the device that `auto` had found. Notes the reason in diag, if that
   is not NULL. */
void ts_plan_decline(struct ts_plan *plan, const char *reason, struct ts_diag *diag);

/* Writes "cpu", or "cuda:0" and in parentheses why `auto` chose it, its name and its compute
   capability. */
void ts_plan_device_text(const struct ts_plan *plan, char *text, size_t size);

/* Plans everything that depends on the device. May be called again for another device. */
enum ts_status ts_plan_work_out(struct ts_plan *plan, struct ts_diag *diag);
/* Warns of what the finished plan would do that is hardly meant, and notes what it decided on its
   own. */
void ts_plan_warn(const struct ts_plan *plan, struct ts_diag *diag);
/* Resolves a stage from the chain's values and its inputs' present images: fills set, context and
   out. */
enum ts_status ts_plan_resolve(struct ts_plan *plan, int32_t node, struct ts_diag *diag);

/* Returns the source from which the image of this node comes. */
const struct plan_node *ts_plan_source_of(const struct ts_plan *plan, int32_t node);
/* Returns true if the run must search for parameters of this stage. */
bool ts_plan_needs_search(const struct plan_node *node);
/* Refuses the search of a node if its image or its mask has several volumes (volumes-axes): each
   volume would have a box of its own, but one file has one set of axes. */
enum ts_status ts_plan_refuse_volumes(const struct ts_plan *plan, int32_t index,
                                      struct ts_diag *diag);

/* Refuses an output at this path if a run of the plan reads the file there (output-is-input). */
enum ts_status ts_plan_keep_inputs(const struct ts_plan *plan, const char *path,
                                   struct ts_diag *diag);

/* Adds the warnings that a run would add about the output's place, such as too little space. It
   adds no errors, because an output that exists may be gone when the chain is run. */
void ts_plan_warn_output(const struct ts_plan *plan, struct ts_diag *diag);

/* Returns the source that a node's image is read from: its own, or an earlier result. NULL: it is
   computed. */
struct source *ts_plan_reader(const struct plan_node *node);

/* Finds for slices [z, z + n) of the domain in this pass which slices each node needs and which it
   computes; writes them to steps[0 .. n_nodes - 1]. done[node] has a byte for each slice of a kept
   node, which is set here. */
void ts_plan_step(const struct ts_plan *plan, int pass, int32_t domain, int64_t z, int64_t n,
                  unsigned char *const *done, struct plan_step *steps);
/* In a round every rank computes a slab. Returns how many slices the slab of a rank has in the
   round that begins at slice round_z of nz, and writes its first to *z; 0 if the volume has no
   slab left for it. The rounds of a rank go to its devices in turn. */
int64_t ts_plan_slab_of(int rank, int64_t nz, int64_t round_z, int64_t slab, int64_t *z);
/* Returns how many volumes a run maps once those of a series are reduced: all, or one if no image
   that is written and no table differs from volume to volume. */
int64_t ts_plan_mapped_volumes(const struct ts_plan *plan);
/* Returns true if this pass has anything to do in the domain. */
bool ts_plan_pass_uses(const struct ts_plan *plan, int pass, int32_t domain);
/* Returns true if the image of this node is written in this pass. */
bool ts_plan_writes(const struct ts_plan *plan, int pass, int32_t node);
/* Returns true if input i of this node is reduced over its whole volume in this pass. */
bool ts_plan_reduces(const struct ts_plan *plan, int pass, int32_t node, int input);
/* Narrows [*z, *end) to the slices that this reduction uses. Returns false if it uses none of
   them. */
bool ts_plan_looks_at(const struct ts_plan *plan, int32_t node, int input, int64_t *z,
                      int64_t *end);
/* Returns true if the node reduces slice by slice in this pass, only for its tables. */
bool ts_plan_tabulates(const struct ts_plan *plan, int pass, int32_t node);

/* Returns true if a checkpoint keeps the slices of a node that this step computes: those that are
   kept in memory, or that an output or a reduction uses. Nothing else is needed to go on behind the
   slab; sources are read again. */
bool ts_plan_stores(const struct ts_plan *plan, const struct plan_step *steps, int32_t node);

/* Fills keep, buffer_slices, run_slices, slab_slices and memory_bytes for the budgets. May be
 * called again. */
enum ts_status ts_plan_fit(struct ts_plan *plan, struct ts_diag *diag);
/* Return the bytes of the padded slab, and of the scratch, of the stage that needs most of it in a
   call. */
size_t ts_plan_padded_bytes(const struct ts_plan *plan);
size_t ts_plan_scratch_bytes(const struct ts_plan *plan);
/* Lists the nodes of the whole images that the output file will hold, each once. Returns how many
 * there are. */
int32_t ts_plan_outputs(const struct ts_plan *plan,
                        int32_t nodes[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES]);
/* Returns true for a node whose image becomes a dataset of the output file. */
bool ts_plan_is_output(const struct ts_plan *plan, int32_t node);
/* Returns the most slices that a stage's reduction sees at once. */
int64_t ts_plan_reduced_slices(const struct ts_plan *plan, int32_t node);
/* Returns how many images of the output file this node computes; several if its image is stored
   with the axes of several nodes. */
int ts_plan_stored(const struct ts_plan *plan, int32_t node);
/* Returns true if the output file holds this node's image as halves: it is of 32-bit floats, and
   the chain asks for halves. */
bool ts_plan_rounds(const struct ts_plan *plan, int32_t node);
/* Returns the bytes of the valid bits of a whole masked image that the output file holds under this
   node; 0 for other nodes. A run keeps them until its end, since only then is it known if any pixel
   is invalid. */
size_t ts_plan_saved_bytes(const struct ts_plan *plan, int32_t node);
/* Returns the bytes of what the run notes of each slice of a node's image: 4 for a slice of floats,
   else 0. */
size_t ts_plan_seen_bytes(const struct ts_plan *plan, int32_t node);
/* Describes the mask that the output file may hold beside one volume of the image of this node: u8,
 * of the same axes. */
struct ts_image ts_plan_mask(const struct ts_plan *plan, int32_t node);
/* Returns one volume of a node's image as the output file holds it. */
struct ts_image ts_plan_written(const struct ts_plan *plan, int32_t node);
/* Returns the axis that the output has before those of the node's image: of several volumes, or of
   a sweep's values. NULL if there is none. */
const struct ts_axis *ts_plan_stack_axis(const struct ts_plan *plan, int32_t node);
/* Returns `image`, which belongs to this node, with the axis of ts_plan_stack_axis before its
   own. */
struct ts_image ts_plan_with_volumes(const struct ts_plan *plan, int32_t node,
                                     const struct ts_image *image);
/* Returns a node's table as the result has it: with that axis, unless it is of a reduction of all
   volumes. */
struct ts_image ts_plan_table_of_all(const struct ts_plan *plan, int32_t node,
                                     const struct ts_image *table);
/* Returns true if the image is rounded to halves before it leaves a CUDA device or a rank other
   than 0; not if outputs of other formats want it as well. */
bool ts_plan_leaves_rounded(const struct ts_plan *plan, int32_t node);
/* Every rank of the CPU compresses those chunks of an output that are whole in its slab, so that
   rank 0 only inflates, digests and writes them. */
struct plan_chunks {
    struct chunk_grid
        grid; /* every chunk but the last of the array is full; a slice may have several */
    struct chunk_filters filters;
    size_t bound; /* most bytes of an encoded chunk */
};
/* Describes how ranks encode the output that holds a node's image, of all volumes or values of a
   sweep. Returns false if ranks send values to rank 0: without compression, if outputs of other
   formats want them, or if a slice is cut into chunks that are not all full. */
bool ts_plan_chunks(const struct ts_plan *plan, int32_t node, struct plan_chunks *chunks);
/* Returns how many chunks are whole in slices [z, z + n) of the output, and writes the first of
   them to *first. The bytes of a slice are those in the file. */
int64_t ts_plan_whole_chunks(const struct plan_chunks *chunks, size_t slice_bytes, int64_t z,
                             int64_t n, int64_t *first);
/* Returns the deflate level of the HDF5 output. */
int ts_plan_level(const struct ts_plan *plan);
/* Returns the most bytes of an output that rank 0 receives from another rank at once; 0 if there is
   one rank. */
size_t ts_plan_received_bytes(const struct ts_plan *plan);
/* Returns the node of the last image, which outputs of other formats than HDF5 hold. */
int32_t ts_plan_sink_node(const struct ts_plan *plan);
/* Describes output i of the chain's sinks, with the image that it gets. */
struct sink_request ts_plan_sink_request(const struct ts_plan *plan, int32_t i);
/* Number of slabs under way at once on a CUDA device: one is uploaded, one computed, one
   downloaded. */
enum { PLAN_RING = 3 };
/* Returns true if the run's CUDA device compresses the outputs before they leave it: not if outputs
 * of other formats want their values as well. */
bool ts_plan_encodes(const struct ts_plan *plan);
/* Returns true for a source whose slices lie in host memory of the caller's, where the CPU reads
 * them: it counts as an image that is kept whole. */
bool ts_plan_lies_in_memory(const struct ts_plan *plan, int32_t node);
/* Returns how many slabs of this node's image the run holds at once. */
int ts_plan_copies(const struct ts_plan *plan, int32_t node);
/* Returns true if the slices of a source are read into one copy of its slab while the other is
   used. Slabs with a halo share slices, and those are read once only if sources hold them in memory
   of their own. */
bool ts_plan_reads_in_place(const struct ts_plan *plan, int32_t source);
/* Returns how many slabs the volume of the first source has. */
int64_t ts_plan_slab_count(const struct ts_plan *plan);
int64_t ts_plan_read_ahead(const struct ts_plan *plan, int32_t source);

/* ---- on a CUDA device ------------------------------------------------------------------------ */

/* Sources and outputs pass through pieces of pinned memory, PLAN_PIECES for each direction, which
   are used in turn. A piece holds as many whole slices as fit PLAN_PIECE_BYTES, and at least
   one. */
enum { PLAN_PIECES = 4, PLAN_PIECE_BYTES = 16 << 20 };
/* Returns how many slices of an image a piece holds. */
int64_t ts_plan_piece_slices(const struct ts_plan *plan, const struct ts_image *image);
/* Return the bytes of a piece for all sources, and of one for all outputs; 0 if there are none. */
size_t ts_plan_upload_bytes(const struct ts_plan *plan);
size_t ts_plan_download_bytes(const struct ts_plan *plan);
#ifdef TS_HAVE_CUDA
/* Computes all memory of one device, and all host memory that using the device adds. */
void ts_plan_cuda_bytes(const struct ts_plan *plan, size_t *device, size_t *host);
/* Returns the bytes of a slab of halves in which an output leaves the device uncompressed; 0 if
   this node has none. */
size_t ts_plan_halves_bytes(const struct ts_plan *plan, int32_t node);
/* Returns the bytes in which the device notes, one number for each node, the largest magnitude that
   halves cannot hold; 0 if nothing is rounded. */
size_t ts_plan_largest_bytes(const struct ts_plan *plan);
/* Fills the nodes' transfers. computed[node] is the number of slices of the node that the whole run
   computes. */
void ts_plan_cuda_transfers(struct ts_plan *plan, const int64_t *computed);
#endif

#endif
