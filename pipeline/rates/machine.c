/* SPDX-License-Identifier: Apache-2.0
 *
 * The file of a machine is a map of parameters, with a table as every stage has one. The reader of
 * chains reads it, so that unknown keys, ranges and units are refused as they are there.
 */
#include "pipeline/rates/machine.h"

#include <errno.h>
#include <string.h>

#include "pipeline/chain/load.h"
#include "pipeline/chain/yaml.h"

static const struct param params[] = {
    PARAM(struct machine, nodes, .unit = "", .min = 1, .max = 1e6, .required = true,
          .doc = "nodes"),
    PARAM(struct machine, cores, .unit = "", .min = 1, .max = 1024, .required = true,
          .doc = "processors of a node"),
    PARAM(struct machine, memory, .unit = "GiB", .min = 1e-3, .max = 1e6, .required = true,
          .doc = "memory of a node"),
    PARAM(struct machine, ranks, .unit = "", .min = 1, .max = 1024, .init.i = 1,
          .doc = "most ranks of a node that computes on its processors"),
    PARAM(struct machine, gpus, .unit = "", .min = 0, .max = 64, .init.i = 0,
          .doc = "GPUs of a node; 0: chains run on its processors"),
    PARAM(struct machine, gpu_memory, .unit = "GiB", .min = 1e-3, .max = 1e6,
          .derived = "none without GPUs",
          .doc = "memory of a GPU, which a machine with GPUs must state"),
    PARAM(struct machine, pcie, .unit = "GB/s", .min = 1e-6, .max = 1e6,
          .derived = "as the rates say", .doc = "copies of a GPU in each direction"),
    PARAM(struct machine, pcie_node, .unit = "GB/s", .min = 1e-6, .max = 1e6,
          .derived = "those of each GPU, added up",
          .doc = "copies of all GPUs of a node at once in each direction"),
    PARAM(struct machine, disk_read, .unit = "GB/s", .min = 1e-6, .max = INFINITY,
          .init.r = INFINITY,
          .doc = "what the file system gives to all nodes together; .inf: the input lies in their "
                 "page caches"),
    PARAM(struct machine, disk_write, .unit = "GB/s", .min = 1e-6, .max = 1e6,
          .derived = "as the rates say", .doc = "what the file system takes, fsync included"),
    PARAM(struct machine, network, .unit = "GB/s", .min = 1e-6, .max = 1e6,
          .derived = "none for one node",
          .doc = "what a node receives from others, which a machine of several nodes must state"),
    PARAM(struct machine, exchange, .unit = "GB/s", .min = 1e-6, .max = 1e6,
          .derived = "as the rates say of a thread that writes to the page cache and reads back",
          .doc = "what a rank receives from others of its node"),
    PARAM(struct machine, launch, .unit = "s", .min = 0, .max = 1e4, .init.r = 0.7,
          .doc = "time in which mpirun and MPI start several ranks"),
    PARAM(struct machine, rates_file, .unit = "", .optional = true,
          .doc = "rates that `tomostage bench rates --save` measured on such a node; without it, "
                 "those kept of this machine"),
};
static const size_t n_params = sizeof params / sizeof *params;

/* Reports a parameter that this machine needs. */
static void need(const struct param_set *set, const char *name, const char *why,
                 struct ts_diag *diag)
{
    if (!ts_param_given(set, name))
        ts_param_error(set, name, "machine-incomplete", diag, "required for %s, but not given",
                       why);
}

static void machine_fill(const struct param_set *set, const struct rates *rates,
                         struct machine *machine)
{
    enum { GIGA = 1000000000 };
    const double slower = fmin(rates->values[RATE_UPLOAD], rates->values[RATE_DOWNLOAD]);
    if (!ts_param_given(set, "pcie"))
        machine->pcie = slower / GIGA;
    if (!ts_param_given(set, "pcie_node"))
        machine->pcie_node = machine->pcie * (double)machine->gpus;
    if (!ts_param_given(set, "disk_write"))
        machine->disk_write = rates->values[RATE_WRITE] / GIGA;
    if (!ts_param_given(set, "network"))
        machine->network = INFINITY;
    if (!ts_param_given(set, "exchange"))
        machine->exchange = rates->values[RATE_STORE] / GIGA;
}

