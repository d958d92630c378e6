/* SPDX-License-Identifier: Apache-2.0
 *
 * The outputs of a run: the HDF5 file, which holds every image and how it was made, and outputs of
 * other formats, which hold the last image. Slices go to all of them. At the end all are completed,
 * and then they get their names, the HDF5 file last; if one cannot get its name, the others lose
 * theirs again.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/file/file_commit.h"
#include "io/file/publish_lock.h"
#include "io/source/memory.h"
#include "pipeline/plan/plan_reuse.h"
#include "pipeline/run/provenance.h"
#include "pipeline/run/run.h"

/* ---- before the run -------------------------------------------------------------------------- */

/* An output; without a format it is HDF5. */
struct written {
    const char *path;
    const struct sink_format *format;
    struct ts_span span;
    enum {
        WRITTEN_OUTPUT,
        WRITTEN_PROFILE /* NAME.svg and NAME.json; `path` is NAME */,
        WRITTEN_PICTURE
    } owner;
};

/* Lists the files that an output at this path replaces: the one there, or those of the folder.
   Returns false if memory is out. */
static bool find_replaced(const char *path, struct file_set *files)
{
    struct stat found;
    bool complete = true;
    if (stat(path, &found) != 0)
        return true;
    if (!S_ISDIR(found.st_mode))
        return ts_file_set_add(files, &found);
    DIR *folder = opendir(path);
    for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry && complete;
         entry = readdir(folder))
        if (fstatat(dirfd(folder), entry->d_name, &found, 0) == 0 && S_ISREG(found.st_mode))
            complete = ts_file_set_add(files, &found);
    if (folder)
        closedir(folder);
    ts_file_set_sort(files);
    return complete;
}

/* Returns true if the path leads to one of the files. */
static bool leads_to(const char *path, const struct file_set *files)
{
    struct stat found;
    return path && *path && stat(path, &found) == 0 &&
           ts_file_set_has(files, found.st_dev, found.st_ino);
}

/* Returns the index of the parameter whose text is the path of one of the files, such as
   angles_file; n_params if there is none. */
static size_t param_that_names(const struct param_set *set, const struct file_set *files)
{
    for (size_t p = 0; p < set->n_params; p++) {
        const struct ts_texts *texts = ts_param_field(set, p);
        if (set->params[p].kind == PARAM_TEXT &&
            leads_to(*(const char *const *)ts_param_field(set, p), files))
            return p;
        for (int64_t i = 0; set->params[p].kind == PARAM_TEXTS && i < texts->n; i++)
            if (leads_to(texts->items[i], files))
                return p;
    }
    return set->n_params;
}

/* Writes what of the node reads one of the files: its label if its source does, or
   label.parameter. Returns false if nothing does. */
static bool node_reads(const struct plan_node *node, const struct file_set *files, char *name,
                       size_t size)
{
    if (node->source && node->source->ops->holds && node->source->ops->holds(node->source, files)) {
        snprintf(name, size, "%s", node->label);
        return true;
    }
    const size_t p = param_that_names(&node->set, files);
    if (p == node->set.n_params)
        return false;
    snprintf(name, size, "%s.%s", node->label, node->set.params[p].name);
    return true;
}

/* Writes what reads one of the files: a node, the result of an earlier run, or "the chain itself".
   Returns false if nothing does. `resumes`: the result of an earlier run may be replaced. */
static bool find_reader(const struct ts_plan *plan, const struct file_set *files, bool resumes,
                        char *name, size_t size)
{
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (node_reads(&plan->nodes[i], files, name, size))
            return true;
    const bool resumed = plan->reuse && !resumes && leads_to(plan->reuse->path, files);
    snprintf(name, size, "%s",
             resumed ? "the earlier result that the run starts from" : "the chain itself");
    /* A chain that is no file may still have a name. */
    return resumed || leads_to(plan->chain->source_name, files);
}

