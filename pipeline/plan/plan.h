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
/* Disjoint ranges in rising order that do not touch. There are several where a wrapping halo
 * reaches to the other end of the volume. */
struct spans {
    int n;
    struct span at[PLAN_SPANS];
};

struct plan_node {
    const char *label; /* "input", "atlas", "box", "box#2": unique; what --set and messages use */
    struct source *source; /* sources only */
    const struct chain_source *chain_source;
    int32_t on; /* sources only: the node whose grid it is put on, -1: none */
    const struct chain_stage *chain_stage; /* stages only */
    struct param_set set;                  /* the plan's own copy, resolved */
    struct stage_context context;
    struct ts_image out;
    int32_t inputs[STAGE_INPUTS]; /* nodes; -1: none. [0] the image, then the references in the
                                     order of params */
    int32_t image_node; /* the node that computes this node's image: itself, or for a pass-through
                           stage its input's */
    int32_t axes_node; /* the node that sets its axes: as image_node, or a pass-through stage with a
                          shape() */
    int32_t
        domain; /* the node that its z axis comes from; of those that stream together, the first */
    int level;  /* the first pass in which its image can be computed */
    /* The first passes in which the axes of its inputs and of its image are known; 0: at plan
     * time. */
    int input_axes_pass, axes_pass;
    int first_pass, rounds; /* passes of its whole-volume reduction; rounds 0: it has none */
    int tables_pass;        /* pass of tables per slice that do not feed its map; -1: none */
    const char *dataset;    /* name in the output file where its image is written, else NULL */
    int64_t value;  /* index of the value of a sweep for which it stands; -1: it stands before the
                       sweep */
    int32_t leader; /* the node of the first value whose copy it is; else itself */
    bool series; /* its reduction is one of all volumes, which the run reduces before it maps any */
    bool by_volume; /* its image differs from volume to volume; false: it is the same for all */
    /* This is taken for the stage from an earlier result (pipeline/plan/plan_reuse.h); NULL: the
     * run computes it. */
    const struct plan_reused *reused;
    bool keep; /* held whole in memory from its first computation on */
    int64_t buffer_slices,
        run_slices; /* most slices held at once (not kept), most slices computed in one call */
    int64_t computed_slices; /* read or computed at most, in all passes over a volume by all ranks
                                and devices */
    /* Bytes that are copied to and from a CUDA device in the whole run: those of a source, of an
     * output, and of partial results with their totals. */
    int64_t upload_bytes, download_bytes, tables_bytes;
};

struct plan_step {
    struct spans need, todo;
    bool demanded; /* an output or a reduction looks at its image, and not only nodes that compute
                      theirs from it */
};

/* The file in the folder of a checkpoint that says which run it is of. Its first line has the
 * memory and the threads of the plan, and the ranks that shared a machine:
 * PLAN_CHECKPOINT_BUDGET. */
#define PLAN_CHECKPOINT_RUN "run.txt"
#define PLAN_CHECKPOINT_BUDGET                                                                     \
    "memory %lld, threads %d, threads of the writer %d, ranks of a machine %d\n"

/* A run keeps here what its slabs compute, so that another run of the same plan goes on
 * (pipeline/run/run_checkpoint.h). */
struct plan_checkpoint {
    const char *folder; /* NULL: nothing is kept */
    bool resume;        /* what is there is used */
    double ends;        /* when the run must have paused, in ts_seconds(); 0: never */
};

/* Gets slices of an image that a caller of the library wants. */
struct run_taker {
    int32_t node;
    struct ts_array array; /* they are copied there, unless `take` is set */
    ts_take *take;
    void *user;
};

struct run;
/* How a run goes about a plan. The plan has those that ts_options stated. */
struct run_options {
    bool force; /* what has the name of an output may be replaced */
    struct plan_checkpoint checkpoint;
    const char *profile; /* name of its files; NULL: the run has no profile */
    void (*on_event)(void *user, const struct ts_event *event);
    void *user;
    /* Is handed slices of each image that is written, before they are, in the memory of the device
     * that computes them; what it returns ends the run where it is not TS_OK. NULL: nobody looks
     * on. */
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
};

/* What others ask of a run and learn of it while it is at work, also from other threads and signal
 * handlers. */
