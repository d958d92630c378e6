/* SPDX-License-Identifier: Apache-2.0
 *
 * This stands for the ranks in a build without MPI: there is one.
 */
#include "pipeline/fleet/ranks/ranks.h"

enum ts_status ts_ranks_begin(struct ts_diag *diag)
{
    (void)diag;
    return TS_OK;
}

struct ranks ts_ranks(void)
{
    return (struct ranks){.count = 1, .on_host = 1};
}

int ts_ranks_end(int code)
{
    return code;
}

int ts_ranks_speaker(void)
{
    return 0;
}

enum ts_status ts_ranks_agree(enum ts_status status)
{
    return status;
}

enum ts_status ts_ranks_least(enum ts_status status, int64_t numbers[2])
{
    (void)numbers;
    return status;
}

int ts_ranks_alike(const char *text)
{
    (void)text;
    return 1;
}

void ts_ranks_send(int to, const void *data, size_t bytes)
{
    (void)to;
    (void)data;
    (void)bytes;
}

void ts_ranks_receive(int from, void *data, size_t bytes)
{
    (void)from;
    (void)data;
    (void)bytes;
}

void ts_ranks_share(void *data, size_t bytes)
{
    (void)data;
    (void)bytes;
}

void ts_ranks_unite(void *data, size_t bytes)
{
    (void)data;
    (void)bytes;
}
