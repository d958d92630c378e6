/* SPDX-License-Identifier: Apache-2.0
 *
 * One case of a stage and the same work by its peers, on the same buffers of a device, in turns.
 */
#ifndef LAB_PEERS_COMPARISON_H
#define LAB_PEERS_COMPARISON_H

#include "cuda/device/driver.h"
#include "lab/bench/bench.h"
#include "lab/cuda/ceilings.h"
#include "lab/peers/peers.h"

enum { CONTENDERS = 3, COMPARISON_BLOCK = 8 };

struct comparison {
    struct bench_case which;
    struct bench_stage ready;
    struct peer_work work;
    const struct peer *peers[CONTENDERS - 1]; /* NULL: none */
    struct ts_image block;                    /* the first slices; the volume repeats them */
    struct stage_driver *driver;
    struct cuda_timer timer;
    struct cuda_event *start, *end;
    unsigned char *inputs, *outputs[CONTENDERS];
    size_t input_bytes, output_bytes;
    int n_sets, next_set;
    double seconds[CONTENDERS], differences[CONTENDERS];
    const char *verdicts[CONTENDERS]; /* "exact", "WRONG", or NULL where differences says it */
};

struct peers_bench {
    struct cuda_session *session;
    struct ts_diag *diag;
    struct cuda_ceilings ceilings;
    bool json, npp;
    int bins; /* of the histograms that are wanted; 0: all */
    int n_rows;
};

/* Fills in seconds, differences and verdicts. In a session of its own, which frees all that it
 * takes. */
enum ts_status ts_comparison_run(struct peers_bench *bench, const struct device_numbers *device,
                                 struct comparison *it);
/* comparison_check.c: differences and verdicts, from what lies on the device and the tables. */
enum ts_status ts_comparison_check(struct peers_bench *bench, struct comparison *it);

#endif