/* Refuses to replace what the run reads. */
static enum ts_status check_replaced(const struct ts_plan *plan, const struct written *written,
                                     const char *path, struct ts_diag *diag)
{
    struct file_set files = {0};
    char reader[128];
    const bool complete = find_replaced(path, &files);
    const bool resumes = !written->format && written->owner == WRITTEN_OUTPUT;
    const bool refused =
        complete && files.n > 0 && find_reader(plan, &files, resumes, reader, sizeof reader);
    const size_t bytes = 2 * files.capacity * sizeof *files.files;
    ts_file_set_clear(&files);
    if (!complete)
        return ts_diag_no_memory(diag, bytes);
    if (!refused)
        return TS_OK;
    const struct sink_format *format = written->format;
    const struct diag_site site = {.code = "output-is-input", .span = written->span};
    const bool folder = format && !ts_sink_is_file(format, written->path);
    ts_diag_error(diag, TS_BAD_CHAIN, &site, "the output '%s' is a %s that the run reads%s: %s",
                  path, folder ? "folder" : "file", folder ? " from" : "", reader);
    if (written->owner != WRITTEN_OUTPUT)
        return ts_diag_hint(diag, "give the %s",
                            written->owner == WRITTEN_PROFILE
                                ? "profile a name of its own: --profile NAME"
                                : "picture a name of its own: --picture FILE.svg");
    if (folder)
        return ts_diag_hint(
            diag, "give the output a folder of its own: output: {%s: FOLDER} in the chain",
            format->name);
    const char *suffix = format ? format->suffixes[0] : ".h5";
    return ts_diag_hint(
        diag, "give the output a name of its own: output: {%s: FILE%s} in the chain, or -o FILE%s",
        format ? format->name : "hdf5", suffix, suffix);
}

enum ts_status ts_plan_keep_inputs(const struct ts_plan *plan, const char *path,
                                   struct ts_diag *diag)
{
    return check_replaced(plan, &(struct written){.path = path, .owner = WRITTEN_PICTURE}, path,
                          diag);
}

/* Checks the path of the first `length` bytes of the path and the ending. */
static enum ts_status check_ending(const struct ts_plan *plan, const struct written *written,
                                   size_t length, const char *ending, struct ts_diag *diag)
{
    char *path = NULL;
    if (asprintf(&path, "%.*s%s", (int)length, written->path, ending) < 0)
        return ts_diag_no_memory(diag, length);
    const enum ts_status status = check_replaced(plan, written, path, diag);
    free(path);
    return status;
}

/* Checks an output with the files beside it. */
static enum ts_status check_written(const struct ts_plan *plan, const struct written *written,
                                    struct ts_diag *diag)
{
    static const char *const of_profile[] = {".svg", ".json", NULL};
    const struct sink_format *format = written->format;
    const char *const *beside = written->owner == WRITTEN_PROFILE ? of_profile
                                : format                          ? format->beside
                                                                  : NULL;
    enum ts_status status = TS_OK;
    if (written->owner == WRITTEN_OUTPUT)
        status = check_replaced(plan, written, written->path, diag);
    for (int b = 0; status == TS_OK && beside && b < SINK_STAGED && beside[b]; b++)
        status = check_ending(plan, written,
                              format ? ts_sink_stem(format, written->path) : strlen(written->path),
                              beside[b], diag);
    return status;
}

static enum ts_status check_all_written(const struct ts_plan *plan, const char *profile,
                                        struct ts_diag *diag)
{
    const struct chain_output *output = &plan->chain->output;
    enum ts_status status = TS_OK;
    if (output->path)
        status = check_written(plan, &(struct written){.path = output->path, .span = output->span},
                               diag);
    for (int32_t i = 0; i < output->n_sinks && status == TS_OK; i++) {
        const struct written written = {output->sinks[i].path, output->sinks[i].format,
                                        output->sinks[i].span, WRITTEN_OUTPUT};
        status = check_written(plan, &written, diag);
    }
    if (status == TS_OK && profile)
        status =
            check_written(plan, &(struct written){.path = profile, .owner = WRITTEN_PROFILE}, diag);
    return status;
}

