/* SPDX-License-Identifier: Apache-2.0
 *
 * Legal scans are never doubted, whatever their angles, noise and objects; and angles and axes that
 * are wrong are, if the noise allows it.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "stages/geometry/view_doubts.h"
#include "stages/geometry/view_fan.h"
#include "tests/support/support.h"

enum { N = 97, MOST_VIEWS = 240, DISCS = 4 };

static double normal(uint64_t *seed)
{
    const double radius = sqrt(-2 * log(1 - ts_random_unit(seed)));
    return radius * cos(2 * M_PI * ts_random_unit(seed));
}

struct ellipse {
    double x, y, a, b, value;
};

/* Adds what a view at `degrees` of a row of n sees, with the axis on `center`. */
static void draw_row(const struct ellipse *e, double degrees, double center, int n, float *row)
{
    const double theta = degrees * M_PI / 180, c = cos(theta), s = sin(theta),
                 width = e->a * e->a * c * c + e->b * e->b * s * s;
    for (int d = 0; d < n; d++) {
        const double t = d - center - e->x * c - e->y * s;
        row[d] += (float)(e->value * 2 * e->a * e->b / width * sqrt(fmax(0, width - t * t)));
    }
}

static void draw(const struct ellipse *e, double degrees, double center, float *row)
{
    draw_row(e, degrees, center, N, row);
}

enum angles { HALF, WHOLE, ENDS, GOLDEN, JITTER, WRAPPED, LIMITED, SHORT, BACKWARDS, ODD, ANGLES };

/* Returns the angle of view v of n. `begin` and `arc` are where some kinds begin, and what part of
 * a turn they see. */
static double angle_of(enum angles kind, int v, int n, double begin, double arc, uint64_t *seed)
{
    const double part = (double)v / n;
    switch (kind) {
    case WHOLE:
        return 360 * part;
    case ENDS:
        return 180.0 * v / (n - 1);
    case GOLDEN:
        return fmod(v * 111.246117975, 180);
    case JITTER:
        return 180 * part + 40.0 / n * normal(seed);
    case WRAPPED:
        return fmod(begin + 180 * part, 360);
    case LIMITED:
        return arc * part;
    case SHORT:
        return (180 + arc / 2) * part;
    case BACKWARDS:
        return 180 - 180 * part;
    case ODD:
        return 360.0 * v / (n | 1);
    default:
        return 180 * part;
    }
}

static int make_angles(enum angles kind, uint64_t *seed, double *degrees)
{
    static const int numbers[] = {12, 20, 45, 90, 180, 240};
    const int n = numbers[(int)(6 * ts_random_unit(seed))];
    const double begin = 360 * ts_random_unit(seed), arc = 60 + 90 * ts_random_unit(seed);
    for (int v = 0; v < n; v++)
        degrees[v] = angle_of(kind, v, n, begin, arc, seed);
    return n;
}

/* An object that leaves air at both ends, or, `cut`, none. */
static int make_object(uint64_t *seed, bool cut, struct ellipse *object)
{
    const int n = 1 + (int)(DISCS * ts_random_unit(seed));
    const double least = *seed % 3 ? 0.3 : 0.02; /* plates */
    const double most = cut ? 70 : 42, radius = most * (0.2 + 0.7 * ts_random_unit(seed));
    for (int i = 0; i < n; i++) {
        const double at = 2 * M_PI * ts_random_unit(seed),
                     far = (i ? 0.6 * radius : most - radius) * ts_random_unit(seed),
                     size = i ? 0.3 * radius : radius;
        object[i] = (struct ellipse){far * cos(at), far * sin(at), size,
                                     size * (least + (1 - least) * ts_random_unit(seed)),
                                     i ? 2 * ts_random_unit(seed) : 1};
    }
    return n;
}

static void add_noise(float *p, int n, double noise, uint64_t *seed)
{
    float most = 0;
    for (int i = 0; i < n; i++)
        most = fmaxf(most, p[i]);
    for (int i = 0; i < n; i++)
        p[i] += (float)(noise * (double)most * normal(seed));
}

