/* SPDX-License-Identifier: Apache-2.0
 *
 * Operators: <A x, y> = <x, A' y> with sums in double, normal() is A' A, results have the bytes of
 * the chain, and what cannot be is refused by name. Arrays end in guards that nobody may write.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/image.h"
#include "cuda/device/session.h"
#include "include/tomostage_operator.h"
#include "tests/support/support.h"
#include "tests/support/test_device.h"

enum { GUARD = 64 };
static const float guard = -12345;

static struct ts_diag *diag;
#ifdef TS_HAVE_CUDA
static struct cuda_session *session;
#endif

static void begin(void)
{
    diag = ts_diag_create();
}

static void end(void)
{
#ifdef TS_HAVE_CUDA
    ts_cuda_session_destroy(session);
#endif
    ts_diag_destroy(diag);
}

TestSuite(operators, .init = begin, .fini = end);

static void expect_ok(enum ts_status status, const char *what)
{
    if (status != TS_OK)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, TS_OK, "%s", what);
}

/* ---- arrays where the test's device has them --------------------------------------------------
 */

/* A batch of images in host memory, and on the device that a test runs on. */
struct values {
    struct ts_array array; /* on the device */
    float *host;           /* the same as array.data on the CPU */
    size_t n;
};

#ifdef TS_HAVE_CUDA
static void begin_session(void)
{
    if (!session)
        expect_ok(ts_cuda_session_create(ts_test_device, 0, diag, &session), "a session");
}

static void move(const struct values *values, enum cuda_direction direction)
{
    const size_t bytes = (values->n + GUARD) * sizeof(float);
    expect_ok(ts_cuda_copy(session, CUDA_COMPUTE, direction,
                           direction == CUDA_TO_HOST ? (void *)values->host : values->array.data,
                           direction == CUDA_TO_HOST ? values->array.data : (void *)values->host,
                           bytes),
              "a copy");
    expect_ok(ts_cuda_wait(session, CUDA_COMPUTE), "a copy");
}
#endif

/* Returns the stream on which arrays are copied, after the first of them was made. */
static void *stream_of(void)
{
#ifdef TS_HAVE_CUDA
    if (ts_test_device)
        return ts_cuda_stream(session, CUDA_COMPUTE);
#endif
    return NULL;
}

static void send(const struct values *values)
{
#ifdef TS_HAVE_CUDA
    if (ts_test_device)
        move(values, CUDA_TO_DEVICE);
#endif
    (void)values;
}

/* Brings the values back after a call on stream_of() or on the default stream, for which the
 * session's streams do not wait by themselves, and checks the guard. */
static void fetch(const struct values *values)
{
#ifdef TS_HAVE_CUDA
    if (ts_test_device) {
        expect_ok(ts_cuda_queue_follows(session, CUDA_COMPUTE, NULL), "the default stream");
        move(values, CUDA_TO_HOST);
    }
#endif
    for (int i = 0; i < GUARD; i++)
        cr_assert_eq(values->host[values->n + (size_t)i], guard, "something wrote behind an array");
}

static struct values values_of(const struct ts_image *image, int64_t batch)
{
    struct values values = {
        .array = {.size = sizeof values.array,
                  .dtype = TS_F32,
                  .rank = 4,
                  .n = {batch, image->axes[0].n, image->axes[1].n, image->axes[2].n},
                  .cuda_device = -1},
        .n = (size_t)batch * ts_image_count(image)};
    values.host = malloc((values.n + GUARD) * sizeof(float));
    cr_assert(values.host);
    for (size_t i = 0; i < values.n + GUARD; i++)
        values.host[i] = i < values.n ? NAN : guard;
    values.array.data = values.host;
#ifdef TS_HAVE_CUDA
    if (ts_test_device) {
        begin_session();
        values.array.data = ts_cuda_allocate(session, (values.n + GUARD) * sizeof(float));
        values.array.cuda_device = ts_test_device->index;
        cr_assert(values.array.data);
    }
#endif
    send(&values);
    return values;
}

