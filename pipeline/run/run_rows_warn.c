/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run says of the rows of a scan, and what helps.
 */
#include "pipeline/run/run_rows.h"

#include <math.h>

#include "stages/geometry/view_doubts.h"

#define PAD_HINT                                                                                   \
    "`pad: {}` before it goes on with the outermost values, which lessens that of an object that " \
    "is cut off"

static void warn_of_cut_off(struct ts_diag *diag, struct diag_site *site,
                            const struct rows_found *found, bool has_air)
{
    site->code = "rows-cut-off";
    ts_diag_warning(diag, site,
                    "the rows do not end in air: an end of them in %s sees %.0f %% of the most "
                    "that is seen. The object goes on beyond the detector, which is taken for air, "
                    "so that values come out too high%s",
                    found->slice, 100 * (double)found->amount / ROWS_WHOLE,
                    has_air ? ""
                            : "; or air is not 0 there, because the flats or the beam changed");
    ts_diag_hint(diag, found->first && !has_air ? PAD_HINT
                           "; if both ends are air, `air` before minus_log makes it 0, "
                           "with as many `detectors` as see no object"
                                                : PAD_HINT);
}

static void warn_of_object_as_air(struct ts_diag *diag, struct diag_site *site,
                                  const struct rows_found *found)
{
    const double percent = 100 * (double)found->amount / ROWS_WHOLE;
    site->code = found->first ? "rows-cut-off" : "air-object";
    if (found->first)
        ts_diag_warning(diag, site,
                        "the rows do not end in air: an end of them in %s sees %.0f %% of the most "
                        "that is seen. The object goes on beyond the detector, and is taken for "
                        "air, so that values come out too low",
                        found->slice, percent);
    else
        ts_diag_warning(
            diag, site,
            "of the outermost detector pixels, which are taken for air, the innermost see %.0f %% "
            "of the most that is seen in %s: they see the object, so that values come out too low",
            percent, found->slice);
    ts_diag_hint(diag, found->first
                           ? "leave `air` out, and put `pad: {}` before the reconstruction, which "
                             "lessens what an object that is cut off does"
                           : "take fewer `detectors`: as many as see no object in any view");
}

static void warn_of_inverted(struct ts_diag *diag, struct diag_site *site,
                             const struct rows_found *found)
{
    const double air = (double)found->first / ROWS_WHOLE, least = (double)found->last / ROWS_WHOLE;
    const bool light = air > 0.5 && air < 1.5 && least > -0.1;
    site->code = "integrals-inverted";
    ts_diag_warning(diag, site,
                    "the line integrals are %.2f at the ends of the rows and fall to %.2f in "
                    "between, in %s: an object has more than air, and these look like %s",
                    air, least, found->slice,
                    light ? "transmissions" : "line integrals with the other sign");
    ts_diag_hint(diag, light ? "`quantity: transmission` of the input, and `minus_log` before the "
                               "reconstruction"
                             : "the logarithm of transmissions is taken with a minus; the picture "
                               "that is reconstructed has the other sign as well");
}

/* For transmissions, `air` corrects the fault; line integrals have to be computed again. */
static void hint_at_air(struct ts_diag *diag, enum ts_quantity quantity, bool has_air)
{
    if (has_air)
        ts_diag_hint(diag, "`air` before it divides by what its `detectors` see: take as many as "
                           "see no object, or leave it out");
    else if (quantity == TS_TRANSMISSION)
        ts_diag_hint(diag, "if both ends of the rows are air, `air` before minus_log makes it 1, "
                           "with as many `detectors` as see no object");
}

