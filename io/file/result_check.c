/* SPDX-License-Identifier: Apache-2.0 */
#include "io/file/result_check.h"

#include <math.h>
#include <string.h>

#include "core/description.h"

static const char *axes_wrong(const struct ts_image *image, const char **code)
{
    for (int d = 0; d < image->rank; d++) {
        const struct ts_axis *axis = &image->axes[d];
        const bool view = axis->kind == TS_AXIS_VIEW;
        if (axis->kind == TS_AXIS_BIN || axis->kind == TS_AXIS_ITEM)
            continue;
        *code = "result-units";
        if (!ts_axis_keeps_unit(axis->kind, axis->unit))
            return "an axis has a unit that this program does not write";
        *code = "result-spacing";
        if (!isfinite(axis->spacing) || !isfinite(axis->first) || (!view && axis->spacing < 0))
            return "the spacing of an axis is not a positive number";
    }
    return NULL;
}

const char *ts_result_wrong(const struct ts_image *image, const char **code)
{
    const char *wrong = axes_wrong(image, code);
    if (wrong)
        return wrong;
    *code = "result-units";
    if (!ts_unit_fits(image->quantity, image->unit))
        return "the unit of its values does not fit their quantity";
    *code = "result-geometry";
    return image->has_geometry ? ts_geometry_wrong(image) : NULL;
}
