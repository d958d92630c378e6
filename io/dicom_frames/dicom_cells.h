/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts the cells of a DICOM frame to values: stored = the BitsStored bits that end at HighBit,
 * sign-extended if PixelRepresentation is 1; value = stored * slope + intercept. Source: DICOM
 * PS3.5 8.1.1 (cells), PS3.3 C.7.5.1.1.2 (pixel padding), C.11.1 (rescale).
 */
#ifndef IO_DICOM_FRAMES_DICOM_CELLS_H
#define IO_DICOM_FRAMES_DICOM_CELLS_H

#include "core/image.h"
#include "core/rounding.h"
#include "io/dicom_header/dicom_file.h"

struct dicom_cells {
    int bits_allocated; /* 8, 16, 32; 64 of doubles */
    int bits_stored, high_bit;
    bool is_signed, big_endian;
    bool is_float; /* floats or doubles, of which bits_stored, high_bit and is_signed say nothing */
};

/* Returns the cells of a file's frames. */
struct dicom_cells ts_dicom_cells(const struct dicom_file *file);

/* Returns the dtype of stored values, U8 ... I32, by BitsAllocated and sign, or F32, to which
 * doubles are rounded. */
enum ts_dtype ts_dicom_stored_dtype(const struct dicom_cells *cells);
/* Gives the lowest and highest stored value that the format allows. */
void ts_dicom_stored_range(const struct dicom_cells *cells, double *low, double *high);
/* Gives the lowest and highest value that slope and intercept make of them. Returns whether every
 * value is an integer. */
bool ts_dicom_value_range(const struct dicom_cells *cells, double slope, double intercept,
                          double *low, double *high);
/* Gives the lowest and highest value that the header of an image allows, and returns whether all
 * are integers. Floats, whose range only the pixels show, count as 0, and not as integers. */
bool ts_dicom_image_range(const struct dicom_image *image, double *low, double *high);
/* Gives the padding value that the header of an image states, or the range from it to its limit, in
 * stored values; NaN, which bounds no range, is a value of its own. The range is empty if there is
 * none. Pixels are compared with it before any rescaling and table. Returns true if pixels of the
 * format can be in it. */
bool ts_dicom_padding_range(const struct dicom_image *image, double *low, double *high);
/* Turns round the bytes of big-endian words of 16 bits that hold 8-bit pixels or bits, since the
 * first pixel of a word is in its low byte (DICOM PS3.5 8.1.1, A.3), and moves the n bytes behind
 * the first `before` ones to the beginning. `bytes` holds whole words. */
void ts_dicom_turn_words(unsigned char *bytes, size_t before, size_t n);
/* Converts n cells in place to stored values in host order, of the dtype above. Returns whether
 * bits outside of BitsStored were set that are not the extension of the sign; they are dropped. */
bool ts_dicom_cells_to_stored(void *data, size_t n, const struct dicom_cells *cells);
/* Counts the stored values in [low, high], and clears their bits in `valid`, in which the others
 * are set; NULL: it only counts. The dtype may be TS_F64, of doubles that are not yet rounded. With
 * a `low` of NaN it is NaN that counts. */
int64_t ts_dicom_mark_range(const void *stored, enum ts_dtype dtype, size_t n, double low,
                            double high, uint64_t *valid);
/* Computes out = stored * slope + intercept in double, rounded once to f32, or not for f64. Integer
 * dtypes are exact; slope and intercept must then be integers, and every value in range. `out` may
 * be `stored` if both have elements of one size. */
void ts_dicom_rescale(void *out, enum ts_dtype dtype, const void *stored,
                      enum ts_dtype stored_dtype, size_t n, double slope, double intercept);

#endif
