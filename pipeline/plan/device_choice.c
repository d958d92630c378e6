/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans and benchmarks choose a device by the same rules and refuse with the same messages: the
 * word is parsed first, then the driver is asked, then the device is checked against this build's
 * code.
 */
#include "pipeline/plan/device_choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/available.h"
#include "io/sandbox/sandbox.h"
#include "pipeline/fleet/ranks/ranks.h"
#include "pipeline/plan/plan.h"

/* Parses "0,2" or "all". */
static bool parse_numbers(const char *text, struct device_choice *choice)
{
    choice->n = 0;
    if (!strcmp(text, "all"))
        return true;
    while (choice->n < CUDA_MAX_DEVICES && *text >= '0' && *text <= '9') {
        char *end;
        const long index = strtol(text, &end, 10);
        if (index >= 1024 || (*end != ',' && *end != '\0'))
            return false;
        choice->indices[choice->n++] = (int)index;
        if (*end == '\0')
            return true;
        text = end + 1;
    }
    return false;
}

enum ts_status ts_device_choice_parse(const char *text, struct device_choice *choice,
                                      struct ts_diag *diag)
{
    *choice = (struct device_choice){.kind = DEVICE_AUTO, .n = 1, .indices = {-1}};
    if (!text || !strcmp(text, "auto"))
        return TS_OK;
    choice->kind = strcmp(text, "cpu") ? DEVICE_CUDA : DEVICE_CPU;
    if (choice->kind == DEVICE_CPU || !strcmp(text, "cuda"))
        return TS_OK;
    if (!strncmp(text, "cuda:", 5) && parse_numbers(text + 5, choice))
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "device"}, "unknown device '%s'",
                  text);
    return ts_diag_hint(diag, "auto, cpu, cuda, cuda:N, cuda:N,M or cuda:all");
}

/* Refuses to use CUDA in a build without CUDA code (code cuda-not-built). */
static enum ts_status device_choice_built(struct ts_diag *diag)
{
    if (ts_cuda_built())
        return TS_OK;
    ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "cuda-not-built"},
                  "this build has no CUDA code");
    return ts_diag_hint(diag, "build with -DTOMOSTAGE_CUDA=on, or use --device cpu");
}

/* Returns the first device that can be used, or -1 and reports why device 0 cannot. */
static int first_usable(const struct cuda_devices *found, struct ts_diag *diag)
{
    struct ts_diag *tries = ts_diag_create();
    int index = -1;
    if (!tries) {
        ts_diag_no_memory(diag, sizeof *found);
        return -1;
    }
    for (int i = 0; index < 0 && i < found->n; i++)
        if (ts_cuda_usable(&found->devices[i], tries) == TS_OK)
            index = i;
    ts_diag_destroy(tries);
    if (index < 0)
        (void)ts_cuda_usable(&found->devices[0], diag);
    return index;
}

enum ts_status ts_device_choice_find(int wanted, struct cuda_devices *found, int *index,
                                     struct ts_diag *diag)
{
    *found = (struct cuda_devices){0};
    *index = wanted;
    enum ts_status status = device_choice_built(diag);
    /* The driver is asked in a thread, because a caller's process must not be forked. */
    if (!ts_sandbox_began())
        ts_cuda_start();
    if (status == TS_OK)
        status = ts_cuda_query(found, diag);
    if (status != TS_OK)
        return status;
    if (wanted >= found->n) {
        ts_diag_error(diag, TS_BAD_CHAIN, &(struct diag_site){.code = "cuda-index"},
                      "there is no CUDA device %d: the driver shows %d", wanted, found->n);
        return ts_diag_hint(diag,
                            "cuda:0 is the first; see `tomostage doctor` and CUDA_VISIBLE_DEVICES");
    }
    if (wanted >= 0)
        return ts_cuda_usable(&found->devices[wanted], diag);
    *index = first_usable(found, diag);
    return *index < 0 ? TS_RUN_FAILED : TS_OK;
}