static void fill(const struct values *values, uint64_t seed)
{
    for (size_t i = 0; i < values->n; i++)
        values->host[i] = (float)ts_random_unit(&seed);
    send(values);
}

/* Compares to the bit; NaN is equal to nothing. */
static void expect_same(const struct values *values, const float *expected, const char *what)
{
    size_t n_other = 0, first = 0;
    for (size_t i = values->n; i-- > 0;)
        if (!(values->host[i] == expected[i])) {
            n_other++;
            first = i;
        }
    cr_assert_eq(
        n_other, 0, "%s: %zu of %zu values differ, the first is number %zu: %.9g instead of %.9g",
        what, n_other, values->n, first, (double)values->host[first], (double)expected[first]);
    cr_assert_arr_eq(values->host, expected, values->n * sizeof(float), "%s: signs of 0", what);
}

static double product(const struct values *a, const struct values *b)
{
    double sum = 0;
    for (size_t i = 0; i < a->n; i++)
        sum += (double)a->host[i] * b->host[i];
    return sum;
}

/* ---- images ---------------------------------------------------------------------------------- */

static struct ts_image volume_of(int64_t nz, int64_t ny, int64_t nx)
{
    struct ts_image image = {
        .rank = 3, .dtype = TS_F32, .quantity = TS_INTENSITY, .unit = "1", .has_geometry = false};
    const int64_t n[] = {nz, ny, nx};
    for (int d = 0; d < 3; d++)
        image.axes[d] = (struct ts_axis){
            .kind = TS_AXIS_Z + (enum ts_axis_kind)d, .n = n[d], .spacing = 1, .unit = "mm"};
    return image;
}

static struct ts_image sinogram_of(int64_t nz, int64_t n_views, int64_t n_detectors, double arc)
{
    struct ts_image image = volume_of(nz, n_views, n_detectors);
    image.quantity = TS_LINE_INTEGRAL;
    image.axes[1] = (struct ts_axis){.kind = TS_AXIS_VIEW,
                                     .n = n_views,
                                     .spacing = arc / (double)n_views,
                                     .first = 3,
                                     .unit = "degree"};
    image.axes[2].kind = TS_AXIS_DETECTOR;
    image.axes[2].first = -0.47 * (double)n_detectors;
    return image;
}

static struct ts_operator *operator_of(const char *stage, const struct ts_image *in)
{
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_operator *op = NULL;
    options.device = ts_test_device ? "cuda" : "cpu";
    options.threads = 2;
    expect_ok(ts_operator_create(stage, in, &options, &op, diag), stage);
    return op;
}

/* ---- the pair -------------------------------------------------------------------------------- */

/* Compares both products of a pair within `bound`, and normal() with A' (A x), to the bit. */
static void check_pair(const char *stage, const struct ts_image *in, int64_t batch, double bound)
{
    struct ts_operator *op = operator_of(stage, in);
    struct ts_image from, to;
    char what[160];
    ts_operator_describe(op, &from, &to);
    struct values x = values_of(&from, batch), y = values_of(&to, batch),
                  ax = values_of(&to, batch), aty = values_of(&from, batch);
    fill(&x, 5);
    fill(&y, 17);
    expect_ok(ts_operator_apply(op, &x.array, &ax.array, stream_of(), diag), stage);
    expect_ok(ts_operator_adjoint(op, &y.array, &aty.array, stream_of(), diag), stage);
    fetch(&ax);
    fetch(&aty);
    const double forth = product(&ax, &y), back = product(&x, &aty);
    double scale = 0;
    for (size_t i = 0; i < ax.n; i++)
        scale += fabs((double)ax.host[i] * y.host[i]);
    cr_assert(fabs(forth - back) <= bound * scale, "%s: <Ax, y> is %.17g, <x, A'y> is %.17g", stage,
              forth, back);

    expect_ok(ts_operator_adjoint(op, &ax.array, &aty.array, stream_of(), diag), stage);
    fetch(&aty);
    struct values normal = values_of(&from, batch);
    expect_ok(ts_operator_normal(op, &x.array, &normal.array, stream_of(), diag), stage);
    fetch(&normal);
    snprintf(what, sizeof what, "%s %lldx%lldx%lld: normal", stage, (long long)in->axes[0].n,
             (long long)in->axes[1].n, (long long)in->axes[2].n);
    expect_same(&normal, aty.host, what);
    ts_operator_destroy(op);
    struct values *all[] = {&x, &y, &ax, &aty, &normal};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->host);
}

