/* SPDX-License-Identifier: Apache-2.0
 *
 * The rates in memory, and what they are valid for: the program's version, the processor's name as
 * Linux reports it, and the number of processors that this process may use. A file from elsewhere
 * would predict another machine.
 */
#include "pipeline/rates/rates.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/json.h"
#include "core/number.h"
#include "io/file/whole_file.h"
#include "pipeline/chain/yaml.h"

const struct rate_name ts_rate_names[RATES] = {
    [RATE_START] = {"start", "start of a run", .seconds = true},
    [RATE_OPEN] = {"open_file", "header of a DICOM file", .seconds = true},
    [RATE_CUDA_QUERY] = {"cuda_query", "question for devices", .seconds = true, .device = true},
    [RATE_CUDA_START] = {"cuda_start", "start of the device", .seconds = true, .device = true},
    [RATE_READ] = {"read", "read, a thread"},
    [RATE_INFLATE] = {"inflate", "inflate, a thread"},
    [RATE_DECODE] = {"decode", "decode compressed DICOM, a thread"},
    [RATE_DIGEST] = {"sha256", "SHA-256, a thread"},
    [RATE_COMPRESS] = {"deflate", "deflate, a thread"},
    [RATE_CHECKSUM] = {"checksum", "checksum, a thread"},
    [RATE_PROVE] = {"prove", "prove chunks, a thread"},
    [RATE_STORE] = {"store", "write and read back, a thread"},
    [RATE_WRITE] = {"write", "write with fsync"},
    [RATE_UPLOAD] = {"upload", "upload", .device = true},
    [RATE_DOWNLOAD] = {"download", "download", .device = true},
    [RATE_CUDA_COMPRESS] = {"cuda_deflate", "deflate on the device", .device = true},
};

/* Only x86 has the line "model name"; other processors get the name of their architecture. */
static void find_cpu(char *name, size_t size)
{
    char line[256];
    struct utsname system;
    snprintf(name, size, "%s", uname(&system) == 0 ? system.machine : "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *text = strchr(line, ':');
        if (strncmp(line, "model name", strlen("model name")) != 0 || !text)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(name, size, "%s", text + 1 + strspn(text + 1, " \t"));
        break;
    }
    if (file)
        fclose(file);
}

void ts_rates_here(struct rates *rates)
{
    cpu_set_t set;
    *rates = (struct rates){.threads =
                                sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1};
    snprintf(rates->version, sizeof rates->version, "%s", ts_version());
    find_cpu(rates->cpu, sizeof rates->cpu);
    for (int i = 0; i < RATES; i++)
        rates->values[i] = NAN;
}

bool ts_rates_add(struct rates *rates, const struct stage_rate *rate)
{
    if (rates->n_stages == RATES_MOST_STAGES)
        return false;
    rates->stages[rates->n_stages++] = *rate;
    return true;
}

const struct stage_rate *ts_rates_find(const struct rates *rates, const char *stage, bool cuda)
{
    for (int i = 0; i < rates->n_stages; i++)
        if (rates->stages[i].cuda == cuda && !strcmp(rates->stages[i].stage, stage))
            return &rates->stages[i];
    return NULL;
}

/* ---- file ------------------------------------------------------------------------------------ */

/* The file of the rates. JSON is a part of YAML, so the reader of chains reads it, with its limits
 * on size, depth and duplicate keys. Every number must be positive and finite; a file in which one
 * is not is refused as a whole, because a prediction from half of the rates would look like one
 * from all. */

static const char format[] = "tomostage rates 1";

/* ---- writing --------------------------------------------------------------------------------- */

static void print_values(const struct rates *rates, struct json *json)
{
    ts_json_open_member(json, "rates", '{');
    for (int i = 0; i < RATES; i++)
        if (!isnan(rates->values[i]))
            ts_json_member_real(json, ts_rate_names[i].key, rates->values[i]);
    ts_json_close(json, '}');
}

static void print_stages(const struct rates *rates, struct json *json)
{
    ts_json_open_member(json, "stages", '[');
    for (int i = 0; i < rates->n_stages; i++) {
        const struct stage_rate *rate = &rates->stages[i];
        ts_json_open(json, '{');
        ts_json_member_text(json, "stage", rate->stage);
        ts_json_member_text(json, "device", rate->cuda ? "cuda" : "cpu");
        ts_json_member_text(json, "unit", rate->samples ? "samples" : "bytes");
        ts_json_member_real(json, "per_second", rate->per_second);
        ts_json_member_real(json, "call_seconds", rate->call_seconds);
        ts_json_close(json, '}');
    }
    ts_json_close(json, ']');
}

void ts_rates_print(const struct rates *rates, FILE *stream)
{
    struct json json;
    ts_json_init(&json, stream, true);
    ts_json_open(&json, '{');
    ts_json_member_text(&json, "format", format);
    ts_json_member_text(&json, "version", rates->version);
    ts_json_member_text(&json, "cpu", rates->cpu);
    ts_json_member_integer(&json, "threads", rates->threads);
    ts_json_member_text(&json, "device", rates->device);
    print_values(rates, &json);
    print_stages(rates, &json);
    ts_json_close(&json, '}');
}