static void warn_of_light(struct ts_diag *diag, struct diag_site *site, enum rows_kind kind,
                          const struct rows_found *found, enum ts_quantity quantity, bool has_air)
{
    const double amount = (double)found->amount / ROWS_WHOLE;
    if (kind == ROWS_BRIGHT) {
        site->code = "transmission-bright";
        ts_diag_warning(diag, site,
                        "%.0f %% of %s have a transmission above %.3g: the flats were darker than "
                        "the beam of the views, as of another exposure, or counts overflowed",
                        100 * amount, found->slice, ROWS_BRIGHT_FROM);
    } else if (kind == ROWS_STEP) {
        site->code = "air-level";
        ts_diag_warning(
            diag, site,
            "the transmission of the air at both ends of the rows becomes %.2f times that of the "
            "views before from view %lld of %s on: the beam or the exposure changed",
            amount, (long long)found->first, found->slice);
    } else if (kind == ROWS_DRIFT) {
        site->code = "air-level";
        ts_diag_warning(
            diag, site,
            "the transmission of the air at both ends of the rows changes evenly in %s, from the "
            "first view to %.2f times that in the last: the beam decayed or drifted",
            found->slice, amount);
    } else {
        site->code = "air-level";
        ts_diag_warning(
            diag, site,
            "both ends of the rows are even and have a transmission of %.2f in %s, and air has "
            "1%s: "
            "the flats were of another exposure than the views, %s",
            amount, found->slice, quantity == TS_LINE_INTEGRAL ? ", a line integral of 0" : "",
            amount < 1 ? "the beam changed, or the object goes on evenly beyond the detector"
                       : "or the beam changed");
    }
    hint_at_air(diag, quantity, has_air);
}

static void warn_of_views(struct ts_diag *diag, struct diag_site *site, enum rows_kind kind,
                          const struct rows_found *found, const struct ts_image *image,
                          bool has_air)
{
    const long long amount = found->amount, of = image->axes[1].n, first = found->first,
                    last = found->last;
    const bool one = amount == 1;
    char which[80];
    if (one)
        snprintf(which, sizeof which, "view %lld of %lld views, counted from 0,", first, of);
    else
        snprintf(which, sizeof which, "%lld of %lld views", amount, of);
    if (kind == ROWS_REPEATED) {
        site->code = "frames-repeated";
        ts_diag_warning(diag, site,
                        "%lld of %lld views have the very %s of the view before them in %s, noise "
                        "included, from view %lld to view %lld: the camera has given a frame again",
                        amount, of, image->quantity == TS_COUNTS ? "counts" : "values",
                        found->slice, first, last);
        return;
    }
    char where[80] = "";
    if (!one)
        snprintf(where, sizeof where, ", from view %lld to view %lld", first, last);
    if (kind == ROWS_DARK) {
        site->code = "view-dark";
        ts_diag_warning(diag, site,
                        "%s %s no light at all in %s, and those beside %s do%s: a shutter was "
                        "closed, or the object lets nothing pass there",
                        which, one ? "gets" : "get", found->slice, one ? "it" : "them", where);
    } else if (kind == ROWS_DIM) {
        site->code = "air-level";
        ts_diag_warning(diag, site,
                        "%s %s %.2f times the light of those beside %s in the air at both ends of "
                        "the rows, in %s%s: the beam or the exposure changed",
                        which, one ? "has" : "have", (double)found->share / ROWS_WHOLE,
                        one ? "it" : "them", found->slice, where);
        hint_at_air(diag, image->quantity, has_air);
    } else {
        site->code = "view-blank";
        ts_diag_warning(diag, site,
                        "%s %s nothing of the object in %s, and those beside %s do%s: %s may be "
                        "%s, or the object leaves the detector",
                        which, one ? "shows" : "show", found->slice, one ? "it" : "them", where,
                        one ? "it" : "they", one ? "a flat" : "flats");
    }
}

static void warn_of_leaps(struct ts_diag *diag, struct diag_site *site,
                          const struct rows_found *found)
{
    const double view = (double)found->first / ROWS_WHOLE, n = (double)found->last / ROWS_WHOLE;
    const bool stray = found->amount == VIEWS_STRAY;
    char more[64] = "";
    if (n > 1)
        snprintf(more, sizeof more, ", the first of %.0f such %s,", n, stray ? "views" : "places");
    site->code = "angles-contradicted";
    ts_diag_warning(diag, site,
                    "view %.0f of %s%s%s: %s another order than their angles, or the sample or the "
                    "beam has moved",
                    view, found->slice, more,
                    stray ? " does not fit the views beside it"
                          : " differs from the view before it far more than neighbors elsewhere do",
                    stray ? "views are in" : "views are lost there or are in");
}

