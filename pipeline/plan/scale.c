/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan of another machine, and the table of its predictions.
 */
#include "pipeline/plan/scale.h"

#include <inttypes.h>
#include <string.h>

#include "core/json.h"

enum { GIGA = 1000000000, BUDGET_PERCENT = 60, GPU_BUDGET_PERCENT = 80 };

/* Stages choose their methods by the numbers of the device. The code has run on this one alone, so
 * that a device that is not here is planned as one. */
static const struct device_numbers h200 = {.major = 9,
                                           .minor = 0,
                                           .code = 90,
                                           .multiprocessors = 132,
                                           .threads = 2048,
                                           .shared_bytes = 228 << 10,
                                           .block_shared_bytes = 227 << 10,
                                           .l2_bytes = 60 << 20,
                                           .double_ratio = 2};

int64_t ts_scale_most(const struct machine *machine)
{
    return machine->nodes * (machine->gpus > 0 ? machine->gpus : machine->ranks);
}

static int64_t at_least_one(int64_t n)
{
    return n > 1 ? n : 1;
}

/* Gives the plan the processors, the memory and the device of one rank. */
static void move_plan(struct ts_plan *plan, const struct machine *machine,
                      const struct rates *rates, const struct scale_row *row)
{
    const double gib = 1 << 30;
    plan->n_ranks = (int)row->ranks;
    plan->as_devices = machine->gpus > 0 && row->nodes == 1;
    plan->n_devices = 1;
    plan->rank = 0;
    plan->writer_threads = (int)machine->cores;
    plan->threads = (int)at_least_one(machine->cores / row->on_node);
    plan->budget_bytes =
        (int64_t)(machine->memory * gib / 100 * BUDGET_PERCENT / (double)row->on_node);
    plan->cuda = NULL;
    plan->cuda_driver = 0;
    plan->device = "cpu";
    plan->gpu_budget_bytes = 0;
    if (machine->gpus == 0)
        return;
    if (strcmp(plan->cuda_devices[0].name, rates->device) != 0)
        plan->cuda_devices[0] = h200;
    memcpy(plan->cuda_devices[0].name, rates->device, sizeof rates->device);
    plan->cuda_devices[0].memory_bytes = (size_t)(machine->gpu_memory * gib);
    plan->cuda = plan->cuda_devices;
    plan->device = "cuda:0";
    plan->gpu_budget_bytes = (int64_t)plan->cuda_devices[0].memory_bytes / 100 * GPU_BUDGET_PERCENT;
}

/* Returns the rates of one rank, of which the devices of a node share the bus. */
static struct rates rates_of(const struct machine *machine, const struct rates *rates,
                             const struct scale_row *row)
{
    struct rates own = *rates;
    own.values[RATE_WRITE] = machine->disk_write * GIGA;
    if (machine->gpus > 0)
        own.values[RATE_UPLOAD] = own.values[RATE_DOWNLOAD] =
            GIGA * fmin(machine->pcie, machine->pcie_node / (double)row->on_node);
    return own;
}

enum ts_status ts_scale_predict(struct ts_plan *plan, const struct machine *machine,
                                const struct rates *rates, int64_t ranks, struct scale_row *row,
                                struct ts_diag *diag)
{
    const int64_t room = ts_scale_most(machine) / machine->nodes;
    *row = (struct scale_row){.ranks = ranks, .on_node = ranks < room ? ranks : room};
    row->nodes = (ranks + row->on_node - 1) / row->on_node;
    const double threads = (double)at_least_one(machine->cores / row->on_node);
    const struct predict_links links = {
        .on_node = (int)row->on_node,
        .crowd = fmax(1, (double)row->on_node * threads / (double)machine->cores),
        .launch_seconds = machine->gpus > 0 && row->nodes == 1 ? 0 : machine->launch,
        .read = machine->disk_read * GIGA,
        .exchange = machine->gpus > 0 ? INFINITY : machine->exchange * GIGA,
        .network = machine->network * GIGA};
    const struct rates own = rates_of(machine, rates, row);
    struct ts_diag *refusals = ts_diag_create();
    if (!refusals)
        return ts_diag_no_memory(diag, sizeof own);
    move_plan(plan, machine, rates, row);
    enum ts_status status = TS_OK;
    if (ts_plan_work_out(plan, refusals) != TS_OK) {
        const char *message = ts_diag_get(refusals, 0)->message;
        row->refusal = ts_arena_text(plan->arena, message, strlen(message));
        status = row->refusal ? TS_OK : ts_diag_no_memory(diag, strlen(message));
    } else {
        status = ts_predict(plan, &own, &links, &row->prediction, diag);
    }
    row->node_bytes = plan->memory_bytes * row->on_node;
    row->gpu_bytes = plan->gpu_bytes;
    if (status == TS_OK && !row->refusal)
        ts_predict_bound_text(plan, &row->prediction, row->bound, sizeof row->bound);
    ts_diag_destroy(refusals);
    return status;
}

