/* SPDX-License-Identifier: Apache-2.0
 *
 * This gives the verdict: a sandboxed child lists the file and finds where values are (libhdf5 runs nowhere else on a
 * foreign file), threads read all of it once, and the digests are compared. The writer's own check at its end goes the
 * same way, but takes chunks as proved that were checked as they were written. What is wrong is named by the smallest
 * thing that shows it: a dataset, then the root, which stands for attributes, links and structure, then the bytes.
 */
#include "io/hdf5/hdf5_verify.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/file_commit.h"
#include "io/file/regular_file.h"
#include "io/hdf5/hdf5_content.h"
#include "io/hdf5/hdf5_driver.h"
#include "io/hdf5/hdf5_session.h"
#include "io/hdf5/hdf5_trailer.h"
#include "io/hdf5/hdf5_verify_parts.h"

static void clear(struct verification *check)
{
    for (size_t i = 0; i < check->n_datasets; i++) {
        struct verify_dataset *dataset = &check->datasets[i];
        ts_digest_tree_destroy(dataset->tree);
        ts_digest_destroy(dataset->flat);
        free(dataset->chunks);
        free(dataset->path);
    }
    ts_digest_tree_destroy(check->body);
    free(check->datasets);
    free(check->lines);
    free(check->content);
}

/* ---- the root's digest ------------------------------------------------------------------------- */

static bool add_line(struct digest *digest, const char *line, const char *separator, const char *last)
{
    return ts_digest_add(digest, line, strlen(line)) && ts_digest_add(digest, separator, strlen(separator)) &&
           ts_digest_add(digest, last, strlen(last)) && ts_digest_add(digest, "\n", 1);
}

static bool add_listing(const struct verification *check, struct digest *digest)
{
    size_t next = 0;
    bool done = true;
    for (size_t i = 0; i < check->n_lines && done; i++) {
        const struct verify_dataset *dataset = next < check->n_datasets ? &check->datasets[next] : NULL;
        const bool is_dataset = dataset && dataset->line == i;
        done = add_line(digest, check->lines[i], is_dataset ? "\t" : "", is_dataset ? dataset->found : "");
        next += is_dataset;
    }
    return done;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp((*(const struct verify_dataset *const *)a)->path, (*(const struct verify_dataset *const *)b)->path);
}

/* Adds what version 1 digests: datasets alone, by path. */
static bool add_paths(const struct verification *check, struct digest *digest)
{
    const struct verify_dataset **sorted = calloc(check->n_datasets + 1, sizeof *sorted);
    bool done = sorted;
    for (size_t i = 0; i < check->n_datasets && done; i++)
        sorted[i] = &check->datasets[i];
    if (done)
        qsort(sorted, check->n_datasets, sizeof *sorted, compare_paths);
    for (size_t i = 0; i < check->n_datasets && done; i++)
        done = add_line(digest, sorted[i]->path, " ", sorted[i]->found);
    free(sorted);
    return done;
}

static bool root_digest(const struct verification *check, char text[DIGEST_TEXT_BYTES])
{
    struct digest *digest = ts_digest_create();
    const bool done = digest && (check->version == 1 ? add_paths(check, digest) : add_listing(check, digest)) &&
                      ts_digest_end(digest, text);
    ts_digest_destroy(digest);
    return done;
}

/* Writes the content of `file` to check->content; called between enter and leave. */
static bool list(hid_t file, bool places, struct verification *check, size_t *bytes)
{
    char at[HDF5_WALK_PATH] = "", problem[160];
    FILE *out = open_memstream(&check->content, bytes);
    if (!out)
        return ts_verify_no_memory(check);
    const bool done = ts_hdf5_content(file, places, out, at, problem, sizeof problem);
    if (fclose(out) != 0)
        return ts_verify_no_memory(check);
    return done || ts_verify_wrong(check, at, "%s", problem);
}

bool ts_hdf5_root_digest(hid_t file, char text[DIGEST_TEXT_BYTES])
{
    struct verification check = {0};
    size_t bytes = 0;
    bool done = list(file, false, &check, &bytes) && ts_verify_content(&check, bytes);
    for (size_t i = 0; i < check.n_datasets; i++)
        memcpy(check.datasets[i].found, check.datasets[i].expected, DIGEST_TEXT_BYTES);
    done = done && root_digest(&check, text);
    clear(&check);
    return done;
}

/* ---- the verdict ------------------------------------------------------------------------------- */

static bool judge_datasets(struct verification *check)
{
    for (size_t i = 0; i < check->n_datasets; i++) {
        const struct verify_dataset *dataset = &check->datasets[i];
        int64_t start[TS_MAX_RANK] = {0};
        if (dataset->damaged >= 0 && dataset->storage.layout == STORAGE_CHUNKED)
            ts_chunk_place(&dataset->grid, dataset->damaged, start);
        if (dataset->damaged >= 0)
            return ts_verify_wrong(check, dataset->path, "cannot be checked: the chunk at slice %lld is damaged",
                                   (long long)start[0]);
        if (strcmp(dataset->found, dataset->expected) != 0)
            return ts_verify_wrong(check, dataset->path, "has other values than were written (SHA-256 differs)");
    }
    return true;
}

