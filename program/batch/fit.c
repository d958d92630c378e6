/* SPDX-License-Identifier: Apache-2.0
 *
 * With p[i] the percentiles of study i, s[i] = 100 / (p[i][99] - p[i][1]): the landmarks are
 * mean(s[i] p[i]) - mean(s[i] p[i][1]), the average of the percentiles that a line maps to
 * [0, 100]. Studies are added in the order of their digests, so that the order of a list does not
 * matter. Source: TorchIO, HistogramStandardization.train.
 */
#include "program/batch/fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/json.h"
#include "include/tomostage_array.h"
#include "io/file/whole_file.h"
#include "io/hdf5/hdf5_texts.h"
#include "pipeline/chain/param_file.h"
#include "program/record/made.h"
#include "stages/intensity/nyul.h"

enum { FIT_STUDIES = 5000 /* a file of the landmarks has at most 1 MiB */ };

static const char first_lines[] = "{\n  \"stage\": \"nyul\",";

static enum ts_status fit_refuse(struct ts_diag *diag, const char *message, const char *hint)
{
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "fit-chain"}, "--fit: %s",
                  message);
    return ts_diag_hint(diag, "%s", hint);
}

/* ---- the chain of the first batch ------------------------------------------------------------ */

/* Marks a node and all that it is made from. */
static void mark_needed(const struct ts_chain *chain, int32_t node, bool *needed)
{
    if (needed[node])
        return;
    needed[node] = true;
    if (node < chain->n_sources)
        return;
    const struct chain_stage *stage = &chain->stages[node - chain->n_sources];
    mark_needed(chain, stage->input_node, needed);
    for (size_t i = 0; i < stage->set.n_params; i++) {
        const struct ts_reference *reference = ts_param_field(&stage->set, i);
        if (stage->set.params[i].kind == PARAM_REFERENCE && reference->name)
            mark_needed(chain, reference->node, needed);
    }
}

static const char *name_of(const struct ts_chain *chain, int32_t node)
{
    return node < chain->n_sources ? chain->sources[node].name
                                   : chain->stages[node - chain->n_sources].name;
}

/* Makes the chain of what the stage at `index` takes. The names in it stay, and its nodes get new
   numbers. Returns false if memory is out. */
static bool make_part(const struct ts_chain *chain, int32_t index, struct arena *arena,
                      struct ts_chain *part)
{
    bool needed[CHAIN_MAX_SOURCES + CHAIN_MAX_STAGES] = {true};
    int32_t number[CHAIN_MAX_SOURCES + CHAIN_MAX_STAGES];
    const struct nyul_params *params = chain->stages[index].set.values;
    struct chain_stage *stages = ts_arena_alloc(arena, (size_t)(index + 1) * sizeof *stages);
    mark_needed(chain, chain->stages[index].input_node, needed);
    if (params->mask.name)
        mark_needed(chain, params->mask.node, needed);
    *part = *chain;
    part->n_sources = part->n_stages = 0;
    part->output = (struct chain_output){.path = NULL};
    part->stages = stages;
    for (int32_t i = 0; i < chain->n_sources; i++)
        if (needed[i] || (i == 0 && chain->sources[0].format)) {
            number[i] = part->n_sources;
            part->sources[part->n_sources++] = chain->sources[i];
        }
    for (int32_t i = 0; stages && i < index; i++)
        if (needed[chain->n_sources + i]) {
            number[chain->n_sources + i] = part->n_sources + part->n_stages;
            stages[part->n_stages] = chain->stages[i];
            stages[part->n_stages++].input_node = number[chain->stages[i].input_node];
        }
    return stages != NULL;
}

/* Writes the part, `statistics` and the crop on one line. */
static enum ts_status write_part(const struct ts_chain *chain, int32_t index, struct arena *arena,
                                 struct fit *fit, struct ts_diag *diag)
{
    struct ts_chain part;
    const struct nyul_params *params = chain->stages[index].set.values;
    const int32_t before = index == 0 ? 0 : chain->n_sources + index - 1,
                  input = chain->stages[index].input_node;
    if (!make_part(chain, index, arena, &part))
        return ts_diag_no_memory(diag, sizeof part);
    const size_t length = ts_chain_text(&part, true, NULL, 0);
    char *text = ts_arena_alloc(arena, length + 1);
    if (!text)
        return ts_diag_no_memory(diag, length);
    if (length == 0 && (part.n_sources > 1 || part.sources[0].format || part.n_stages > 0))
        return fit_refuse(diag, "the stages before `nyul` cannot be written on one line",
                          "a chain of version 2 (`tomostage: 2`) without control characters can");
    ts_chain_text(&part, true, text, length + 1);
    fit->stages = part.n_stages + 1;
    fit->chain = ts_arena_printf(
        arena,
        "%s%sstatistics%s%s%s%s percentiles=1,10,20,25,30,40,50,60,70,75,80,90,99"
        " | crop x=0,1 y=0,1 z=0,1",
        text, length > 0 ? " | " : "", input != before ? " input=" : "",
        input != before ? name_of(chain, input) : "", params->mask.name ? " mask=" : "",
        params->mask.name ? params->mask.name : "");
    return fit->chain ? TS_OK : ts_diag_no_memory(diag, length);
}