static void print_head(const struct machine *machine, const struct rates *rates, FILE *stream)
{
    fprintf(stream, "on %" PRId64 " %s of %" PRId64 " processors and %g GiB", machine->nodes,
            machine->nodes == 1 ? "node" : "nodes", machine->cores, machine->memory);
    if (machine->gpus > 0)
        fprintf(stream, ", each with %" PRId64 " x %s", machine->gpus, rates->device);
    fprintf(stream, ":\n%7s %7s %12s %8s %14s%s  %s\n", machine->gpus > 0 ? "GPUs" : "ranks",
            "nodes", "predicted", "gain", "node's memory",
            machine->gpus > 0 ? "   GPU's memory" : "", "bound");
}

static void print_row(const struct scale_row *row, bool cuda, double one, FILE *stream)
{
    fprintf(stream, "%7" PRId64 " %7" PRId64, row->ranks, row->nodes);
    if (row->refusal) {
        fprintf(stream, " does not fit: %s\n", row->refusal);
        return;
    }
    fprintf(stream, " %10.2f s %8.2f %10.1f GiB", row->prediction.seconds,
            one / row->prediction.seconds, (double)row->node_bytes / (1 << 30));
    if (cuda && row->gpu_bytes > 0)
        fprintf(stream, " %10.1f GiB", (double)row->gpu_bytes / (1 << 30));
    else if (cuda)
        fprintf(stream, "%15s", "not counted");
    fprintf(stream, "  %s\n", row->bound);
}

static void print_row_json(const struct scale_row *row, struct json *json)
{
    ts_json_open(json, '{');
    ts_json_member_integer(json, "ranks", row->ranks);
    ts_json_member_integer(json, "nodes", row->nodes);
    if (row->refusal) {
        ts_json_member_text(json, "refusal", row->refusal);
    } else {
        ts_json_member_real(json, "seconds", row->prediction.seconds);
        ts_json_member_text(json, "bound", row->bound);
        ts_json_member_real(json, "bound_seconds", row->prediction.bound_seconds);
        ts_json_member_integer(json, "node_memory_bytes", row->node_bytes);
        if (row->gpu_bytes > 0)
            ts_json_member_integer(json, "gpu_memory_bytes", row->gpu_bytes);
        ts_json_open_member(json, "parts", '{');
        for (int i = 0; i < PREDICT_PARTS; i++)
            ts_json_member_real(json, ts_predict_part_name((enum predict_part)i),
                                row->prediction.parts[i].seconds);
        ts_json_close(json, '}');
    }
    ts_json_close(json, '}');
}

/* Says which stage has no rate, and what a prediction cannot know. */
static void print_foot(const struct ts_plan *plan, const struct scale_row *last, FILE *stream)
{
    if (last->prediction.ratio < 1 && !last->refusal)
        fprintf(stream, "assumes that compression leaves %.0f %%", 100 * last->prediction.ratio);
    if (last->prediction.no_rate_of)
        fprintf(stream, "%s%s",
                last->prediction.ratio < 1 ? "; the rate is assumed of " : "assumes the rate of ",
                last->prediction.no_rate_of);
    if (last->prediction.ratio < 1 || last->prediction.no_rate_of)
        fputc('\n', stream);
    if (plan->cuda && last->gpu_bytes == 0)
        fputs("the memory of GPUs is not counted, since this build has no CUDA code\n", stream);
}

enum ts_status ts_scale_print(struct ts_plan *plan, const struct machine *machine,
                              const struct rates *rates, FILE *stream, bool json,
                              struct ts_diag *diag)
{
    const int64_t most = ts_scale_most(machine);
    struct scale_row row;
    struct json object;
    double one = NAN; /* seconds of one rank */
    enum ts_status status = TS_OK;
    if (json) {
        ts_json_init(&object, stream, false);
        ts_json_open(&object, '{');
        ts_json_member_text(&object, "event", "scale");
        ts_json_member_text(&object, "device", machine->gpus > 0 ? rates->device : "cpu");
        ts_json_open_member(&object, "rows", '[');
    } else {
        print_head(machine, rates, stream);
    }
    for (int64_t ranks = 1; status == TS_OK;
         ranks = ranks < most && 2 * ranks > most ? most : 2 * ranks) {
        if (ranks > most)
            break;
        status = ts_scale_predict(plan, machine, rates, ranks, &row, diag);
        one = ranks == 1 && !row.refusal ? row.prediction.seconds : one;
        if (status == TS_OK && json)
            print_row_json(&row, &object);
        else if (status == TS_OK)
            print_row(&row, machine->gpus > 0, one, stream);
    }
    if (json) {
        ts_json_close(&object, ']');
        if (status == TS_OK && row.prediction.no_rate_of)
            ts_json_member_text(&object, "assumed_rate_of", row.prediction.no_rate_of);
        ts_json_close(&object, '}');
    } else if (status == TS_OK) {
        print_foot(plan, &row, stream);
    }
    return status;
}