static const double exact = 1e-6;

TEST_ON_BOTH(operators, windows_have_their_adjoints_with_every_border)
{
    static const char *const stages[] = {"box radius=1",
                                         "box radius=3",
                                         "box radius=2 dimensions=3d",
                                         "gaussian sigma=1.3",
                                         "gaussian sigma=[0.7,1.1,0.5] dimensions=3d",
                                         "convolve kernel=gaussian-5x5",
                                         "convolve kernel=sobel-x",
                                         "convolve kernel=custom weights=[[1,2,-1],[0,3,5],[4,-2,"
                                         "0.5]]",
                                         "convolve kernel=custom weights=[[1,2,-1,0.25,3]]"};
    static const char *const borders[] = {"reflect", "mirror", "nearest", "constant", "wrap"};
    static const int64_t sizes[][3] = {{3, 7, 11}, {1, 1, 5}, {2, 13, 2}};
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
        for (size_t b = 0; b < sizeof borders / sizeof *borders; b++)
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                const struct ts_image in = volume_of(sizes[i][0], sizes[i][1], sizes[i][2]);
                char text[128];
                snprintf(text, sizeof text, "%s border=%s", stages[s], borders[b]);
                check_pair(text, &in, 2, exact);
            }
}

/* The window is larger than the image. */
TEST_ON_BOTH(operators, windows_beyond_the_image_have_their_adjoints)
{
    static const char *const borders[] = {"reflect", "mirror", "nearest", "constant", "wrap"};
    const struct ts_image in = volume_of(2, 4, 3);
    for (size_t b = 0; b < sizeof borders / sizeof *borders; b++) {
        char text[128];
        snprintf(text, sizeof text, "box radius=9 dimensions=3d border=%s", borders[b]);
        check_pair(text, &in, 1, exact);
    }
}

TEST_ON_BOTH(operators, projections_have_their_adjoints)
{
    static const char *const stages[] = {
        "radon views=9",
        "radon views=1 start=33",
        "radon views=1 start=100",
        "radon angles=[3,17,90,91.5,200] detectors=30 detector_spacing=0.8 center=11.3",
        "radon views=7 beam=fan-flat source_axis=60 source_detector=110",
        "radon views=7 beam=fan-arc source_axis=60 source_detector=110 detectors=41"};
    static const int64_t sizes[][3] = {{1, 17, 17}, {3, 12, 19}, {18, 9, 8}};
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct ts_image in = volume_of(sizes[i][0], sizes[i][1], sizes[i][2]);
            in.axes[1].spacing = 1.25;
            check_pair(stages[s], &in, 2, exact);
        }
}

TEST_ON_BOTH(operators, backprojections_have_their_adjoints)
{
    static const enum ts_beam_kind beams[] = {TS_BEAM_PARALLEL, TS_BEAM_FAN_ARC, TS_BEAM_FAN_FLAT};
    static const int64_t slices[] = {1, 5, 17};
    static const double angles[] = {0, 12, 47, 90, 133, 500};
    for (size_t b = 0; b < sizeof beams / sizeof *beams; b++)
        for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
            struct ts_image in = sinogram_of(slices[i], 6, 23, 180);
            if (beams[b] != TS_BEAM_PARALLEL)
                in.beam = (struct ts_beam){beams[b], 90, 150};
            check_pair("backproject", &in, 2, exact);
            check_pair("backproject rows=11 columns=14 pixel_size=0.9", &in, 1, exact);
            in.axes[1].positions = angles;
            check_pair("backproject center=9.5", &in, 1, exact);
        }
}