/* Returns true if a stage has tables, which the caller of a run object may read without any image.
 */
static bool leaves_tables(const struct ts_plan *plan)
{
    struct stage_table tables[STAGE_TABLES];
    for (int32_t i = 0; i < plan->n_nodes; i++)
        if (plan->nodes[i].context.stage &&
            ts_stage_tables(&plan->nodes[i].context, tables, NULL) > 0)
            return true;
    return false;
}

enum ts_status ts_run_check_outputs(const struct ts_plan *plan, const struct run_options *options,
                                    struct ts_diag *diag)
{
    const struct chain_output *output = &plan->chain->output;
    enum ts_status status = check_all_written(plan, options->profile, diag);
    if (status == TS_OK && output->path)
        status = ts_file_check(output->path, options->force, plan->output_bytes, diag);
    for (int32_t i = 0; i < output->n_sinks && status == TS_OK; i++) {
        const struct sink_request request = ts_plan_sink_request(plan, i);
        status = ts_sink_check(output->sinks[i].format, &request, diag);
    }
    if (status != TS_OK || output->path || output->n_sinks > 0 || options->n_takers > 0 ||
        plan->chain->part || (options->on_end && leaves_tables(plan)))
        return status;
    const bool callers = options->on_end || ts_chain_is_of_caller(plan->chain);
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "no-output"}, "%s",
                  callers ? "no array and no file takes an image of the run"
                          : "the chain names no output file");
    return ts_diag_hint(diag, "%s",
                        callers ? "ts_run_set_array() of a run gives an image an array, and "
                                  "ts_run_set_take() hands its slabs over; a chain may end in "
                                  "hdf5 FILE.h5"
                                : "output: {hdf5: FILE.h5} in the chain, or -o FILE.h5");
}

void ts_plan_warn_output(const struct ts_plan *plan, struct ts_diag *diag)
{
    struct ts_diag *found = ts_diag_create();
    if (!found)
        return;
    if (plan->chain->output.path)
        (void)ts_file_check(plan->chain->output.path, true, plan->output_bytes, found);
    for (int32_t i = 0; i < plan->chain->output.n_sinks; i++) {
        const struct sink_request request = ts_plan_sink_request(plan, i);
        (void)ts_sink_check(plan->chain->output.sinks[i].format, &request, found);
    }
    for (size_t i = 0; i < ts_diag_count(found); i++) {
        const struct ts_diag_record *record = ts_diag_get(found, i);
        if (record->severity != TS_WARNING)
            continue;
        ts_diag_warning(diag, &(struct diag_site){.code = record->code}, "%s", record->message);
        if (record->hint)
            ts_diag_hint(diag, "%s", record->hint);
    }
    ts_diag_destroy(found);
}

/* ---- during the run -------------------------------------------------------------------------- */

enum ts_status ts_run_taken(const struct run *run, int32_t node, const struct ts_image *slab,
                            enum ts_status answer)
{
    const bool known = answer <= TS_STOPPED || answer == TS_PAUSED;
    if (answer == TS_OK)
        return TS_OK;
    return ts_diag_error(run->diag, known ? answer : TS_RUN_FAILED,
                         &(struct diag_site){.code = "take-failed"},
                         "the function that takes the image '%s' returned %d for slices %lld to "
                         "%lld",
                         run->plan->nodes[node].dataset, (int)answer, (long long)slab->z_first,
                         (long long)(slab->z_first + slab->axes[0].n - 1));
}

/* Sets `place` in run->state to a copy of the path (NULL: none), which a signal handler may read
   after the path is freed. */
static enum ts_status remember_temporary(struct run *run, _Atomic(const char *) *place,
                                         const char *path)
{
    const char *copy = path ? ts_arena_text(run->plan->arena, path, strlen(path)) : NULL;
    if (path && !copy)
        return ts_diag_no_memory(run->diag, strlen(path));
    atomic_store(place, copy);
    return TS_OK;
}

