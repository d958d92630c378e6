/* SPDX-License-Identifier: Apache-2.0
 *
 * Foreign files that lie: what is no regular file, damaged heaps, chunks and tables that point
 * elsewhere, links that lead out of the folder. Each is refused in words, quickly and without much
 * memory.
 */
#define H5_USE_110_API
#include "io/file/regular_file.h"
#include "io/hdf5/hdf5_error.h"
#include "io/hdf5/hdf5_slice.h"
#include "io/hdf5/hdf5_storage.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/scan/exchange.h"
#include "io/scan/hdf5_info.h"
#include "tests/files/dicom_open.h"
#include "tests/files/scan_file.h"
#include "tests/support/support.h"
#include <criterion/criterion.h>
#include <fcntl.h>
#include <hdf5.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

TestSuite(hdf5_foreign, .init = ts_scan_file_begin, .fini = ts_scan_file_end);

/* ---- what is no regular file ----------------------------------------------------------------- */

static void check_kind(const char *path, const char *words)
{
    struct stat found;
    char reason[500];
    struct hdf5_slice slice;
    FILE *nothing = fopen("/dev/null", "w");
    cr_assert_eq(ts_regular_file_open(path, &found, reason, sizeof reason), -1);
    cr_assert(strstr(reason, words), "%s", reason);
    ts_diag_clear(ts_scan_file.diag);
    cr_assert_eq(ts_hdf5_info(path, false, true, nothing, ts_scan_file.diag), TS_BAD_INPUT);
    cr_assert_eq(ts_hdf5_read_slice(path, "/data", 0, &slice, ts_scan_file.diag), TS_BAD_INPUT);
    for (size_t i = 0; i < 2; i++)
        cr_assert(strstr(ts_diag_get(ts_scan_file.diag, i)->message, words), "%s",
                  ts_diag_get(ts_scan_file.diag, i)->message);
    fclose(nothing);
}

Test(hdf5_foreign, what_is_no_regular_file_is_refused_at_once, .timeout = 900)
{
    char path[400];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(path, sizeof path, "%s/fifo", ts_scan_file.folder);
    cr_assert_eq(mkfifo(path, 0600), 0);
    check_kind(path, "is a FIFO");
    snprintf(address.sun_path, sizeof address.sun_path, "%.90s/socket", ts_scan_file.folder);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    check_kind(address.sun_path, "is a socket");
    close(fd);
    check_kind("/dev/zero", "is a device");
    check_kind(ts_scan_file.folder, "is a folder");
    snprintf(path, sizeof path, "%s/broken", ts_scan_file.folder);
    cr_assert_eq(symlink("no/such/file", path), 0);
    check_kind(path, "is a link to no/such/file, which cannot be read: No such file");
    check_kind("/no/such/file", "cannot be read: No such file");
}

/* ---- damaged files --------------------------------------------------------------------------- */