static void warn_of_unequal(struct ts_diag *diag, struct diag_site *site, const char *slice,
                            double least, double most)
{
    site->code = "sums-differ";
    ts_diag_warning(diag, site,
                    "the sums of the rows of %s change from %.3g to %.3g with the view, though "
                    "they end in air: a parallel beam sees the same sum from all sides. The axis "
                    "is along the rows, the object leaves these slices as it turns, or the beam "
                    "hardens or is used up in dense parts",
                    slice, least, most);
    ts_diag_hint(diag, "look at a few frames, in which the object has to move along the rows");
}

static void warn_of_fan(struct ts_diag *diag, struct diag_site *site,
                        const struct rows_found *found, int64_t n)
{
    const double fan = (double)found->first / ROWS_WHOLE;
    site->code = "views-fan";
    ts_diag_warning(diag, site,
                    "opposite views of %s fit much better as those of a fan of %.1f degrees from "
                    "end to end of the row%s than as those of parallel rays: the picture is "
                    "blurred, the more so the farther from the axis",
                    found->slice, fabs(fan), fan < 0 ? ", with angles of the other sense," : "");
    ts_diag_hint(diag,
                 "`beam: fan-flat` of the input%s, with the scanner's `source_axis` and "
                 "`source_detector` in mm, the latter about %.0f times a detector pixel, and "
                 "`center: {center: N}` if the axis is not in the middle",
                 fan < 0 ? ", and the other `angle_sense`" : "",
                 0.5 * (double)n / tan(fabs(fan) * M_PI / 360));
}

static void warn_of_axis(struct ts_diag *diag, struct diag_site *site,
                         const struct rows_found *found)
{
    site->code = "center-off";
    ts_diag_warning(diag, site,
                    "the rotation axis is on detector pixel %.2f +- %.2f, as the centers of mass "
                    "of the views of %s and opposite views say, and is taken to be elsewhere: "
                    "edges come out double",
                    (double)found->first / ROWS_WHOLE, (double)found->last / ROWS_WHOLE,
                    found->slice);
    if (found->own)
        ts_diag_hint(diag, "leave its `center` out, and `center: {}` before it finds the axis");
    else if (found->elsewhere >= 0)
        ts_diag_hint(diag, "`center: {slice: %lld}` before it finds the axis",
                     (long long)found->elsewhere);
    else
        ts_diag_hint(diag, "`center: {}` before it finds the axis");
}

static void warn_of_drift(struct ts_diag *diag, struct diag_site *site,
                          const struct rows_found *found)
{
    const double first = (double)found->first / ROWS_WHOLE;
    site->code = "sample-moved";
    if (found->amount == VIEWS_MOVED)
        ts_diag_warning(diag, site,
                        "the object moves by %.1f detector pixels at view %.0f of %s, as the "
                        "centers of mass of the views say; or its angles or its light change",
                        (double)found->last / ROWS_WHOLE, first, found->slice);
    else
        ts_diag_warning(diag, site,
                        "the centers of mass of the views of %s leave the wave of an object that "
                        "only turns by up to %.2f detector pixels, and not by noise: the sample, "
                        "the axis or the detector drifts, or the angles are wrong. An even drift "
                        "over half a turn moves the axis that is found, and leaves a small part "
                        "of itself here",
                        found->slice, first);
}

/* The hint names parameters of the input (run_rows_choose.c). */
static void warn_of_ends(struct ts_diag *diag, struct diag_site *site,
                         const struct rows_found *found, int64_t n_views)
{
    const bool meet = found->amount == VIEWS_MEET;
    const double turn = (double)found->first / ROWS_WHOLE;
    site->code = "angles-end";
    ts_diag_warning(diag, site,
                    "the last view of %s shows %s: the %lld views cover %g degrees %s, so that "
                    "angles are wrong by up to %.3g degrees",
                    found->slice,
                    !meet         ? "what is a step before the first"
                    : turn == 360 ? "the same as the first"
                                  : "the same as the first, mirrored",
                    (long long)n_views, turn,
                    meet ? "with both ends, though their angles end a step before"
                         : "without their end, though their angles reach it",
                    turn / (double)n_views);
}