enum ts_status ts_fit_check_file(const struct fit *fit, bool resume, bool force,
                                 struct ts_diag *diag)
{
    const char *path = fit->path;
    struct stat found;
    char begin[sizeof first_lines] = "";
    if (lstat(path, &found) != 0)
        return ts_whole_file_check(path, false, diag);
    if (!resume && !force) {
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "output-exists"},
                      "'%s' already exists", path);
        return ts_diag_hint(diag, "--force fits it anew and replaces it; without --fit the batch "
                                  "takes it as it is");
    }
    FILE *file = fopen(path, "r");
    const bool known = file && fread(begin, 1, sizeof begin - 1, file) == sizeof begin - 1 &&
                       !strcmp(begin, first_lines);
    if (file)
        fclose(file);
    if (known)
        return ts_whole_file_check(path, true, diag);
    ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "fit-other-file"},
                  "'%s' is no file of landmarks, and is not replaced", path);
    return ts_diag_hint(diag, "give `landmarks_file` another name");
}

enum ts_status ts_fit_prepare(const struct ts_chain *chain, struct arena *arena, struct fit *fit,
                              struct ts_diag *diag)
{
    int32_t index = -1, n = 0;
    for (int32_t i = 0; i < chain->n_stages; i++)
        if (!strcmp(chain->stages[i].stage->name, nyul_stage.name)) {
            index = i;
            n++;
        }
    if (n != 1)
        return fit_refuse(
            diag, n == 0 ? "the chain has no stage `nyul`" : "the chain has several stages `nyul`",
            "a chain with one stage `nyul: {landmarks_file: FILE.json}` is fitted");
    const struct nyul_params *params = chain->stages[index].set.values;
    if (!params->landmarks_file || !*params->landmarks_file)
        return fit_refuse(diag, "`nyul` names no file for its landmarks",
                          "--set nyul.landmarks_file=FILE.json names one");
    if (chain->sweep.n > 0 && chain->sweep.stage <= index)
        return fit_refuse(diag, "a sweep up to `nyul` would have a scale for each of its values",
                          "--set gives the parameter one value");
    fit->path = ts_arena_text(arena, params->landmarks_file, strlen(params->landmarks_file));
    if (!fit->path)
        return ts_diag_no_memory(diag, strlen(params->landmarks_file));
    return write_part(chain, index, arena, fit, diag);
}

void ts_fit_assume(struct ts_chain *chain)
{
    for (int32_t i = 0; i < chain->n_stages; i++)
        if (!strcmp(chain->stages[i].stage->name, nyul_stage.name)) {
            struct nyul_params *params = chain->stages[i].set.values;
            params->landmarks_file = "";
            params->landmarks = (struct ts_numbers){1, NYUL_PERCENTILES, ts_nyul_percents};
        }
}

/* ---- the landmarks --------------------------------------------------------------------------- */

struct fitted {
    double percentiles[NYUL_PERCENTILES];
    const char *digest; /* of the list of the digests of the input's slices */
};

static int by_digest(const void *a, const void *b)
{
    const struct fitted *one = a, *other = b;
    const int order = strcmp(one->digest, other->digest);
    return order ? order : memcmp(one->percentiles, other->percentiles, sizeof one->percentiles);
}

/* Reads what the first batch found of a study. */
static enum ts_status read_study(const struct fit *fit, const struct batch_study *study,
                                 struct arena *arena, struct fitted *fitted, struct ts_diag *diag)
{
    struct made made;
    char dataset[96];
    const struct diag_site site = {.code = "fit-study"};
    const double *p = fitted->percentiles;
    const struct ts_image image = {
        .dtype = TS_F64, .rank = 1, .axes = {{.n = NYUL_PERCENTILES}}, .data = fitted->percentiles};
    snprintf(dataset, sizeof dataset, "/entry/process_%d_statistics/tables/percentiles",
             fit->stages);
    const enum ts_status status = ts_made_read(NULL, study->output, arena, &made, diag);
    if (status != TS_OK)
        return status;
    struct ts_diag *unread = ts_diag_create();
    const bool one =
        unread && ts_hdf5_read_values(NULL, study->output, dataset, &image, unread) == TS_OK;
    ts_diag_destroy(unread);
    if (!one) { /* the file was verified */
        ts_diag_error(diag, TS_BAD_INPUT, &site, "%s has several volumes, each with a scale",
                      study->input);
        return ts_diag_hint(diag, "take: N beside the path of the input chooses one volume");
    }
    fitted->digest = "";
    for (size_t i = 0; i < made.n_inputs; i++)
        if (!strcmp(made.inputs[i].name, "input"))
            fitted->digest = made.inputs[i].digest;
    if (p[0] < p[NYUL_PERCENTILES - 1])
        return TS_OK;
    if (isnan(p[0]))
        ts_diag_error(diag, TS_BAD_INPUT, &site, "%s has no pixel whose value counts",
                      study->input);
    else
        ts_diag_error(diag, TS_BAD_INPUT, &site,
                      "the 1st and the 99th percentile of %s are both %g", study->input, p[0]);
    return ts_diag_hint(diag, "leave it out of the list, or give `nyul` a mask that fits it");
}

