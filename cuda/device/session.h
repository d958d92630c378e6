/* SPDX-License-Identifier: Apache-2.0
 *
 * A session is one CUDA device in use: its streams, all memory allocated on it, and the one place
 * where CUDA's errors become diagnostics. A session belongs to one thread, in which its device is
 * current after ts_cuda_session_create() or ts_cuda_use() until a different session is used; events
 * may be recorded and waited for at any time. After an error that the device does not survive every
 * later call fails as well, with the code cuda-lost.
 *
 * In a build without CUDA code ts_cuda_session_create refuses, and nothing else can be reached.
 */
#ifndef CUDA_DEVICE_SESSION_H
#define CUDA_DEVICE_SESSION_H

#include "cuda/device/device.h"
#include "cuda/device/launch.h"

enum cuda_queue { CUDA_COMPUTE, CUDA_UPLOAD, CUDA_DOWNLOAD, CUDA_QUEUES };
/* CUDA_BETWEEN copies from the memory of any device; the queue belongs to the device that
 * receives. */
enum cuda_direction { CUDA_TO_DEVICE, CUDA_TO_HOST, CUDA_ON_DEVICE, CUDA_BETWEEN };

struct cuda_session;
struct cuda_memory;
struct cuda_opening;
struct cuda_event;

/* Starts a thread that creates the device's context and loads this build's code, which takes a
 * ninth of a second: a session then finds both there. If this fails, the session fails in the same
 * way and reports it. Returns NULL if there is no thread for it. */
struct cuda_opening *ts_cuda_open_begin(const struct device_numbers *device);
/* Waits for the thread. NULL does nothing. */
void ts_cuda_open_end(struct cuda_opening *opening);
/* Creates a session; fork workers before. `diag` receives the errors of all later calls. `bytes` is
 * the memory that will be allocated, if known; the message uses it if the device has too little for
 * CUDA itself (code cuda-memory). */
enum ts_status ts_cuda_session_create(const struct device_numbers *device, size_t bytes,
                                      struct ts_diag *diag, struct cuda_session **session);
/* Returns how many sessions were begun: after each, a device may have a new context. */
unsigned ts_cuda_sessions_begun(void);
/* Makes the session's device the thread's current one. NULL does nothing. */
enum ts_status ts_cuda_use(struct cuda_session *session);
/* Waits for the queues, whether their work succeeded or not. NULL does nothing. */
void ts_cuda_settle(struct cuda_session *session);
/* Waits for the queues; frees all memory and events. NULL does nothing. */
void ts_cuda_session_destroy(struct cuda_session *session);
/* Destroys the context of the device for the whole process. That takes as long as creating it, and
 * would otherwise lengthen the end of the process. */
void ts_cuda_close_device(const struct device_numbers *device);
/* Memory of a device that outlives sessions: what a session is given from there goes back as it
 * ends, and the next session that wants as many bytes gets it. Returns NULL if memory is out. The
 * allocator, which may be NULL, is copied. */
struct cuda_memory *ts_cuda_memory_create(const struct device_numbers *device,
                                          const struct ts_allocator *allocator);
/* No session may have any of it. NULL does nothing. */
void ts_cuda_memory_destroy(struct cuda_memory *memory);
/* Has the session, which is new, take all memory from there. */
enum ts_status ts_cuda_session_memory(struct cuda_session *session, struct cuda_memory *memory);
/* Returns the device that the session was created with. */
const struct device_numbers *ts_cuda_session_device(const struct cuda_session *session);
struct CUstream_st *ts_cuda_stream(const struct cuda_session *session, enum cuda_queue queue);

/* Return and set the calling thread's current device, for a library in a process that uses CUDA
 * itself. */
int ts_cuda_current(void);
void ts_cuda_make_current(int device);
/* The first makes a stream of the caller's (NULL: the default stream) the queue CUDA_COMPUTE, and
 * has `diag` receive the errors; the second makes the session's own stream that queue again. */
void ts_cuda_lend(struct cuda_session *session, struct CUstream_st *stream, struct ts_diag *diag);
void ts_cuda_lend_end(struct cuda_session *session);

/* The one place where CUDA's errors (cudaError_t) become diagnostics: cuda-lost after those that
 * the device does not survive, cuda-busy if another program has the device for itself, else
 * cuda-failed. `what` says what was done, such as "copying to the device". */
