/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries a study out: opens what it needs before minutes are spent, prints each row as soon as it
 * is measured, and writes the files at the end.
 */
#include "lab/study/study.h"

#include <errno.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/svg.h"
#include "include/tomostage.h"
#include "io/file/whole_file.h"

/* clang-format off */
const struct study *const ts_studies[] = {
    &ts_histogram_ladder_study,
    &ts_histogram_memory_study,
    &ts_warp_tagged_study,
    &ts_fan_in_study,
    &ts_reductions_study,
    &ts_neighborhood_study,
    &ts_box_ladder_study,
    &ts_box_grain_study,
    &ts_radon_input_study,
    &ts_inverse_radon_study,
    &ts_display_study,
    NULL,
};
/* clang-format on */

enum { PATH_BYTES = 4096 };

/* Writes the path of a file in the request's folder: NAME and its ending. */
static void file_name(const struct study_request *request, const char *name, const char *ending,
                      char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s.%s", request->folder, name, ending);
}

/* Checks that a file can be written, so that no minutes are spent on rows that cannot be kept. */
static enum ts_status check_file(const struct study_request *request, const char *name,
                                 const char *ending, struct ts_diag *diag)
{
    char path[PATH_BYTES];
    file_name(request, name, ending, path);
    return ts_whole_file_check(path, true, diag);
}

static enum ts_status make_folder(const struct study_request *request, struct ts_diag *diag)
{
    if (!request->folder || mkdir(request->folder, 0777) == 0 || errno == EEXIST)
        return TS_OK;
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"},
                         "the folder %s cannot be made: %s", request->folder, strerror(errno));
}

static enum ts_status check_files(const struct study_run *run)
{
    const char *name = run->study->name;
    if (!run->request->folder)
        return TS_OK;
    const enum ts_status status = check_file(run->request, name, "json", run->diag);
    return status == TS_OK ? check_file(run->request, name, "svg", run->diag) : status;
}

static enum ts_status write_files(const struct study_run *run)
{
    char path[PATH_BYTES];
    if (!run->request->folder)
        return TS_OK;
    file_name(run->request, run->study->name, "json", path);
    const enum ts_status status = ts_table_save(&run->rows, path, run->diag);
    file_name(run->request, run->study->name, "svg", path);
    return status == TS_OK ? run->study->plot(&run->rows, path, run->diag) : status;
}

static void print_head(struct study_run *run)
{
    FILE *stream = run->rows.stream;
    fputs(run->study->heading, stream);
    if (*run->devices.why)
        fprintf(stream, "no rows of a CUDA device: %s\n", run->devices.why);
    if (run->study->absences)
        run->study->absences(run, stream);
    fputc('\n', stream);
}

static void print_findings(const struct study_run *run)
{
    FILE *stream = run->rows.stream;
    fprintf(stream, "\nthen: %s\nnow: ", run->study->found);
    run->study->finding(&run->rows, stream);
    fputc('\n', stream);
}

/* Writes the study's part of the page of all studies. */
static void write_part(const struct study_run *run, FILE *page)
{
    const struct study *study = run->study;
    fprintf(page, "<h2 id=\"%s\">%s</h2>\n<p>", study->name, study->name);
    ts_svg_text(page, study->sentence);
    fprintf(page, "</p>\n<p>%s%s%s, %d threads",
            run->devices.device ? run->devices.device->name : "",
            run->devices.device && run->devices.on_cpu ? "; " : "",
            run->devices.on_cpu ? "CPU" : "", run->threads);
    fprintf(page, "; %s</p>\n<p><b>Then:</b> ",
            run->given.values ? "a slice that was given" : "a phantom");
    ts_svg_text(page, study->found);
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (memory) {
        study->finding(&run->rows, memory);
        fclose(memory);
    }
    fprintf(page, "</p>\n<p><b>Now:</b> ");
    ts_svg_text(page, text ? text : "");
    free(text);
    fprintf(page,
            "</p>\n<p><img src=\"%s.svg\" alt=\"chart of the study %s\"></p>\n"
            "<details><summary>%d rows (<a href=\"%s.json\">JSON</a>)</summary>\n",
            study->name, study->name, run->rows.n, study->name);
    ts_table_html(&run->rows, page);
    fprintf(page, "</details>\n");
}

/* Measures and keeps the rows; page: receives the study's part; NULL: none. */
static enum ts_status measure(struct study_run *run, FILE *page)
{
    const bool json = run->request->json;
    if (!json)
        print_head(run);
    ts_table_begin(&run->rows);
    enum ts_status status = run->study->measure(run);
    const enum ts_status printed = ts_table_end(&run->rows, run->diag);
    status = status == TS_OK ? printed : status;
    if (status == TS_OK && !json)
        print_findings(run);
    if (status == TS_OK)
        status = write_files(run);
    if (status == TS_OK && page)
        write_part(run, page);
    ts_table_clear(&run->rows);
    return status;
}

static enum ts_status run_one(const struct study *study, const struct study_request *request,
                              FILE *stream, FILE *page, struct ts_diag *diag)
{
    struct study_run run = {
        .study = study,
        .request = request,
        .threads = request->threads > 0 ? request->threads : omp_get_num_procs(),
        .rows = {.table = &study->table, .stream = stream, .json = request->json},
        .diag = diag};
    if (study->own_data && request->input)
        return ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "study-input"},
                             "the study %s has values of its own and takes no --input",
                             study->name);
    enum ts_status status = check_files(&run);
    if (status == TS_OK)
        status = ts_bench_devices_choose(request->device, false, &run.devices, diag);
    if (status == TS_OK && request->input)
        status = ts_bench_slice_read(request->input, &run.given, diag);
    if (status == TS_OK)
        status = measure(&run, page);
    free(run.given.values);
    return status;
}

/* Carries out all studies into the folder, whose page index.html shows them. */
static enum ts_status run_all(const struct study_request *request, FILE *stream,
                              struct ts_diag *diag)
{
    char path[PATH_BYTES];
    struct whole_file page;
    file_name(request, "index", "html", path);
    enum ts_status status = ts_whole_file_open(&page, path, true, diag);
    if (status != TS_OK)
        return status;
    fprintf(page.stream,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width\"><title>Studies</title>\n"
            "<style>body{font-family:sans-serif;max-width:70em;margin:1em auto;padding:0 "
            "1em}img{max-width:100%%}td,th{padding:0 .6em;text-align:right}</style></head>\n"
            "<body><h1>Published experiments, repeated</h1>\n<p>tomostage %s</p>\n",
            ts_version());
    for (const struct study *const *study = ts_studies; status == TS_OK && *study; study++) {
        if (!request->json)
            fprintf(stream, "%s== %s\n\n", study == ts_studies ? "" : "\n", (*study)->name);
        struct study_request own = *request;
        own.input = (*study)->own_data ? NULL : request->input;
        status = run_one(*study, &own, stream, page.stream, diag);
    }
    fprintf(page.stream, "</body></html>\n");
    if (status == TS_OK)
        return ts_whole_file_close(&page, diag);
    ts_whole_file_discard(&page);
    return status;
}

enum ts_status ts_study_run(const struct study *study, const struct study_request *request,
                            FILE *stream, struct ts_diag *diag)
{
    const enum ts_status status = make_folder(request, diag);
    if (status != TS_OK)
        return status;
    return study ? run_one(study, request, stream, NULL, diag) : run_all(request, stream, diag);
}
