/* SPDX-License-Identifier: Apache-2.0
 *
 * `tomostage export` writes an image of a finished result to a file or folder of another format,
 * through the same sinks that a run writes to. Slices are read and written in pieces, so the image
 * may be larger than memory. It also writes how the result was made, for programs that know
 * RO-Crates or PROV.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/available.h"
#include "io/file/publish_lock.h"
#include "io/scan/result.h"
#include "io/sink/nxtomo.h"
#include "io/sink/sink.h"
#include "io/source/source_slices.h"
#include "io/source/source_walk.h"
#include "program/cli/cli.h"
#include "program/record/crate.h"

static struct arguments {
    const char *output, *dataset, *format, *provenance, *date;
    double window[2]; /* center, width; width 0: not given */
    bool force;
} arguments;

static bool parse_window(const struct command *command, const struct command_option *option,
                         const char *value)
{
    char end;
    const bool fits =
        sscanf(value, "%lf,%lf%c", &arguments.window[0], &arguments.window[1], &end) == 2;
    if (fits && arguments.window[1] > 0)
        return true;
    ts_command_wrong(command, "--%s=%s: CENTER,WIDTH is expected, with a width above 0",
                     option->name, value);
    return false;
}

static bool parse_date(const struct command *command, const struct command_option *option,
                       const char *value)
{
    int year, month, day, end = 0;
    arguments.date = value;
    if (sscanf(value, "%4d-%2d-%2d%n", &year, &month, &day, &end) == 3 && end == 10 &&
        !value[end]) {
        struct tm date = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day};
        (void)timegm(&date); /* timegm changes an invalid 29th of February to the 1st of March */
        if (date.tm_mon == month - 1 && date.tm_mday == day)
            return true;
    }
    ts_command_wrong(command, "--%s=%s: a date such as 2026-11-23 is expected", option->name,
                     value);
    return false;
}

static const struct command_option options[] = {
    {"output", 'o', OPTION_TEXT, OPTION_AT(struct arguments, output), "PATH",
     "the file or folder to write"},
    {"dataset", 0, OPTION_TEXT, OPTION_AT(struct arguments, dataset), "NAME",
     "the image: what `save` called it; default: data, the last one"},
    {"format", 0, OPTION_TEXT, OPTION_AT(struct arguments, format), "FORMAT",
     "nifti, nrrd, mha, tiff, png, dicom, or of projections nxtomo; default:\nwhat the suffix of "
     "PATH says"},
    {"window", 0, OPTION_PARSED, 0, 0, "CENTER,WIDTH",
     "values that pictures show from black to white", .parse = parse_window},
    {"provenance", 0, OPTION_TEXT, OPTION_AT(struct arguments, provenance), "FOLDER",
     "write how the result was made as an RO-Crate (Provenance Run\nCrate) with PROV-JSON, instead "
     "of or beside an image"},
    {"date", 0, OPTION_PARSED, 0, 0, "DATE",
     "date of the crate, such as 2026-11-23; default: it has none", .parse = parse_date},
    {"force", 0, OPTION_FLAG, OPTION_AT(struct arguments, force), NULL,
     "replace an existing output"}};

/* Lists the suffixes of all formats except HDF5. */
static void listed_suffixes(char *out, size_t size)
{
    size_t used = 0;
    *out = '\0';
    for (size_t i = 0; ts_sink_formats[i] && used < size; i++) {
        char suffixes[64];
        ts_sink_list_suffixes(ts_sink_formats[i]->name, suffixes, sizeof suffixes);
        if (*suffixes)
            used +=
                (size_t)snprintf(out + used, size - used, "%s%s", used > 0 ? ", " : "", suffixes);
    }
}

/* Returns true if the output is a scan. No run writes scans in a format of its own, since its HDF5
   file holds its sinogram. */
static bool writes_scan(void)
{
    return arguments.format ? !strcmp(arguments.format, "nxtomo")
                            : ts_sink_is_hdf5(arguments.output);
}

/* Finds the format by its name or by the suffix; a scan has the format NULL. Returns false if there
   is none (reported). */
