/* SPDX-License-Identifier: Apache-2.0
 *
 * The center of mass of an object is a point that turns about the axis: if the views see the whole
 * object, their own centers of mass are c + a cos(theta) + b sin(theta), and c is the axis. This is
 * the first of the consistency conditions of S. Helgason and D. Ludwig. It takes any angles, and
 * can tell c from c + n / 2. But it needs the value of air, which is taken from the ends of the
 * rows, and an object that is not seen at the ends.
 */
#include <math.h>

#include "stages/geometry/view_angles.h"
#include "stages/scan/center_search.h"

enum { AIR_SHARE = 32, LEAST_AIR = 2, UNKNOWNS = 3 };

/* A view whose mass is less than this fraction of the mean does not see the object. */
static const double least_share = 0.2;

struct air {
    double first, last; /* mean at the first and at the last end of the rows */
    bool logarithm;     /* true if values are compared with air by their logarithm */
};

static double mean_of(const struct center_search *search, int64_t first, int64_t n)
{
    double sum = 0;
    for (int64_t v = 0; v < search->views->n; v++)
        for (int64_t d = first; d < first + n; d++)
            sum += (double)search->p[v * search->n_detectors + d];
    return sum / (double)(search->views->n * n);
}

/* Returns how many detector pixels at each end are taken for air. */
static int64_t air_width(int64_t n)
{
    return n / AIR_SHARE > LEAST_AIR ? n / AIR_SHARE : LEAST_AIR;
}

static struct air find_air(const struct center_search *search, enum ts_quantity quantity)
{
    const int64_t n = search->n_detectors, ends = air_width(n);
    return (struct air){mean_of(search, 0, ends), mean_of(search, n - ends, ends),
                        quantity != TS_LINE_INTEGRAL};
}

/* Returns the mass of the object at detector pixel d. */
static double mass_at(const struct air *air, double p, int64_t d, int64_t n)
{
    const double share = (double)d / (double)(n - 1),
                 base = (1 - share) * air->first + share * air->last;
    return air->logarithm ? -log(fmax(p / base, 1e-6)) : p - base;
}

struct equations {
    double matrix[UNKNOWNS][UNKNOWNS], right[UNKNOWNS];
};

/* Solves the equations; *inverse becomes element (0, 0) of the inverse matrix. Returns false if
 * there is no solution. */
static bool solve(const struct equations *e, double solution[UNKNOWNS], double *inverse)
{
    const double(*m)[UNKNOWNS] = e->matrix;
    double minor[UNKNOWNS][UNKNOWNS];
    for (int i = 0; i < UNKNOWNS; i++)
        for (int j = 0; j < UNKNOWNS; j++) {
            const int r = (i + 1) % UNKNOWNS, s = (i + 2) % UNKNOWNS, t = (j + 1) % UNKNOWNS,
                      u = (j + 2) % UNKNOWNS;
            minor[i][j] = m[r][t] * m[s][u] - m[r][u] * m[s][t];
        }
    const double determinant =
        m[0][0] * minor[0][0] + m[0][1] * minor[0][1] + m[0][2] * minor[0][2];
    if (!(determinant > 1e-9 * m[0][0] * m[0][0] * m[0][0]))
        return false;
    for (int i = 0; i < UNKNOWNS; i++)
        solution[i] =
            (minor[0][i] * e->right[0] + minor[1][i] * e->right[1] + minor[2][i] * e->right[2]) /
            determinant;
    *inverse = minor[0][0] / determinant;
    return true;
}

/* Returns the deviation of the center by noise that all views share, of which stripes were taken
 * out: medians of WINDOW columns are left. It moves the centers of mass, and air at both ends. */
static double shared_deviation(const struct center_search *search, double center, double mass,
                               double noise)
{
    enum { AROUND = CENTER_AROUND };
    const int64_t n = search->n_detectors, ends = air_width(n);
    double first = 0, last = 0, squares = 0;
    for (int64_t d = 0; d < n; d++) {
        const double share = (double)d / (double)(n - 1), arm = (double)d - center;
        first += (1 - share) * arm / (double)ends;
        last += share * arm / (double)ends;
    }
    for (int64_t k = 0; k < n; k++) {
        double weight = 0;
        for (int64_t d = k > AROUND ? k - AROUND : 0; d < n && d <= k + AROUND; d++) {
            const int64_t columns =
                (d + AROUND < n ? d + AROUND + 1 : n) - (d > AROUND ? d - AROUND : 0);
            weight += ((double)d - center - (d < ends ? first : 0) - (d >= n - ends ? last : 0)) /
                      (double)columns;
        }
        squares += weight * weight;
    }
    return noise * sqrt(0.5 * M_PI * squares) /
           mass; /* the variance of medians, of that of means */
}

/* Returns the center of mass of a view, or NAN if its mass is less than `least`. */
static double center_of_view(const struct center_search *search, const struct air *air, int64_t v,
                             double least, double *mass)
{
    const int64_t n = search->n_detectors;
    double sum = 0, moment = 0;
    for (int64_t d = 0; d < n; d++) {
        const double at = mass_at(air, (double)search->p[v * n + d], d, n);
        sum += at;
        moment += at * (double)d;
    }
    *mass = sum;
    return sum > 0 && sum >= least ? moment / sum : NAN;
}

/* Adds a view whose center of mass is `center`. */
static void add_view(struct equations *e, const double row[UNKNOWNS], double center)
{
    for (int i = 0; i < UNKNOWNS; i++) {
        for (int j = 0; j < UNKNOWNS; j++)
            e->matrix[i][j] += row[i] * row[j];
        e->right[i] += row[i] * center;
    }
}

struct center_fit ts_center_by_mass(const struct center_search *search, enum ts_quantity quantity,
                                    double shared)
{
    const struct center_fit none = {NAN, NAN};
    const struct air air = find_air(search, quantity);
    const int64_t n_views = search->views->n;
    struct equations e = {0};
    double all = 0, squares = 0, c[UNKNOWNS] = {0}, inverse = 0, mass;
    if (air.logarithm && !(air.first > 0 && air.last > 0))
        return none;
    for (int64_t v = 0; v < n_views; v++) {
        center_of_view(search, &air, v, 0, &mass);
        all += mass;
    }
    for (int pass = 0; pass < 2; pass++) { /* the first pass adds up the views, the second what the
                                            * solution does not explain */
        for (int64_t v = 0; v < n_views; v++) {
            const double theta = ts_view_degree(search->views, v) * M_PI / 180,
                         row[] = {1, cos(theta), sin(theta)};
            const double center =
                center_of_view(search, &air, v, least_share * all / (double)n_views, &mass);
            const double left = center - c[0] - c[1] * row[1] - c[2] * row[2];
            if (isnan(center))
                return none;
            if (pass == 0)
                add_view(&e, row, center);
            else
                squares += left * left;
        }
        if (pass == 0 && !solve(&e, c, &inverse))
            return none;
    }
    if (!(c[0] >= 0 && c[0] <= (double)(search->n_detectors - 1)))
        return none;
    return (struct center_fit){
        c[0], hypot(sqrt(inverse * squares / (double)(n_views - UNKNOWNS)),
                    shared_deviation(search, c[0], all / (double)n_views, shared))};
}
