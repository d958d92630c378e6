/* SPDX-License-Identifier: Apache-2.0
 *
 * What a sandboxed HDF5 reader answers, once an input has taken it over: the parent must not believe a word. The input
 * under test is the stream of bytes that the child sends, after one byte that chooses what reads it. libhdf5 itself is
 * not fuzzed here; its crashes are the sandbox's to contain (tests/attacks/test_flips.py).
 *
 * The calls that start and end a child, and read(), are wrapped by the linker: in place of the child a thread sends the
 * stream and takes what the parent asks. With FUZZ_RECORD=FOLDER inputs are HDF5 files, real children read them, and
 * what those answer is written to FOLDER: so the corpus was made.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/exchange.h"
#include "io/hdf5_read.h"
#include "io/nexus.h"
#include "io/result.h"
#include "io/sandbox.h"
#include "io/source_slices.h"
#include "tests/fuzz/fuzz.h"

enum { STREAM_MAX = 64 << 10, FILE_BYTES = 64 << 10 };

static struct {
    const uint8_t *data;
    size_t bytes;
    int socket;
    pthread_t thread;
} child;
static struct {
    const char *folder;
    FILE *out;
    int channel;
    pid_t parent;
} record;

/* ---- the stand-in for the child ------------------------------------------------------------------ */

/* Sends the stream and reads until the parent closes its end, so that neither waits for the other. */
static void *answer(void *unused)
{
    size_t sent = 0;
    (void)unused;
    for (;;) {
        char request[4096];
        struct pollfd ready = {.fd = child.socket, .events = (short)(POLLIN | (sent < child.bytes ? POLLOUT : 0))};
        poll(&ready, 1, -1);
        if (ready.revents & POLLOUT) {
            const ssize_t n = send(child.socket, child.data + sent, child.bytes - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            sent = n > 0 ? sent + (size_t)n : child.bytes;
        }
        if (sent == child.bytes)
            shutdown(child.socket, SHUT_WR);
        if ((ready.revents & (POLLIN | POLLHUP)) && recv(child.socket, request, sizeof request, MSG_DONTWAIT) <= 0 &&
            errno != EAGAIN)
            return NULL;
    }
}

enum ts_status __real_ts_sandbox_start(const struct sandbox_kind *kind, const struct sandbox_limits *limits,
                                       const void *setup, size_t setup_bytes, const int *fds, int n_fds,
                                       struct sandbox_child *started, struct ts_diag *diag);
enum ts_status __wrap_ts_sandbox_start(const struct sandbox_kind *kind, const struct sandbox_limits *limits,
                                       const void *setup, size_t setup_bytes, const int *fds, int n_fds,
                                       struct sandbox_child *started, struct ts_diag *diag)
{
    int ends[2];
    if (record.folder) {
        const enum ts_status status =
            __real_ts_sandbox_start(kind, limits, setup, setup_bytes, fds, n_fds, started, diag);
        record.channel = started->channel;
        return status;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        abort();
    child.socket = ends[1];
    if (pthread_create(&child.thread, NULL, answer, NULL) != 0)
        abort();
    *started = (struct sandbox_child){.pid = getpid(), .channel = ends[0]};
    return TS_OK;
}

int __real_ts_sandbox_end(struct sandbox_child *ended, char *what, size_t size);
int __wrap_ts_sandbox_end(struct sandbox_child *ended, char *what, size_t size)
{
    if (record.folder) {
        record.channel = -1;
        return __real_ts_sandbox_end(ended, what, size);
    }
    if (what)
        snprintf(what, size, "was killed");
    if (ended->pid == 0)
        return 0;
    close(ended->channel);
    pthread_join(child.thread, NULL);
    close(child.socket);
    child.bytes = 0; /* a second child of the same input has nothing to say */
    *ended = (struct sandbox_child){.pid = 0, .channel = -1};
    return 0;
}

double __real_ts_sandbox_cpu_seconds(const struct sandbox_child *running);
double __wrap_ts_sandbox_cpu_seconds(const struct sandbox_child *running)
{
    return record.folder ? __real_ts_sandbox_cpu_seconds(running) : 0;
}

ssize_t __real_read(int fd, void *bytes, size_t n);
ssize_t __wrap_read(int fd, void *bytes, size_t n)
{
    const ssize_t got = __real_read(fd, bytes, n);
    if (record.out && got > 0 && fd == record.channel && getpid() == record.parent)
        fwrite(bytes, 1, (size_t)got, record.out);
    return got;
}

/* ---- the parent ---------------------------------------------------------------------------------- */

static void read_slices(struct source *source, struct ts_diag *diag)
{
    const size_t bytes = ts_slice_bytes(&source->image);
    void *out = bytes < FUZZ_IMAGE_MAX ? malloc(bytes ? bytes : 1) : NULL;
    enum ts_status status = out && source->ops->start ? source->ops->start(source, 1, 1, diag) : TS_OK;
    for (int64_t z = 0; out && status == TS_OK && z < source->n_slices && z < 3; z++)
        status = source->ops->read(source, z, 1, out, diag);
    free(out);
}

static void open_source(const struct source_format *format, const char *path, struct ts_diag *diag)
{
    union {
        struct nexus_params nexus;
        struct exchange_params exchange;
        struct result_params result;
        const char *path; /* the first parameter of each */
    } values = {0};
    struct param_set set = {.rows = format->params, .n_rows = format->n_params, .values = &values, .owner = "input"};
    struct source *source = NULL;
    ts_params_init(&set);
    values.path = path;
    if (format == &nexus_format)
        values.nexus.pixel_size = 0.1;
    if (format == &exchange_format)
        values.exchange.pixel_size = 0.1;
    if (format->open(&set, &source, diag) == TS_OK) {
        read_slices(source, diag);
        source->ops->close(source);
    }
}

enum { WAYS = 5 };

static void use_file(int way, const char *path)
{
    static const struct source_format *const formats[] = {&nexus_format, &exchange_format, &result_format};
    static FILE *nowhere;
    if (!nowhere && !(nowhere = fopen("/dev/null", "w")))
        abort();
    struct ts_diag *diag = ts_diag_create();
    if (way < 3)
        open_source(formats[way], path, diag);
    else if (way == 3)
        (void)ts_hdf5_info(path, false, nowhere, diag);
    else
        (void)ts_hdf5_verify(path, diag);
    ts_diag_print(diag, nowhere);
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
    child.data = data + 1;
    child.bytes = bytes - 1;
    use_file(data[0] % WAYS, path);
    return 0;
}
