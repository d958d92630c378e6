/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/stage_check.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/driver.h"
#include "tests/support/support.h"

enum { GUARD = 64, GUARD_BYTE = 0xA5, POISON_BYTE = 0xFF };

enum ts_status ts_test_apply(struct stage_context *context, const struct ts_image *in,
                             struct ts_image *out,
                             const struct ts_image *const references[STAGE_REFERENCES],
                             int64_t slab, struct stage_reduced **reduced)
{
    return context->device ? ts_cuda_apply(context, in, out, references, slab, reduced)
                           : ts_stage_apply(context, in, out, references, slab, reduced);
}

/* ---- parameters ------------------------------------------------------------------------------ */

static struct ts_numbers parse_numbers(const char *text)
{
    struct ts_numbers numbers = {.rows = 1};
    double *values = malloc((strlen(text) + 1) * sizeof *values);
    int64_t n = 0;
    for (char *end; *text; text = *end ? end + 1 : end) {
        values[n++] = strtod(text, &end);
        cr_assert(end != text, "not a number: %s", text);
        numbers.rows += *end == ';';
    }
    numbers.columns = n / numbers.rows;
    numbers.values = values;
    return numbers;
}

static void assign(struct param_set *set, const char *name, const char *value)
{
    size_t i;
    const struct param *param = ts_param_find(set->params, set->n_params, name, &i);
    cr_assert(param, "%s has no parameter %s", set->owner, name);
    void *at = (unsigned char *)set->values + param->offset;
    char *end = "";
    switch (param->kind) {
    case PARAM_INTEGER:
        *(int64_t *)at = strtoll(value, &end, 10);
        break;
    case PARAM_REAL:
        *(double *)at = strtod(value, &end);
        break;
    case PARAM_BOOL:
        *(bool *)at = !strcmp(value, "true");
        break;
    case PARAM_TEXT:
        *(const char **)at = strdup(value);
        break;
    case PARAM_NUMBERS:
        *(struct ts_numbers *)at = parse_numbers(value);
        break;
    case PARAM_REFERENCE:
        *(struct ts_reference *)at = (struct ts_reference){.name = strdup(value)};
        break;
    case PARAM_CHOICE: {
        const struct choice *choice = param->choices;
        while (choice->name && strcmp(choice->name, value))
            choice++;
        cr_assert(choice->name, "%s.%s has no choice %s", set->owner, name, value);
        *(int32_t *)at = choice->value;
        break;
    }
    case PARAM_TEXTS:
        cr_assert_fail("lists of texts are not supported here");
    }
    cr_assert(*end == '\0', "%s.%s: %s", set->owner, name, value);
    set->given |= 1u << i;
}

void ts_test_params(const struct stage *stage, const char *assignments, struct param_set *set)
{
    *set = (struct param_set){.params = stage->params,
                              .n_params = stage->n_params,
                              .owner = stage->name,
                              .values = calloc(1, stage->params_bytes + 1)};
    ts_params_init(set);
    char *copy = strdup(assignments), *save = NULL;
    for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        char *equals = strchr(word, '=');
        cr_assert(equals, "not an assignment: %s", word);
        *equals = '\0';
        assign(set, word, equals + 1);
    }
    free(copy);
}

void ts_test_params_clear(struct param_set *set)
{
    for (size_t i = 0; i < set->n_params; i++) {
        void *at = (unsigned char *)set->values + set->params[i].offset;
        if (!(set->given >> i & 1))
            continue;
        if (set->params[i].kind == PARAM_NUMBERS)
            free((void *)((struct ts_numbers *)at)->values);
        if (set->params[i].kind == PARAM_TEXT)
            free(*(void **)at);
        if (set->params[i].kind == PARAM_REFERENCE)
            free((void *)((struct ts_reference *)at)->name);
    }
    free(set->values);
}

/* ---- images ---------------------------------------------------------------------------------- */