static bool find_format(const struct sink_format **format, struct ts_diag *diag)
{
    const char *path = arguments.output;
    *format = arguments.format ? ts_sink_find(arguments.format) : ts_sink_of_path(path);
    const bool known = *format || writes_scan();
    const struct diag_site site = {.code = "output-suffix", .stage = "--output"};
    char text[512];
    const char *wrong = known ? ts_sink_misnamed(*format, path, text, sizeof text) : NULL;
    if (known && !wrong)
        return true;
    if (wrong) {
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "'%s': %s", path, wrong);
        ts_diag_hint(diag, "%s", text);
        return false;
    }
    if (arguments.format)
        ts_diag_error(diag, TS_BAD_CHAIN, &site, "'%s' is no format that export writes",
                      arguments.format);
    else
        ts_diag_error(diag, TS_BAD_CHAIN, &site,
                      "'%s' has no suffix of a format that export writes", path);
    listed_suffixes(text, sizeof text);
    ts_diag_hint(diag,
                 "known: %s, and .nxs for projections; --format tiff, png or dicom writes a folder",
                 text);
    return false;
}

/* Refuses a window for a format that has none. */
static bool takes_window(const struct sink_format *format, struct ts_diag *diag)
{
    if (!(arguments.window[1] > 0) || (format && format->has_window))
        return true;
    ts_diag_error(diag, TS_BAD_CHAIN,
                  &(struct diag_site){.code = "parameter-unused", .stage = "--window"},
                  "%s keeps values and has no window", format ? format->name : "nxtomo");
    ts_diag_hint(diag, "png and dicom have one; the stage `window` changes the values themselves");
    return false;
}

/* Returns the name of an image, which may be given as its path in the file. */
static const char *image_name(struct arena *arena, const char *dataset)
{
    const size_t start = strncmp(dataset, "/entry/", 7) == 0 ? 7 : 0;
    size_t length = strlen(dataset + start);
    if (start > 0 && length > 5 && strcmp(dataset + start + length - 5, "/data") == 0)
        length -= 5;
    return ts_arena_text(arena, dataset + start, length);
}

/* Refuses an output that would replace the result, itself or by a file beside it. */
static enum ts_status check_kept(const char *path, const struct sink_format *format,
                                 struct ts_diag *diag)
{
    enum ts_status status = ts_command_keep_input(arguments.output, path, diag);
    for (int b = 0; status == TS_OK && format && b < SINK_STAGED && format->beside[b]; b++) {
        char *beside = NULL;
        if (asprintf(&beside, "%.*s%s", (int)ts_sink_stem(format, arguments.output),
                     arguments.output, format->beside[b]) < 0)
            return ts_diag_no_memory(diag, strlen(path));
        status = ts_command_keep_input(beside, path, diag);
        free(beside);
    }
    return status;
}

struct copying {
    const struct source *source;
    struct sink *sink;
};

static enum ts_status copy_slab(void *user, const struct source_slab *slab, struct ts_diag *diag)
{
    const struct copying *copying = user;
    struct ts_image slices = copying->source->image;
    slices.data = slab->data[0];
    slices.z_first = slab->first;
    slices.axes[0].n = slab->n;
    return ts_sink_put(copying->sink, &slices, diag);
}

/* Returns true if a source, all of which has been read, has invalid pixels. */
static bool has_invalid(const struct source *source)
{
    int64_t n = 0;
    for (int64_t z = 0; source->image.masked && z < ts_source_total(source); z++)
        n += source->slices[z].padding_count;
    return n > 0;
}

