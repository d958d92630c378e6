/* SPDX-License-Identifier: Apache-2.0
 *
 * Sends outputs from a CUDA device to the writer, as encoded chunks or as values, through pinned
 * pieces that are used in turn. A slab's downloads begin when it is computed, since only then the
 * lengths of its encoded chunks are known. Built only with CUDA.
 */
#include <stdlib.h>
#include <string.h>

#include "pipeline/run/run_cuda.h"

/* Hands slices to the caller on the device, or copies them to the caller's array there, unless they
   were written there. */
static enum ts_status write_there(struct run *run, int32_t node, const struct run_taker *taker,
                                  const struct ts_image *slices)
{
    const struct device *device = run->back;
    if (taker->take_device)
        return ts_run_taken(
            run, node, slices,
            taker->take_device(taker->user, slices, ts_cuda_stream(device->session, CUDA_COMPUTE)));
    unsigned char *to =
        (unsigned char *)taker->array.data + (size_t)slices->z_first * ts_slice_bytes(slices);
    return to == slices->data ? TS_OK
                              : ts_cuda_copy(device->session, CUDA_COMPUTE, CUDA_ON_DEVICE, to,
                                             slices->data, ts_image_bytes(slices));
}

enum ts_status ts_run_cuda_write(struct run *run, int32_t i, const struct ts_image *slices)
{
    struct device *device = run->back;
    const struct run_taker *taker = ts_run_taker(run, i);
    if (ts_run_stays_there(taker)) {
        const enum ts_status there = write_there(run, i, taker, slices);
        if (there != TS_OK || !ts_run_leaves(run, i))
            return there;
    }
    struct download download = {.slab_number = run->slab_number,
                                .node = i,
                                .slices = *slices,
                                .encoder = device->encoders[i]};
    enum ts_status status = ts_run_cuda_begin_call(run, -1);
    if (status == TS_OK)
        status = download.encoder ? ts_run_cuda_encode(run, i, slices, &download.end)
                                  : ts_run_cuda_half(run, i, &download.slices);
    if (status == TS_OK)
        status = ts_run_cuda_end_call(run, NULL);
    if (download.encoder ? download.end > 0 : slices->axes[0].n > 0)
        device
            ->downloads[(device->first_download + device->n_downloads++) % device->most_downloads] =
            download;
    return status;
}

static const struct encoded_chunk *chunk_of(const struct run *run, const struct encoder *encoder,
                                            int64_t slab_number, int64_t i)
{
    return &encoder->chunks[ts_run_cuda_place(run, slab_number)][i];
}

/* Takes as many consecutive encoded chunks of the download as fit a piece. Returns their first byte
   on the device. */
static const void *take_chunks(const struct run *run, struct download *download,
                               struct arrival *arrival, size_t *bytes)
{
    const struct device *device = run->back;
    const struct encoder *encoder = download->encoder;
    const struct encoded_chunk *first =
        chunk_of(run, encoder, download->slab_number, download->first);
    arrival->first = download->first;
    *bytes = 0;
    while (download->first < download->end) {
        const struct encoded_chunk *next =
            chunk_of(run, encoder, download->slab_number, download->first);
        const size_t end =
            (size_t)(next->place->offset - first->place->offset + next->place->bytes);
        if (next->call != first->call || end > device->down_bytes)
            break;
        *bytes = end;
        download->first++;
    }
    arrival->end = download->first;
    return encoder->encoded[ts_run_cuda_place(run, download->slab_number)] + first->call +
           first->place->offset;
}

/* Takes as many slices of the download as fit a piece. */
static const void *take_slices(const struct run *run, struct download *download,
                               struct arrival *arrival, size_t *bytes)
{
    struct ts_image *left = &download->slices;
    const int64_t most = ts_plan_piece_slices(run->plan, left),
                  n = left->axes[0].n < most ? left->axes[0].n : most;
    const void *from = left->data;
    arrival->slices = ts_image_slices(left, 0, n);
    *bytes = ts_image_bytes(&arrival->slices);
    *left = ts_image_slices(left, n, left->axes[0].n - n);
    return from;
}

/* Starts to copy the next part of the oldest download to the next piece. */
static enum ts_status start_piece(struct run *run)
{
    struct device *device = run->back;
    struct download *download = &device->downloads[device->first_download];
    struct staging *down = &device->down;
    const int place = (int)(down->n_used++ % PLAN_PIECES);
    struct arrival *arrival = &device->arrivals[place];
    *arrival = (struct arrival){
        .slab_number = download->slab_number, .node = download->node, .encoder = download->encoder};
    const void *from = download->encoder ? take_chunks(run, download, arrival, &down->bytes[place])
                                         : take_slices(run, download, arrival, &down->bytes[place]);
    arrival->slices.data = down->pieces[place];
    arrival->last =
        download->encoder ? download->first == download->end : download->slices.axes[0].n == 0;
    if (arrival->last) {
        device->first_download = (device->first_download + 1) % device->most_downloads;
        device->n_downloads--;
    }
    enum ts_status status =
        ts_cuda_queue_waits(device->session, CUDA_DOWNLOAD,
                            device->computed[ts_run_cuda_place(run, arrival->slab_number)]);
    if (status == TS_OK)
        status = ts_cuda_event_record(device->session, down->started[place], CUDA_DOWNLOAD);
    if (status == TS_OK)
        status = ts_cuda_copy(device->session, CUDA_DOWNLOAD, CUDA_TO_HOST, down->pieces[place],
                              from, down->bytes[place]);
    if (status == TS_OK)
        status = ts_cuda_event_record(device->session, down->copied[place], CUDA_DOWNLOAD);
    return status;
}