/* The views of a parallel beam are half a turn, those of a fan a whole one, or less with the
 * weights of a short scan. */
static struct ts_image scan_of(enum ts_beam_kind beam, int64_t nz, double fan_arc)
{
    struct ts_image in = sinogram_of(nz, beam == TS_BEAM_PARALLEL ? 14 : 30, 23,
                                     beam == TS_BEAM_PARALLEL ? 180 : fan_arc);
    if (beam != TS_BEAM_PARALLEL)
        in.beam = (struct ts_beam){beam, 60, 100};
    return in;
}

TEST_ON_BOTH(operators, reconstructions_have_their_adjoints)
{
    static const enum ts_beam_kind beams[] = {TS_BEAM_PARALLEL, TS_BEAM_FAN_ARC, TS_BEAM_FAN_FLAT};
    static const int64_t slices[] = {1, 5, 17};
    static const char *const stages[] = {
        "fbp",
        "fbp filter=hann cutoff=0.6",
        "fbp filter=none rows=11 columns=14 pixel_size=0.9 row_spacing=1.4",
        "fbp filter=parzen center=9.5",
        "fbp pixel_size=0.15 rows=60 columns=70", /* many pixels between two rays */
        "fbp pixel_size=2.5 rows=9 columns=7",    /* few rays have a pixel */
        "fbp gaps=accept"};
    for (size_t b = 0; b < sizeof beams / sizeof *beams; b++)
        for (size_t i = 0; i < sizeof slices / sizeof *slices; i++)
            for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
                const struct ts_image whole = scan_of(beams[b], slices[i], 360),
                                      part = scan_of(beams[b], slices[i], 230);
                check_pair(stages[s], &whole, 2, exact);
                if (beams[b] != TS_BEAM_PARALLEL)
                    check_pair(stages[s], &part, 1, exact);
            }
}

/* Neighbors of a detector of three pixels are up to 70 degrees apart, and one view may be all. */
TEST_ON_BOTH(operators, reconstructions_of_odd_scans_have_their_adjoints)
{
    static const double angles[] = {0, 12, 47, 90, 91, 133, 160.5};
    struct ts_image in = sinogram_of(3, 7, 23, 180);
    in.axes[1].positions = angles;
    check_pair("fbp filter=hamming", &in, 1, exact);
    in = sinogram_of(2, 1, 9, 180);
    check_pair("fbp gaps=accept", &in, 1, exact);
    in = sinogram_of(1, 90, 1, 180);
    check_pair("fbp center=0 rows=8 columns=9", &in, 1, exact);
    for (enum ts_beam_kind beam = TS_BEAM_FAN_ARC; beam <= TS_BEAM_FAN_FLAT; beam++) {
        in = sinogram_of(2, 36, 3, 360);
        in.axes[2].spacing = beam == TS_BEAM_FAN_ARC ? 120 : 275;
        in.axes[2].first = -in.axes[2].spacing;
        in.beam = (struct ts_beam){beam, 60, 100};
        check_pair("fbp pixel_size=1 rows=20 columns=24", &in, 1, exact);
    }
}

TEST_ON_BOTH(operators, weighed_backprojections_have_their_adjoints)
{
    static const char *const stages[] = {"backproject model=linear", "backproject weights=angles",
                                         "backproject model=linear weights=angles pixel_size=0.3",
                                         "backproject weights=angles pixel_size=2.7 rows=8"};
    static const int64_t slices[] = {1, 7, 17};
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
        for (size_t i = 0; i < sizeof slices / sizeof *slices; i++) {
            const struct ts_image in = sinogram_of(slices[i], 14, 23, 180);
            check_pair(stages[s], &in, 2, exact);
        }
}