/* Computes the landmarks of n studies. */
static void average(const struct fitted *studies, size_t n, double landmarks[NYUL_PERCENTILES])
{
    double intercept = 0;
    memset(landmarks, 0, NYUL_PERCENTILES * sizeof *landmarks);
    for (size_t i = 0; i < n; i++) {
        const double *p = studies[i].percentiles, slope = 100 / (p[NYUL_PERCENTILES - 1] - p[0]);
        intercept += 0 - slope * p[0];
        for (int k = 0; k < NYUL_PERCENTILES; k++)
            landmarks[k] += slope * p[k];
    }
    for (int k = 0; k < NYUL_PERCENTILES; k++)
        landmarks[k] = landmarks[k] / (double)n + intercept / (double)n;
}

static void write_numbers(struct json *json, const char *key, const double *values)
{
    ts_json_open_member(json, key, '[');
    for (int i = 0; i < NYUL_PERCENTILES; i++)
        ts_json_real(json, values[i]);
    ts_json_close(json, ']');
}

static void write_file(FILE *stream, const struct fitted *studies, size_t n)
{
    struct json json;
    double landmarks[NYUL_PERCENTILES];
    average(studies, n, landmarks);
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "stage", nyul_stage.name);
    ts_json_member_integer(&json, "version", PARAM_FILE_VERSION);
    write_numbers(&json, "percentiles", ts_nyul_percents);
    write_numbers(&json, "landmarks", landmarks);
    ts_json_open_member(&json, "cutoff", '[');
    ts_json_real(&json, ts_nyul_percents[0]);
    ts_json_real(&json, ts_nyul_percents[NYUL_PERCENTILES - 1]);
    ts_json_close(&json, ']');
    ts_json_member_integer(&json, "studies", (int64_t)n);
    ts_json_open_member(&json, "digests", '[');
    for (size_t i = 0; i < n; i++)
        ts_json_text(&json, studies[i].digest);
    ts_json_close(&json, ']');
    ts_json_close(&json, '}');
}

/* Returns true if the file has just these bytes. */
static bool is_there(const char *path, const char *text, size_t length)
{
    FILE *file = fopen(path, "r");
    char *there = file ? malloc(length + 2) : NULL;
    const bool same =
        there && fread(there, 1, length + 1, file) == length && !memcmp(there, text, length);
    free(there);
    if (file)
        fclose(file);
    return same;
}

static enum ts_status publish(const struct fit *fit, const char *text, size_t length, bool force,
                              struct ts_diag *diag)
{
    struct stat found;
    struct whole_file file;
    if (is_there(fit->path, text, length))
        return TS_OK;
    if (lstat(fit->path, &found) == 0 && !force) {
        ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "fit-other-file"},
                      "'%s' exists, and is the fit of other studies or of another chain",
                      fit->path);
        return ts_diag_hint(diag, "--force replaces it; without --fit the batch takes it as it is");
    }
    const enum ts_status status = ts_whole_file_open(&file, fit->path, force, diag);
    if (status != TS_OK)
        return status;
    fwrite(text, 1, length, file.stream);
    return ts_whole_file_close(&file, diag);
}

enum ts_status ts_fit_write(const struct fit *fit, const struct batch *batch, bool force,
                            struct ts_diag *diag)
{
    const size_t n = batch->studies.n;
    char *text = NULL;
    size_t length = 0;
    enum ts_status status = TS_OK;
    if (n > FIT_STUDIES)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "fit-chain"},
                             "--fit: a scale of more than %d studies", FIT_STUDIES);
    struct fitted *studies = calloc(n + 1, sizeof *studies);
    struct arena *arena = ts_arena_create();
    FILE *stream = studies && arena ? open_memstream(&text, &length) : NULL;
    if (!stream)
        status = ts_diag_no_memory(diag, n * sizeof *studies);
    for (size_t i = 0; i < n && status == TS_OK; i++)
        status = read_study(fit, &batch->studies.items[i], arena, &studies[i], diag);
    if (status == TS_OK) {
        qsort(studies, n, sizeof *studies, by_digest);
        write_file(stream, studies, n);
    }
    if (stream && fclose(stream) != 0 && status == TS_OK)
        status = ts_diag_no_memory(diag, length);
    if (status == TS_OK)
        status = publish(fit, text, length, force, diag);
    free(text);
    ts_arena_destroy(arena);
    free(studies);
    return status;
}