/* A text in a global heap, as h5py writes every text. */
static void put_variable(hid_t object, const char *name, const char *text)
{
    const hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
    cr_assert(H5Tset_size(type, H5T_VARIABLE) >= 0);
    const hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    cr_assert(H5Awrite(attribute, type, &text) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

/* Data Exchange whose units of theta are such a text. */
static void make_exchange(void)
{
    static const double theta[SCAN_FRAMES] = {0, 10, 20, 30, 40, 50, 60};
    const hid_t file = ts_scan_file_exchange(NULL, SCAN_FRAMES, theta);
    const hid_t dataset = H5Dopen2(file, "/exchange/theta", H5P_DEFAULT);
    put_variable(dataset, "units", "degree");
    H5Dclose(dataset);
    cr_assert(H5Fclose(file) >= 0);
}

/* Writes `bytes` at `offset` from the first global heap collection of the file: signature, version,
 * three bytes, size (8 bytes); then objects of index (2), references (2), four bytes, size (8),
 * data. */
static void damage_heap(long offset, const void *bytes, size_t n)
{
    static char content[1 << 20];
    FILE *file = fopen(ts_scan_file.path, "r+b");
    const size_t length = fread(content, 1, sizeof content, file);
    const char *heap = memmem(content, length, "GCOL", 4);
    cr_assert_not_null(heap);
    fseek(file, heap - content + offset, SEEK_SET);
    fwrite(bytes, 1, n, file);
    fclose(file);
}

static enum ts_status open_exchange(void);

/* Changes a number of a version to that of a later one, at an address or where bytes are. */
static void make_newer(long address, const void *bytes, size_t n, char version)
{
    static char content[1 << 20];
    FILE *file = fopen(ts_scan_file.path, "r+b");
    const size_t size = fread(content, 1, sizeof content, file);
    const char *at = n > 0 ? memmem(content, size, bytes, n) : content + address;
    cr_assert_not_null(at);
    cr_assert(fseek(file, (long)(at - content), SEEK_SET) == 0 &&
              fwrite(&version, 1, 1, file) == 1);
    fclose(file);
}

Test(hdf5_foreign, parts_of_a_newer_format_are_said_to_be_so)
{
    for (int part = 0; part < 3; part++) {
        make_exchange();
        const hid_t file = H5Fopen(ts_scan_file.path, H5F_ACC_RDONLY, H5P_DEFAULT),
                    data = H5Dopen2(file, "/exchange/theta", H5P_DEFAULT);
        const haddr_t values = H5Dget_offset(data);
        H5O_info_t info;
        unsigned char layout[10] = {3, 1};
        cr_assert(H5Oget_info(data, &info) >= 0);
        for (int i = 0; i < 8; i++)
            layout[2 + i] = (unsigned char)(values >> 8 * i);
        H5Dclose(data);
        H5Fclose(file);
        if (part == 0)
            make_newer(0, layout, sizeof layout, 5);
        else
            make_newer(part == 1 ? (long)info.addr : 8, NULL, 0, 9);
        cr_assert_eq(open_exchange(), TS_BAD_INPUT, "part %d", part);
        ts_test_expect(ts_scan_file.diag, "hdf5-newer",
                       "a newer HDF5 than the one of this program");
        FILE *nothing = fopen("/dev/null", "w");
        ts_diag_clear(ts_scan_file.diag);
        cr_assert_eq(ts_hdf5_info(ts_scan_file.path, false, true, nothing, ts_scan_file.diag),
                     TS_BAD_INPUT);
        ts_test_expect(ts_scan_file.diag, "hdf5-newer", "a newer HDF5");
        fclose(nothing);
    }
}

static enum ts_status open_exchange(void)
{
    struct exchange_params values = {0};
    struct param_set set = {.params = exchange_format.params,
                            .n_params = exchange_format.n_params,
                            .values = &values,
                            .owner = "input"};
    struct source *source = NULL;
    ts_params_init(&set);
    values.exchange = ts_scan_file.path;
    ts_diag_clear(ts_scan_file.diag);
    const enum ts_status status = exchange_format.open(&set, &source, ts_scan_file.diag);
    if (source)
        source->ops->close(source);
    return status;
}

#ifndef TS_SANITIZED /* under which no limit of addresses holds */
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static long children_kb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return usage.ru_maxrss;
}

/* An object may claim more than the collection holds. By the number, the library would crash, take
 * what is claimed, or go in circles. */
Test(hdf5_foreign, heaps_that_lie_are_refused)
{
    static const struct {
        long offset;
        uint64_t value;
        size_t bytes;
    } lies[] = {
        {8, 1, 8},
        {8, UINT64_C(1) << 40, 8},
        {24, UINT64_C(1) << 31, 8},
        {24, UINT64_C(1) << 62, 8},
        {24, UINT64_MAX, 8},
        {24, UINT64_MAX - 15, 8},
        {16, 0xFFFF, 2},
        {40, UINT64_MAX, 8},
    };
    FILE *nothing = fopen("/dev/null", "w");
    make_exchange();
    cr_assert_eq(open_exchange(), TS_OK);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        make_exchange();
        damage_heap(lies[i].offset, &lies[i].value, lies[i].bytes);
        const double start = now();
        const enum ts_status status = open_exchange();
        cr_assert(status == TS_OK || status == TS_BAD_INPUT, "lie %zu: %d", i, (int)status);
        ts_diag_clear(ts_scan_file.diag);
        (void)ts_hdf5_info(ts_scan_file.path, false, true, nothing, ts_scan_file.diag);
        (void)ts_hdf5_verify(NULL, ts_scan_file.path, NULL, ts_scan_file.diag);
        cr_assert_lt(now() - start, 60, "lie %zu took %g s", i, now() - start);
    }
    cr_assert_lt(children_kb(), 400000, "the largest child took %ld kB", children_kb());
    fclose(nothing);
}
#endif