/* Finds the dataset that has its first chunk there. It may have another path than the writer used: of hard links the
 * listing follows the first. */
static const struct hdf5_proved *find_written(const struct hdf5_written *written, uint64_t offset)
{
    for (size_t i = 0; i < written->n_datasets; i++)
        if (written->datasets[i].chunks[0].offset == offset)
            return &written->datasets[i];
    return NULL;
}

/* Takes over what the writer has proved: every chunked dataset is one of its own, and its chunks stand where they were
 * written. */
static bool match_written(struct verification *check)
{
    size_t n = 0;
    for (size_t i = 0; i < check->n_datasets; i++) {
        struct verify_dataset *dataset = &check->datasets[i];
        if (dataset->bytes == 0 || dataset->storage.layout != STORAGE_CHUNKED)
            continue;
        const struct hdf5_proved *proved = find_written(check->written, dataset->chunks[0].offset);
        if (!proved || proved->n_chunks != dataset->grid.n_chunks)
            return ts_verify_wrong(check, dataset->path, "has chunks where none were written");
        for (int64_t k = 0; k < proved->n_chunks; k++)
            if (proved->chunks[k].offset != dataset->chunks[k].offset ||
                proved->chunks[k].bytes != dataset->chunks[k].bytes || dataset->chunks[k].skipped)
                return ts_verify_wrong(check, dataset->path, "has chunks where none were written");
        memcpy(dataset->found, proved->digest, sizeof dataset->found);
        dataset->proved = true;
        n++;
    }
    return n == check->written->n_datasets || ts_verify_wrong(check, "/", "lacks a dataset that was written");
}

/* Reads all of the file, and compares all digests but that of the trailer. */
static bool judge(struct verification *check, size_t content_bytes)
{
    char found[DIGEST_TEXT_BYTES];
    if (!ts_verify_content(check, content_bytes))
        return false;
    if (!check->complete)
        return ts_verify_wrong(check, "/", "is not marked complete: the writer was stopped");
    if (!*check->expected)
        return ts_verify_wrong(check, "/", "has no digest");
    if (check->version == 0)
        return ts_verify_wrong(check, "/", "has digests of a version that this program does not know");
    if (check->version == DIGEST_VERSION && !check->body && !(check->body = ts_digest_tree_create(check->body_bytes)))
        return ts_verify_no_memory(check);
    if (!ts_verify_describe(check) || (check->written && !match_written(check)) || !ts_verify_pass(check) ||
        !judge_datasets(check))
        return false;
    if (!root_digest(check, found))
        return ts_verify_no_memory(check);
    return strcmp(found, check->expected) == 0 ||
           ts_verify_wrong(check, "/", "has a digest that does not fit its %s",
                           check->version == DIGEST_VERSION ? "attributes, links and structure" : "datasets");
}

/* Compares the digest of the body with the trailer's; NULL: the file has no trailer. */
static bool judge_body(struct verification *check, const unsigned char *expected)
{
    unsigned char found[DIGEST_SUM_BYTES];
    if (check->version != DIGEST_VERSION)
        return true;
    if (!expected)
        return ts_verify_wrong(check, "", "does not end with its trailer: it was cut, added to or written again");
    if (!ts_digest_tree_end(check->body, found))
        return ts_verify_no_memory(check);
    return memcmp(found, expected, sizeof found) == 0 ||
           ts_verify_wrong(check, "", "has changed: bytes outside of values, attributes and structure differ");
}

static enum ts_status report(const struct verification *check, const char *shown, enum ts_status failed,
                             struct ts_diag *diag)
{
    char at[256];
    if (check->no_memory)
        return ts_diag_no_memory(diag, (size_t)check->body_bytes);
    if (check->read_error)
        return ts_diag_error(diag, failed, &(struct diag_site){.code = "hdf5-read"}, "cannot read '%s': %s", shown,
                             check->read_error < 0 ? "it became shorter" : strerror(check->read_error));
    ts_text_escape(at, sizeof at, check->at);
    /* A file that this run wrote may well be right, and only reading it failed. */
    const char *code = check->written ? "output-check" : "hdf5-damaged";
    return ts_diag_error(diag, failed, &(struct diag_site){.code = code}, "'%s'%s %s%s%s", shown, *at ? ":" : "", at,
                         *at ? " " : "", check->problem);
}

/* ---- whose file it is -------------------------------------------------------------------------- */