TEST_ON_BOTH(operators, reconstructions_have_their_adjoints_by_every_method)
{
    static const char *const of_host[] = {"lanes", NULL}, *const of_cuda[] = {"pixel", "stack",
                                                                              "tensor",
                                                                              "tensor-split", NULL};
    static const char *const stages[] = {"fbp", "fbp filter=none",
                                         "backproject model=linear weights=angles"};
    const char *const *methods = ts_test_device ? of_cuda : of_host;
    const struct ts_image in = scan_of(TS_BEAM_PARALLEL, 33, 360);
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
        for (int i = 0; methods[i]; i++) {
            char text[128];
            snprintf(text, sizeof text, "%s method=%s", stages[s], methods[i]);
            check_pair(text, &in, 1, strcmp(methods[i], "tensor") ? exact : 1e-3);
        }
}

TEST_ON_BOTH(operators, filters_have_their_adjoints)
{
    static const char *const stages[] = {"filter", "filter filter=hann cutoff=0.6",
                                         "filter filter=shepp-logan", "filter filter=none"};
    static const int64_t detectors[] = {1, 2, 31, 64, 500};
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
        for (size_t i = 0; i < sizeof detectors / sizeof *detectors; i++) {
            const struct ts_image in = sinogram_of(2, 5, detectors[i], 180);
            check_pair(stages[s], &in, 2, exact);
        }
}

TEST_ON_BOTH(operators, resampling_has_its_adjoint)
{
    static const char *const stages[] = {
        "resample shape=[9,8,5]",         "resample shape=[21,30] interpolation=cubic",
        "resample spacing=0.7",           "resample spacing=[2.3,1.7,1.1] interpolation=nearest",
        "resample spacing=3.1 outside=0",
    };
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
        const struct ts_image in = volume_of(6, 13, 11);
        check_pair(stages[s], &in, 2, exact);
    }
}

/* ---- results --------------------------------------------------------------------------------- */

/* Runs the chain of a stage on one image in host memory. */
static void run_chain(const char *stage, const struct ts_image *about, const struct values *in,
                      float *out)
{
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_chain *chain = NULL;
    struct ts_plan *plan = NULL;
    struct ts_run *run = NULL;
    struct ts_image image;
    char text[256];
    options.device = ts_test_device ? "cuda" : "cpu";
    options.threads = 3;
    snprintf(text, sizeof text, "memory in | %s", stage);
    struct ts_array array = {
        .size = sizeof array, .data = in->host, .dtype = TS_F32, .rank = 3, .cuda_device = -1};
    for (int d = 0; d < 3; d++)
        array.n[d] = about->axes[d].n;
    expect_ok(ts_chain_parse(text, strlen(text), "test", NULL, &chain, diag), text);
    expect_ok(ts_chain_set_array(chain, "in", &array, about, diag), text);
    expect_ok(ts_plan_create(chain, &options, &plan, diag), text);
    expect_ok(ts_run_create(plan, &run, diag), text);
    expect_ok(ts_plan_describe(plan, "data", &image, diag), text);
    for (int d = 0; d < 3; d++)
        array.n[d] = image.axes[d].n;
    array.data = out;
    expect_ok(ts_run_set_array(run, "data", &array, diag), text);
    expect_ok(ts_run_execute(run, diag), text);
    ts_run_destroy(run);
    ts_plan_destroy(plan);
    ts_chain_destroy(chain);
}

static void check_chain(const char *stage, const struct ts_image *in)
{
    struct ts_operator *op = operator_of(stage, in);
    struct ts_image from, to;
    ts_operator_describe(op, &from, &to);
    struct values x = values_of(&from, 1), y = values_of(&to, 1), expected = values_of(&to, 1);
    fill(&x, 91);
    expect_ok(ts_operator_apply(op, &x.array, &y.array, NULL, diag), stage);
    fetch(&y);
    run_chain(stage, in, &x, expected.host);
    expect_same(&y, expected.host, stage);
    ts_operator_destroy(op);
    free(x.host);
    free(y.host);
    free(expected.host);
}

