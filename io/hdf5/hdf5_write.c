/* SPDX-License-Identifier: Apache-2.0
 *
 * The life of the output file: create, groups and links, commit, abandon. The order at the end
 * ensures that a file is whole: all datasets, the root's digest over them, the mark `complete`, the
 * check of what no chunk's own check covers, the trailer, and only then the name. HDF5's version
 * bounds are V110 to V110, because then every piece of metadata has a checksum.
 */
#include "io/hdf5/hdf5_write.h"

#include <stdlib.h>
#include <string.h>

#include "io/hdf5/hdf5_driver.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/hdf5/hdf5_writer.h"

static hid_t create_file(struct hdf5_writer *writer)
{
    struct hdf5_failure failure;
    hid_t file = -1;
    ts_hdf5_enter();
    hid_t creation = ts_hdf5_create_properties(H5P_FILE_CREATE);
    if (creation < 0)
        ts_hdf5_fail_library(writer, "the file structure", 0);
    else if ((file = ts_hdf5_create_descriptor(writer->file->fd, creation, &failure)) < 0)
        ts_hdf5_fail_because(writer, "the file structure", &failure, 0);
    TS_HDF5_CLOSE(creation);
    ts_hdf5_leave();
    return file;
}

/* The file has not been finished, so it is thrown away. */
static void close_unfinished(struct hdf5_writer *writer)
{
    ts_hdf5_enter();
    ts_hdf5_driver_discard(writer->h5);
    H5Fclose(writer->h5); /* and all objects in it */
    ts_hdf5_leave();
}

static void destroy_writer(struct hdf5_writer *writer)
{
    ts_chunk_queue_destroy(writer->queue); /* comes first, since its threads use all the rest */
    if (writer->h5 >= 0)
        close_unfinished(writer);
    for (int i = 0; i < writer->n_datasets; i++)
        ts_hdf5_dataset_destroy(writer->datasets[i]);
    free(writer->datasets);
    ts_digest_tree_destroy(writer->body);
    ts_hdf5_scales_clear(writer);
    ts_file_clear(&writer->own);
    free(writer->default_entry);
    free(writer->default_data);
    pthread_mutex_destroy(&writer->failure_lock);
    pthread_mutex_destroy(&writer->write_lock);
    free(writer);
}

static enum ts_status put_number(struct hdf5_writer *writer, const char *path, enum ts_dtype dtype,
                                 void *number)
{
    const struct ts_image image = {.rank = 0, .dtype = dtype, .unit = "", .data = number};
    return ts_hdf5_values(writer, path, &image);
}

/* Creates the file of this path, or takes that of the caller. */
static enum ts_status create(const char *path, struct file_commit *file,
                             const struct hdf5_options *options, struct hdf5_writer **writer,
                             struct ts_diag *diag)
{
    int32_t version = DIGEST_VERSION;
    *writer = NULL;
    struct hdf5_writer *made = calloc(1, sizeof *made);
    if (!made)
        return ts_diag_no_memory(diag, sizeof *made);
    made->options = *options;
    made->options.threads = options->threads > 0 ? options->threads : 1;
    made->diag = diag;
    made->h5 = -1;
    made->own.fd = -1;
    made->file = file ? file : &made->own;
    pthread_mutex_init(&made->failure_lock, NULL);
    pthread_mutex_init(&made->write_lock, NULL);
    made->queue = ts_chunk_queue_create(made->options.threads, &ts_hdf5_chunk_steps, made);
    made->body = ts_digest_tree_create_growing();
    enum ts_status status = TS_OK;
    if (!made->queue || !made->body)
        status = ts_diag_no_memory(diag, (size_t)made->options.threads * sizeof(struct chunk_job));
    if (status == TS_OK && !file)
        status = ts_file_create(&made->own, path, options->force, diag);
    if (status == TS_OK && (made->h5 = create_file(made)) < 0)
        status = ts_hdf5_state(made);
    if (status == TS_OK)
        status = ts_hdf5_text(made, "/@NX_class", "NXroot");
    if (status == TS_OK)
        status = put_number(made, "/@digest_version", TS_I32, &version);
    if (status == TS_OK)
        *writer = made;
    else
        ts_hdf5_abandon(made);
    return status;
}