/* Writes the numbers of the devices on which this build's code runs. Returns how many they are. */
static int device_choice_usable(const struct cuda_devices *found, int indices[CUDA_MAX_DEVICES])
{
    struct ts_diag *tries = ts_diag_create();
    int n = 0;
    for (int i = 0; tries && i < found->n; i++)
        if (ts_cuda_usable(&found->devices[i], tries) == TS_OK)
            indices[n++] = i;
    ts_diag_destroy(tries);
    return n;
}

static bool are_alike(const struct device_numbers *a, const struct device_numbers *b)
{
    return !strcmp(a->name, b->name) && a->major == b->major && a->minor == b->minor &&
           a->multiprocessors == b->multiprocessors;
}

int ts_device_choice_find_all(const struct device_choice *choice, struct cuda_devices *found,
                              int indices[CUDA_MAX_DEVICES], struct ts_diag *diag)
{
    int n = choice->n;
    if (ts_device_choice_find(n > 0 ? choice->indices[0] : -1, found, &indices[0], diag) != TS_OK)
        return 0;
    for (int i = 1; i < n; i++)
        if (ts_device_choice_find(choice->indices[i], found, &indices[i], diag) != TS_OK)
            return 0;
    n = n > 0 ? n : device_choice_usable(found, indices);
    const struct device_numbers *devices = found->devices, *first = &devices[indices[0]];
    for (int i = 1; i < n; i++) {
        const struct device_numbers *other = &devices[indices[i]];
        if (are_alike(first, other))
            continue;
        ts_diag_error(
            diag, TS_BAD_CHAIN, &(struct diag_site){.code = "devices-differ"},
            "device %d (%s) and device %d (%s) are of different models, whose floats differ",
            first->index, first->name, other->index, other->name);
        ts_diag_hint(diag, "name devices of one model, such as --device cuda:%d", first->index);
        return 0;
    }
    return n;
}

/* ---- plan device ----------------------------------------------------------------------------- */

/* The device of a plan is chosen once: the one that the user named, or for `auto` the first CUDA
 * device that this build can use, if every stage of the chain can run there. cuda/device/query.c
 * says how the driver is asked. */

#ifdef TS_HAVE_CUDA
#include "cuda/device/session.h"
#endif

/* Returns a choice of the chain, such as a method, that only the CPU can run; NULL if there is
   none. */
static const char *cpu_choice(const struct param_set *set)
{
    for (size_t i = 0; i < set->n_params; i++) {
        const struct choice *choice = ts_param_choice(set, i);
        if (choice && choice->devices == ON_CPU)
            return choice->name;
    }
    return NULL;
}

/* Returns "has no CUDA code: WHY" for a stage that runs only on the CPU, and NULL for others.
   Stages that pass their input on and reduce nothing need no code for any device. */
static const char *lacks_cuda(const struct ts_plan *plan, const struct stage *stage)
{
    if ((!stage->map && !stage->reduction) || (stage->cuda && !stage->cpu_only))
        return NULL;
    if (!stage->cpu_only)
        return ts_cuda_built() ? "has no CUDA code" : NULL;
    return ts_arena_printf(plan->arena, "has no CUDA code: %s", stage->cpu_only);
}

bool ts_plan_may_use_cuda(const struct ts_chain *chain, const char *wanted)
{
    return ts_cuda_built() && !(wanted && !strcmp(wanted, "cpu")) &&
           ts_plan_computes_on_cuda(chain);
}

bool ts_plan_computes_on_cuda(const struct ts_chain *chain)
{
    bool computes = false;
    for (int32_t i = 0; i < chain->n_stages; i++) {
        const struct stage *stage = chain->stages[i].stage;
        if (cpu_choice(&chain->stages[i].set) || stage->cpu_only)
            return false;
        computes |= stage->map || stage->reduction;
    }
    return computes;
}

static void take_cpu(struct ts_plan *plan, const char *note)
{
    plan->device = "cpu";
    plan->device_note = note;
    plan->cuda = NULL;
    plan->n_devices = 1;
    plan->gpu_budget_bytes = 0;
}

