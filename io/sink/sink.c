/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of output formats, and what is done with each of them: it is found by its name or a
 * suffix, checked, opened, finished, published and closed.
 */
#include "io/sink/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/path.h"

const struct sink_format *const ts_sink_formats[SINK_FORMATS + 1] = {
    &nifti_sink, &nrrd_sink, &mha_sink, &tiff_sink, &png_sink, &dicom_sink, NULL};

/* A folder must not have such a name, since somebody would expect a file. */
static const char *const file_suffixes[] = {".dcm",  ".ima", ".nrrd", ".nhdr", ".hdr", ".img",
                                            ".mha",  ".mhd", ".npy",  ".raw",  ".jpg", ".jpeg",
                                            ".bmp",  ".gif", ".gz",   ".zip",  ".tar", ".xz",
                                            ".yaml", ".yml", ".txt",  ".json", ".csv", NULL};

/* Returns true if the path ends in one of the suffixes, in any case. */
static bool ends_in_one(const char *path, const char *const *suffixes)
{
    for (; *suffixes; suffixes++)
        if (ts_sink_has_suffix(path, *suffixes))
            return true;
    return false;
}

/* ---- names ----------------------------------------------------------------------------------- */

const struct sink_format *ts_sink_find(const char *name)
{
    for (size_t i = 0; ts_sink_formats[i]; i++)
        if (strcmp(ts_sink_formats[i]->name, name) == 0)
            return ts_sink_formats[i];
    return NULL;
}

const struct sink_format *ts_sink_of_path(const char *path)
{
    for (size_t i = 0; ts_sink_formats[i]; i++)
        if (ts_sink_is_file(ts_sink_formats[i], path))
            return ts_sink_formats[i];
    return NULL;
}

bool ts_sink_is_hdf5(const char *path)
{
    return ts_sink_is_file(&hdf5_sink, path);
}

void ts_sink_list_suffixes(const char *name, char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (size_t f = 0; f < SINK_FORMATS + 1; f++) {
        const struct sink_format *format = f > 0 ? ts_sink_formats[f - 1] : &hdf5_sink;
        for (int s = 0;
             s < SINK_SUFFIXES && format->suffixes[s] && (!name || !strcmp(name, format->name));
             s++)
            if (used < size)
                used += (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "",
                                         format->suffixes[s]);
    }
}

const char *ts_sink_misnamed(const struct sink_format *format, const char *path, char *hint,
                             size_t size)
{
    const struct sink_format *other = ts_sink_of_path(path);
    const bool is_folder = format && format->part && !other && !ts_sink_is_hdf5(path);
    if (!strcmp(ts_base_name(path), "-")) {
        snprintf(hint, size, "name a file%s", format && format->part ? " or a folder" : "");
        return "'-' is no output: files and folders are written, and no streams";
    }
    if (is_folder && ends_in_one(path, file_suffixes)) {
        snprintf(hint, size,
                 "name a folder; with a slash behind it, as in '%s/', it may have any name",
                 ts_base_name(path));
        return "the path is that of a folder, and ends in the suffix of a file";
    }
    if (is_folder || (format ? ts_sink_is_file(format, path) : other == NULL))
        return NULL;
    char known[256];
    ts_sink_list_suffixes(format ? format->name : "hdf5", known, sizeof known);
    snprintf(hint, size, "output.%s takes %s%s", format ? format->name : "hdf5",
             *known ? known : "the path of a folder",
             *known && format && format->part ? ", and the path of a folder" : "");
    return "the path ends in the suffix of another format, or in none";
}

/* ---- checks ---------------------------------------------------------------------------------- */

static enum ts_status check_image(const struct sink_format *format,
                                  const struct sink_request *request, struct ts_diag *diag)
{
    const char *refusal = request->image ? format->refusal(request) : NULL;
    return refusal
               ? ts_diag_error(diag, TS_BAD_CHAIN,
                               &(struct diag_site){.code = "output-cannot-hold", .stage = "output"},
                               "%s cannot hold the image '%s': %s", format->name, request->name,
                               refusal)
               : TS_OK;
}