/* 1000 scans. */
Test(view_doubts, legal_scans_are_not_doubted)
{
    static const double noises[] = {0, 0.001, 0.01, 0.05, 0.2};
    static float p[MOST_VIEWS * N];
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t seed = i + 1;
        double degrees[MOST_VIEWS];
        struct ellipse object[DISCS];
        const int n = make_angles((enum angles)(i % ANGLES), &seed, degrees);
        const bool cut = i % 7 == 3, half = i % 11 == 5; /* half acquisition */
        const int discs = make_object(&seed, cut, object);
        const double center = half ? 14 : 48 + (i % 3 ? 0 : 8 * ts_random_unit(&seed) - 4),
                     hard = i % 13 == 6 ? 0.001 : 0, drift = i % 17 == 8 ? 0.3 : 0;
        for (int v = 0; v < n; v++) {
            float *row = p + v * N;
            memset(row, 0, N * sizeof *row);
            for (int k = 0; k < discs; k++)
                draw(object + k, degrees[v], center, row);
            for (int d = 0; d < N; d++)
                row[d] += (float)(drift * v / n - hard * (double)row[d] * (double)row[d]);
        }
        add_noise(p, n * N, noises[i % 5], &seed);
        const struct ts_axis views = {
            .kind = TS_AXIS_VIEW, .n = n, .spacing = 1, .positions = degrees, .unit = "degree"};
        struct view_doubts doubts;
        cr_assert(ts_view_doubts(p, &views, N, center, &doubts));
        cr_expect_eq(doubts.kind, VIEWS_NOT_DOUBTED, "scan %d: kind %d, %g, %g", (int)i,
                     (int)doubts.kind, doubts.first, doubts.second);
    }
}

/* Counts the doubts of a kind about legal scans of 20,000 photons a pixel: of thin and small
 * objects, or whose detector pixels have gains of this deviation. */
static int count_doubts(enum view_doubt kind, bool thin, double gain, int scans)
{
    static float p[MOST_VIEWS * N];
    int count = 0;
    for (int i = 0; i < scans; i++) {
        uint64_t seed = (uint64_t)i + 1;
        double degrees[MOST_VIEWS], gains[N];
        struct ellipse object[DISCS];
        float most = 0;
        const int n = make_angles((enum angles)(i % ANGLES), &seed, degrees);
        const int discs = make_object(&seed, false, object);
        for (int k = 0; thin && k < discs; k++) {
            const double a = 0.3 * pow(100, ts_random_unit(&seed)),
                         far = (40 - a) * ts_random_unit(&seed),
                         at = 2 * M_PI * ts_random_unit(&seed);
            object[k] = (struct ellipse){far * cos(at), far * sin(at), a,
                                         a * pow(0.01, ts_random_unit(&seed)), 1};
        }
        memset(p, 0, sizeof p);
        for (int v = 0; v < n; v++)
            for (int k = 0; k < discs; k++)
                draw(object + k, degrees[v], 48, p + v * N);
        for (int k = 0; k < n * N; k++)
            most = fmaxf(most, p[k]);
        const double top = 0.3 + 3 * ts_random_unit(&seed), photons = 20000;
        for (int d = 0; d < N; d++)
            gains[d] = 1 + gain * normal(&seed);
        for (int k = 0; k < n * N; k++) {
            const double mean = photons * exp(-(double)(p[k] / most) * top),
                         seen = fmax(mean + sqrt(mean) * normal(&seed), 0.5);
            p[k] = (float)-log(seen / photons * gains[k % N]);
        }
        const struct ts_axis views = {
            .kind = TS_AXIS_VIEW, .n = n, .spacing = 1, .positions = degrees, .unit = "degree"};
        struct view_doubts doubts;
        cr_assert(ts_view_doubts(p, &views, N, 48, &doubts));
        count += doubts.kind == kind;
    }
    return count;
}

/* Thin plates that are seen from their edges fall between detector pixels, so that their sums
 * differ; and stripes of the detector are no mirror images. */