TEST_ON_BOTH(operators, results_are_those_of_the_chain)
{
    static const char *const stages[] = {"box radius=2 dimensions=3d border=mirror",
                                         "gaussian sigma=1.2 dimensions=3d", "radon views=12",
                                         "convolve kernel=sharpen-8", "resample spacing=0.8"};
    const struct ts_image volume = volume_of(5, 14, 12), sinogram = sinogram_of(4, 10, 21, 180);
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++)
        check_chain(stages[s], &volume);
    check_chain("backproject", &sinogram);
    check_chain("filter filter=cosine", &sinogram);
    for (enum ts_beam_kind beam = TS_BEAM_PARALLEL; beam <= TS_BEAM_FAN_FLAT; beam++) {
        static const int64_t slices[] = {1, 7, 33};
        for (int i = 0; i < 3; i++) {
            const struct ts_image scan = scan_of(beam, slices[i], i == 1 ? 230 : 360);
            check_chain("fbp filter=hann", &scan);
            check_chain("fbp filter=none rows=9", &scan);
        }
    }
}

/* Images of a batch may be apart, and in falling order; a call of three has the bytes of three
 * calls of one. */
TEST_ON_BOTH(operators, a_batch_is_its_images_one_by_one)
{
    const struct ts_image in = volume_of(2, 9, 7);
    struct ts_operator *op = operator_of("radon views=4", &in);
    struct ts_image from, to;
    ts_operator_describe(op, &from, &to);
    struct values x = values_of(&from, 6), y = values_of(&to, 3), one = values_of(&to, 3);
    const int64_t image = (int64_t)ts_image_bytes(&from), result = (int64_t)ts_image_bytes(&to);
    fill(&x, 3);
    /* images 4, 2 and 0 of x */
    struct ts_array apart = x.array;
    apart.n[0] = 3;
    apart.data = (char *)x.array.data + 4 * image;
    apart.stride[0] = -2 * image;
    apart.stride[1] = 9 * 7 * sizeof(float);
    apart.stride[2] = 7 * sizeof(float);
    apart.stride[3] = sizeof(float);
    expect_ok(ts_operator_apply(op, &apart, &y.array, NULL, diag), "apart");
    for (int64_t i = 0; i < 3; i++) {
        struct ts_array a = x.array, b = one.array;
        a.rank = b.rank = 3;
        for (int d = 0; d < 3; d++) {
            a.n[d] = from.axes[d].n;
            b.n[d] = to.axes[d].n;
        }
        a.data = (char *)x.array.data + (4 - 2 * i) * image;
        b.data = (char *)one.array.data + i * result;
        expect_ok(ts_operator_apply(op, &a, &b, NULL, diag), "one");
    }
    fetch(&y);
    fetch(&one);
    expect_same(&y, one.host, "one by one");
    ts_operator_destroy(op);
    free(x.host);
    free(y.host);
    free(one.host);
}

/* Few rays are shared by several threads each on a device, and many are not: the bytes are the
 * same. The sizes are no multiples of what threads take at once. */