enum ts_status ts_sink_check(const struct sink_format *format, const struct sink_request *request,
                             struct ts_diag *diag)
{
    const int64_t volumes = request->volumes ? request->volumes->n : 1;
    const int64_t bytes = request->image ? volumes * (int64_t)ts_image_bytes(request->image) : 0;
    const enum ts_status status = check_image(format, request, diag);
    if (status != TS_OK)
        return status;
    return !format->part || ts_sink_is_file(format, request->path)
               ? ts_file_check(request->path, request->force, bytes, diag)
               : ts_staged_check_folder(request->path, &(struct staged_content){format->part, NULL},
                                        request->force, bytes, diag);
}

bool ts_sink_folder_holds(const struct sink_format *format, const struct sink_request *request)
{
    struct sink_request folder = *request;
    folder.path = "folder/";
    return format->part && ts_sink_is_file(format, request->path) && format->refusal(request) &&
           !format->refusal(&folder);
}

void ts_sink_warn(const struct sink_format *format, const struct sink_request *request,
                  struct ts_diag *diag)
{
    const char *warning = format->warning ? format->warning(request) : NULL;
    char stage[64];
    snprintf(stage, sizeof stage, "output.%s", format->name);
    if (warning)
        ts_diag_warning(diag, &(struct diag_site){.code = "output-read-back", .stage = stage},
                        "the image '%s' %s", request->name, warning);
}

/* ---- the life of a sink ---------------------------------------------------------------------- */

enum ts_status ts_sink_open(const struct sink_format *format, const struct sink_request *request,
                            struct sink **out, struct ts_diag *diag)
{
    struct sink *sink = calloc(1, format->sink_bytes);
    *out = NULL;
    if (!sink)
        return ts_diag_no_memory(diag, format->sink_bytes);
    sink->format = format;
    sink->request = *request;
    if (request->image)
        sink->image = *request->image;
    sink->image.data = NULL;
    for (int i = 0; i < SINK_STAGED; i++)
        sink->staged[i].file.fd = -1;
    sink->n_staged = 1;
    enum ts_status status = check_image(format, request, diag);
    if (status == TS_OK)
        status = !format->part || ts_sink_is_file(format, request->path)
                     ? ts_staged_file(&sink->staged[0], request->path, request->force, diag)
                     : ts_staged_folder(&sink->staged[0], request->path,
                                        &(struct staged_content){format->part, NULL},
                                        request->force, diag);
    if (status == TS_OK)
        status = format->open(sink, diag);
    if (status == TS_OK)
        *out = sink;
    else
        ts_sink_close(sink);
    return status;
}

const char *ts_sink_folder(const struct sink *sink)
{
    const struct staged *staged = &sink->staged[0];
    return staged->is_folder ? staged->folder : staged->file.folder;
}

void ts_sink_mask(struct sink *sink, const uint64_t *valid)
{
    sink->valid = valid;
}

enum ts_status ts_sink_finish(struct sink *sink, struct ts_diag *diag)
{
    enum ts_status status = sink->format->finish ? sink->format->finish(sink, diag) : TS_OK;
    for (int i = 0; i < sink->n_staged && status == TS_OK; i++)
        status = ts_staged_sync(&sink->staged[i], diag);
    return status;
}

enum ts_status ts_sinks_publish(struct sink *const *sinks, int n, struct ts_diag *diag)
{
    enum ts_status status = TS_OK;
    for (int i = 0; i < n && status == TS_OK; i++)
        for (int j = 0; j < sinks[i]->n_staged && status == TS_OK; j++)
            status = ts_staged_publish(&sinks[i]->staged[j], diag);
    if (status != TS_OK)
        ts_sinks_retract(sinks, n);
    return status;
}

void ts_sinks_retract(struct sink *const *sinks, int n)
{
    for (int i = n - 1; i >= 0; i--)
        for (int j = sinks[i]->n_staged - 1; j >= 0; j--)
            ts_staged_retract(&sinks[i]->staged[j]);
}

void ts_sink_close(struct sink *sink)
{
    if (!sink)
        return;
    if (sink->format->free)
        sink->format->free(sink);
    for (int i = 0; i < SINK_STAGED; i++)
        ts_staged_clear(&sink->staged[i]);
    free(sink);
}