Test(view_doubts, thin_objects_and_stripes_are_hardly_doubted)
{
    const int thin = count_doubts(VIEWS_UNEQUAL, true, 0, 3000),
              stripes = count_doubts(VIEWS_UNLIKE, false, 0.05, 600),
              strong = count_doubts(VIEWS_UNLIKE, false, 0.1, 300);
    printf("view_doubts: of 3000 scans of thin objects %d have other sums; of 600 with stripes of "
           "5 %% "
           "%d, and of 300 with 10 %% %d, have opposite views that are unlike\n",
           thin, stripes, strong);
    cr_expect_eq(thin, 0);
    cr_expect_leq(stripes, 6);
    cr_expect_leq(strong, 3);
}

static int compare_texts(const void *a, const void *b)
{
    char left[16], right[16];
    snprintf(left, sizeof left, "%d", *(const int *)a);
    snprintf(right, sizeof right, "%d", *(const int *)b);
    return strcmp(left, right);
}

Test(view_doubts, wrong_angles_and_axes_are_found)
{
    static const struct {
        double arc, taken, center; /* degrees; the axis is taken to be on 48 */
        int texts;                 /* 1 or 2: frames are in the order of texts from 0 or 1 on */
        enum view_doubt kind;
        double second;
    } rows[] = {{180, 180, 53, 0, VIEWS_OFF_AXIS, NAN},
                {360, 360, 38, 0, VIEWS_OFF_AXIS, NAN},
                {200, 200, 50, 0, VIEWS_OFF_AXIS, NAN},
                {360, 180, 48, 0, VIEWS_OTHER_ARC, 360},
                {180, 360, 48, 0, VIEWS_OTHER_ARC, 180},
                {360, 180, 53, 0, VIEWS_OTHER_ARC, 360},
                {180, 180000 / 180 * M_PI, 48, 0, VIEWS_MILLIRADIANS, 180},
                {360, 360000 / 180 * M_PI, 48, 0, VIEWS_MILLIRADIANS, 360},
                {180, 180, 48, 1, VIEWS_AS_TEXTS, 0},
                {180, 180, 48, 2, VIEWS_AS_TEXTS, 0},
                {360, 360, 48, 1, VIEWS_AS_TEXTS, 0},
                {360, 360, 50, 2, VIEWS_AS_TEXTS, 0}};
    static const struct ellipse object[] = {
        {0, 0, 30, 22, 0.02}, {8, -5, 6, 6, 0.03}, {-12, 6, 4, 7, -0.01}, {3, 12, 3, 3, 0.05}};
    enum { VIEWS = 180 };
    static float p[VIEWS * N];
    for (size_t i = 0; i < sizeof rows / sizeof *rows * 2; i++) {
        const size_t row = i / 2;
        uint64_t seed = 4;
        double degrees[VIEWS];
        int order[VIEWS];
        for (int v = 0; v < VIEWS; v++)
            order[v] = v + (rows[row].texts == 2);
        if (rows[row].texts)
            qsort(order, VIEWS, sizeof *order, compare_texts);
        memset(p, 0, sizeof p);
        for (int v = 0; v < VIEWS; v++) {
            degrees[v] = rows[row].taken * v / VIEWS;
            for (size_t k = 0; k < sizeof object / sizeof *object; k++)
                draw(object + k, rows[row].arc * (order[v] - (rows[row].texts == 2)) / VIEWS,
                     rows[row].center, p + v * N);
        }
        add_noise(p, VIEWS * N, i % 2 ? 0.01 : 0, &seed);
        const struct ts_axis views = {
            .kind = TS_AXIS_VIEW, .n = VIEWS, .spacing = 1, .positions = degrees, .unit = "degree"};
        struct view_doubts doubts;
        cr_assert(ts_view_doubts(p, &views, N, 48, &doubts));
        cr_expect_eq(doubts.kind, rows[row].kind, "row %zu: kind %d", row, (int)doubts.kind);
        if (rows[row].kind == VIEWS_OFF_AXIS)
            cr_expect(fabs(doubts.first - rows[row].center) < 0.1, "row %zu: %g +- %g", row,
                      doubts.first, doubts.second);
        else
            cr_expect_float_eq(doubts.second, rows[row].second, 0.01, "row %zu: %g", row,
                               doubts.second);
    }
}