void ts_plan_decline(struct ts_plan *plan, const char *reason, struct ts_diag *diag)
{
    take_cpu(plan, reason);
    if (diag && reason)
        ts_diag_note(diag, &(struct diag_site){.code = "device-auto"},
                     "the chain runs on the CPU: %s", reason);
}

_Static_assert((int)PLAN_DEVICES == (int)CUDA_MAX_DEVICES, "a plan takes all devices");

/* Returns how often the device with this number is named. */
static int count_of(const struct ts_plan *plan, int index)
{
    int n = 0;
    for (int i = 0; i < plan->n_devices; i++)
        n += plan->cuda_devices[i].index == index;
    return n;
}

/* Writes "cuda:0,2". */
static const char *name_devices(const struct ts_plan *plan)
{
    const char *name = ts_arena_printf(plan->arena, "cuda:%d", plan->cuda_devices[0].index);
    for (int i = 1; name && i < plan->n_devices; i++)
        name = ts_arena_printf(plan->arena, "%s,%d", name, plan->cuda_devices[i].index);
    return name;
}

static enum ts_status take_cuda(struct ts_plan *plan, const struct cuda_devices *found,
                                const int *indices, int n, int64_t budget, struct ts_diag *diag)
{
    enum { DEFAULT_PERCENT = 80 };
    plan->device_note = NULL;
    plan->cuda = plan->cuda_devices;
    plan->cuda_driver = found->driver;
    plan->n_devices = n;
    for (int i = 0; i < n; i++)
        plan->cuda_devices[i] = found->devices[indices[i]];
    plan->device = name_devices(plan);
    if (!plan->device)
        return ts_diag_no_memory(diag, sizeof "cuda:0");
    for (int i = 0; i < n; i++) {
        const struct device_numbers *device = &plan->cuda_devices[i];
        const int64_t memory = (int64_t)device->memory_bytes;
        const int64_t share =
            (budget > 0 ? budget : memory / 100 * DEFAULT_PERCENT) / count_of(plan, device->index);
        plan->gpu_budget_bytes =
            i == 0 || share < plan->gpu_budget_bytes ? share : plan->gpu_budget_bytes;
        if (budget <= memory)
            continue;
        ts_diag_error(
            diag, TS_BAD_CHAIN, &(struct diag_site){.code = "gpu-memory"},
            "a budget of %.1f MiB of GPU memory is more than the %.1f MiB of device %d (%s)",
            ts_mib((double)budget), ts_mib((double)memory), device->index, device->name);
        return ts_diag_hint(diag, "leave --gpu-memory out to take %d %% of it", DEFAULT_PERCENT);
    }
    return TS_OK;
}

/* ---- the devices of ranks -------------------------------------------------------------------- */

/* The rule is one rank for each device: rank number i of a machine takes its device i. A launcher
   such as Slurm may show each rank a device of its own, which is number 0 for all of them; so ranks
   tell devices apart by their addresses. */
#ifdef TS_HAVE_CUDA
#include "cuda/device/session.h"
#endif

/* Makes `cuda`, which names no device, mean all devices if there are several ranks. */
static void widen_to_ranks(const struct ts_plan *plan, struct device_choice *choice)
{
    if (plan->n_ranks > 1 && choice->n == 1 && choice->indices[0] < 0)
        choice->n = 0;
}

/* Leaves the devices of this rank in indices[0 .. n - 1], and returns how many they are. Each rank
   of a machine gets equally many, or one if `single` is set; if there are fewer devices than ranks,
   ranks share them. */
static int deal_to_ranks(const struct ts_plan *plan, int indices[CUDA_MAX_DEVICES], int n,
                         bool single)
{
    const struct ranks ranks = ts_ranks();
    int own[CUDA_MAX_DEVICES] = {0};
    if (plan->n_ranks == 1 || n == 0)
        return n;
    const int share = single || n < ranks.on_host ? 1 : n / ranks.on_host;
    for (int i = 0; i < share; i++)
        own[i] = indices[(ranks.local * share + i) % n];
    memcpy(indices, own, (size_t)share * sizeof *own);
    return share;
}