static double sample(enum ts_dtype dtype, enum stage_values values, uint64_t *state, int64_t z,
                     int64_t y, int64_t x)
{
    double low, high;
    ts_dtype_range(dtype, &low, &high);
    if (dtype == TS_F32) {
        low = -1000;
        high = 3000;
    }
    const double random = ts_random_unit(state);
    switch (values) {
    case VALUES_RANDOM:
        return dtype == TS_F32 ? low + (high - low) * random
                               : floor(low + (high - low + 1) * random);
    case VALUES_CT: {
        const double smooth =
            400 * sin(0.31 * (double)x + 0.2 * (double)z) * cos(0.17 * (double)y) + 20 * random;
        const double value =
            (low < 0 ? 0 : 0.3 * (high < 4000 ? high : 4000)) + (high < 4000 ? 0.05 : 1) * smooth;
        const double whole = dtype == TS_F32 ? value : floor(value);
        return whole < low ? low : whole > high ? high : whole;
    }
    case VALUES_CONSTANT:
        return 7;
    case VALUES_EXTREME:
        return random < 0.5 ? low : high;
    }
    return 0;
}

struct ts_image ts_test_image(int64_t nz, int64_t ny, int64_t nx, enum ts_dtype dtype,
                              enum stage_values values, uint64_t seed)
{
    struct ts_image image = {
        .rank = 3,
        .axes = {{.kind = TS_AXIS_Z, .n = nz, .spacing = 2, .unit = "mm"},
                 {.kind = TS_AXIS_Y, .n = ny, .spacing = 0.7, .unit = "mm"},
                 {.kind = TS_AXIS_X, .n = nx, .spacing = 0.5, .unit = "mm"}},
        .dtype = dtype,
        .quantity = TS_INTENSITY,
        .unit = "1",
        .has_geometry = true,
        .direction = {1, 0, 0, 0, 1, 0, 0, 0, 1},
        .step_z_mm = {0, 0, 2},
    };
    image.data = malloc(ts_image_bytes(&image) + 1);
    size_t i = 0;
    for (int64_t z = 0; z < nz; z++)
        for (int64_t y = 0; y < ny; y++)
            for (int64_t x = 0; x < nx; x++, i++) {
                const double value = sample(dtype, values, &seed, z, y, x);
                switch (dtype) {
#define CASE(suffix, type)                                                                         \
    case TS_##suffix:                                                                              \
        ((type *)image.data)[i] = (type)value;                                                     \
        break;
                    TS_IMAGE_DTYPES(CASE)
#undef CASE
                default:
                    cr_assert_fail("images have no such dtype");
                }
            }
    return image;
}

void ts_test_sinogram(struct ts_image *image)
{
    const int64_t views = image->axes[1].n, detectors = image->axes[2].n;
    image->axes[1] = (struct ts_axis){
        .kind = TS_AXIS_VIEW, .n = views, .spacing = 180 / (double)views, .unit = "degree"};
    image->axes[2] = (struct ts_axis){.kind = TS_AXIS_DETECTOR,
                                      .n = detectors,
                                      .spacing = 0.5,
                                      .first = -0.25 * (double)(detectors - 1),
                                      .unit = "mm"};
    image->quantity = TS_LINE_INTEGRAL;
}

/* ---- the loop -------------------------------------------------------------------------------- */

struct check {
    const struct stage *stage;
    stage_oracle *oracle;
    const struct stage_case *row;
    const struct ts_image *in;
    struct param_set set;
    uint64_t seed;
    bool beyond; /* refused by a device that is less than the case is made for */
};

static void describe(const struct check *check, char *text, size_t size)
{
    snprintf(text, size, "%s {%s} %s %lld x %lld x %lld values %d seed %llu", check->stage->name,
             check->row->assignments, ts_dtype_name(check->in->dtype),
             (long long)check->in->axes[0].n, (long long)check->in->axes[1].n,
             (long long)check->in->axes[2].n, check->row->values, (unsigned long long)check->seed);
}

/* Runs once with these slabs and threads into guarded memory; the caller frees *guarded. False
 * where the device does not have the method. */