static void forget_temporaries(struct run_state *state)
{
    for (int i = 0; i < SINK_FORMATS; i++)
        atomic_store(&state->sink_temporaries[i], NULL);
}

/* Opens the HDF5 output, if the chain has one and this is rank 0, and writes the entry that
   describes it. */
static enum ts_status open_hdf5(struct run *run)
{
    const struct ts_plan *plan = run->plan;
    const char *path = plan->chain->output.path;
    const struct hdf5_options options = {.level = ts_plan_level(plan),
                                         .threads = plan->writer_threads,
                                         .trace = run->state->trace,
                                         .digest = run->digest};
    const struct sink_request request = {
        .path = path, .force = run->options->force, .hdf5 = &options};
    struct sink **sink = &run->sinks[SINK_FORMATS];
    if (!path || plan->rank > 0)
        return TS_OK;
    enum ts_status status = ts_sink_open(&hdf5_sink, &request, sink, run->diag);
    if (status != TS_OK)
        return status;
    run->writer = ts_hdf5_sink_writer(*sink);
    status = remember_temporary(run, &run->state->temporary, (*sink)->staged[0].file.temporary);
    return status == TS_OK ? ts_provenance_begin(plan, run->writer) : status;
}

/* Creates the datasets of images whose axes are first known in this pass. */
static enum ts_status create_datasets(struct run *run, int pass)
{
    int32_t outputs[CHAIN_MAX_STAGES + CHAIN_MAX_SOURCES];
    const int32_t n = ts_plan_outputs(run->plan, outputs);
    enum ts_status status = TS_OK;
    bool drained = pass == 0;
    for (int32_t i = 0; status == TS_OK && run->plan->chain->output.path && i < n; i++) {
        const struct plan_node *node = &run->plan->nodes[outputs[i]];
        const struct ts_image volume = ts_plan_written(run->plan, outputs[i]);
        const struct ts_image written = ts_plan_with_volumes(run->plan, outputs[i], &volume);
        char path[128];
        if (node->axes_pass != pass)
            continue;
        /* Datasets are made between images, so that the file's bytes do not depend on pending
         * downloads. */
        if (!drained)
            status = ts_run_on_devices(run, run->back_end->drain);
        drained = true;
        snprintf(path, sizeof path, "/entry/%s", node->dataset);
        if (run->plan->rank > 0) /* the datasets are on rank 0 */
            run->results[outputs[i]].dataset = 0;
        else if (status == TS_OK)
            status = ts_hdf5_image(run->writer, path, &written, &run->results[outputs[i]].dataset);
        for (int32_t k = outputs[i] + 1; k < run->plan->n_nodes; k++)
            if (run->plan->nodes[k].leader == outputs[i])
                run->results[k].dataset = run->results[outputs[i]].dataset;
    }
    return status;
}

/* Returns the temporary name of an output that is not published; NULL if it has none. */
static const char *sink_temporary(const struct sink *sink)
{
    const struct staged *staged = &sink->staged[0];
    if (staged->is_folder)
        return staged->temporary;
    return staged->file.named ? staged->file.temporary : NULL;
}

/* Opens the outputs of other formats than HDF5, if the axes of their image are first known in this
   pass. */
static enum ts_status open_sinks(struct run *run, int pass)
{
    const struct chain_output *output = &run->plan->chain->output;
    enum ts_status status = TS_OK;
    if (run->plan->nodes[run->sink_node].axes_pass != pass || run->plan->rank > 0)
        return TS_OK;
    for (int32_t i = 0; i < output->n_sinks && status == TS_OK; i++) {
        const struct sink_request request = ts_plan_sink_request(run->plan, i);
        status = ts_sink_open(output->sinks[i].format, &request, &run->sinks[i], run->diag);
        if (status == TS_OK)
            status = remember_temporary(run, &run->state->sink_temporaries[i],
                                        sink_temporary(run->sinks[i]));
    }
    return status;
}

