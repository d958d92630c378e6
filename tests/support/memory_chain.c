/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/memory_chain.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "stages/engine/validity.h"
#include "tests/support/stage_check.h"

struct memory_params {
    const char *memory;
};

struct memory_source {
    struct source base;
    struct memory_chain *owner;
    int index;
};

static enum ts_status read_slices(struct source *base, int64_t z, int64_t n, void *out,
                                  struct ts_diag *diag)
{
    struct memory_source *source = (struct memory_source *)base;
    struct memory_chain *owner = source->owner;
    const struct ts_image slices = ts_image_slices(&owner->images[source->index], z, n);
    if (source->index == 0 && owner->fail_at >= z && owner->fail_at < z + n)
        return ts_diag_error(diag, TS_BAD_INPUT, &(struct diag_site){.code = "test"},
                             "slice %lld cannot be read", (long long)owner->fail_at);
    if (owner->stop_at_plan && owner->stop_slice >= z && owner->stop_slice < z + n)
        ts_plan_stop(owner->stop_at_plan);
    if (owner->at_read)
        owner->at_read();
    memcpy(out, slices.data, ts_image_bytes(&slices));
    if (base->valid) {
        struct ts_image marked = slices;
        marked.masked = true;
        marked.valid = ts_source_valid(base, z);
        ts_valid_mark(&marked, &owner->invalid, 1);
    }
    owner->slices_read += n;
    return TS_OK;
}

static void close_source(struct source *base)
{
    free(base->valid);
    free(base->slices);
    free(base);
}

static const struct source_ops memory_ops = {.read = read_slices, .close = close_source};

static enum ts_status open_memory(const struct param_set *set, struct source **source,
                                  struct ts_diag *diag)
{
    const struct memory_chain *owner =
        (const void *)((const struct memory_params *)set->values)->memory;
    struct memory_source *opened = calloc(1, sizeof *opened);
    opened->base.ops = &memory_ops;
    opened->owner = (struct memory_chain *)owner;
    opened->index = !strcmp(set->owner, "atlas");
    opened->base.image = owner->images[opened->index];
    opened->base.image.data = NULL;
    const int64_t all = opened->base.image.axes[0].n;
    const int64_t n_volumes = opened->index == 0 && owner->n_volumes > 1 ? owner->n_volumes : 1;
    opened->base.n_volumes = n_volumes;
    opened->base.volume_axis =
        (struct ts_axis){.kind = TS_AXIS_TIME, .n = n_volumes, .spacing = 2, .unit = "s"};
    opened->base.n_slices = opened->base.image.axes[0].n = all / n_volumes;
    opened->base.slices = calloc((size_t)all, sizeof *opened->base.slices);
    for (int64_t z = 0; z < all; z++)
        opened->base.slices[z] =
            (struct source_slice){.slope = 1, .position_mm = {0, 0, 2.0 * (double)z}};
    *source = &opened->base;
    return ts_source_make_valid(&opened->base, diag);
}

static const struct source_format memory_format = {.name = "memory",
                                                   .summary = "an image in memory",
                                                   .params_bytes = sizeof(struct memory_params),
                                                   .open = open_memory};

void memory_chain_init(struct memory_chain *memory, const struct ts_image *input,
                       const struct ts_image *atlas, const char *output)
{
    static const char *const names[] = {"input", "atlas"};
    *memory = (struct memory_chain){.fail_at = -1, .stop_slice = -1};
    memory->chain.source_name = "test";
    memory->chain.text = "";
    memory->chain.stages = memory->stages;
    memory->chain.output.path = output;
    memory->chain.n_sources = atlas ? 2 : 1;
    memory->images[0] = *input;
    if (atlas)
        memory->images[1] = *atlas;
    for (int i = 0; i < memory->chain.n_sources; i++) {
        struct chain_source *source = &memory->chain.sources[i];
        *source = (struct chain_source){.name = names[i], .format = &memory_format};
        source->set.owner = names[i];
        source->set.values = calloc(1, sizeof(struct memory_params));
        ((struct memory_params *)source->set.values)->memory = (const char *)memory;
    }
}

static void point_references(struct memory_chain *memory, struct chain_stage *stage)
{
    for (size_t i = 0; i < stage->set.n_params; i++) {
        struct ts_reference *reference =
            (void *)((unsigned char *)stage->set.values + stage->set.params[i].offset);
        if (stage->set.params[i].kind != PARAM_REFERENCE || !reference->name)
            continue;
        reference->node = -1;
        if (!strcmp(reference->name, "input"))
            reference->node = 0;
        if (!strcmp(reference->name, "atlas"))
            reference->node = 1;
        for (int32_t s = 0; s < memory->chain.n_stages; s++)
            if (memory->stages[s].name && !strcmp(memory->stages[s].name, reference->name))
                reference->node = memory->chain.n_sources + s;
        cr_assert(reference->node >= 0, "no output is called %s", reference->name);
    }
}

void memory_chain_add_stage(struct memory_chain *memory, const struct stage *stage,
                            const char *parameters, const char *name)
{
    struct chain_stage *added = &memory->stages[memory->chain.n_stages];
    cr_assert(memory->chain.n_stages < MEMORY_MAX);
    *added = (struct chain_stage){.stage = stage, .name = name};
    ts_test_params(stage, parameters, &added->set);
    added->input_node =
        memory->chain.n_stages == 0 ? 0 : memory->chain.n_sources + memory->chain.n_stages - 1;
    point_references(memory, added);
    memory->chain.n_stages++;
}

void memory_chain_add(struct memory_chain *memory, const char *text, const char *name)
{
    const size_t length = strcspn(text, " ");
    char *stage_name = strndup(text, length);
    const struct stage *stage = ts_stage_find(stage_name);
    cr_assert(stage, "no stage is called %s", stage_name);
    memory_chain_add_stage(memory, stage, text + length, name);
    free(stage_name);
}

void memory_chain_clear(struct memory_chain *memory)
{
    for (int i = 0; i < memory->chain.n_sources; i++)
        free(memory->chain.sources[i].set.values);
    for (int32_t i = 0; i < memory->chain.n_stages; i++)
        ts_test_params_clear(&memory->stages[i].set);
}