Test(hdf5_foreign, text_that_cannot_be_read_is_said_to_be_so)
{
    make_exchange();
    damage_heap(0, "X", 1);
    cr_assert_eq(open_exchange(), TS_BAD_INPUT);
    ts_test_expect(ts_scan_file.diag, "hdf5-text",
                   "the text /exchange/theta@units cannot be read: ");
}

/* ---- where values lie ------------------------------------------------------------------------ */

/* The frames of a scan behind a user block, stored in this way. */
static void make_with_user_block(const struct scan_storage *storage, hsize_t user_block,
                                 bool latest)
{
    const hid_t creation = H5Pcreate(H5P_FILE_CREATE), access = H5Pcreate(H5P_FILE_ACCESS);
    cr_assert(H5Pset_userblock(creation, user_block) >= 0);
    if (latest)
        cr_assert(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0);
    const hid_t file = H5Fcreate(ts_scan_file.path, H5F_ACC_TRUNC, creation, access);
    const hid_t group = ts_scan_file_group(file, "exchange", NULL);
    ts_scan_file_frames(group, "data", SCAN_FRAMES, storage);
    H5Gclose(group);
    cr_assert(H5Fclose(file) >= 0);
    H5Pclose(creation);
    H5Pclose(access);
}

static struct source *open_frames(enum ts_status expected)
{
    static const char *const axes[3] = {"view", "z", "detector"};
    struct hdf5_params values;
    struct source *source = NULL;
    const struct param_set set = ts_scan_file_hdf5(&values, axes, 180);
    cr_assert_eq(hdf5_format.open(&set, &source, ts_scan_file.diag), expected, "%s",
                 ts_diag_count(ts_scan_file.diag) ? ts_diag_get(ts_scan_file.diag, 0)->message
                                                  : "");
    return source;
}

Test(hdf5_foreign, a_user_block_moves_every_address)
{
    static const int frames[SCAN_FRAMES] = {0, 1, 2, 3, 4, 5, 6};
    const struct scan_storage storages[] = {{.type = H5T_STD_U16LE},
                                            {.type = H5T_STD_I32BE, .chunk = {2, 2, 4}},
                                            {.type = H5T_IEEE_F32LE,
                                             .chunk = {1, 2, 5},
                                             .shuffle = true,
                                             .deflate = true,
                                             .fletcher32 = true}};
    for (int i = 0; i < 12; i++) {
        make_with_user_block(&storages[i % 3], i / 3 % 2 ? 512 : 0, i >= 6);
        struct source *source = open_frames(TS_OK);
        ts_scan_file_check(source, frames, 2);
        source->ops->close(source);
    }
}

/* A B-tree of the first version has no checksum: an address in it can be changed. */
Test(hdf5_foreign, chunks_outside_of_the_file_are_refused)
{
    static char content[1 << 20];
    const struct scan_storage storage = {.type = H5T_STD_U16LE,
                                         .chunk = {1, SCAN_ROWS, SCAN_COLUMNS}};
    hsize_t at[3] = {0, 0, 0}, bytes;
    unsigned skipped;
    uint64_t address;
    make_with_user_block(&storage, 0, false);
    const hid_t file = H5Fopen(ts_scan_file.path, H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, "/exchange/data", H5P_DEFAULT);
    cr_assert(H5Dget_chunk_info_by_coord(dataset, at, &skipped, &address, &bytes) >= 0);
    H5Dclose(dataset);
    H5Fclose(file);
    FILE *stream = fopen(ts_scan_file.path, "r+b");
    const size_t length = fread(content, 1, sizeof content, stream);
    const char *found = memmem(content, length, &address, sizeof address);
    cr_assert_not_null(found);
    address = length - 3;
    fseek(stream, found - content, SEEK_SET);
    fwrite(&address, sizeof address, 1, stream);
    fclose(stream);
    cr_assert_null(open_frames(TS_BAD_INPUT));
    ts_test_expect(ts_scan_file.diag, "hdf5-unreadable",
                   "/exchange/data cannot be read: addr overflow");
}