enum ts_status ts_hdf5_create(const char *path, const struct hdf5_options *options,
                              struct hdf5_writer **writer, struct ts_diag *diag)
{
    return create(path, NULL, options, writer, diag);
}

enum ts_status ts_hdf5_begin(struct file_commit *file, const struct hdf5_options *options,
                             struct hdf5_writer **writer, struct ts_diag *diag)
{
    return create(file->path, file, options, writer, diag);
}

void ts_hdf5_abandon(struct hdf5_writer *writer)
{
    if (writer)
        destroy_writer(writer);
}

enum ts_status ts_hdf5_group(struct hdf5_writer *writer, const char *path, const char *nx_class)
{
    char attribute[1100];
    if (ts_hdf5_settle(writer) != TS_OK)
        return TS_RUN_FAILED;
    ts_hdf5_enter();
    hid_t list = ts_hdf5_create_properties(H5P_GROUP_CREATE), group = -1;
    if (list >= 0)
        group = H5Gcreate2(writer->h5, path, H5P_DEFAULT, list, H5P_DEFAULT);
    if (group < 0 || H5Gclose(group) < 0)
        ts_hdf5_fail_library(writer, path, 0);
    TS_HDF5_CLOSE(list);
    ts_hdf5_leave();
    snprintf(attribute, sizeof attribute, "%.1000s@NX_class", path);
    (void)ts_hdf5_text(writer, attribute, nx_class);
    if (!writer->default_entry && strcmp(nx_class, "NXentry") == 0 &&
        !(writer->default_entry = strdup(path)))
        ts_hdf5_fail_memory(writer, strlen(path));
    return ts_hdf5_state(writer);
}

enum ts_status ts_hdf5_link(struct hdf5_writer *writer, const char *path, const char *target)
{
    if (ts_hdf5_settle(writer) != TS_OK)
        return TS_RUN_FAILED;
    ts_hdf5_enter();
    if (H5Lcreate_hard(writer->h5, target, writer->h5, path, H5P_DEFAULT, H5P_DEFAULT) < 0)
        ts_hdf5_fail_library(writer, path, 0);
    ts_hdf5_leave();
    return ts_hdf5_state(writer);
}

size_t ts_hdf5_memory_bytes(const struct ts_image *images, size_t n, int threads)
{
    /* HDF5's caches, the compressors' tables. */
    size_t bytes = (size_t)16 << 20, largest = 0;
    for (size_t i = 0; i < n; i++) {
        struct chunk_grid grid;
        int64_t length[TS_MAX_RANK];
        for (int d = 0; d < images[i].rank; d++)
            length[d] = images[i].axes[d].n;
        if (!ts_chunk_grid_init(&grid, images[i].rank, length, ts_dtype_bytes(images[i].dtype)))
            return SIZE_MAX;
        /* The chunk being filled, two leaves of the file's digest that structure interrupts, and
         * tables of chunks. */
        bytes += grid.chunk_bytes + 2 * DIGEST_LEAF_BYTES + (size_t)grid.n_chunks * 256;
        largest = grid.chunk_bytes > largest ? grid.chunk_bytes : largest;
    }
    size_t workers = (size_t)(threads > 0 ? threads : 1);
    size_t held = (size_t)ts_chunk_queue_window((int)workers);
    /* Held: the chunk or its encoded form, and a leaf of each digest of which a part has come; per
     * thread: the other form while it prepares one, the shuffled chunk and the compressor. The
     * check, which comes later, needs less. */
    return bytes + held * (largest + (64u << 10) + 2 * DIGEST_LEAF_BYTES) +
           workers * (2 * largest + (2u << 20));
}

bool ts_hdf5_is_full(struct hdf5_writer *writer)
{
    return ts_chunk_queue_is_full(writer->queue);
}

const char *ts_hdf5_temporary(const struct hdf5_writer *writer)
{
    return writer->file->temporary;
}

