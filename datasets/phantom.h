/* SPDX-License-Identifier: Apache-2.0
 *
 * Phantoms with known answers: sums of ellipsoids in Hounsfield units, rendered to DICOM series,
 * with their line integrals in closed form.
 *
 * f(p) = background + sum over shapes i with p inside i of (hu_i + slope_i . (p - center_i)).
 * Lengths of a shape are in units of half the field: 1 is half of the smaller of nx*dx and ny*dy in
 * the plane, and half of nz*dz along z. The origin is the center of the field, ((n-1)/2 on each
 * axis); x along increasing column, y along DEcreasing row, z along increasing slice. Angles turn
 * from x towards y. Source: L. A. Shepp and B. F. Logan (1974); contrast of P. Toft (1996), table
 * B.1.
 */
#ifndef DATASETS_PHANTOM_H
#define DATASETS_PHANTOM_H

#include "core/diag.h"

struct phantom_shape {
    double center[3];    /* x, y, z */
    double half_axes[3]; /* along its own x, y and z; INFINITY along z: a cylinder */
    double angle_degree; /* angle of its own x axis against x, in the plane */
    double hu;           /* added inside */
    double slope_hu[3];  /* added per unit length from its center */
};

struct phantom {
    const char *name, *summary; /* NULL name ends the list */
    const struct phantom_shape *shapes;
    size_t n_shapes;
};
extern const struct phantom ts_phantoms[];
/* Returns the phantom of this name, or NULL where there is none. */
const struct phantom *ts_phantom_find(const char *name);

struct phantom_options {
    int64_t nx, ny, nz;
    double spacing_x_mm, spacing_y_mm, spacing_z_mm;
    double noise_hu; /* standard deviation of added normal noise; 0: none */
    uint64_t seed;   /* seed of the noise */
    /* The gantry's tilt: the slices stay axial, and each lies tan(tilt) times the distance from the
     * middle one along increasing row. 0: they lie straight behind each other. */
    double tilt_degree;
};
#define PHANTOM_OPTIONS_DEFAULT                                                                    \
    {                                                                                              \
        .nx = 256, .ny = 256, .nz = 24, .spacing_x_mm = 0.8, .spacing_y_mm = 0.8,                  \
        .spacing_z_mm = 2.5                                                                        \
    }

enum { PHANTOM_AIR_HU = -1000, PHANTOM_SUPERSAMPLING = 4 };

/* Returns f in HU at a point in millimeters from the center of the field. */
double ts_phantom_value(const struct phantom *phantom, const struct phantom_options *options,
                        double x_mm, double y_mm, double z_mm);
/* Returns how far slice z lies along increasing row, in mm, because of the tilt. */
double ts_phantom_shift_mm(const struct phantom_options *options, int64_t z);
/* Renders slice z as the mean of f over PHANTOM_SUPERSAMPLING x PHANTOM_SUPERSAMPLING points of
 * each pixel in the plane of the slice's center, before noise and rounding: nx * ny values, rows
 * from top to bottom. */
void ts_phantom_render(const struct phantom *phantom, const struct phantom_options *options,
                       int64_t z, double *out);
/* Returns the integral of (f - background) along the line x cos(theta) + y sin(theta) = s in the
 * plane at z_mm, in HU * mm. */
double ts_phantom_integral(const struct phantom *phantom, const struct phantom_options *options,
                           double theta_rad, double s_mm, double z_mm);
/* Writes the phantom as a CT series of nz files IM0001.dcm, ... into the folder, which must be
 * absent (it is made, its parent must exist) or empty. Stored values are HU + 1024 in 12 of 16
 * bits, rounded half to even. Equal arguments give equal bytes. TS_BAD_CHAIN: unknown name (with
 * the nearest one) or options out of range; TS_RUN_FAILED: folder or disk; files already written
 * are removed then. */
enum ts_status ts_phantom_write(const char *name, const struct phantom_options *options,
                                const char *folder, struct ts_diag *diag);

#endif