TEST_ON_BOTH(operators, a_view_by_itself_is_that_of_many)
{
    enum { VIEWS = 180, STEP = 17 };
    static const char *const beams[] = {"arc=180",
                                        "arc=180 detectors=33 detector_spacing=2.3 center=12.7",
                                        "beam=fan-flat arc=180 source_axis=90 source_detector=110",
                                        "beam=fan-arc arc=180 source_axis=90 source_detector=110"};
    static const int64_t sizes[][3] = {{1, 300, 17}, {13, 41, 70}, {18, 37, 41}};
    for (size_t b = 0; b < sizeof beams / sizeof *beams; b++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct ts_image in = volume_of(sizes[i][0], sizes[i][1], sizes[i][2]), from, to, one;
            char text[160];
            in.axes[1].spacing = 0.3;
            snprintf(text, sizeof text, "radon views=%d %s", VIEWS, beams[b]);
            struct ts_operator *op = operator_of(text, &in);
            ts_operator_describe(op, &from, &to);
            struct values x = values_of(&from, 1), y = values_of(&to, 1);
            fill(&x, 7);
            expect_ok(ts_operator_apply(op, &x.array, &y.array, stream_of(), diag), text);
            fetch(&y);
            ts_operator_destroy(op);
            const int64_t n = to.axes[2].n;
            for (int v = 0; v < VIEWS; v += STEP) {
                snprintf(text, sizeof text, "radon views=1 start=%d %s", v, beams[b]);
                op = operator_of(text, &in);
                ts_operator_describe(op, &from, &one);
                struct values alone = values_of(&one, 1);
                expect_ok(ts_operator_apply(op, &x.array, &alone.array, stream_of(), diag), text);
                fetch(&alone);
                for (int64_t z = 0; z < sizes[i][0]; z++)
                    cr_assert_arr_eq(alone.host + z * n, y.host + (z * VIEWS + v) * n,
                                     (size_t)n * sizeof(float), "%s: slice %lld", text,
                                     (long long)z);
                ts_operator_destroy(op);
                free(alone.host);
            }
            free(x.host);
            free(y.host);
        }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect(enum ts_status status, enum ts_status expected, const char *code,
                   const char *words)
{
    const struct ts_diag_record *record = ts_test_record(diag, code);
    if (!record)
        ts_diag_print(diag, stderr);
    cr_assert_eq(status, expected, "%s", code);
    cr_assert(record, "no record %s", code);
    cr_assert(strstr(record->message, words), "'%s' has no '%s'", record->message, words);
    ts_diag_clear(diag);
}

TEST_ON_BOTH(operators, stages_without_an_adjoint_are_refused_by_name)
{
    static const struct {
        const char *stage, *code, *words;
        bool sinogram;
    } wrong[] = {
        {"median radius=1", "operator-stage", "no linear map", false},
        {"equalize bins=8", "operator-stage", "no linear map", false},
        {"box radius=1 | box radius=2", "operator-stage", "one stage", false},
        {"resample like=input", "operator-stage", "another image", false},
        {"resample shape=[9,8,5] interpolation=bspline3", "operator-stage", "not known", false},
        {"resample spacing=0.8 convention=nnunet", "operator-stage", "not known", false},
        {"convolve kernel=sobel-magnitude", "transpose-magnitude", "not linear", false},
        {"box radius=1 border=constant constant=3", "transpose-constant", "linear", false},
        {"gaussian sigma=1 border=constant constant=-1", "transpose-constant", "linear", false},
        {"fbp gaps=accept | filter", "operator-stage", "one stage", true},
        {"fourier", "operator-stage", "adjoint is not known", true},
        {"fbp filter=wiener", "parameter-choice", "wiener", true},
        {"box radius={sweep 1 2}", "operator-stage", "a sweep has many", false},
        {"radon views={sweep 4 8}", "operator-stage", "a sweep has many", false},
        {"fbp rows={sweep 2 3}", "operator-stage", "a sweep has many", true},
        {"box radius=1 | nifti x.nii", "operator-stage", "an output is named", false},
        {"box radius=1 | hdf5 x.h5", "operator-stage", "an output is named", false},
        {"box radius=1 | input m memory x", "operator-stage", "another input", false},
        {"box radius=9000", "parameter-range", "outside", false},
    };
    struct ts_options options = TS_OPTIONS_DEFAULT;
    options.device = ts_test_device ? "cuda" : "cpu";
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const struct ts_image in =
            wrong[i].sinogram ? sinogram_of(1, 60, 9, 180) : volume_of(2, 5, 6);
        struct ts_operator *op = NULL;
        expect(ts_operator_create(wrong[i].stage, &in, &options, &op, diag), TS_BAD_CHAIN,
               wrong[i].code, wrong[i].words);
        cr_assert_null(op);
    }
    if (ts_test_device) { /* a kernel, which the test has to launch */
        const struct ts_image in = volume_of(2, 5, 6);
        ts_operator_destroy(operator_of("box radius=1", &in));
    }
}