static void warn_of_angles(struct ts_diag *diag, struct diag_site *site,
                           const struct rows_found *found)
{
    const double first = (double)found->first / ROWS_WHOLE,
                 second = (double)found->last / ROWS_WHOLE;
    site->code = "angles-contradicted"; /* unless another one is named */
    switch ((enum view_doubt)found->amount) {
    case VIEWS_ALTERNATE:
        site->code = "views-alternate";
        ts_diag_warning(diag, site,
                        "the views of %s are far more like those after the next ones than like "
                        "these: every second view is of another scan, sample or position",
                        found->slice);
        break;
    case VIEWS_UNLIKE:
        site->code = "opposites-unlike";
        ts_diag_warning(diag, site,
                        "opposite views of %s are no mirror images of each other, as those of "
                        "parallel rays about one axis are: the angles are wrong, the rays are a "
                        "fan, the axis leans towards the beam, the flats are of another place, or "
                        "the object changed",
                        found->slice);
        break;
    case VIEWS_OTHER_ARC:
        ts_diag_warning(diag, site,
                        "the views of %s contradict their angles, which cover %.4g degrees: "
                        "centers of mass and opposite views fit better if they cover %.4g",
                        found->slice, first, second);
        break;
    case VIEWS_MILLIRADIANS:
        ts_diag_warning(diag, site,
                        "the views of %s contradict their angles, which cover %.5g degrees: they "
                        "fit better as milliradians, which are %.4g degrees",
                        found->slice, first, second);
        break;
    case VIEWS_IN_PASSES:
        ts_diag_warning(diag, site,
                        "the views of %s contradict their angles: they fit better if %.0f passes "
                        "were made over the angles, each over every one in %.0f",
                        found->slice, second, second);
        break;
    case VIEWS_LEAP:
    case VIEWS_STRAY:
        warn_of_leaps(diag, site, found);
        break;
    default:
        ts_diag_warning(diag, site,
                        "the views of %s contradict their angles: they fit better if the frames "
                        "are in the order of their numbers as texts, such as 1, 10, 100, 2",
                        found->slice);
    }
    ts_diag_hint(diag, "look at the angles of the scan, their unit and the order of the frames");
}

static void warn_of_doubts(struct ts_diag *diag, struct diag_site *site,
                           const struct rows_found *found, const struct ts_image *in)
{
    switch ((enum view_doubt)found->amount) {
    case VIEWS_MEET:
    case VIEWS_APART:
        warn_of_ends(diag, site, found, in->axes[1].n);
        break;
    case VIEWS_OFF_AXIS:
        warn_of_axis(diag, site, found);
        break;
    case VIEWS_MOVED:
    case VIEWS_DRIFT:
        warn_of_drift(diag, site, found);
        break;
    case VIEWS_UNEQUAL:
        warn_of_unequal(diag, site, found->slice, (double)found->first / ROWS_WHOLE,
                        (double)found->last / ROWS_WHOLE);
        break;
    case VIEWS_FAN:
        warn_of_fan(diag, site, found, in->axes[2].n);
        break;
    default:
        warn_of_angles(diag, site, found);
    }
}

/* Pixels in a shadow are filled from those of its rim and of single photons: too little is seen. */
static void warn_of_starved(struct ts_diag *diag, struct diag_site *site,
                            const struct rows_found *found, const struct ts_image *image)
{
    const bool integrals = image->quantity == TS_LINE_INTEGRAL;
    site->code = "filled-starved";
    ts_diag_warning(diag, site,
                    "%lld pixels of %s that are filled, %.2g %% of it, lie in the shadow of the "
                    "object or beside each other, and elsewhere in other views: where few photons "
                    "pass they were measured, and what is filled in is too %s",
                    (long long)found->amount, found->slice,
                    100 * (double)found->amount / (double)(image->axes[1].n * image->axes[2].n),
                    integrals ? "low" : "bright");
    ts_diag_hint(diag, integrals
                           ? "`nonpositive: floor` of minus_log keeps them, with the transmission "
                             "of half a photon as `floor`"
                           : "`lowest` below the noise of the darks keeps them, and `floor` of "
                             "minus_log bounds them, such as the transmission of half a photon");
}