static bool run_once(struct check *check, const struct device_numbers *device, int64_t slab,
                     int threads, struct stage_context *context, unsigned char **guarded,
                     const char *what)
{
    struct ts_diag *diag = ts_diag_create();
    enum ts_status status = ts_stage_prepare(check->stage, &check->set, check->in, NULL, threads,
                                             device, diag, context);
    /* A method may also reach further on the device than on the CPU. */
    const char *const code = status == TS_BAD_CHAIN ? ts_diag_get(diag, 0)->code : "";
    check->beyond = ts_test_beyond(device, diag, what);
    if (check->beyond || !strcmp(code, "choice-device") ||
        (!strcmp(code, "method-radius") && ts_test_device && !device)) {
        ts_diag_destroy(diag);
        return false;
    }
    if (status == TS_OK) {
        const size_t bytes = ts_image_bytes(&context->out);
        *guarded = aligned_alloc(GUARD, (bytes + 3 * GUARD) / GUARD * GUARD);
        memset(*guarded, GUARD_BYTE, (bytes + 3 * GUARD) / GUARD * GUARD);
        memset(*guarded + GUARD, POISON_BYTE, bytes);
        struct ts_image out = context->out;
        out.data = *guarded + GUARD;
        status = ts_test_apply(context, check->in, &out, NULL, slab, NULL);
        for (size_t i = 0; i < GUARD; i++)
            cr_assert((*guarded)[i] == GUARD_BYTE && (*guarded)[GUARD + bytes + i] == GUARD_BYTE,
                      "%s: wrote outside its output (slab %lld, %d threads)", what, (long long)slab,
                      threads);
    }
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK, "%s: status %d", what, status);
    context->diag = NULL;
    ts_diag_destroy(diag);
    return true;
}

static void compare(const struct check *check, const struct stage_context *context,
                    const void *data, const char *what)
{
    const size_t n_in = ts_image_count(check->in), n_out = ts_image_count(&context->out);
    double *in = malloc((n_in + 1) * sizeof *in), *out = malloc((n_out + 1) * sizeof *out),
           *expected = malloc((n_out + 1) * sizeof *expected);
    ts_load_f64(in, check->in->data, check->in->dtype, n_in);
    ts_load_f64(out, data, context->out.dtype, n_out);
    check->oracle(context, in, expected);
    double largest = 0;
    for (size_t i = 0; i < n_out; i++)
        if (isfinite(expected[i]))
            largest = fmax(largest, fabs(expected[i]));
    const struct stage_tolerance tolerance = ts_stage_tolerance(context);
    const double bound = tolerance.relative * largest + tolerance.absolute + check->row->absolute;
    for (size_t i = 0; i < n_out; i++) {
        const bool same = out[i] == expected[i] || (isnan(out[i]) && isnan(expected[i]));
        if (!same && !(fabs(out[i] - expected[i]) <= bound))
            cr_assert_fail("%s: element %zu is %.9g, expected %.9g, tolerance %.3g", what, i,
                           out[i], expected[i], bound);
    }
    free(in);
    free(out);
    free(expected);
}

/* Integers made on the device are the bytes of the CPU. */
static void compare_with_cpu(struct check *check, const unsigned char *data, const char *what)
{
    struct stage_context context;
    unsigned char *guarded = NULL;
    ts_test_params(check->stage, check->row->assignments, &check->set);
    if (run_once(check, NULL, 0, 2, &context, &guarded, what)) {
        if (ts_dtype_is_integer(context.out.dtype))
            cr_assert(!memcmp(data, guarded + GUARD, ts_image_bytes(&context.out)),
                      "%s: other integers than the CPU's", what);
        free(guarded);
    }
    ts_test_params_clear(&check->set);
}

bool ts_test_few(void)
{
    const char *few = getenv("TOMOSTAGE_TESTS_FEW");
    return few && *few;
}

static size_t check_image(struct check *check)
{
    static const struct {
        int64_t slab;
        int threads;
    } ways[] = {{0, 1}, {1, 1}, {2, 3}, {3, 2}, {0, 2}};
    enum { WHOLE, SLABS = 2, MANY_SLICES = 12 };
    /* With few cases many slices go at once: what takes them in groups does so, and is launched
     * once. */
    const size_t n_ways = sizeof ways / sizeof *ways - (ts_test_device ? 1 : 0),
                 few = check->in->axes[0].n > MANY_SLICES ? WHOLE : SLABS;
    char what[512];
    describe(check, what, sizeof what);
    unsigned char *first = NULL;
    for (size_t i = ts_test_few() ? few : 0; i < (ts_test_few() ? few + 1 : n_ways); i++) {
        struct stage_context context;
        unsigned char *guarded = NULL;
        ts_test_params(check->stage, check->row->assignments, &check->set);
        const bool ran = run_once(check, ts_test_device, ways[i].slab, ways[i].threads, &context,
                                  &guarded, what);
        if (ran && !first) {
            first = guarded;
            compare(check, &context, guarded + GUARD, what);
        } else if (ran) {
            cr_assert(!memcmp(first + GUARD, guarded + GUARD, ts_image_bytes(&context.out)),
                      "%s: other bytes with slabs of %lld slices and %d threads", what,
                      (long long)ways[i].slab, ways[i].threads);
            free(guarded);
        }
        ts_test_params_clear(&check->set);
        if (!ran)
            return check->beyond;
    }
    if (ts_test_device)
        compare_with_cpu(check, first + GUARD, what);
    free(first);
    return 1;
}