enum ts_status ts_hdf5_seal(int fd, const char *shown, int threads, const struct hdf5_written *written,
                            struct ts_diag *diag)
{
    struct stat status = {0};
    struct hdf5_failure failure;
    unsigned char sum[DIGEST_SUM_BYTES];
    struct verification check = {.fd = fd, .threads = threads, .body = written->body, .written = written};
    size_t bytes = 0;
    check.read_error = fstat(fd, &status) != 0 ? errno : 0;
    check.body_bytes = (uint64_t)status.st_size;
    ts_hdf5_enter();
    const hid_t file = check.read_error ? -1 : ts_hdf5_open_descriptor(fd, &failure);
    bool done = file >= 0 && list(file, true, &check, &bytes);
    if (file >= 0)
        H5Fclose(file);
    else if (!check.read_error)
        ts_verify_wrong(&check, "", "cannot be opened: %.100s", failure.text);
    ts_hdf5_leave();
    if (done && !ts_digest_tree_set_bytes(check.body, check.body_bytes))
        done = ts_verify_wrong(&check, "", "is shorter than what was written");
    done = done && judge(&check, bytes);
    if (done && !ts_digest_tree_end(check.body, sum))
        done = ts_verify_no_memory(&check);
    enum ts_status result = done ? TS_OK : report(&check, shown, TS_RUN_FAILED, diag);
    if (done && !ts_hdf5_trailer_write(fd, check.body_bytes, sum))
        result = ts_file_failed(diag, "output-write", errno, "cannot write the trailer of '%s'", shown);
    check.body = NULL; /* the writer's */
    clear(&check);
    return result;
}

static enum ts_status list_task(struct hdf5_child *child, const void *request, FILE *out, struct ts_diag *diag)
{
    char at[HDF5_WALK_PATH] = "", escaped[256], problem[160];
    (void)request;
    if (H5Aexists(child->files[0], "complete") <= 0 && H5Aexists(child->files[0], "digest") <= 0) {
        ts_diag_error(
            diag, TS_BAD_INPUT, &(struct diag_site){.code = "result-foreign"},
            "'%s' was not written by tomostage, or not to its end: it is not marked complete and has no digest",
            child->path);
        return ts_diag_hint(diag, "`tomostage info FILE` lists what is in the file, and says which input reads it");
    }
    if (ts_hdf5_content(child->files[0], true, out, at, problem, sizeof problem))
        return TS_OK;
    ts_text_escape(escaped, sizeof escaped, at);
    return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-damaged"}, "'%s': %s %s", child->path,
                         escaped, problem);
}

static int count_threads(void)
{
    enum { MOST = 32 }; /* each uses up to 24 MiB */
    cpu_set_t set;
    const int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    return n < MOST ? n : MOST;
}

enum ts_status ts_hdf5_verify_open(struct hdf5_session *session, int fd, const char *path, struct hdf5_proof *proof,
                                   struct ts_diag *diag)
{
    struct verification check = {.fd = fd, .threads = count_threads()};
    struct stat found = {0};
    unsigned char sum[DIGEST_SUM_BYTES];
    size_t bytes = 0;
    errno = 0;
    const bool has_trailer =
        fstat(fd, &found) == 0 && ts_hdf5_trailer_read(fd, check.body_bytes = (uint64_t)found.st_size, sum);
    check.read_error = has_trailer ? 0 : errno;
    check.body_bytes -= has_trailer ? TRAILER_BYTES : 0;
    enum ts_status status =
        check.read_error ? report(&check, path, TS_BAD_INPUT, diag)
                         : ts_hdf5_session_call(session, list_task, NULL, 0, (void **)&check.content, &bytes, diag);
    if (status == TS_OK &&
        !(judge(&check, bytes) && judge_body(&check, has_trailer ? sum : NULL) && ts_verify_sense(&check)))
        status = report(&check, path, TS_BAD_INPUT, diag);
    if (proof) {
        *proof = (struct hdf5_proof){
            .version = check.version, .datasets = check.n_datasets, .attributes = check.n_attributes};
        memcpy(proof->digest, check.expected, sizeof proof->digest);
        for (size_t i = 0; i < check.n_datasets; i++)
            proof->value_bytes += check.datasets[i].bytes;
    }
    clear(&check);
    return status;
}

enum ts_status ts_hdf5_verify(const char *path, struct hdf5_proof *proof, struct ts_diag *diag)
{
    const struct hdf5_session_options options = {.path = path};
    struct hdf5_session *session = NULL;
    struct stat found;
    char reason[200];
    int64_t root;
    const int fd = ts_regular_file_open(path, &found, reason, sizeof reason);
    if (fd < 0)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "hdf5-open"}, "'%s' %s", path, reason);
    enum ts_status status = ts_hdf5_session_start(&options, &session, diag);
    if (status == TS_OK)
        status = ts_hdf5_session_add(session, fd, &root, diag);
    if (status == TS_OK)
        status = ts_hdf5_verify_open(session, fd, path, proof, diag);
    ts_hdf5_session_end(session);
    close(fd);
    return status;
}