enum { WITH_END, WITHOUT_END };

struct end_scan {
    double turn, center;
    int views, begin; /* degrees at which they begin */
    bool falls, cut;  /* the angles fall; the object goes on beyond the detector */
    bool only_meets;  /* that the end is missing is too little to be seen */
};

/* Returns what is told of views that cover a range with its end or without it, and whose angles say
 * one of both. `rough` adds noise, stripes, a drift of the sample and one of the beam. */
static struct view_doubts doubt_end(const struct end_scan *scan, int shown, int said, bool rough)
{
    static const struct ellipse object[] = {
        {0, 0, 26, 20, 0.02}, {9, -6, 5, 6, 0.03}, {-12, 6, 4, 7, -0.01}, {3, 12, 3, 3, 0.05}};
    enum { MOST = 361 };
    static float p[MOST * N];
    double degrees[MOST];
    uint64_t seed = 7;
    memset(p, 0, sizeof p);
    for (int v = 0; v < scan->views; v++) {
        const double begin = scan->falls ? scan->turn + scan->begin : scan->begin,
                     turn = scan->falls ? -scan->turn : scan->turn;
        degrees[v] = fmod(begin + turn * v / (scan->views - (said == WITH_END)), 360);
        for (size_t k = 0; k < sizeof object / sizeof *object; k++) {
            struct ellipse e = object[k];
            e.a *= scan->cut && k == 0 ? 2.5 : 1;
            draw(&e, begin + turn * v / (scan->views - (shown == WITH_END)),
                 scan->center + (rough ? 0.2 * v / scan->views : 0), p + v * N);
        }
    }
    if (rough)
        add_noise(p, scan->views * N, 0.002, &seed);
    for (int d = 0; rough && d < N; d++) {
        const float stripe = (float)(0.003 * normal(&seed));
        for (int v = 0; v < scan->views; v++)
            p[v * N + d] += stripe + 0.05F * (float)v / (float)scan->views;
    }
    const struct ts_axis views = {.kind = TS_AXIS_VIEW,
                                  .n = scan->views,
                                  .spacing = 1,
                                  .positions = degrees,
                                  .unit = "degree"};
    struct view_doubts doubts;
    cr_assert(ts_view_doubts(p, &views, N, scan->center, &doubts));
    return doubts;
}

Test(view_doubts, ends_of_the_range_that_the_angles_do_not_have_are_found)
{
    static const struct end_scan scans[] = {{180, 48, 91},
                                            {360, 48, 181},
                                            {180, 50.5, 61, 20, .falls = true},
                                            {360, 47, 91, 350},
                                            {180, 48, 91, 100, .cut = true, .only_meets = true},
                                            {360, 14, 181, 33, .falls = true, .cut = true},
                                            {360, 48, 361, .only_meets = true},
                                            {180, 44.5, 121, 300, .only_meets = true}};
    int found = 0;
    for (size_t i = 0; i < sizeof scans / sizeof *scans; i++)
        for (int shown = WITH_END; shown <= WITHOUT_END; shown++)
            for (int said = WITH_END; said <= WITHOUT_END; said++)
                for (int rough = 0; rough < 2; rough++) {
                    const struct view_doubts doubts = doubt_end(scans + i, shown, said, rough);
                    const bool end = doubts.kind == VIEWS_MEET || doubts.kind == VIEWS_APART;
                    if (shown == said)
                        cr_expect(!end, "scan %zu, %d, %d: %d", i, said, rough, (int)doubts.kind);
                    else if (!rough && !(said == WITH_END && scans[i].only_meets))
                        cr_expect(doubts.kind == (said == WITH_END ? VIEWS_APART : VIEWS_MEET) &&
                                      doubts.first == scans[i].turn,
                                  "scan %zu, %d: %d of %g", i, said, (int)doubts.kind,
                                  doubts.first);
                    found += shown != said && end;
                }
    printf(
        "view_doubts: of 32 ranges with or without their end, of which the angles say the other, "
        "%d are found\n",
        found);
    cr_expect_geq(found, 20);
}

