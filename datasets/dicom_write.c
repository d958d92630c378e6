/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes a header of some forty elements in rising order of tags, then the pixels.
 */
#include "datasets/dicom_write.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/file/file_bytes.h"
#include "io/file/file_commit.h"

#define CT_IMAGE_STORAGE "1.2.840.10008.5.1.4.1.1.2"
/* No patient was scanned on this day, which is documented and the same in every file. */
#define FIXED_DATE "20000101"
#define FIXED_TIME "120000"

static void put_patient_and_study(struct dicom_header *header, const struct ct_series *series,
                                  const char *instance)
{
    ts_dicom_put_text(header, 0x00080008, "CS", "ORIGINAL\\PRIMARY\\AXIAL");
    ts_dicom_put_text(header, 0x00080016, "UI", CT_IMAGE_STORAGE);
    ts_dicom_put_text(header, 0x00080018, "UI", "%s", instance);
    ts_dicom_put_text(header, 0x00080020, "DA", FIXED_DATE);
    ts_dicom_put_text(header, 0x00080023, "DA", FIXED_DATE);
    ts_dicom_put_text(header, 0x00080030, "TM", FIXED_TIME);
    ts_dicom_put_text(header, 0x00080033, "TM", FIXED_TIME);
    ts_dicom_put_text(header, 0x00080050, "SH", "%s", "");
    ts_dicom_put_text(header, 0x00080060, "CS", "CT");
    ts_dicom_put_text(header, 0x00080070, "LO", "tomostage");
    ts_dicom_put_text(header, 0x00080090, "PN", "%s", "");
    ts_dicom_put_text(header, 0x0008103E, "LO", "%s", series->description);
    ts_dicom_put_text(header, 0x00081090, "LO", "phantom");
    ts_dicom_put_text(header, 0x00100010, "PN", "%s", series->patient_name);
    ts_dicom_put_text(header, 0x00100020, "LO", "%s", series->patient_id);
    ts_dicom_put_text(header, 0x00100030, "DA", "%s", "");
    ts_dicom_put_text(header, 0x00100040, "CS", "%s", "");
    ts_dicom_put_text(header, 0x00120062, "CS", "YES");
    ts_dicom_put_text(header, 0x00120063, "LO", "computed, no patient");
}

static void put_image(struct dicom_header *header, const struct ct_series *series, int64_t number,
                      const double position_mm[3])
{
    ts_dicom_put_text(header, 0x00180015, "CS", "HEAD");
    ts_dicom_put_text(header, 0x00180050, "DS", "%.10g", series->spacing_z_mm);
    ts_dicom_put_text(header, 0x00180060, "DS", "%s", "");
    ts_dicom_put_text(header, 0x00185100, "CS", "HFS");
    ts_dicom_put_text(header, 0x0020000D, "UI", "%s", series->study);
    ts_dicom_put_text(header, 0x0020000E, "UI", "%s", series->series);
    ts_dicom_put_text(header, 0x00200010, "SH", "1");
    ts_dicom_put_text(header, 0x00200011, "IS", "1");
    ts_dicom_put_text(header, 0x00200012, "IS", "1");
    ts_dicom_put_text(header, 0x00200013, "IS", "%lld", (long long)number);
    ts_dicom_put_text(header, 0x00200032, "DS", "%.10g\\%.10g\\%.10g", position_mm[0],
                      position_mm[1], position_mm[2]);
    ts_dicom_put_text(header, 0x00200037, "DS", "1\\0\\0\\0\\1\\0");
    ts_dicom_put_text(header, 0x00200052, "UI", "%s", series->frame_of_reference);
    ts_dicom_put_text(header, 0x00201040, "LO", "%s", "");
    ts_dicom_put_short(header, 0x00280002, 1);
    ts_dicom_put_text(header, 0x00280004, "CS", "MONOCHROME2");
    ts_dicom_put_short(header, 0x00280010, (uint32_t)series->ny);
    ts_dicom_put_short(header, 0x00280011, (uint32_t)series->nx);
    ts_dicom_put_text(header, 0x00280030, "DS", "%.10g\\%.10g", series->spacing_y_mm,
                      series->spacing_x_mm);
    ts_dicom_put_short(header, 0x00280100, 16);
    ts_dicom_put_short(header, 0x00280101, 12);
    ts_dicom_put_short(header, 0x00280102, 11);
    ts_dicom_put_short(header, 0x00280103, 0);
    ts_dicom_put_text(header, 0x00280301, "CS", "NO");
    ts_dicom_put_text(header, 0x00281052, "DS", "-1024");
    ts_dicom_put_text(header, 0x00281053, "DS", "1");
    ts_dicom_put_text(header, 0x00281054, "LO", "HU");
}

static bool write_pixels(int fd, const uint16_t *stored, size_t n, uint64_t offset)
{
    uint16_t block[4096];
    for (size_t done = 0, count; done < n; done += count) {
        count = n - done < 4096 ? n - done : 4096;
        for (size_t i = 0; i < count; i++)
            block[i] = htole16(stored[done + i]);
        if (!ts_file_write_at(fd, block, count * sizeof *block, offset + done * sizeof *block))
            return false;
    }
    return true;
}

enum ts_status ts_ct_write(const char *path, const struct ct_series *series, int64_t number,
                           const char *instance, const double position_mm[3],
                           const uint16_t *stored, struct ts_diag *diag)
{
    struct dicom_header header;
    const size_t n = (size_t)(series->nx * series->ny);
    ts_dicom_put_meta(&header, CT_IMAGE_STORAGE, instance, DICOM_EXPLICIT_SYNTAX);
    put_patient_and_study(&header, series, instance);
    put_image(&header, series, number, position_mm);
    ts_dicom_put_element(&header, 0x7FE00010, "OW", (uint32_t)(2 * n));

    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool ok = fd >= 0 && ts_file_write_at(fd, header.bytes, header.n, 0) &&
              write_pixels(fd, stored, n, header.n);
    int error = errno;
    if (fd >= 0 && close(fd) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok)
        return TS_OK;
    if (fd >= 0)
        unlink(path);
    return ts_file_failed(diag, "file-not-written", error, "%s", path);
}