static enum ts_status write_image(struct source *source, const char *image,
                                  const struct sink_format *format, struct ts_diag *diag)
{
    const double center = arguments.window[0], width = arguments.window[1];
    const struct sink_request request = {
        .path = arguments.output,
        .image = &source->image,
        .volumes = source->n_volumes > 1 ? &source->volume_axis : NULL,
        .input = &source->image,
        .name = image,
        .attributes = source->attributes,
        .n_attributes = source->n_attributes,
        .window = {width > 0, center - width / 2, center + width / 2},
        .threads = ts_processors(),
        .force = arguments.force};
    struct sink *sink;
    ts_sink_warn(format, &request, diag);
    enum ts_status status = ts_sink_open(format, &request, &sink, diag);
    if (status != TS_OK && ts_sink_folder_holds(format, &request))
        ts_diag_hint(diag, "a folder can: --format %s -o FOLDER", format->name);
    if (status != TS_OK)
        return status;
    status = ts_source_walk(&(struct source_walk){.source = source,
                                                  .take = copy_slab,
                                                  .user = &(struct copying){source, sink}},
                            diag);
    if (status == TS_OK && has_invalid(source))
        ts_sink_mask(sink, source->valid);
    if (status == TS_OK)
        status = ts_sink_finish(sink, diag);
    struct publish_lock lock = {.n = 0};
    if (status == TS_OK) {
        ts_publish_lock(&lock, (const char *const[]){ts_sink_folder(sink)}, 1, diag);
        status = ts_sinks_publish(&sink, 1, diag);
        ts_publish_unlock(&lock);
    }
    ts_sink_close(sink);
    return status;
}

static enum ts_status write_scan(struct source *source, struct ts_diag *diag)
{
    const struct hdf5_options made = {.threads = ts_processors(), .force = arguments.force};
    return ts_nxtomo_write(source, arguments.output, &made, diag);
}

static enum ts_status export_file(const char *path, struct ts_diag *diag)
{
    struct arena *arena = ts_arena_create();
    const char *image = NULL;
    if (arena)
        image = image_name(arena, arguments.dataset ? arguments.dataset : "data");
    const struct sink_format *format = NULL;
    struct source *source = NULL;
    enum ts_status status;
    if (!image)
        status = ts_diag_no_memory(diag, sizeof *source);
    else if (!find_format(&format, diag) || !takes_window(format, diag))
        status = TS_BAD_CHAIN;
    else
        status = check_kept(path, format, diag);
    if (status == TS_OK)
        status = ts_result_open(NULL, path, image, false, "export", &source, diag);
    if (status == TS_OK)
        status = format ? write_image(source, image, format, diag) : write_scan(source, diag);
    if (status == TS_OK) {
        ts_command_written(arguments.output);
        ts_text_print(stdout, "wrote ", arguments.output);
        ts_text_print(stdout, ": the image '", image);
        printf("', %lld slices\n", (long long)ts_source_total(source));
    }
    if (source)
        source->ops->close(source);
    ts_arena_destroy(arena);
    return status;
}

/* Writes the crate, and then the image if one is asked for: both or none. */
static enum ts_status export_provenance(const char *path, struct ts_diag *diag)
{
    struct run_record record;
    struct staged crate = {.file.fd = -1};
    enum ts_status status = ts_run_record_read(path, &record, diag);
    if (status == TS_OK)
        status = ts_crate_write(&record, arguments.provenance, arguments.date, arguments.force,
                                &crate, diag);
    if (status == TS_OK && arguments.output)
        status = export_file(path, diag);
    if (status == TS_OK) {
        ts_text_print(stdout, "wrote ", arguments.provenance);
        printf(": %d stage%s and %d input%s as an RO-Crate\n", record.n_steps,
               record.n_steps == 1 ? "" : "s", (int)record.made.n_inputs,
               record.made.n_inputs == 1 ? "" : "s");
    } else {
        ts_staged_retract(&crate);
    }
    ts_staged_clear(&crate);
    ts_run_record_clear(&record);
    return status;
}

static int export_command(char **operands)
{
    if (!arguments.output && !arguments.provenance)
        return ts_command_wrong(&ts_cli_export, "-o PATH or --provenance FOLDER is missing");
    struct ts_diag *diag = ts_command_diag();
    if (!diag)
        return TS_RUN_FAILED;
    const enum ts_status status = arguments.provenance ? export_provenance(operands[0], diag)
                                                       : export_file(operands[0], diag);
    return ts_command_finish_take(diag, status, false);
}

const struct command ts_cli_export = {
    .name = "export",
    .usage = "FILE.h5 -o PATH [--dataset NAME] [--format FORMAT] [--window CENTER,WIDTH] "
             "[--provenance FOLDER] [--force]",
    .summary = "write an image of a result as NIfTI, TIFF, PNG, DICOM or NXtomo, or how it was "
               "made as an RO-Crate",
    COMMAND_ARGUMENTS(options, arguments),
    .operands = {1, 1, "a FILE"},
    .run = export_command,
};