enum { LOST, EXCHANGED, IN_TWO, IN_FOUR, SHIFTED };

/* Makes the views of an order that their angles do not have. Returns how many are left. */
static int make_order(int kind, int at, int amount, int n, int *order)
{
    const int passes = kind == IN_FOUR ? 4 : 2, other = n - 60;
    int left = 0;
    for (int v = 0; v < n; v++)
        if (kind == LOST) {
            if (v < at || v >= at + amount)
                order[left++] = v;
        } else if (kind == EXCHANGED) {
            order[left++] = v >= at && v < at + amount         ? v - at + other
                            : v >= other && v < other + amount ? v - other + at
                                                               : v;
        } else {
            order[left++] = kind == SHIFTED ? v : v % (n / passes) * passes + v / (n / passes);
        }
    return left;
}

Test(view_doubts, views_in_another_order_are_found)
{
    static const struct {
        int kind, at, amount;
        enum view_doubt doubt;
        double first, second;
    } rows[] = {{LOST, 20, 20, VIEWS_LEAP, 20, 1},        {LOST, 80, 20, VIEWS_LEAP, 80, 1},
                {LOST, 140, 12, VIEWS_LEAP, 140, 1},      {LOST, 100, 8, VIEWS_LEAP, 100, 1},
                {EXCHANGED, 40, 1, VIEWS_STRAY, 40, 2},   {EXCHANGED, 40, 2, VIEWS_LEAP, 40, 4},
                {EXCHANGED, 40, 3, VIEWS_LEAP, 40, 4},    {EXCHANGED, 40, 10, VIEWS_LEAP, 40, 4},
                {EXCHANGED, 40, 30, VIEWS_LEAP, 40, 4},   {IN_TWO, 0, 0, VIEWS_IN_PASSES, NAN, 2},
                {IN_FOUR, 0, 0, VIEWS_IN_PASSES, NAN, 4}, {SHIFTED, 70, 2, VIEWS_MOVED, 70, 2},
                {SHIFTED, 120, -5, VIEWS_MOVED, 120, -5}};
    static const struct ellipse objects[][3] = {
        {{14, -10, 18, 18, 0.02}, {20, 5, 5, 5, 0.05}, {-20, 3, 3, 3, 0.05}},
        {{20, 5, 10, 10, 0.05}, {-25, 3, 5, 5, 0.05}, {0, 0, 1, 1, 0.05}},
        {{2, 3, 30, 20, 0.02}, {14, -5, 6, 6, 0.06}, {-12, 6, 15, 0.7, 0.02}}};
    enum { VIEWS = 180 };
    static float p[VIEWS * N];
    for (size_t i = 0; i < sizeof rows / sizeof *rows * 3 * 2; i++) {
        const size_t row = i / 6;
        uint64_t seed = i + 1;
        double degrees[VIEWS];
        int order[VIEWS];
        const int n = make_order(rows[row].kind, rows[row].at, rows[row].amount, VIEWS, order);
        memset(p, 0, sizeof p);
        for (int v = 0; v < n; v++) {
            const bool late = rows[row].kind == SHIFTED && v >= rows[row].at;
            degrees[v] = 180.0 * v / n;
            for (int k = 0; k < 3; k++)
                draw(objects[i / 2 % 3] + k, order[v], 48 + (late ? rows[row].amount : 0),
                     p + v * N);
        }
        add_noise(p, n * N, i % 2 ? 0.01 : 0, &seed);
        const struct ts_axis views = {
            .kind = TS_AXIS_VIEW, .n = n, .spacing = 1, .positions = degrees, .unit = "degree"};
        struct view_doubts doubts;
        cr_assert(ts_view_doubts(p, &views, N, 48, &doubts));
        cr_expect_eq(doubts.kind, rows[row].doubt, "row %zu, %zu: kind %d, %g, %g", row, i % 6,
                     (int)doubts.kind, doubts.first, doubts.second);
        if (doubts.kind == VIEWS_LEAP) /* no axis fits views that leap */
            cr_expect(isnan(doubts.center) && isnan(doubts.error), "row %zu", row);
        if (doubts.kind != VIEWS_IN_PASSES)
            cr_expect_eq(doubts.first, rows[row].first, "row %zu: view %g", row, doubts.first);
        cr_expect_float_eq(doubts.second, rows[row].second, 0.3, "row %zu: %g", row, doubts.second);
    }
}