/* Makes viewers open the file at the first image, unless the caller has set a default. */
static void write_defaults(struct hdf5_writer *writer)
{
    const char *entry = writer->default_entry, *data = writer->default_data;
    if (!entry)
        return;
    ts_hdf5_enter();
    bool root_has = H5Aexists_by_name(writer->h5, "/", "default", H5P_DEFAULT) > 0;
    bool entry_has = H5Aexists_by_name(writer->h5, entry, "default", H5P_DEFAULT) > 0;
    ts_hdf5_leave();
    char path[1100];
    size_t length = strlen(entry);
    if (!root_has)
        (void)ts_hdf5_text(writer, "/@default", entry + 1);
    snprintf(path, sizeof path, "%.1000s@default", entry);
    if (!entry_has && data && strncmp(data, entry, length) == 0 && data[length] == '/')
        (void)ts_hdf5_text(writer, path, data + length + 1);
}

static void flush_file(struct hdf5_writer *writer)
{
    ts_hdf5_enter();
    if (H5Fflush(writer->h5, H5F_SCOPE_GLOBAL) < 0)
        ts_hdf5_fail_library(writer, "the file structure", 0);
    ts_hdf5_leave();
}

/* `complete` comes last, after everything else was written. */
static enum ts_status write_seals(struct hdf5_writer *writer)
{
    char digest[DIGEST_TEXT_BYTES] = "";
    uint8_t one = 1;
    write_defaults(writer);
    flush_file(writer);
    if (ts_hdf5_failed(writer))
        return ts_hdf5_state(writer);
    ts_hdf5_enter();
    if (!ts_hdf5_root_digest(writer->h5, digest))
        ts_hdf5_fail_library(writer, "the digest", 0);
    ts_hdf5_leave();
    (void)ts_hdf5_text(writer, "/@digest", digest);
    if (writer->options.digest)
        memcpy(writer->options.digest, digest, sizeof digest);
    flush_file(writer);
    (void)put_number(writer, "/@complete", TS_U8, &one);
    flush_file(writer);
    return ts_hdf5_state(writer);
}

static enum ts_status close_file(struct hdf5_writer *writer)
{
    ts_hdf5_enter();
    /* the library does not report some failed writes */
    if (H5Fclose(writer->h5) < 0 || ts_hdf5_kept_error())
        ts_hdf5_fail_library(writer, "the end", 0);
    writer->h5 = -1;
    ts_hdf5_leave();
    return ts_hdf5_state(writer);
}

/* Checks what the chunks' own checks do not cover, and appends the trailer. */
static enum ts_status seal(struct hdf5_writer *writer)
{
    struct hdf5_proved *datasets = calloc((size_t)writer->n_datasets + 1, sizeof *datasets);
    if (!datasets)
        return ts_diag_no_memory(writer->diag, (size_t)writer->n_datasets * sizeof *datasets);
    for (int i = 0; i < writer->n_datasets; i++) {
        const struct hdf5_dataset *dataset = writer->datasets[i];
        datasets[i] = (struct hdf5_proved){dataset->chunks, dataset->grid.n_chunks, dataset->text};
    }
    const struct hdf5_written written = {writer->body, datasets, (size_t)writer->n_datasets};
    const enum ts_status status = ts_hdf5_seal(writer->file->fd, writer->file->path,
                                               writer->options.threads, &written, writer->diag);
    free(datasets);
    return status;
}

/* Completes the file, which must then be synced. */
static enum ts_status complete(struct hdf5_writer *writer)
{
    enum ts_status status = ts_hdf5_settle(writer);
    for (int i = 0; i < writer->n_datasets && status == TS_OK; i++)
        status = ts_hdf5_dataset_finish(writer, i);
    if (status == TS_OK)
        status = write_seals(writer);
    if (status == TS_OK)
        status = close_file(writer);
    ts_chunk_queue_destroy(writer->queue); /* the check has threads of its own */
    writer->queue = NULL;
    if (status == TS_OK)
        status = seal(writer);
    return status;
}

enum ts_status ts_hdf5_finish(struct hdf5_writer *writer)
{
    const enum ts_status status = complete(writer);
    destroy_writer(writer);
    return status;
}

enum ts_status ts_hdf5_commit(struct hdf5_writer *writer)
{
    enum ts_status status = complete(writer);
    if (status == TS_OK)
        status = ts_file_sync(writer->file, writer->diag);
    if (status == TS_OK)
        status = ts_file_publish(writer->file, writer->diag);
    destroy_writer(writer);
    return status;
}