/* Returns how many ranks of this machine compute on this rank's first device. */
static int count_sharers(const struct ts_plan *plan)
{
    char address[RANKS_TEXT + 1] = "";
#ifdef TS_HAVE_CUDA
    if (plan->cuda && !ts_cuda_pci_address(plan->cuda, address, sizeof address))
        snprintf(address, sizeof address, "device %d", plan->cuda->index);
#endif
    return ts_ranks_alike(plan->cuda ? address : "");
}

/* Returns a number that is the same on all ranks whose devices are of one model; 0 for the CPU. */
static int64_t model_of(const struct ts_plan *plan)
{
    const struct device_numbers *device = plan->cuda;
    uint64_t hash = 0xCBF29CE484222325;
    if (!device)
        return 0;
    for (const char *at = device->name; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001B3; /* FNV-1a */
    const int numbers[] = {device->major, device->minor, device->multiprocessors, device->code,
                           plan->n_devices};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        hash = (hash ^ (uint64_t)numbers[i]) * 0x100000001B3;
    return (int64_t)(hash >> 1 | 1);
}

static enum ts_status device_choice_refuse(const struct ts_plan *plan, struct ts_diag *diag)
{
    ts_diag_error(
        diag, TS_RUN_FAILED, &(struct diag_site){.code = "ranks-devices"},
        "the %d ranks do not have the same number of devices of one model: this one has %d (%s)",
        plan->n_ranks, plan->n_devices, plan->cuda ? plan->cuda->name : "the CPU");
    return ts_diag_hint(diag,
                        "ask for GPUs of one model, as many for each rank, or take --device cpu");
}

/* Agrees on the devices of several ranks. All ranks call it with what they chose, and with the
   `status` of their own choice. Divides the memory of a device among the ranks that share it,
   unless the user has given a budget, and takes the least of all ranks. Refuses ranks whose devices
   are of different models (code ranks-devices); if `automatic`, they take the CPU instead, and also
   if there are too few devices. */
static enum ts_status agree_among_ranks(struct ts_plan *plan, bool automatic, bool budget_given,
                                        enum ts_status status, struct ts_diag *diag)
{
    int64_t model[] = {model_of(plan), -model_of(plan)};
    if (plan->n_ranks == 1)
        return status;
    status = ts_ranks_least(status, model);
    if (status != TS_OK)
        return status;
    const int sharers = count_sharers(plan);
    int64_t numbers[] = {plan->gpu_budget_bytes / (budget_given ? 1 : sharers), -sharers};
    status = ts_ranks_least(TS_OK, numbers);
    plan->gpu_budget_bytes = numbers[0];
    if (status != TS_OK)
        return status;
    const bool differ = model[0] != -model[1];
    if (differ && !automatic)
        return device_choice_refuse(plan, diag);
    if (plan->cuda && differ)
        ts_plan_decline(plan, "not every rank has a CUDA device of one model", diag);
    else if (plan->cuda && automatic && numbers[1] < -1)
        ts_plan_decline(plan, "there are more ranks than CUDA devices", diag);
    return TS_OK;
}

/* ---- the choice ------------------------------------------------------------------------------ */

static enum ts_status choose_cuda(struct ts_plan *plan, struct device_choice *choice,
                                  int64_t budget, struct ts_diag *diag)
{
    const bool single = choice->n == 1;
    struct cuda_devices found;
    enum ts_status status = device_choice_built(diag);
    int indices[CUDA_MAX_DEVICES];
    for (int32_t i = 0; i < plan->chain->n_stages; i++) {
        const struct chain_stage *stage = &plan->chain->stages[i];
        const char *lacks = lacks_cuda(plan, stage->stage);
        if (!lacks)
            continue;
        const struct diag_site site = {
            .code = "stage-device", .span = stage->span, .stage = stage->stage->name};
        status = ts_diag_error(diag, TS_BAD_CHAIN, &site, "%s", lacks);
        ts_diag_hint(diag, "--device cpu");
    }
    if (status != TS_OK)
        return status;
    widen_to_ranks(plan, choice);
    const int all = ts_device_choice_find_all(choice, &found, indices, diag);
    const int n = deal_to_ranks(plan, indices, all, single);
    return n > 0 ? take_cuda(plan, &found, indices, n, budget, diag) : ts_diag_status(diag);
}

void ts_plan_device_text(const struct ts_plan *plan, char *text, size_t size)
{
    const char *times = plan->device_times ? plan->device_times : "";
    if (plan->cuda)
        snprintf(text, size, "%s (%s, compute capability %d.%d%s%s)", plan->device,
                 plan->cuda->name, plan->cuda->major, plan->cuda->minor, *times ? "; " : "", times);
    else if (plan->device_note)
        snprintf(text, size, "%s (%s%s%s)", plan->device, plan->device_note, *times ? ": " : "",
                 times);
    else
        snprintf(text, size, "%s", plan->device);
}

/* Returns the device in whose memory an input is, or -1. */
static int device_of_arrays(const struct ts_plan *plan)
{
    for (int32_t i = 0; i < plan->n_sources; i++) {
        const struct source *source = plan->nodes[i].source;
        if (source && source->resident && source->resident_device >= 0)
            return source->resident_device;
    }
    return -1;
}

static enum ts_status choose_auto(struct ts_plan *plan, int64_t budget, struct ts_diag *diag)
{
    struct cuda_devices found;
    int indices[CUDA_MAX_DEVICES], index;
    take_cpu(plan, "this build has no CUDA code");
    if (!ts_cuda_built())
        return TS_OK;
    take_cpu(plan, "no CUDA driver is installed");
    if (!ts_cuda_driver_present())
        return TS_OK;
    bool computes = false;
    for (int32_t i = 0; i < plan->chain->n_stages; i++) {
        const struct chain_stage *stage = &plan->chain->stages[i];
        const char *choice = cpu_choice(&stage->set), *lacks = lacks_cuda(plan, stage->stage);
        computes |= stage->stage->cuda != NULL;
        if (lacks || choice) {
            ts_plan_decline(plan,
                            choice
                                ? ts_arena_printf(plan->arena, "'%s' of %s runs there alone",
                                                  choice, stage->stage->name)
                                : ts_arena_printf(plan->arena, "%s %s", stage->stage->name, lacks),
                            diag);
            return TS_OK;
        }
    }
    if (!computes) {
        take_cpu(plan, "no stage computes anything");
        return TS_OK;
    }
    struct ts_diag *reasons = ts_diag_create();
    if (!reasons)
        return ts_diag_no_memory(diag, sizeof found);
    enum ts_status status = ts_device_choice_find(device_of_arrays(plan), &found, &index, reasons);
    if (status != TS_OK) {
        const struct ts_diag_record *reason = ts_diag_get(reasons, 0);
        /* The note goes to diag only if a user would expect a device to be used; the plan's table
           always has it. */
        ts_plan_decline(plan, ts_arena_text(plan->arena, reason->message, strlen(reason->message)),
                        strcmp(reason->code, "cuda-no-device") != 0 ? diag : NULL);
    }
    ts_diag_destroy(reasons);
    if (status != TS_OK)
        return TS_OK;
    indices[0] = index;
    if (plan->n_ranks > 1)
        (void)deal_to_ranks(plan, indices, device_choice_usable(&found, indices), true);
    return take_cuda(plan, &found, indices, 1, budget, diag);
}

enum ts_status ts_plan_device(struct ts_plan *plan, const char *wanted, int64_t gpu_memory_bytes,
                              struct ts_diag *diag)
{
    struct device_choice choice;
    take_cpu(plan, NULL);
    enum ts_status status = ts_device_choice_parse(wanted, &choice, diag);
    if (status == TS_OK && choice.kind == DEVICE_AUTO)
        status = choose_auto(plan, gpu_memory_bytes, diag);
    else if (status == TS_OK && choice.kind == DEVICE_CUDA)
        status = choose_cuda(plan, &choice, gpu_memory_bytes, diag);
    return agree_among_ranks(plan, choice.kind == DEVICE_AUTO, gpu_memory_bytes > 0, status, diag);
}