/* What turns about an axis along the rows has other sums in them; what drifts has them not. */
Test(view_doubts, sums_that_differ_and_drifts_are_found)
{
    static const struct {
        double drift, waves; /* detector pixels at the end, or of so many waves over the scan */
        bool along;          /* the axis is along the rows */
        enum view_doubt doubt;
    } rows[] = {{0, 0, false, VIEWS_NOT_DOUBTED}, {0.3, 0, false, VIEWS_NOT_DOUBTED},
                {10, 0, false, VIEWS_DRIFT},      {2, 2, false, VIEWS_DRIFT},
                {3, 3, false, VIEWS_DRIFT},       {1, 5, false, VIEWS_DRIFT},
                {0, 0, true, VIEWS_UNEQUAL}};
    static const struct ellipse object[] = {
        {6, -4, 30, 22, 0.02}, {8, -5, 6, 6, 0.03}, {-12, 6, 4, 7, 0.03}};
    enum { VIEWS = 180 };
    static float p[VIEWS * N];
    for (size_t i = 0; i < sizeof rows / sizeof *rows * 2; i++) {
        const size_t row = i / 2;
        uint64_t seed = i + 1;
        double degrees[VIEWS];
        memset(p, 0, sizeof p);
        for (int v = 0; v < VIEWS; v++) {
            const double part = (double)v / VIEWS,
                         moved =
                             rows[row].drift *
                             (rows[row].waves > 0 ? sin(2 * M_PI * rows[row].waves * part) : part);
            float view[N] = {0};
            degrees[v] = 180 * part;
            for (size_t k = 0; k < sizeof object / sizeof *object; k++)
                draw(object + k, degrees[v], 48 + moved, view);
            for (int d = 0; d < N; d++) /* a cylinder, and the pixel 10 beside its axis */
                p[v * N + d] = rows[row].along ? (d > 20 && d < 70 ? view[63] : 0) : view[d];
        }
        add_noise(p, VIEWS * N, i % 2 ? 0.002 : 0, &seed);
        const struct ts_axis views = {
            .kind = TS_AXIS_VIEW, .n = VIEWS, .spacing = 1, .positions = degrees, .unit = "degree"};
        struct view_doubts doubts;
        cr_assert(ts_view_doubts(p, &views, N, 48, &doubts));
        cr_expect_eq(doubts.kind, rows[row].doubt, "row %zu, %zu: kind %d, %g, %g", row, i % 2,
                     (int)doubts.kind, doubts.first, doubts.second);
    }
}

/* Of an even drift over a whole turn a sixth is left in the deviation, also of a wide row; over
 * half a turn it is another axis. */
Test(view_doubts, even_drifts_of_wide_rows_are_found)
{
    static const struct {
        double arc, drift, axis;
        enum view_doubt doubt;
    } rows[] = {{360, 4, 255.5, VIEWS_DRIFT},         {360, 4, 257.5, VIEWS_DRIFT},
                {360, -6, 255.5, VIEWS_DRIFT},        {360, 2, 256.5, VIEWS_DRIFT},
                {360, 0.5, 255.5, VIEWS_NOT_DOUBTED}, {360, 0, 255.5, VIEWS_NOT_DOUBTED},
                {180, 4, 257.5, VIEWS_NOT_DOUBTED},   {180, 4, 255.5, VIEWS_OFF_AXIS}};
    static const struct ellipse object[] = {
        {20, -12, 160, 150, 0.005}, {60, 40, 24, 20, 0.01}, {-80, 20, 16, 30, -0.004}};
    enum { VIEWS = 240, WIDE = 512 };
    static float p[VIEWS * WIDE];
    for (size_t i = 0; i < sizeof rows / sizeof *rows * 2; i++) {
        const size_t row = i / 2;
        uint64_t seed = i + 1;
        double degrees[VIEWS];
        memset(p, 0, sizeof p);
        for (int v = 0; v < VIEWS; v++) {
            const double part = (double)v / VIEWS;
            degrees[v] = rows[row].arc * part;
            for (int k = 0; k < 3; k++)
                draw_row(object + k, degrees[v], 255.5 + rows[row].drift * part, WIDE,
                         p + v * WIDE);
        }
        add_noise(p, VIEWS * WIDE, i % 2 ? 0.002 : 0, &seed);
        const struct ts_axis views = {
            .kind = TS_AXIS_VIEW, .n = VIEWS, .spacing = 1, .positions = degrees, .unit = "degree"};
        struct view_doubts doubts;
        cr_assert(ts_view_doubts(p, &views, WIDE, rows[row].axis, &doubts));
        cr_expect_eq(doubts.kind, rows[row].doubt, "row %zu, %zu: kind %d, %g, %g", row, i % 2,
                     (int)doubts.kind, doubts.first, doubts.second);
    }
}

