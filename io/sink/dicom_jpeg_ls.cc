/* SPDX-License-Identifier: Apache-2.0
 *
 * This thin shim lets DCMTK encode one frame: its codec wants a data set, which is made here of the numbers that it
 * needs, and gives back a sequence of fragments, of which the second item is the frame behind the table of offsets.
 */
#include "io/sink/dicom_pack.h"

#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>

#include "dcmtk/config/osconfig.h"
#include "dcmtk/dcmdata/dcdatset.h"
#include "dcmtk/dcmdata/dcdeftag.h"
#include "dcmtk/dcmdata/dcpixel.h"
#include "dcmtk/dcmdata/dcpixseq.h"
#include "dcmtk/dcmdata/dcpxitem.h"
#include "dcmtk/dcmjpls/djencode.h"
#include "dcmtk/dcmjpls/djrparam.h"
#include "dcmtk/oflog/oflog.h"

namespace
{

bool put_form(DcmDataset &dataset, const struct dicom_pixels *pixels)
{
    const struct {
        DcmTagKey tag;
        Uint16 value;
    } numbers[] = {{DCM_SamplesPerPixel, 1},
                   {DCM_Rows, static_cast<Uint16>(pixels->rows)},
                   {DCM_Columns, static_cast<Uint16>(pixels->columns)},
                   {DCM_BitsAllocated, 16},
                   {DCM_BitsStored, 16},
                   {DCM_HighBit, 15},
                   {DCM_PixelRepresentation, static_cast<Uint16>(pixels->is_signed)}};
    bool put = dataset.putAndInsertString(DcmTag(DCM_PhotometricInterpretation, EVR_CS), "MONOCHROME2").good();
    for (const auto &number : numbers)
        put = put && dataset.putAndInsertUint16(DcmTag(number.tag, EVR_US), number.value).good();
    auto pixel_data = std::make_unique<DcmPixelData>(DcmTag(DCM_PixelData, EVR_OW));
    const auto count = static_cast<unsigned long>(pixels->rows * pixels->columns);
    put = put && pixel_data->putUint16Array(pixels->values, count).good() && dataset.insert(pixel_data.get()).good();
    if (put)
        (void)pixel_data.release(); /* it is the data set's */
    return put;
}

bool take_frame(DcmDataset &dataset, const DJLSRepresentationParameter &lossless, unsigned char **out, size_t *bytes)
{
    DcmElement *element = nullptr;
    DcmPixelSequence *sequence = nullptr;
    DcmPixelItem *item = nullptr;
    Uint8 *data = nullptr;
    if (dataset.findAndGetElement(DCM_PixelData, element).bad())
        return false;
    DcmPixelData *pixel_data = dynamic_cast<DcmPixelData *>(element);
    if (!pixel_data || pixel_data->getEncapsulatedRepresentation(EXS_JPEGLSLossless, &lossless, sequence).bad() ||
        sequence->card() != 2 || sequence->getItem(item, 1).bad() || item->getUint8Array(data).bad() || !data)
        return false;
    *bytes = item->getLength();
    *out = static_cast<unsigned char *>(std::malloc(*bytes));
    if (*out)
        std::memcpy(*out, data, *bytes);
    return *out != nullptr;
}

} // namespace

bool ts_dicom_pack_jpeg_ls(const struct dicom_pixels *pixels, unsigned char **out, size_t *bytes)
{
    static std::once_flag registered;
    *out = nullptr;
    try {
        std::call_once(registered, [] {
            OFLog::configure(OFLogger::OFF_LOG_LEVEL); /* the library prints nothing */
            DJLSEncoderRegistration::registerCodecs();
        });
        DcmDataset dataset;
        const DJLSRepresentationParameter lossless(0, OFTrue);
        return put_form(dataset, pixels) && dataset.chooseRepresentation(EXS_JPEGLSLossless, &lossless).good() &&
               take_frame(dataset, lossless, out, bytes);
    } catch (const std::exception &) {
        return false;
    }
}