Test(operators, inputs_are_refused_by_name)
{
    struct ts_options options = TS_OPTIONS_DEFAULT;
    struct ts_operator *op = NULL;
    struct ts_image in = volume_of(2, 5, 6);
    in.dtype = TS_U16;
    expect(ts_operator_create("box radius=1", &in, &options, &op, diag), TS_BAD_INPUT,
           "operator-input", "f32");
    in = volume_of(2, 5, 6);
    in.masked = true;
    expect(ts_operator_create("box radius=1", &in, &options, &op, diag), TS_BAD_INPUT,
           "operator-input", "invalid pixels");
    in = volume_of(2, 0, 6);
    expect(ts_operator_create("box radius=1", &in, &options, &op, diag), TS_BAD_INPUT,
           "memory-array", "without elements");
    in = volume_of(2, 5, 6);
    in.axes[1].spacing = NAN;
    expect(ts_operator_create("box radius=1", &in, &options, &op, diag), TS_BAD_INPUT,
           "memory-about", "finite");
    in = volume_of(2, 5, 6);
    options.device = "gpu";
    expect(ts_operator_create("box radius=1", &in, &options, &op, diag), TS_BAD_CHAIN, "device",
           "unknown device");
    options.device = "cuda:0,1";
    expect(ts_operator_create("box radius=1", &in, &options, &op, diag), TS_BAD_CHAIN,
           "operator-device", "one device");
    ts_operator_destroy(NULL);
}

TEST_ON_BOTH(operators, arrays_are_refused_by_name)
{
    const struct ts_image in = volume_of(2, 5, 6);
    struct ts_operator *op = operator_of("box radius=1", &in);
    struct values x = values_of(&in, 3), y = values_of(&in, 3);
    const struct ts_array right = x.array, out = y.array;
    struct ts_array a = right;
    fill(&x, 3);
#define REFUSED(in_array, out_array, words)                                                        \
    expect(ts_operator_apply(op, in_array, out_array, NULL, diag), TS_BAD_INPUT, "operator-array", \
           words)
    a.dtype = TS_I32;
    REFUSED(&a, &out, "'in' is not of type f32");
    a = right;
    a.n[2] = 4;
    REFUSED(&a, &out, "'in' has other sizes");
    a = right;
    a.rank = 2;
    REFUSED(&a, &out, "'in' has fewer than three axes");
    a = out;
    a.n[0] = 2;
    REFUSED(&right, &a, "'out' has another number of images");
    a = right;
    a.data = NULL;
    REFUSED(&a, &out, "'in' has no data");
    a = right;
    a.stride[3] = sizeof(float);
    a.stride[2] = 7 * sizeof(float);
    a.stride[1] = 35 * sizeof(float);
    a.stride[0] = 70 * sizeof(float);
    REFUSED(&a, &out, "not in C order");
    a = right;
    a.size = 3;
    REFUSED(&a, &out, "another version");
    a = right;
    a.data = (char *)right.data + 8;
    REFUSED(&right, &a, "overlaps");
    REFUSED(&right, &right, "overlaps");
    a = right;
    a.cuda_device = ts_test_device ? -1 : 0;
    REFUSED(&a, &out,
            ts_test_device ? "that of the operator is " : "that of the operator is the CPU, -1");
    expect_ok(ts_operator_apply(op, &right, &out, NULL, diag), "the right arrays");
    fetch(&y);
    ts_operator_destroy(op);
    free(x.host);
    free(y.host);
}