Test(hdf5_foreign, tables_that_lie_are_not_believed)
{
    struct hdf5_storage storage = {
        .rank = 2, .n = {5, 4}, .layout = STORAGE_CHUNKED, .chunk = {2, 4}, .element_bytes = 1};
    struct storage_chunk chunks[3] = {{10, 90, 0}, {0, 0, 0}, {91, 9, 0}};
    const void *compact;
    int64_t outside;
    cr_assert(ts_hdf5_storage_take(&storage, sizeof storage, &storage, &compact));
    cr_assert_eq(storage.n_chunks, 3);
    cr_assert_eq(ts_hdf5_storage_chunk_at(&storage, (const int64_t[]){4, 3}), 2);
    cr_assert(ts_hdf5_storage_check_table(&storage, chunks, sizeof chunks, 100, &outside));
    cr_assert_not(ts_hdf5_storage_check_table(&storage, chunks, sizeof chunks - 1, 100, &outside));
    cr_assert_eq(outside, -1);
    cr_assert_not(ts_hdf5_storage_check_table(&storage, chunks, sizeof chunks, 99, &outside));
    cr_assert_eq(outside, 0);
    chunks[0].offset = UINT64_MAX - 5;
    cr_assert_not(ts_hdf5_storage_check_table(&storage, chunks, sizeof chunks, 100, &outside));
    storage.compact_bytes = 1;
    cr_assert_not(ts_hdf5_storage_take(&storage, sizeof storage, &storage, &compact));
    storage.compact_bytes = 0;
    storage.chunk[1] = 0;
    cr_assert_not(ts_hdf5_storage_take(&storage, sizeof storage, &storage, &compact));
}

/* ---- links out of the file ------------------------------------------------------------------- */

static void check_link(const char *name, const char *code, const char *words)
{
    const hid_t file = ts_scan_file_exchange(NULL, 0, NULL);
    cr_assert(H5Ldelete(file, "/exchange/data", H5P_DEFAULT) >= 0);
    cr_assert(
        H5Lcreate_external(name, "/frames", file, "/exchange/data", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    H5Fclose(file);
    struct source *source = open_frames(code ? TS_BAD_INPUT : TS_OK);
    if (code)
        ts_test_expect(ts_scan_file.diag, code, words);
    else
        source->ops->close(source);
    ts_diag_clear(ts_scan_file.diag);
}

Test(hdf5_foreign, links_lead_to_regular_files_of_the_folder, .timeout = 900)
{
    char path[400];
    snprintf(path, sizeof path, "%s/frames.h5", ts_scan_file.folder);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    ts_scan_file_frames(file, "frames", SCAN_FRAMES, NULL);
    H5Fclose(file);
    snprintf(path, sizeof path, "%s/linked.h5", ts_scan_file.folder);
    cr_assert_eq(symlink("frames.h5", path), 0);
    snprintf(path, sizeof path, "%s/broken.h5", ts_scan_file.folder);
    cr_assert_eq(symlink("gone.h5", path), 0);
    snprintf(path, sizeof path, "%s/fifo.h5", ts_scan_file.folder);
    cr_assert_eq(mkfifo(path, 0600), 0);
    snprintf(path, sizeof path, "%s/secret", ts_scan_file.folder);
    FILE *secret = fopen(path, "w");
    fprintf(secret, "%600s\n", "not for everybody");
    fclose(secret);
    check_link("frames.h5", NULL, NULL);
    check_link("secret", "hdf5-link-broken",
               "an external link leads to secret, which is not an HDF5 file");
    check_link("linked.h5", NULL, NULL);
    check_link("broken.h5", "hdf5-link-broken",
               "an external link leads to broken.h5, which is a link to gone.h5, which cannot be "
               "read: No such file");
    check_link("fifo.h5", "hdf5-link-broken", "an external link leads to fifo.h5, which is a FIFO");
    check_link("../frames.h5", "hdf5-link-broken",
               "an external link leads to ../frames.h5, which cannot be read: No such file");
    check_link("../../../../../../../../etc/hostname", "hdf5-link-outside",
               "out of the file's folder");
    check_link("/dev/null", "hdf5-link-outside", "out of the file's folder");
}

/* ---- with other threads at work -------------------------------------------------------------- */

static atomic_bool stop;

static void *use_library(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        ts_hdf5_enter();
        H5Sclose(H5Screate(H5S_SCALAR));
        free(malloc(1000));
        ts_hdf5_leave();
    }
    return NULL;
}

Test(hdf5_foreign, works_while_other_threads_are_in_the_library)
{
    pthread_t threads[3];
    make_exchange();
    for (int i = 0; i < 3; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, use_library, NULL), 0);
    for (int i = 0; i < 20; i++)
        cr_assert_eq(open_exchange(), TS_OK);
    atomic_store(&stop, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}
