/* SPDX-License-Identifier: Apache-2.0
 *
 * Once an input has taken over a sandboxed HDF5 reader, the parent must not believe a word of its
 * answers. The input under test is the stream of bytes that the child sends, after one byte that
 * chooses what reads it. libhdf5 itself is not fuzzed here; its crashes are the sandbox's to
 * contain (tests/attacks/test_flips.py).
 *
 * The calls to a child are wrapped by the linker: what the parent asks goes nowhere, and what it
 * reads is the next part of the stream. With FUZZ_RECORD=FOLDER inputs are HDF5 files, real
 * children read them, and what those answer is written to FOLDER: so the corpus was made.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/hdf5/hdf5_slice.h"
#include "io/hdf5/hdf5_verify.h"
#include "io/sandbox/sandbox.h"
#include "io/scan/exchange.h"
#include "io/scan/hdf5_info.h"
#include "io/scan/nexus.h"
#include "io/scan/result.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/source.h"

enum { STREAM_MAX = 160 << 10, FILE_BYTES = 64 << 10 };

static struct {
    const uint8_t *data; /* what no child has answered yet */
    size_t bytes;
    int channel; /* of the newest child; in its place /dev/null is open */
} stream;
static struct {
    const char *folder;
    FILE *out;
    pid_t parent;
} record;

/* ---- the stand-in for the child -------------------------------------------------------------- */

enum ts_status __real_ts_sandbox_start(struct sandbox *sandbox, const struct sandbox_kind *kind,
                                       const struct sandbox_limits *limits, const void *setup,
                                       size_t setup_bytes, const int *fds, int n_fds,
                                       struct sandbox_child *started, struct ts_diag *diag);
enum ts_status __wrap_ts_sandbox_start(struct sandbox *sandbox, const struct sandbox_kind *kind,
                                       const struct sandbox_limits *limits, const void *setup,
                                       size_t setup_bytes, const int *fds, int n_fds,
                                       struct sandbox_child *started, struct ts_diag *diag)
{
    if (record.folder) {
        const enum ts_status status = __real_ts_sandbox_start(
            sandbox, kind, limits, setup, setup_bytes, fds, n_fds, started, diag);
        stream.channel = started->channel;
        return status;
    }
    *started =
        (struct sandbox_child){.pid = getpid(), .channel = open("/dev/null", O_RDWR | O_CLOEXEC)};
    if (started->channel < 0)
        abort();
    stream.channel = started->channel;
    return TS_OK;
}

int __real_ts_sandbox_end(struct sandbox_child *child, char *what, size_t size);
int __wrap_ts_sandbox_end(struct sandbox_child *child, char *what, size_t size)
{
    if (record.folder)
        return __real_ts_sandbox_end(child, what, size);
    if (what)
        snprintf(what, size, "was killed");
    if (child->pid != 0)
        close(child->channel);
    *child = (struct sandbox_child){.pid = 0, .channel = -1};
    return 0;
}

double __real_ts_sandbox_cpu_seconds(const struct sandbox_child *child);
double __wrap_ts_sandbox_cpu_seconds(const struct sandbox_child *child)
{
    return record.folder ? __real_ts_sandbox_cpu_seconds(child) : 0;
}

ssize_t __real_send(int fd, const void *data, size_t bytes, int flags);
ssize_t __wrap_send(int fd, const void *data, size_t bytes, int flags)
{
    return record.folder ? __real_send(fd, data, bytes, flags) : (ssize_t)bytes;
}

bool __real_ts_channel_send(int fd, const void *data, size_t bytes, const int *fds, int n_fds);
bool __wrap_ts_channel_send(int fd, const void *data, size_t bytes, const int *fds, int n_fds)
{
    return record.folder ? __real_ts_channel_send(fd, data, bytes, fds, n_fds) : true;
}

/* /dev/null is always ready, so that poll() needs no stand-in. */
ssize_t __real_read(int fd, void *bytes, size_t n);
ssize_t __wrap_read(int fd, void *bytes, size_t n)
{
    if (!record.folder && fd == stream.channel) {
        const size_t most = n < stream.bytes ? n : stream.bytes;
        memcpy(bytes, stream.data, most);
        stream.data += most;
        stream.bytes -= most;
        return (ssize_t)most;
    }
    const ssize_t got = __real_read(fd, bytes, n);
    if (record.out && got > 0 && fd == stream.channel && getpid() == record.parent)
        fwrite(bytes, 1, (size_t)got, record.out);
    return got;
}

/* ---- the parent ------------------------------------------------------------------------------ */

static void open_source(const struct source_format *format, const char *path, struct ts_diag *diag)
{
    union {
        struct nexus_params nexus;
        struct exchange_params exchange;
        struct result_params result;
        const char *path; /* the first parameter of each */
    } values = {0};
    struct param_set set = {.params = format->params,
                            .n_params = format->n_params,
                            .values = &values,
                            .owner = "input"};
    ts_params_init(&set);
    values.path = path;
    if (format == &nexus_format)
        values.nexus.pixel_size = 0.1;
    if (format == &exchange_format)
        values.exchange.pixel_size = 0.1;
    fuzz_source(format, &set, diag);
}

/* `preview` and `plot` list what can be looked at and read one of it. */
static void look(const char *path, bool tables, struct ts_diag *diag)
{
    struct arena *arena = ts_arena_create();
    const char **datasets;
    size_t n = 0;
    struct hdf5_slice slice = {0};
    const char *table = tables ? "statistics" : NULL;
    if (arena && ts_hdf5_list_datasets(path, table, arena, &datasets, &n, diag) == TS_OK &&
        ts_hdf5_read_slice(path, datasets[0], -1, &slice, diag) == TS_OK)
        free(slice.values);
    ts_arena_destroy(arena);
}

enum { WAYS = 7 };

static void use_file(int way, const char *path)
{
    static const struct source_format *const formats[] = {&nexus_format, &exchange_format,
                                                          &result_format};
    struct ts_diag *diag = ts_diag_create();
    if (way < 3)
        open_source(formats[way], path, diag);
    else if (way == 3)
        (void)ts_hdf5_info(path, false, true, fuzz_nowhere(), diag);
    else if (way == 4)
        (void)ts_hdf5_verify(NULL, path, NULL, diag);
    else
        look(path, way == 6, diag);
    ts_diag_print(diag, fuzz_nowhere());
    ts_diag_destroy(diag);
}

static void record_answers(const char *path)
{
    static int number;
    record.parent = getpid();
    for (int way = 0; way < WAYS; way++) {
        char name[512];
        snprintf(name, sizeof name, "%s/answers%d", record.folder, number++);
        if (!(record.out = fopen(name, "w")))
            abort();
        fputc(way, record.out);
        use_file(way, path);
        fclose(record.out);
        record.out = NULL;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static uint8_t pixels[FILE_BYTES];
    static char path[FUZZ_PATH];
    record.folder = getenv("FUZZ_RECORD");
    if (record.folder && !ts_sandbox_begin())
        abort();
    if (record.folder) {
        fuzz_write("fuzz.h5", data, bytes, path);
        record_answers(path);
        return 0;
    }
    if (!path[0]) {
        for (size_t i = 0; i < sizeof pixels; i++)
            pixels[i] = (uint8_t)(i * 7);
        fuzz_write("fuzz.h5", pixels, sizeof pixels, path);
    }
    if (bytes < 2 || bytes > STREAM_MAX)
        return 0;
    stream.data = data + 1;
    stream.bytes = bytes - 1;
    use_file(data[0] % WAYS, path);
    return 0;
}