/* Returns true if the oldest download can begin; waits for slabs up to this one. */
static bool can_start(struct run *run, int64_t slab_number, enum ts_status *status)
{
    const struct device *device = run->back;
    const struct download *download = &device->downloads[device->first_download];
    if (device->n_downloads == 0 || device->down.n_used - device->n_arrived == PLAN_PIECES ||
        download->slab_number >= device->slabs_ended)
        return false;
    struct cuda_event *computed = device->computed[ts_run_cuda_place(run, download->slab_number)];
    if (!download->encoder || ts_cuda_event_passed(computed))
        return true;
    if (download->slab_number <= slab_number)
        *status = ts_cuda_host_waits(device->session, computed);
    return *status == TS_OK && download->slab_number <= slab_number;
}

/* Hands the encoded chunks of a piece over. */
static enum ts_status hand_chunks(struct run *run, const struct arrival *arrival)
{
    const uint64_t start =
        chunk_of(run, arrival->encoder, arrival->slab_number, arrival->first)->place->offset;
    const unsigned char *piece = arrival->slices.data;
    struct run_chunk chunks[RUN_CHUNKS];
    enum ts_status status = TS_OK;
    for (int64_t i = arrival->first, n; status == TS_OK && i < arrival->end; i += n) {
        const uint64_t from =
            chunk_of(run, arrival->encoder, arrival->slab_number, i)->place->offset;
        for (n = 0; n < RUN_CHUNKS && i + n < arrival->end; n++) {
            const struct cuda_deflate_place *place =
                chunk_of(run, arrival->encoder, arrival->slab_number, i + n)->place;
            chunks[n] = (struct run_chunk){place->offset - from, place->bytes};
        }
        status =
            run->fleet
                ? run->fleet->hand_chunks(run, arrival->node, chunks, n, piece + (from - start),
                                          arrival->last && i + n == arrival->end)
                : ts_run_put_chunks(run, arrival->node, chunks, n, piece + (from - start));
    }
    return status;
}

/* Starts what can be downloaded from each device. Returns the device that has the oldest piece or
 * download, which is next; -1: none has any. */
static int start_downloads(struct run *run, int64_t slab_number, enum ts_status *status)
{
    int64_t oldest = 0;
    int next = -1;
    for (int i = 0; *status == TS_OK && i < run->plan->n_devices; i++) {
        const struct device *device = run->devices[i].back;
        if (device->n_downloads > 0)
            *status = ts_run_use(run, i);
        while (*status == TS_OK && can_start(run, slab_number, status))
            *status = start_piece(run);
        const bool arrives = device->n_arrived < device->down.n_used;
        if (!arrives && device->n_downloads == 0)
            continue;
        const int64_t number = arrives
                                   ? device->arrivals[device->n_arrived % PLAN_PIECES].slab_number
                                   : device->downloads[device->first_download].slab_number;
        if (next < 0 || number < oldest) {
            next = i;
            oldest = number;
        }
    }
    return next;
}

/* Hands the oldest piece of a device to the writer. Returns false if it has not arrived and need
   not be waited for. */
static bool hand_over(struct run *run, int64_t slab_number, enum ts_status *status)
{
    struct device *device = run->back;
    const int place = (int)(device->n_arrived % PLAN_PIECES);
    const struct arrival *arrival = &device->arrivals[place];
    struct cuda_event *copied = device->down.copied[place];
    if (device->n_arrived == device->down.n_used)
        return false;
    if (arrival->slab_number > slab_number &&
        (run->plan->n_ranks > 1 || !ts_cuda_event_passed(copied) ||
         (run->writer && ts_hdf5_is_full(run->writer))))
        return false;
    *status = ts_cuda_host_waits(device->session, copied);
    if (*status == TS_OK)
        *status = ts_run_cuda_trace_piece(run, TRACE_DOWNLOAD, &device->down, place);
    if (*status == TS_OK && arrival->encoder)
        *status = hand_chunks(run, arrival);
    else if (*status == TS_OK && run->fleet)
        *status = run->fleet->hand_slices(run, arrival->node, &arrival->slices, arrival->last);
    else if (*status == TS_OK)
        *status = ts_run_put(run, arrival->node, &arrival->slices);
    device->n_arrived++;
    return true;
}

enum ts_status ts_run_cuda_move(struct run *run, int64_t slab_number)
{
    const int at_hand = run->device;
    enum ts_status status = TS_OK;
    bool moves = true;
    while (status == TS_OK && moves) {
        const int next = start_downloads(run, slab_number, &status);
        if (status == TS_OK && next >= 0)
            status = ts_run_use(run, next);
        moves = status == TS_OK && next >= 0 && hand_over(run, slab_number, &status);
    }
    const enum ts_status back = ts_run_use(run, at_hand);
    return status == TS_OK ? back : status;
}