/* Of views that are opposite by their angles, and are not, nothing is left over if they are shifted
 * and scaled; those of a beam that gets darker are mirror images all the same. Of views of two
 * scans in turn, the next but one is more alike. */
Test(view_doubts, views_that_are_unlike_opposite_or_next_ones_are_found)
{
    static const struct {
        double turned; /* degrees in all; they are taken for 180 */
        double shrunk, light;
        enum view_doubt doubt;
        double moved; /* of every second view, in detector pixels */
    } rows[] = {{180, 0, 0, VIEWS_NOT_DOUBTED},  {180, 0, 0.4, VIEWS_NOT_DOUBTED},
                {180, 0, 0, VIEWS_ALTERNATE, 6}, {180, 0, 0.4, VIEWS_ALTERNATE, -3},
                {108, 0, 0, VIEWS_UNLIKE},       {90, 0, 0, VIEWS_UNLIKE},
                {150, 0, 0, VIEWS_UNLIKE},       {180, 0.2, 0, VIEWS_UNLIKE}};
    static const struct ellipse object[] = {
        {0, 1, 34, 14, 0.02}, {8, -5, 6, 6, 0.03}, {-12, 6, 4, 7, 0.03}, {20, 2, 3, 3, 0.05}};
    enum { VIEWS = 180 };
    static float p[VIEWS * N];
    for (size_t i = 0; i < sizeof rows / sizeof *rows * 2; i++) {
        const size_t row = i / 2;
        uint64_t seed = i + 1;
        double degrees[VIEWS];
        memset(p, 0, sizeof p);
        for (int v = 0; v < VIEWS; v++) {
            const double part = (double)v / VIEWS, size = 1 - rows[row].shrunk * part;
            degrees[v] = 180 * part;
            for (size_t k = 0; k < sizeof object / sizeof *object; k++) {
                struct ellipse e = object[k];
                e.x *= size, e.y *= size, e.a *= size, e.b *= size, e.value /= size * size;
                draw(&e, rows[row].turned * part, 48 + v % 2 * rows[row].moved, p + v * N);
            }
            for (int d = 0; d < N; d++)
                p[v * N + d] += (float)(0.1 * rows[row].light * part);
        }
        add_noise(p, VIEWS * N, i % 2 ? 0.005 : 0, &seed);
        const struct ts_axis views = {
            .kind = TS_AXIS_VIEW, .n = VIEWS, .spacing = 1, .positions = degrees, .unit = "degree"};
        struct view_doubts doubts;
        cr_assert(ts_view_doubts(p, &views, N, 48, &doubts));
        cr_expect_eq(doubts.kind, rows[row].doubt, "row %zu, %zu: kind %d, %g, %g", row, i % 2,
                     (int)doubts.kind, doubts.first, doubts.second);
    }
}