static enum ts_status load_rates(const struct machine *machine, const char *kept,
                                 struct rates *rates, struct ts_diag *diag)
{
    const struct diag_site site = {.code = "machine-rates"};
    if (!machine->rates_file && !kept) {
        ts_diag_error(diag, TS_BAD_CHAIN, &site,
                      "the machine names no rates, and none are kept of this one");
        return ts_diag_hint(diag, "`tomostage bench rates` measures them in less than a minute");
    }
    const enum ts_status status = machine->rates_file
                                      ? ts_rates_read(machine->rates_file, rates, diag)
                                      : ts_rates_load(kept, rates, diag);
    if (status == TS_OK && machine->gpus > 0 && !*rates->device)
        return ts_diag_error(diag, TS_BAD_CHAIN, &site,
                             "the machine has GPUs, and its rates are of no device");
    return status;
}

static void load_tree(struct tree *tree, const char *path, struct param_set *set,
                      struct ts_diag *diag)
{
    char *slash = strrchr(path, '/');
    const char *folder = slash ? ts_arena_text(tree->arena, path, (size_t)(slash - path) + 1) : "";
    const struct load load = {
        .arena = tree->arena, .diag = diag, .folder = folder, .path = "rates_file"};
    if (!ts_load_begin(&load, params, n_params, sizeof(struct machine), "machine",
                       (struct ts_span){.line = 1, .column = 1}, set))
        return;
    if (tree->root->kind != NODE_MAP) {
        ts_load_expected(diag, tree->root, "machine", "a map of parameters");
        return;
    }
    ts_load_params(&load, tree->root, set);
    const struct machine *machine = set->values;
    if (machine->gpus > 0)
        need(set, "gpu_memory", "GPUs", diag);
    if (machine->nodes > 1)
        need(set, "network", "several nodes", diag);
}

enum ts_status ts_machine_load(const char *path, const char *kept_rates, struct machine *machine,
                               struct rates *rates, struct ts_diag *diag)
{
    const size_t count = ts_diag_count(diag), errors = ts_diag_error_count(diag);
    struct param_set set = {.n_params = 0};
    struct tree tree = {.arena = ts_arena_create(), .diag = diag, .what = "the machine's file"};
    char *text = tree.arena ? ts_arena_alloc(tree.arena, TREE_MAX_BYTES + 1) : NULL;
    if (!text) {
        ts_arena_destroy(tree.arena);
        return ts_diag_no_memory(diag, TREE_MAX_BYTES + 1);
    }
    const ssize_t length = ts_tree_read_file(path, text);
    if (length < 0)
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "machine-unreadable"},
                      "cannot read the machine %s: %s", path, strerror(errno));
    tree.text = text;
    tree.length = length > 0 ? (size_t)length : 0;
    ts_diag_set_source(diag, path, text, tree.length > TREE_MAX_BYTES ? 0 : tree.length);
    if (length >= 0 && ts_yaml_read(&tree))
        load_tree(&tree, path, &set, diag);
    if (set.values)
        *machine = *(const struct machine *)set.values;
    enum ts_status status = ts_diag_status_since(diag, count, errors);
    const enum ts_status rated = set.values ? load_rates(machine, kept_rates, rates, diag) : TS_OK;
    status = status == TS_OK ? rated : status;
    if (status == TS_OK)
        machine_fill(&set, rates, machine);
    machine->rates_file = NULL; /* the arena of the chain's tree frees this text */
    ts_arena_destroy(tree.arena);
    return status;
}