enum ts_status ts_cuda_fold(struct ts_diag *diag, const char *stage, int error, const char *what);
/* Writes the PCI address, such as "0000:1b:00.0". Returns false if CUDA does not report it. */
bool ts_cuda_pci_address(const struct device_numbers *device, char *pci, size_t size);
/* Sets the free and the total bytes of the device with this PCI address, as NVML reports them
 * without starting CUDA. Returns false if it does not. */
bool ts_cuda_memory_left(const char *pci, size_t *available, size_t *total);
/* Allocate memory until the session ends. They return NULL with a record in diag (code cuda-memory
 * states the bytes asked for and free; other failures have their own). For 0 bytes they allocate
 * nothing, and the pointer must not be used. */
void *ts_cuda_allocate(struct cuda_session *session, size_t bytes);
void *ts_cuda_allocate_pinned(struct cuda_session *session, size_t bytes);
/* Pins memory of the caller, whose pages are in use already, until the session ends. This takes a
 * twelfth of the time of the function above, which must find and clear pages. It fails in the same
 * ways. */
enum ts_status ts_cuda_pin(struct cuda_session *session, void *at, size_t bytes);
/* Gives memory of the caller that the session has pinned to the memory that outlives the session,
 * where another session finds it pinned. */
void ts_cuda_return_pinned(struct cuda_session *session);

/* Enqueue copies. To overlap, host memory must be pinned. It must stay until the queue has done the
 * copy. */
enum ts_status ts_cuda_copy(struct cuda_session *session, enum cuda_queue queue,
                            enum cuda_direction direction, void *to, const void *from,
                            size_t bytes);
enum ts_status ts_cuda_fill(struct cuda_session *session, enum cuda_queue queue, void *at, int byte,
                            size_t bytes);
/* Makes the queue wait for what is enqueued on a stream of the caller's so far (NULL: the default
 * stream). */
enum ts_status ts_cuda_queue_follows(struct cuda_session *session, enum cuda_queue queue,
                                     struct CUstream_st *stream);
/* Makes the host wait until the queue is empty; errors of kernels show here. */
enum ts_status ts_cuda_wait(struct cuda_session *session, enum cuda_queue queue);

/* Returns true if work that is enqueued on a stream of the caller's becomes part of a graph. */
bool ts_cuda_captures(struct CUstream_st *stream);
/* Surround work of this thread on other streams meanwhile, such as allocating. */
int ts_cuda_capture_begin(void);
void ts_cuda_capture_end(int before);

/* Creates an event, a point in a queue that other queues or the host wait for. Returns NULL with a
 * record in diag if it fails. */
struct cuda_event *ts_cuda_event_create(struct cuda_session *session);
/* Marks the point behind all that was enqueued so far; an event may be recorded again. */
enum ts_status ts_cuda_event_record(struct cuda_session *session, struct cuda_event *event,
                                    enum cuda_queue queue);
/* Makes the queue wait for the event. An event that was never recorded counts as passed. */
enum ts_status ts_cuda_queue_waits(struct cuda_session *session, enum cuda_queue queue,
                                   struct cuda_event *event);
/* Returns true if the host would not have to wait. */
bool ts_cuda_event_passed(const struct cuda_event *event);
/* Makes the host wait for the event; errors of kernels before it show here. */
enum ts_status ts_cuda_host_waits(struct cuda_session *session, struct cuda_event *event);
/* Returns the time between two events that the host has waited for. */
enum ts_status ts_cuda_elapsed_ms(struct cuda_session *session, struct cuda_event *from,
                                  struct cuda_event *to, float *ms);

/* Counts a launch for the two functions below; ts_cuda_launched() calls it. `kernel` must stay
 * valid. */
void ts_cuda_count_launch(const char *kernel);
/* Returns how often ts_cuda_launched() was called in this process. Tests prove with it that kernels
 * ran. */
uint64_t ts_cuda_launch_count(void);
/* Returns the name that the last call of ts_cuda_launched() passed, or NULL if there was none.
 * Tests use it to tell methods with equal results apart. */
const char *ts_cuda_last_launched(void);
/* Returns the most bytes of device memory that this process held at once since the last call of
 * this function. Tests compare plans with it. */
size_t ts_cuda_most_held(void);

#endif