/* Adds what a view of a fan of so many degrees sees; below 0 its angles fall where they rise. */
static void draw_fan(const struct ellipse *e, double degrees, double center, double fan, float *row)
{
    const double far = 0.5 * N / tan(fabs(fan) * M_PI / 360);
    for (int d = 0; d < N; d++) {
        const double gamma = atan((d - center) / far),
                     theta = degrees * M_PI / 180 * (fan < 0 ? -1 : 1) + gamma, c = cos(theta),
                     s = sin(theta), width = e->a * e->a * c * c + e->b * e->b * s * s,
                     t = far * sin(gamma) - e->x * c - e->y * s;
        row[d] += (float)(e->value * 2 * e->a * e->b / width * sqrt(fmax(0, width - t * t)));
    }
}

Test(view_doubts, views_of_a_fan_are_found)
{
    static const struct ellipse objects[][3] = {
        {{2, 3, 30, 20, 0.02}, {14, -5, 6, 6, 0.03}, {-12, 6, 4, 7, 0.03}},
        {{14, -10, 18, 18, 0.02}, {20, 5, 5, 5, 0.05}, {-20, 3, 3, 3, 0.05}},
        {{0, 0, 60, 45, 0.02}, {20, 5, 9, 4, 0.05}, {-25, -8, 6, 3, -0.02}}}; /* is cut off */
    static const double fans[] = {2, 5, 10, 25, -3, -12};
    enum { VIEWS = 240 };
    static float p[VIEWS * N];
    for (size_t i = 0; i < sizeof fans / sizeof *fans * 3 * 2; i++) {
        const double fan = fans[i / 6], center = i % 2 ? 48 : 45;
        double degrees[VIEWS];
        uint64_t seed = i + 1;
        memset(p, 0, sizeof p);
        for (int v = 0; v < VIEWS; v++) {
            degrees[v] = 360.0 * v / VIEWS;
            for (int k = 0; k < 3; k++)
                draw_fan(objects[i / 2 % 3] + k, degrees[v], center, fan, p + v * N);
        }
        add_noise(p, VIEWS * N, i % 2 ? 0.002 : 0, &seed);
        struct ts_axis views = {
            .kind = TS_AXIS_VIEW, .n = VIEWS, .spacing = 1, .positions = degrees, .unit = "degree"};
        struct view_doubts doubts;
        cr_assert(ts_view_doubts(p, &views, N, center, &doubts));
        cr_expect_eq(doubts.kind, VIEWS_FAN, "fan %g, %zu: kind %d", fan, i % 6, (int)doubts.kind);
        cr_expect_float_eq(doubts.first, fan, 0.1 * fabs(fan) + 0.2, "%g: %g", fan, doubts.first);
        views.n = VIEWS / 2; /* half a turn does not show it */
        cr_expect_eq(ts_view_fan(p, degrees, views.n, N, center), 0);
    }
}

/* 2000 scans of a whole turn. */
Test(view_doubts, parallel_views_are_no_fan)
{
    static const double noises[] = {0, 0.001, 0.01, 0.05, 0.2};
    static float p[MOST_VIEWS * N];
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t seed = i + 1;
        double degrees[MOST_VIEWS];
        struct ellipse object[DISCS];
        const int n = make_angles(i % 3 ? WHOLE : WRAPPED, &seed, degrees),
                  discs = make_object(&seed, i % 7 == 3, object);
        const double center = 48 + 8 * ts_random_unit(&seed) - 4, hard = i % 13 == 6 ? 0.001 : 0,
                     taken = center + (i % 11 == 5 ? 6 * ts_random_unit(&seed) - 3 : 0),
                     drift = i % 17 == 8 ? 0.3 : 0;
        memset(p, 0, sizeof p);
        for (int v = 0; v < n; v++) {
            degrees[v] *= i % 3 ? 1 : 2;
            for (int k = 0; k < discs; k++)
                draw(object + k, degrees[v], center, p + v * N);
            for (int d = 0; d < N; d++)
                p[v * N + d] +=
                    (float)(drift * v / n - hard * (double)p[v * N + d] * (double)p[v * N + d]);
        }
        add_noise(p, n * N, noises[i % 5], &seed);
        cr_expect_eq(ts_view_fan(p, degrees, n, N, taken), 0, "scan %d", (int)i);
    }
}
