/* SPDX-License-Identifier: Apache-2.0
 *
 * Source: NeXus definitions, NXtransformations (AXISNAME_end, AXISNAME_increment_set).
 */
#include "io/scan/nexus_angles.h"

#include <math.h>
#include <stdio.h>

#include "io/scan/scan_field.h"

/* Warns of the angles of an NXdata if their steps differ by more than half a step from those that
 * are taken, or if they begin elsewhere by more than a step. Those of a start, a middle and an end
 * of an exposure do not. */
static void compare_angles(const struct nexus_places *places, const char *group,
                           const struct scan_field *field)
{
    const struct projections *projections = places->projections;
    const int64_t n = projections->n_views, n_frames = places->n_frames;
    const double to_degrees = ts_angle_unit_of(field->units) == ANGLE_UNIT_RADIAN ? 180 / M_PI : 1;
    double low = INFINITY, high = -INFINITY, first = 0, steps = 0, most = 0;
    if (!field->values || (field->n != n && field->n != n_frames))
        return;
    for (int64_t i = 0; i < n; i++) {
        const double value = field->values[field->n == n ? i : projections->frames[i]] * to_degrees,
                     off = remainder(value - projections->angles[i], 360);
        first = i == 0 ? off : first;
        steps = fmax(steps, fabs(remainder(off - first, 360)));
        most = fmax(most, fabs(off));
        low = fmin(low, projections->angles[i]);
        high = fmax(high, projections->angles[i]);
    }
    const double step = n > 1 ? (high - low) / (double)(n - 1) : 0;
    if (!(steps > 0.5 * step + 1e-3) && !(fabs(first) > step + 1e-3))
        return;
    char name[HDF5_INPUT_PATH + 32];
    snprintf(name, sizeof name, "rotation_angle of the %s", group);
    ts_scan_field_warn(places->input, name,
                       "differs by up to %.6g degrees from the angles that are taken", most);
    ts_diag_hint(places->input->diag, "angles: PATH takes another list of the file");
}

/* Compares the angles with those of each NXdata of the entry. */
static enum ts_status warn_of_other_angles(const struct nexus_places *places)
{
    struct hdf5_name *names;
    size_t n;
    enum ts_status status = ts_hdf5_input_names(places->input, places->entry, &names, &n);
    for (size_t i = 0; status == TS_OK && i < n; i++) {
        struct hdf5_ref member;
        struct scan_field field;
        if (names[i].kind != 'h')
            continue;
        status = ts_hdf5_input_find(places->input, places->entry, names[i].name, &member);
        const bool is_data = status == TS_OK && ts_hdf5_input_is_class(&member, "NXdata");
        if (is_data)
            status = ts_scan_field_read(places->input, &member, "rotation_angle", &field);
        if (is_data && status == TS_OK)
            compare_angles(places, names[i].name, &field);
        ts_hdf5_input_release(places->input, &member);
    }
    return status;
}

/* Returns what makes degrees of the numbers of a field. */
static double to_degrees(const struct nexus_places *places, const struct scan_field *field)
{
    size_t i;
    enum angle_unit unit = ts_angle_unit_of(field->units);
    const struct param_set *set = places->input->set;
    if (unit == ANGLE_UNIT_FILE && ts_param_find(set->params, set->n_params, "angle_unit", &i))
        unit = (enum angle_unit) * (const int32_t *)ts_param_field(set, i);
    return unit == ANGLE_UNIT_RADIAN ? 180 / M_PI : 1;
}

/* Angles at which exposures begin are off by half of what the rotation went on meanwhile. */
static void warn_of_exposures(const struct nexus_places *places, const char *name,
                              const struct scan_field *field, bool relative)
{
    const struct projections *projections = places->projections;
    const struct param_set *set = places->input->set;
    const int64_t n = projections->n_views;
    const double factor = to_degrees(places, field);
    double low = INFINITY, high = -INFINITY, first = INFINITY, last = -INFINITY;
    if (!field->values || (field->n != 1 && field->n != n && field->n != places->n_frames)) {
        ts_scan_field_warn(places->input, name,
                           "is no list of an angle for each frame, and is not used");
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = field->n == 1 ? 0 : field->n == n ? i : projections->frames[i];
        const double value = field->values[at] * factor, angle = projections->angles[i],
                     moved = remainder(relative ? value : value - angle, 360);
        low = fmin(low, moved);
        high = fmax(high, moved);
        first = fmin(first, angle);
        last = fmax(last, angle);
    }
    const double step = n > 1 ? (last - first) / (double)(n - 1) : 0;
    if (!(fmax(fabs(low), fabs(high)) > 0.01 * step) || !(low <= high))
        return;
    if (high - low > 0.1 * step) {
        ts_scan_field_warn(places->input, name,
                           "says that the rotation went on by %.6g to %.6g degrees in an exposure, "
                           "and the angles are taken as they are",
                           low, high);
        return;
    }
    const double half = (low + high) / 4;
    size_t sense;
    ts_scan_field_warn(places->input, name,
                       "says that the rotation went on by %.6g degrees in an exposure: the angles "
                       "are those of its begin",
                       2 * half);
    ts_diag_hint(places->input->diag, "angle_offset: %.9g takes those of the middle",
                 ts_param_find(set->params, set->n_params, "angle_sense", &sense) &&
                         *(const int32_t *)ts_param_field(set, sense) == ANGLE_SENSE_Y_TO_X
                     ? -half
                     : half);
}

static enum ts_status warn_of_ends(const struct nexus_places *places)
{
    static const char *const endings[] = {"end", "increment_set"};
    struct scan_field field = {0};
    enum ts_status status = TS_OK;
    for (int i = 0; i < 2 && status == TS_OK && !field.there; i++) {
        char name[HDF5_INPUT_PATH + 16];
        snprintf(name, sizeof name, "%s_%s", places->angles_at, endings[i]);
        status = ts_scan_field_read(places->input, places->angles_in, name, &field);
        if (status == TS_OK && field.there)
            warn_of_exposures(places, name, &field, i == 1);
    }
    return status;
}

enum ts_status ts_nexus_angles_warn(const struct nexus_places *places)
{
    const struct param_set *set = places->input->set;
    enum ts_status status = ts_param_given(set, "angles") ? TS_OK : warn_of_other_angles(places);
    /* Angles of the chain are not those of the file, and an offset of the chain may be this one. */
    if (status == TS_OK && !ts_param_given(set, "theta_start") &&
        !ts_param_given(set, "angle_offset"))
        status = warn_of_ends(places);
    return status;
}
