/* SPDX-License-Identifier: Apache-2.0
 *
 * The ranks of MPI. MPI is a state of the whole process, and so is what this file remembers of it.
 * Libraries of MPI wait in a loop that takes a whole core. Here a rank sleeps between two looks,
 * because the threads that compress need the core. An error of MPI ends all ranks, as MPI does
 * unless it is told otherwise.
 */
#include <mpi.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/available.h"
#include "pipeline/fleet/ranks/ranks.h"

/* A message has at most PIECE_BYTES, since MPI counts in int. */
enum {
    PIECE_BYTES = 1 << 30,
    SHORTEST_SLEEP_NS = 2000,
    LONGEST_SLEEP_NS = 200000,
    STATUS_BITS = 8,
    PAUSE_BIT = 48
};
enum { TAG_READY, TAG_DATA };

static struct ranks ranks = {.count = 1, .on_host = 1};
static MPI_Comm host;   /* the ranks of this machine */
static int failed = -1; /* the rank whose failure ended the run */

static bool is_launched(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                            "PMI_FD"};
    bool found = false;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        found |= getenv(variables[i]) != NULL;
    return found;
}

/* Counts the ranks of this machine and the processors that any of them may use. A CPU quota is
   taken as that of all of them. */
static void look_at_host(void)
{
    _Alignas(cpu_set_t) unsigned char allowed[AVAILABLE_SET_BYTES];
    ts_processors_set(allowed);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &ranks.on_host);
    MPI_Comm_rank(host, &ranks.local);
    MPI_Allreduce(MPI_IN_PLACE, allowed, sizeof allowed, MPI_BYTE, MPI_BOR, host);
    const int share = ts_processors_of_set(allowed) / ranks.on_host;
    if (ranks.count > 1)
        ranks.processors = share > 1 ? share : 1;
}

enum ts_status ts_ranks_begin(struct ts_diag *diag)
{
    int provided;
    if (!is_launched())
        return TS_OK;
    /* The sandbox lets no process read this one's memory, so Open MPI must not let ranks copy from
       each other's. */
    setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
    setenv("OMPI_MCA_smsc", "^cma,xpmem,knem", 0);
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
        provided < MPI_THREAD_FUNNELED)
        return ts_diag_error(diag, TS_RUN_FAILED, &(struct diag_site){.code = "ranks-start"},
                             "MPI cannot be started beside threads");
    ranks.begun = true;
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.number);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
    look_at_host();
    return TS_OK;
}

struct ranks ts_ranks(void)
{
    return ranks;
}

int ts_ranks_speaker(void)
{
    return failed >= 0 ? failed : 0;
}

static void sleep_longer(struct timespec *sleep)
{
    nanosleep(sleep, NULL);
    if (sleep->tv_nsec < LONGEST_SLEEP_NS)
        sleep->tv_nsec *= 2;
}

static void wait_for(MPI_Request *request)
{
    struct timespec sleep = {.tv_nsec = SHORTEST_SLEEP_NS};
    int done = 0;
    while (MPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
        sleep_longer(&sleep);
}

int ts_ranks_end(int code)
{
    MPI_Request request;
    if (!ranks.begun)
        return code;
    MPI_Ibcast(&code, 1, MPI_INT, ts_ranks_speaker(), MPI_COMM_WORLD, &request);
    wait_for(&request);
    /* A launcher may end the other ranks when one ends with an error. So no rank ends before all
       know this exit code, and from here on a signal of the launcher does not change it. */
    signal(SIGTERM, SIG_IGN);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    wait_for(&request);
    MPI_Comm_free(&host);
    MPI_Finalize();
    ranks.begun = false;
    return code;
}

enum ts_status ts_ranks_least(enum ts_status status, int64_t numbers[2])
{
    /* The first rank that failed has the least number. A rank that only pauses has a greater one,
       since an error must be shown. */
    const int64_t pause = status == TS_PAUSED ? INT64_C(1) << PAUSE_BIT : 0;
    const int64_t verdict =
        status == TS_OK ? INT64_MAX : pause | (int64_t)ranks.number << STATUS_BITS | status;
    int64_t mine[] = {verdict, numbers[0], numbers[1], status != TS_OK}, least[4];
    MPI_Request request;
    if (ranks.count == 1 || failed >= 0)
        return status;
    MPI_Iallreduce(mine, least, 4, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD, &request);
    wait_for(&request);
    numbers[0] = least[1];
    numbers[1] = least[2];
    if (least[0] == INT64_MAX)
        return TS_OK;
    ranks.some_failed = !least[3];
    failed = (int)((least[0] & ((INT64_C(1) << PAUSE_BIT) - 1)) >> STATUS_BITS);
    return (enum ts_status)(least[0] & ((1 << STATUS_BITS) - 1));
}

enum ts_status ts_ranks_agree(enum ts_status status)
{
    return ts_ranks_least(status, (int64_t[2]){0});
}

/* Sleeps until a message from this rank has come. */
static void wait_for_message(int from, int tag)
{
    struct timespec sleep = {.tv_nsec = SHORTEST_SLEEP_NS};
    int there = 0;
    while (MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           !there)
        sleep_longer(&sleep);
}

static int piece_of(size_t bytes, size_t at)
{
    return bytes - at < PIECE_BYTES ? (int)(bytes - at) : PIECE_BYTES;
}

/* The bytes are sent after the receiver has said that it is ready, so that both processes are awake
   during the transfer. */
void ts_ranks_send(int to, const void *data, size_t bytes)
{
    wait_for_message(to, TAG_READY);
    MPI_Recv(NULL, 0, MPI_BYTE, to, TAG_READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t at = 0; at < bytes; at += PIECE_BYTES)
        MPI_Send((const char *)data + at, piece_of(bytes, at), MPI_BYTE, to, TAG_DATA,
                 MPI_COMM_WORLD);
}

void ts_ranks_receive(int from, void *data, size_t bytes)
{
    MPI_Send(NULL, 0, MPI_BYTE, from, TAG_READY, MPI_COMM_WORLD);
    wait_for_message(from, TAG_DATA);
    for (size_t at = 0; at < bytes; at += PIECE_BYTES)
        MPI_Recv((char *)data + at, piece_of(bytes, at), MPI_BYTE, from, TAG_DATA, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

int ts_ranks_alike(const char *text)
{
    char mine[RANKS_TEXT + 1] = "";
    int n = 0;
    if (ranks.on_host == 1)
        return 1;
    snprintf(mine, sizeof mine, "%s", text);
    char *all = malloc((size_t)ranks.on_host * sizeof mine);
    if (!all)
        MPI_Abort(MPI_COMM_WORLD, TS_RUN_FAILED);
    MPI_Allgather(mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, host);
    for (int i = 0; i < ranks.on_host; i++)
        n += memcmp(all + (size_t)i * sizeof mine, mine, sizeof mine) == 0;
    free(all);
    return n;
}

void ts_ranks_share(void *data, size_t bytes)
{
    for (size_t at = 0; ranks.count > 1 && at < bytes; at += PIECE_BYTES)
        MPI_Bcast((char *)data + at, piece_of(bytes, at), MPI_BYTE, 0, MPI_COMM_WORLD);
}

void ts_ranks_unite(void *data, size_t bytes)
{
    for (size_t at = 0; ranks.count > 1 && at < bytes; at += PIECE_BYTES)
        MPI_Allreduce(MPI_IN_PLACE, (char *)data + at, piece_of(bytes, at), MPI_BYTE, MPI_BOR,
                      MPI_COMM_WORLD);
}