/* 1 where the device has the method. */
static size_t plan_image(struct check *check)
{
    struct stage_context context;
    struct ts_diag *diag = ts_diag_create();
    ts_test_params(check->stage, check->row->assignments, &check->set);
    const enum ts_status status = ts_stage_prepare(check->stage, &check->set, check->in, NULL, 1,
                                                   ts_test_device, diag, &context);
    ts_test_params_clear(&check->set);
    ts_diag_destroy(diag);
    return status == TS_OK;
}

/* With few cases: one shape and type a row of the cases, another in each row; some more where there
 * are few rows, and some rows alone where there are many. */
static bool left_out(size_t row, size_t n_rows, size_t combination, size_t n_combinations)
{
    enum { FEW_ROWS = 6, MANY_ROWS = 30 };
    const size_t wanted = n_rows < FEW_ROWS ? 3 : 1, step = (n_combinations + wanted - 1) / wanted;
    return ts_test_few() && (combination % step != 5 * row % step || 7 * row % n_rows >= MANY_ROWS);
}

size_t ts_stage_check(const struct stage *stage, stage_oracle *oracle,
                      const struct stage_case *cases, size_t n_cases)
{
    /* Odd, prime, one pixel thin, tiny, and larger than any vector or tile, never square. */
    static const int64_t shapes[][3] = {{1, 1, 1},  {2, 1, 37}, {3, 41, 1},   {5, 7, 11},
                                        {4, 8, 16}, {7, 3, 2},  {3, 67, 131}, {2, 130, 259}};
    size_t compared = 0, planned = 0, skipped = 0;
    for (size_t c = 0; c < n_cases; c++) {
        const unsigned dtypes = (cases[c].dtypes ? cases[c].dtypes : stage->dtypes) & stage->dtypes;
        const size_t n_shapes = cases[c].nx ? 1 : sizeof shapes / sizeof *shapes;
        const size_t n_combinations = n_shapes * (size_t)__builtin_popcount(dtypes);
        size_t combination = 0;
        for (size_t s = 0; s < n_shapes; s++)
            for (int dtype = TS_U8; dtype <= TS_F32; dtype++) {
                if (!(dtypes & TS_DTYPE_BIT(dtype)))
                    continue;
                const uint64_t seed = 1000 * c + 10 * s + (uint64_t)dtype;
                struct ts_image in = cases[c].nx
                                         ? ts_test_image(cases[c].nz, cases[c].ny, cases[c].nx,
                                                         dtype, cases[c].values, seed)
                                         : ts_test_image(shapes[s][0], shapes[s][1], shapes[s][2],
                                                         dtype, cases[c].values, seed);
                if (!(stage->axes & AXES_VOLUME))
                    ts_test_sinogram(&in);
                if (stage->quantities & TS_QUANTITY_BIT(TS_INTENSITY))
                    in.quantity = TS_INTENSITY;
                in.quantity = cases[c].quantity ? cases[c].quantity : in.quantity;
                struct check check = {
                    .stage = stage, .oracle = oracle, .row = &cases[c], .in = &in, .seed = seed};
                const bool out = left_out(c, n_cases, combination++, n_combinations);
                if (out)
                    planned += plan_image(&check);
                else if (check_image(&check))
                    *(check.beyond ? &skipped : &compared) += 1;
                free(in.data);
            }
    }
    if (planned || skipped)
        fprintf(stderr, "%s: %zu images compared, %zu planned alone, %zu SKIPPED on this device\n",
                stage->name, compared, planned, skipped);
    cr_assert(!planned || compared + skipped > 0, "%s: nothing was compared", stage->name);
    return compared + planned + skipped;
}
