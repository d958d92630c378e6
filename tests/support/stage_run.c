/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/stage_run.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum ts_status ts_test_run(struct stage_run *run, const struct stage *stage,
                           const char *assignments, const struct ts_image *in,
                           const struct ts_image *reference, int64_t slab, int threads)
{
    const struct ts_image *const references[STAGE_REFERENCES] = {reference};
    return ts_test_run_references(run, stage, assignments, in, references, slab, threads);
}

enum ts_status ts_test_run_references(struct stage_run *run, const struct stage *stage,
                                      const char *assignments, const struct ts_image *in,
                                      const struct ts_image *const references[STAGE_REFERENCES],
                                      int64_t slab, int threads)
{
    *run = (struct stage_run){.diag = ts_diag_create()};
    ts_test_params(stage, assignments, &run->set);
    run->status = ts_stage_prepare(stage, &run->set, in, references, threads, ts_test_device,
                                   run->diag, &run->context);
    if (run->status != TS_OK)
        return run->status;
    run->out = run->context.out;
    if (stage->map) {
        run->out.data = malloc(ts_image_bytes(&run->out) + 1);
        memset(run->out.data, 0xFF, ts_image_bytes(&run->out));
    }
    run->status = ts_test_apply(&run->context, in, &run->out, references, slab, &run->reduced);
    return run->status;
}

struct ts_image ts_test_output(const struct stage *stage, const char *assignments,
                               const struct ts_image *in)
{
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, stage, assignments, in, NULL, 0, 2), TS_OK, "%s {%s}",
                 stage->name, assignments);
    const struct ts_image out = run.out;
    run.out.data = NULL;
    ts_test_run_clear(&run);
    return out;
}

void ts_test_run_clear(struct stage_run *run)
{
    ts_stage_reduced_destroy(run->reduced);
    free(run->out.data);
    ts_test_params_clear(&run->set);
    ts_diag_destroy(run->diag);
}

const struct ts_image *ts_test_table(const struct stage_run *run, const char *name)
{
    const struct stage_table *tables;
    const int n = ts_stage_reduced_tables(run->reduced, &tables);
    for (int i = 0; i < n; i++)
        if (!strcmp(tables[i].name, name))
            return &tables[i].image;
    cr_assert_fail("no table %s", name);
    return NULL;
}

double ts_test_table_at(const struct stage_run *run, const char *name, int64_t i)
{
    const struct ts_image *image = ts_test_table(run, name);
    double value;
    cr_assert(i >= 0 && i < (int64_t)ts_image_count(image), "%s has no element %lld", name,
              (long long)i);
    ts_load_f64(&value, (const char *)image->data + (size_t)i * ts_dtype_bytes(image->dtype),
                image->dtype, 1);
    return value;
}

void ts_test_refuses(const struct stage *stage, const char *assignments, const struct ts_image *in,
                     const struct ts_image *reference, const char *code, const char *words)
{
    struct stage_run run;
    cr_assert_eq(ts_test_run(&run, stage, assignments, in, reference, 0, 1), TS_BAD_CHAIN,
                 "%s {%s} was not refused", stage->name, assignments);
    cr_assert_eq(ts_diag_count(run.diag), 1, "%s {%s}: %zu records", stage->name, assignments,
                 ts_diag_count(run.diag));
    const struct ts_diag_record *record = ts_diag_get(run.diag, 0);
    cr_assert_str_eq(record->code, code);
    cr_assert(strstr(record->message, words) || (record->hint && strstr(record->hint, words)),
              "%s: no '%s' in: %s", stage->name, words, record->message);
    ts_test_run_clear(&run);
}

void ts_test_refused(const struct stage *stage, const char *assignments, enum ts_dtype dtype,
                     bool with_reference, const char *code)
{
    struct ts_image in = ts_test_image(2, 3, 4, dtype, VALUES_CONSTANT, 1);
    ts_test_refuses(stage, assignments, &in, with_reference ? &in : NULL, code, "");
    free(in.data);
}