enum ts_status ts_run_open_outputs(struct run *run, int pass)
{
    enum ts_status status = pass == 0 ? open_hdf5(run) : TS_OK;
    if (status == TS_OK)
        status = create_datasets(run, pass);
    return status == TS_OK ? open_sinks(run, pass) : status;
}

const struct run_taker *ts_run_taker(const struct run *run, int32_t node)
{
    for (int i = 0; i < run->options->n_takers; i++)
        if (run->plan->nodes[node].leader == run->options->takers[i].node)
            return &run->options->takers[i];
    return NULL;
}

int64_t ts_run_place(const struct run *run, int32_t i, int64_t z)
{
    const struct plan_node *node = &run->plan->nodes[i];
    const int64_t place = node->by_volume ? run->volume : node->value;
    return z + (place > 0 ? place * node->out.axes[0].n : 0);
}

unsigned char *ts_run_in_array(const struct run *run, int32_t node, const struct plan_step *step)
{
    const struct ts_plan *plan = run->plan;
    const struct plan_node *here = &plan->nodes[node];
    const struct run_taker *taker = ts_run_taker(run, node);
    if (!taker || taker->take || ts_run_stays_there(taker) || plan->cuda || plan->n_ranks > 1 ||
        here->keep || here->source || here->image_node != node ||
        here->buffer_slices > plan->slab_slices || step->todo.n != 1)
        return NULL;
    return ts_array_slice(&taker->array, ts_run_place(run, node, step->todo.at[0].first));
}

bool ts_run_holds(const struct run *run, int32_t node)
{
    return ts_run_taker(run, node) || ts_run_leaves(run, node);
}

bool ts_run_leaves(const struct run *run, int32_t node)
{
    const struct run_taker *taker = ts_run_taker(run, node);
    if (taker && !ts_run_stays_there(taker))
        return true;
    return run->results[node].dataset >= 0 || (run->plan->chain->output.n_sinks > 0 &&
                                               run->plan->nodes[node].leader == run->sink_node);
}

enum ts_status ts_run_put_chunks(struct run *run, int32_t node, const struct run_chunk *chunks,
                                 int64_t n, const unsigned char *data)
{
    enum ts_status status = TS_OK;
    for (int64_t i = 0; status == TS_OK && i < n; i++) {
        void *encoded = malloc(chunks[i].bytes);
        if (!encoded)
            return ts_diag_no_memory(run->diag, chunks[i].bytes);
        memcpy(encoded, data + chunks[i].offset, chunks[i].bytes);
        status = ts_hdf5_write_chunk_take(run->writer, run->results[node].dataset, encoded,
                                          chunks[i].bytes);
    }
    return status;
}

/* A single file needs no lock, since it either replaces another one or not. */
static void lock_folders(struct sink *const *sinks, int n, struct publish_lock *lock,
                         struct ts_diag *diag)
{
    const char *folders[RUN_SINKS] = {NULL};
    int n_files = 0;
    for (int i = 0; i < n; i++) {
        folders[i] = ts_sink_folder(sinks[i]);
        n_files += sinks[i]->n_staged;
    }
    if (n_files > 1)
        ts_publish_lock(lock, folders, n, diag);
}

enum ts_status ts_run_end_outputs(struct run *run, enum ts_status status)
{
    struct publish_lock lock = {.n = 0};
    struct sink *opened[RUN_SINKS];
    int n = 0;
    for (int i = 0; i < RUN_SINKS; i++)
        if (run->sinks[i])
            opened[n++] = run->sinks[i];
    run->writer = NULL;
    for (int i = 0; i < n && status == TS_OK; i++)
        status = ts_sink_finish(opened[i], run->diag);
    if (status == TS_OK) {
        lock_folders(opened, n, &lock, run->diag);
        /* these names now belong to what was replaced, which must stay */
        forget_temporaries(run->state);
        status = ts_sinks_publish(opened, n, run->diag);
    }
    ts_publish_unlock(&lock);
    for (int i = 0; i < n; i++)
        ts_sink_close(opened[i]);
    forget_temporaries(run->state);
    return status;
}