struct run_state {
    atomic_bool stop, pause;
    atomic_bool committing; /* the output is about to get its final name */
    _Atomic(const char *)
        temporary; /* path of the output's temporary file while a run writes it, else NULL */
    _Atomic(const char *) sink_temporaries[SINK_FORMATS]; /* the same of outputs of other formats */
    _Atomic(const char *)
        private_folder;  /* of a result that nobody keeps, with all that it holds; NULL: none */
    struct trace *trace; /* NULL where the run has no profile */
    /* Of the calls of each node, on a device of the work that they enqueue. */
    double seconds[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
};

/* Nothing in it changes once it is made: a run copies the nodes that it resolves again. */
struct ts_plan {
    const struct ts_chain
        *chain; /* with a stage for each value of a sweep (pipeline/plan/plan_sweep.h) */
    const struct ts_chain *given; /* the chain as it is written */
    struct arena *arena;
    struct plan_node *nodes;
    int32_t n_nodes, n_sources;
    /* A run goes over the volumes of its sources one after the other, each in n_passes. Sources of
     * one volume serve all of them. */
    int64_t n_volumes;
    struct ts_axis volume_axis;
    struct ts_axis value_axis; /* of a sweep, named after its parameter, such as box_radius; n 0:
                                  nothing is swept */
    int n_passes;
    int64_t slab_slices;
    /* Slabs are dealt out to the ranks in turn (pipeline/fleet/ranks/ranks.h). One rank has number
     * 0. */
    int rank, n_ranks;
    bool as_devices; /* the ranks are those of a model, and stand for devices of one process */
    bool weighing;   /* while choosing what to keep, which ignores reductions of a few slices */
    const char
        *device; /* resolved: "cpu", "cuda:0" or "cuda:0,2"; the result records its kind alone */
    const char *device_note;           /* why `auto` chose the CPU, or NULL */
    const char *device_times;          /* the predictions by which `auto` chose, or NULL */
    const struct device_numbers *cuda; /* the first of cuda_devices, or NULL for the CPU */
    /* Several devices are of one model, and the slabs are dealt out to them in turn. A device that
     * is named twice counts as two, which share its memory. The CPU is one. */
    int n_devices;
    struct device_numbers cuda_devices[PLAN_DEVICES];
    int cuda_driver;
    int threads;
    int writer_threads; /* that compress on rank 0: as many as `threads` where there is one rank */
    int64_t budget_bytes, memory_bytes, output_bytes;
    int64_t gpu_budget_bytes, gpu_bytes; /* of each device; 0 on the CPU */
    size_t piece_bytes;         /* PLAN_PIECE_BYTES, or less where a test wants many pieces */
    struct plan_reuse *reuse;   /* what is taken from an earlier result; NULL: nothing */
    struct run_options options; /* of ts_plan_run() */
    struct run_state *state;    /* of the run that ts_plan_run() begins or has begun */
    struct rates
        *rates; /* those that are kept of this machine; NULL: there are none that can be used */
    struct prediction *prediction; /* NULL: nothing can be predicted */
    const char *no_prediction;     /* why there is none; NULL: there is one */
};

/* Returns true where the device that is `wanted`, as above, may turn out to be a CUDA device: the
 * chain alone decides, no driver is asked. */
bool ts_plan_may_use_cuda(const struct ts_chain *chain, const char *wanted);
/* Returns true where every stage of the chain can run on a CUDA device and one computes there, in
 * whichever build. */
bool ts_plan_computes_on_cuda(const struct ts_chain *chain);
/* Fills device, cuda, the devices and gpu_budget_bytes for a word that ts_device_choice_parse
 * knows, and 0 for the default budget. */
enum ts_status ts_plan_device(struct ts_plan *plan, const char *wanted, int64_t gpu_memory_bytes,
                              struct ts_diag *diag);

/* Chooses the CPU in place of the device that `auto` had found. The reason is noted in diag (NULL:
 * not yet). */
void ts_plan_decline(struct ts_plan *plan, const char *reason, struct ts_diag *diag);

/* Writes "cpu" or "cuda:0" with what is known of it in parentheses: why `auto` chose it, name,
 * compute capability. */
void ts_plan_device_text(const struct ts_plan *plan, char *text, size_t size);

/* Plans everything that depends on the device. May be called again for another device. */
enum ts_status ts_plan_work_out(struct ts_plan *plan, struct ts_diag *diag);
/* Warns of what the finished plan would do that is likely not meant, and notes what it does on its
 * own. */
void ts_plan_warn(const struct ts_plan *plan, struct ts_diag *diag);
/* Resolves a stage from the chain's own values and the images that its inputs have now: fills set,
 * context and out. */
enum ts_status ts_plan_resolve(struct ts_plan *plan, int32_t node, struct ts_diag *diag);

/* Returns true where a run must search for parameters of the node, a stage. */
bool ts_plan_is_searched(const struct plan_node *node);
/* Refuses the search of a node where its image or its mask has several volumes (volumes-axes): one
 * file has one set of axes, so that there is one box for all volumes, and each would have its
 * own. */
enum ts_status ts_plan_refuse_volumes(const struct ts_plan *plan, int32_t index,
                                      struct ts_diag *diag);

/* Refuses (output-is-input) a file at this path that a run of the plan reads: it would be
 * replaced. */
enum ts_status ts_plan_keep_inputs(const struct ts_plan *plan, const char *path,
                                   struct ts_diag *diag);

/* Adds the warnings that a run would add about the output's place, such as too little space. It
 * adds no errors, since an output that exists may be gone when the chain is run. */
void ts_plan_warn_output(const struct ts_plan *plan, struct ts_diag *diag);

/* Returns what the image of a node is read from: its source, or an earlier result; NULL: it is
 * computed. */
struct source *ts_plan_reader(const struct plan_node *node);

/* Computes for slices [z, z + n) of the domain in this pass which slices each node needs and
 * computes, to steps[0 .. n_nodes - 1]. done[node] has a byte per slice of a kept node, which is
 * marked here. */
void ts_plan_step(const struct ts_plan *plan, int pass, int32_t domain, int64_t z, int64_t n,
                  unsigned char *const *done, struct plan_step *steps);
/* In a round every rank computes a slab. Returns how many slices that of a rank has in the round
 * that begins at slice `round` of nz, and writes to *z where it begins. 0: the volume ends before
 * it. The rounds of a rank go to its devices in turn. */
int64_t ts_plan_slab_of(int rank, int64_t nz, int64_t round, int64_t slab, int64_t *z);
/* Returns true where this pass has anything to do in the domain. */
bool ts_plan_pass_uses(const struct ts_plan *plan, int pass, int32_t domain);
/* True where the image of this node is written in this pass. */
bool ts_plan_writes(const struct ts_plan *plan, int pass, int32_t node);
/* Returns true where input i of this node is reduced over its whole volume in this pass. */
bool ts_plan_reduces(const struct ts_plan *plan, int pass, int32_t node, int input);
/* Narrows [*z, *end) to the slices at which this reduction looks. Returns false where it looks at
 * none. */
bool ts_plan_looks_at(const struct ts_plan *plan, int32_t node, int input, int64_t *z,
                      int64_t *end);
/* Returns true where the node reduces slice by slice for its tables alone, in this pass. */
bool ts_plan_tabulates(const struct ts_plan *plan, int pass, int32_t node);

/* Returns true where a checkpoint keeps the slices that this step computes of a node: those that
 * are kept in memory, or at which an output or a reduction looks. Nothing else is needed to go on
 * behind the slab. Sources are read again. */
bool ts_plan_stores(const struct ts_plan *plan, const struct plan_step *steps, int32_t node);

/* Fills keep, buffer_slices, run_slices, slab_slices and memory_bytes for the budgets. May be
 * called again. */
enum ts_status ts_plan_fit(struct ts_plan *plan, struct ts_diag *diag);
/* Return the bytes of the padded slab, and of the scratch, of the stage whose calls need most. */
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
/* Returns how many images of the output file this node computes: several where it is stored with
 * the axes of several nodes. */
int ts_plan_stored(const struct ts_plan *plan, int32_t node);
/* Returns true where the output file holds the image of this node as halves: 32-bit floats, where
 * the chain asks for it. */
bool ts_plan_rounds(const struct ts_plan *plan, int32_t node);
/* Returns the bytes of the bits of a whole masked image that the output file holds under this node,
 * which a run keeps until its end: only then is it known whether any pixel is invalid. 0 for other
 * nodes. */
size_t ts_plan_saved_bytes(const struct ts_plan *plan, int32_t node);
/* Returns the bytes of the notes of what each slice of a node's image holds: 4 for each slice of
 * floats. */
size_t ts_plan_seen_bytes(const struct ts_plan *plan, int32_t node);
/* Describes the mask that the output file may hold beside one volume of the image of this node: u8,
 * of the same axes. */
struct ts_image ts_plan_mask(const struct ts_plan *plan, int32_t node);
/* Returns one volume of a node's image as the output file holds it. */
struct ts_image ts_plan_written(const struct ts_plan *plan, int32_t node);
/* Returns the axis before those of the node's image in the output: that of several volumes, or of a
 * sweep's values. NULL where it has none. */
const struct ts_axis *ts_plan_stack_axis(const struct ts_plan *plan, int32_t node);
/* Returns `image`, which belongs to this node, with the axis above before its own. */
struct ts_image ts_plan_with_volumes(const struct ts_plan *plan, int32_t node,
                                     const struct ts_image *image);
/* Returns a table of a node as the result has it: as above, but for that of a reduction of all
 * volumes. */
struct ts_image ts_plan_table_of_all(const struct ts_plan *plan, int32_t node,
                                     const struct ts_image *table);
/* Returns true where the image is rounded to halves before it leaves a CUDA device or another rank
 * than 0: not where outputs of other formats want it as well. */
bool ts_plan_leaves_rounded(const struct ts_plan *plan, int32_t node);
/* Every rank of the CPU compresses the chunks of an output that lie whole in its slab, so that rank
 * 0 only inflates, digests and writes them. */
struct plan_chunks {
    struct chunk_grid
        grid; /* every chunk is full but the last one of the array, and a slice may have several */
    struct chunk_filters filters;
    size_t bound; /* most bytes of an encoded chunk */
};
/* Fills in how ranks encode the output that holds a node's image, of all volumes or values of a
 * sweep. Returns false where values go to rank 0: without compression, where outputs of other
 * formats want them, and where a slice is cut into chunks that are not all full. */
bool ts_plan_chunks(const struct ts_plan *plan, int32_t node, struct plan_chunks *chunks);
/* Returns how many chunks lie whole in slices [z, z + n) of the output, and the first of them in
 * *first. Slices have the bytes that they have in the file. */
int64_t ts_plan_whole_chunks(const struct plan_chunks *chunks, size_t slice_bytes, int64_t z,
                             int64_t n, int64_t *first);
/* Returns the deflate level of the HDF5 output. */
int ts_plan_level(const struct ts_plan *plan);
/* Returns the bytes of the most of an output that rank 0 receives from others at once, and that
 * these send; 0 where there is one rank. */
size_t ts_plan_received_bytes(const struct ts_plan *plan);
/* Returns the node of the last image, as the outputs of other formats than HDF5 write it. */
int32_t ts_plan_sink_node(const struct ts_plan *plan);
/* Describes output i of the chain's sinks, with the image that it gets. */
struct sink_request ts_plan_sink_request(const struct ts_plan *plan, int32_t i);
/* Slabs under way at once on a CUDA device: one is uploaded, one computed, one downloaded. */
enum { PLAN_RING = 3 };
/* Returns true where the run's CUDA device compresses the outputs before they leave it: not where
 * outputs of other formats want their values as well. */
bool ts_plan_encodes(const struct ts_plan *plan);
/* Returns true for a source whose slices lie in host memory of the caller's, where the CPU reads
 * them: it counts as an image that is kept whole. */
bool ts_plan_lies_in_memory(const struct ts_plan *plan, int32_t node);
/* Returns how many slabs of this node's image are held side by side. */
int ts_plan_copies(const struct ts_plan *plan, int32_t node);
/* Returns true where the slices of a source are read to one copy of its slab while the other is at
 * work. Slabs with a halo share slices, which are read once where they are held apart. */
bool ts_plan_reads_in_place(const struct ts_plan *plan, int32_t source);
int64_t ts_plan_slab_count(const struct ts_plan *plan); /* slabs of the first source's volume */
int64_t ts_plan_read_ahead(const struct ts_plan *plan, int32_t source);

/* ---- on a CUDA device ------------------------------------------------------------------------ */

/* Sources and outputs pass through pieces of pinned memory that go round, PLAN_PIECES for each
 * direction. A piece holds as many whole slices as PLAN_PIECE_BYTES hold, and one where a slice is
 * larger. */
enum { PLAN_PIECES = 4, PLAN_PIECE_BYTES = 16 << 20 };
/* Returns how many slices of an image a piece holds. */
int64_t ts_plan_piece_slices(const struct ts_plan *plan, const struct ts_image *image);
/* Return the bytes of a piece for all sources, and for all outputs; 0 where there are none. */
size_t ts_plan_upload_bytes(const struct ts_plan *plan);
size_t ts_plan_download_bytes(const struct ts_plan *plan);
#ifdef TS_HAVE_CUDA
/* Computes all memory of one device, and all host memory that its side adds. */
void ts_plan_cuda_bytes(const struct ts_plan *plan, size_t *device, size_t *host);
/* Returns the bytes of a slab of halves in which an output leaves the device where it is not
 * compressed there; 0 where this node has none. */
size_t ts_plan_halves_bytes(const struct ts_plan *plan, int32_t node);
/* Returns the bytes of a number for each node, in which the device notes the largest magnitude that
 * halves cannot hold; 0 where nothing is rounded. */
size_t ts_plan_largest_bytes(const struct ts_plan *plan);
/* Fills the nodes' transfers. computed[node] is the number of its slices that are computed in the
 * whole run. */
void ts_plan_cuda_transfers(struct ts_plan *plan, const int64_t *computed);
#endif

#endif
