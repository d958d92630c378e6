/* SPDX-License-Identifier: Apache-2.0
 *
 * Carries a study out: opens what it needs before minutes are spent, prints each row as soon as it is measured, and
 * writes the files at the end.
 */
#include "pipeline/study/study.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "core/text_file.h"

const struct study *const ts_studies[] = {&ts_fan_in_study, NULL};

enum { PATH_BYTES = 4096 };

/* Writes the path of the study's file of this kind in the request's folder. */
static void file_name(const struct study_run *run, const char *ending, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/%s.%s", run->request->folder, run->study->name, ending);
}

/* Makes the folder, where it is not there, and checks that both files can be written. */
static enum ts_status check_files(const struct study_run *run)
{
    char path[PATH_BYTES];
    if (!run->request->folder)
        return TS_OK;
    if (mkdir(run->request->folder, 0777) != 0 && errno != EEXIST)
        return ts_diag_error(run->diag, TS_RUN_FAILED, &(struct diag_site){.code = "not-written"},
                             "the folder %s cannot be made: %s", run->request->folder, strerror(errno));
    file_name(run, "json", path);
    enum ts_status status = ts_text_file_check(path, run->diag);
    file_name(run, "svg", path);
    return status == TS_OK ? ts_text_file_check(path, run->diag) : status;
}

static enum ts_status write_files(const struct study_run *run)
{
    char path[PATH_BYTES];
    if (!run->request->folder)
        return TS_OK;
    file_name(run, "json", path);
    const enum ts_status status = ts_table_save(&run->rows, path, run->diag);
    file_name(run, "svg", path);
    return status == TS_OK ? run->study->plot(&run->rows, path, run->diag) : status;
}

static void print_head(const struct study_run *run)
{
    fputs(run->study->heading, run->rows.stream);
    if (*run->devices.why)
        fprintf(run->rows.stream, "no rows of a CUDA device: %s\n", run->devices.why);
    fputc('\n', run->rows.stream);
}

enum ts_status ts_study_run(const struct study *study, const struct study_request *request, FILE *stream,
                            struct ts_diag *diag)
{
    struct study_run run = {.study = study,
                            .request = request,
                            .rows = {.table = &study->table, .stream = stream, .json = request->json},
                            .diag = diag};
    enum ts_status status = check_files(&run);
    if (status == TS_OK)
        status = ts_bench_devices_choose(request->device, &run.devices, diag);
    if (status != TS_OK)
        return status;
    if (!request->json)
        print_head(&run);
    ts_table_begin(&run.rows);
    status = study->measure(&run);
    const enum ts_status printed = ts_table_end(&run.rows, diag);
    status = status == TS_OK ? printed : status;
    if (status == TS_OK)
        status = write_files(&run);
    ts_table_clear(&run.rows);
    return status;
}
