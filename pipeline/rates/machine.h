/* SPDX-License-Identifier: Apache-2.0
 *
 * A machine that need not be this one: its nodes, what each node has, what connects them, and the
 * rates at which a node works. A small YAML file says so, and `tomostage check --machine FILE`
 * predicts from it how long a chain would run there. Sizes are in GiB and speeds in GB/s, as those
 * who sell machines state them.
 */
#ifndef PIPELINE_RATES_MACHINE_H
#define PIPELINE_RATES_MACHINE_H

#include "core/params.h"
#include "pipeline/rates/rates.h"

struct machine {
    int64_t nodes;
    int64_t cores, ranks, gpus; /* of a node; ranks: the most, if they compute on its processors */
    double memory, gpu_memory;  /* GiB, of a node and of a GPU */
    /* GB/s in each direction: of a GPU, and of all GPUs of a node together */
    double pcie, pcie_node;
    double disk_read, disk_write, network, exchange; /* GB/s */
    double launch;                                   /* seconds */
    const char *rates_file;
};

/* Reads the file and the rates that it names; if it names none, those at kept_rates (NULL: there
   are none). What the file leaves out is taken from the rates; speeds that play no part are
   INFINITY. Reports all errors at once: TS_BAD_CHAIN with machine-unreadable, machine-incomplete,
   machine-rates or the codes of parameters; TS_RUN_FAILED with those of ts_rates_read. */
enum ts_status ts_machine_load(const char *path, const char *kept_rates, struct machine *machine,
                               struct rates *rates, struct ts_diag *diag);

#endif