enum ts_status ts_rates_save(const struct rates *rates, const char *path, struct ts_diag *diag)
{
    struct whole_file file;
    const enum ts_status status = ts_whole_file_open(&file, path, true, diag);
    if (status != TS_OK)
        return status;
    ts_rates_print(rates, file.stream);
    return ts_whole_file_close(&file, diag);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_text(const struct node *map, const char *key, char *text, size_t size)
{
    const struct node *node = ts_tree_find(map, key);
    if (!node || node->kind != NODE_SCALAR || strlen(node->text) >= size)
        return false;
    memcpy(text, node->text, strlen(node->text) + 1);
    return true;
}

/* Reads a finite number of at least `low`. */
static bool read_number(const struct node *map, const char *key, double low, double *value)
{
    const struct node *node = ts_tree_find(map, key);
    return node && node->kind == NODE_SCALAR && !ts_number_real(node->text, value) &&
           isfinite(*value) && *value >= low;
}

static bool read_values(const struct node *root, struct rates *rates)
{
    const struct node *map = ts_tree_find(root, "rates");
    if (!map || map->kind != NODE_MAP)
        return false;
    for (int i = 0; i < RATES; i++) {
        const struct rate_name *name = &ts_rate_names[i];
        const bool needed = !name->device || *rates->device;
        if (needed && !read_number(map, name->key, name->seconds ? 0 : 1, &rates->values[i]))
            return false;
    }
    return true;
}

static bool read_stages(const struct node *root, struct rates *rates)
{
    const struct node *list = ts_tree_find(root, "stages");
    if (!list || list->kind != NODE_LIST)
        return false;
    for (const struct node *item = list->first; item; item = item->next) {
        struct stage_rate rate;
        char device[8], unit[16];
        if (item->kind != NODE_MAP || !read_text(item, "stage", rate.stage, sizeof rate.stage) ||
            !read_text(item, "device", device, sizeof device) ||
            !read_text(item, "unit", unit, sizeof unit) ||
            !read_number(item, "per_second", 1, &rate.per_second) ||
            !read_number(item, "call_seconds", 0, &rate.call_seconds))
            return false;
        rate.cuda = !strcmp(device, "cuda");
        rate.samples = !strcmp(unit, "samples");
        if (!ts_rates_add(rates, &rate))
            return false;
    }
    return true;
}

static enum ts_status refuse_foreign(const char *path, const char *what, const char *there,
                                     const char *here, struct ts_diag *diag)
{
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "rates-foreign"},
                         "the rates in %s were measured %s %s, and this is %s", path, what, there,
                         here);
}

static enum ts_status read_tree(struct tree *tree, const char *path, struct rates *rates,
                                struct ts_diag *diag)
{
    struct ts_diag *refusals = tree->diag;
    const struct node *root =
        ts_yaml_read(tree) && ts_diag_error_count(refusals) == 0 ? tree->root : NULL;
    char found[32];
    double threads;
    if (!root || root->kind != NODE_MAP || !read_text(root, "format", found, sizeof found) ||
        strcmp(found, format) ||
        !read_text(root, "version", rates->version, sizeof rates->version) ||
        !read_text(root, "cpu", rates->cpu, sizeof rates->cpu) ||
        !read_text(root, "device", rates->device, sizeof rates->device) ||
        !read_number(root, "threads", 1, &threads) || threads > INT_MAX)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "rates-unreadable"},
                             "%s holds no rates of a machine", path);
    rates->threads = (int)threads;
    if (read_values(root, rates) && read_stages(root, rates))
        return TS_OK;
    return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "rates-unreadable"},
                         "%s lacks a rate, or has one that no machine has", path);
}

/* Reads the file; of one that is too long, one byte more than a tree may have. */
static enum ts_status read_file(const char *path, char *text, size_t *length, struct ts_diag *diag)
{
    struct stat status;
    const int fd =
        open(path, O_RDONLY | O_CLOEXEC |
                       O_NONBLOCK); /* opening a pipe without a writer must not block the run */
    FILE *file =
        fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? fdopen(fd, "r") : NULL;
    const int error = fd < 0 ? errno : 0;
    if (!file && fd >= 0)
        close(fd);
    if (!file)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "rates-unreadable"},
                             "%s cannot be read: %s", path,
                             error ? strerror(error) : "it is no regular file");
    *length = fread(text, 1, TREE_MAX_BYTES + 1, file);
    fclose(file);
    return TS_OK;
}

enum ts_status ts_rates_read(const char *path, struct rates *rates, struct ts_diag *diag)
{
    struct tree tree = {.arena = ts_arena_create(), .diag = ts_diag_create()};
    char *text = tree.arena ? ts_arena_alloc(tree.arena, TREE_MAX_BYTES + 1) : NULL;
    ts_rates_here(rates);
    enum ts_status status = TS_OK;
    if (!text || !tree.diag)
        status = ts_diag_no_memory(diag, TREE_MAX_BYTES);
    if (status == TS_OK)
        status = read_file(path, text, &tree.length, diag);
    tree.text = text;
    if (status == TS_OK)
        status = read_tree(&tree, path, rates, diag);
    ts_diag_destroy(tree.diag);
    ts_arena_destroy(tree.arena);
    return status;
}

/* Checks that the rates were measured on this machine. */
static enum ts_status rates_compare(const char *path, const struct rates *rates,
                                    const struct rates *here, struct ts_diag *diag)
{
    char now[32], then[32];
    snprintf(now, sizeof now, "%d", here->threads);
    snprintf(then, sizeof then, "%d", rates->threads);
    if (strcmp(rates->version, here->version) != 0)
        return refuse_foreign(path, "by version", rates->version, here->version, diag);
    if (strcmp(rates->cpu, here->cpu) != 0)
        return refuse_foreign(path, "on the processor", rates->cpu, here->cpu, diag);
    return strcmp(now, then)
               ? refuse_foreign(path, "with a number of processors of", then, now, diag)
               : TS_OK;
}

enum ts_status ts_rates_load(const char *path, struct rates *rates, struct ts_diag *diag)
{
    struct rates here;
    const enum ts_status status = ts_rates_read(path, rates, diag);
    ts_rates_here(&here);
    return status == TS_OK ? rates_compare(path, rates, &here, diag) : status;
}