static void warn_of_lean(struct ts_diag *diag, struct diag_site *site,
                         const struct rows_found *found)
{
    site->code = "center-leans";
    ts_diag_warning(diag, site,
                    "the rotation axis leans: it is on detector pixel %.2f in slice %lld and on "
                    "%.2f in slice %lld, as the centers of mass of the views say, and is taken to "
                    "be on one in all slices: edges come out double in some",
                    (double)found->runs[0][1] / ROWS_WHOLE, (long long)found->runs[0][0],
                    (double)found->runs[1][1] / ROWS_WHOLE, (long long)found->runs[1][0]);
    ts_diag_hint(diag, "turn the frames until the axis is upright, or reconstruct a few slices at "
                       "a time, each with a center of its own");
}

void ts_run_rows_name(struct rows_found *found, int64_t slice, int64_t nz)
{
    found->elsewhere = slice == (nz - 1) / 2 ? -1 : slice;
    if (found->elsewhere < 0)
        snprintf(found->slice, sizeof found->slice, "the middle slice");
    else
        snprintf(found->slice, sizeof found->slice, "slice %lld", (long long)slice);
}

static void warn_of_values(struct ts_diag *diag, struct diag_site *site, enum rows_kind kind,
                           const struct rows_found *found, const struct ts_image *in)
{
    enum { FEW = 10 };
    const double first = (double)found->first / ROWS_WHOLE;
    const long long amount = found->amount, all = in->axes[1].n * in->axes[2].n;
    if (kind == ROWS_CLIPPED && found->share > 0) {
        const bool is_signed = in->dtype == TS_I8 || in->dtype == TS_I16;
        site->code = "counts-wrapped";
        ts_diag_warning(diag, site, "%lld neighbors of %s are at both ends of the range of %s: %s",
                        amount, found->slice, ts_dtype_name(in->dtype),
                        is_signed ? "unsigned counts that are stored as signed integers, or "
                                    "counts that overflowed"
                                  : "counts that overflowed, and begin anew at 0");
        ts_diag_hint(diag, is_signed
                               ? "write the frames again as the unsigned integers that they are"
                               : "no stage undoes this; measure with fewer counts in a frame, or "
                                 "write sums of frames as integers of more bits");
        return;
    }
    if (kind == ROWS_CLIPPED) {
        site->code = "counts-piled";
        ts_diag_warning(diag, site,
                        "%lld of %lld counts of %s are exactly %.10g, and none is larger, though "
                        "counts have noise: the detector or a program cut them off there, and what "
                        "lets more through is taken for too dense",
                        amount, all, found->slice, first);
        if (amount * FEW < all)
            ts_diag_hint(diag,
                         "bad_pixels: {highest: %.10g} before flat_field fills them, in the "
                         "projections and in the flats",
                         first);
        return;
    }
    site->code = "views-zingers";
    ts_diag_warning(diag, site,
                    "%lld values of %s are far brighter than those beside them and than those of "
                    "the views before and after: zingers, which make streaks",
                    amount, found->slice);
    if (in->quantity == TS_TRANSMISSION)
        ts_diag_hint(diag, "outliers: {threshold: %.2g} before minus_log replaces them", first);
}

void ts_run_rows_warn(struct ts_diag *diag, struct diag_site *site, enum rows_kind kind,
                      const struct rows_found *found, const struct ts_image *in, bool has_air)
{
    switch (kind) {
    case ROWS_CUT_OFF:
        warn_of_cut_off(diag, site, found, has_air);
        return;
    case ROWS_OBJECT_AS_AIR:
        warn_of_object_as_air(diag, site, found);
        return;
    case ROWS_INVERTED:
        warn_of_inverted(diag, site, found);
        return;
    case ROWS_STARVED:
        warn_of_starved(diag, site, found, in);
        return;
    case ROWS_LEANS:
        warn_of_lean(diag, site, found);
        return;
    case ROWS_CLIPPED:
    case ROWS_ZINGERS:
        warn_of_values(diag, site, kind, found, in);
        return;
    case ROWS_DOUBTED:
        warn_of_doubts(diag, site, found, in);
        return;
    case ROWS_REPEATED:
    case ROWS_BLANK:
    case ROWS_DIM:
    case ROWS_DARK:
        warn_of_views(diag, site, kind, found, in, has_air);
        return;
    default:
        warn_of_light(diag, site, kind, found, in->quantity, has_air);
    }
}
