/* SPDX-License-Identifier: Apache-2.0
 *
 * This thin shim over DCMTK decodes one frame of JPEG or JPEG-LS. It runs in worker processes only,
 * never in the program itself. DCMTK's codecs want a data set: it is made here, of the few numbers
 * that the frame's own header and ours agree on, so that DCMTK parses no file. Frames are taken
 * with DcmPixelData::getUncompressedFrame, which writes into a buffer of our size.
 */
#include "io/dicom_frames/dicom_decode.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "dcmtk/config/osconfig.h"
#include "dcmtk/dcmdata/dcdatset.h"
#include "dcmtk/dcmdata/dcdeftag.h"
#include "dcmtk/dcmdata/dcdict.h"
#include "dcmtk/dcmdata/dcpixel.h"
#include "dcmtk/dcmdata/dcpixseq.h"
#include "dcmtk/dcmdata/dcpxitem.h"
#include "dcmtk/dcmdata/dcuid.h"
#include "dcmtk/dcmjpeg/djdecode.h"
#include "dcmtk/dcmjpls/djdecode.h"
#include "dcmtk/oflog/appender.h"
#include "dcmtk/oflog/oflog.h"
#include "dcmtk/oflog/spi/logevent.h"

namespace
{

namespace log = dcmtk::log4cplus;

/* Some writers leave out the last coefficient of a sequential scan, which has them all in any
 * case. */
const char *const harmless_warning = "Invalid SOS parameters for sequential JPEG";

/* Takes the place of every output of DCMTK's log: keeps the first warning, prints nothing. */
class FirstWarning : public log::Appender
{
  public:
    ~FirstWarning() override
    {
        destructorImpl();
    }
    void close() override
    {
        closed = true;
    }
    void clear()
    {
        text.clear();
    }
    const char *message() const
    {
        return text.empty() ? nullptr : text.c_str();
    }

  protected:
    void append(const log::spi::InternalLoggingEvent &event) override
    {
        if (text.empty() && event.getMessage() != harmless_warning)
            text = event.getMessage();
    }

  private:
    log::tstring text;
};

FirstWarning *first_warning; /* owned by the logger */

int fail(char *error, size_t error_bytes, const char *what, const char *why)
{
    std::snprintf(error, error_bytes, "%s: %s", what, why);
    return 1;
}

E_TransferSyntax dcmtk_syntax(enum dicom_syntax syntax)
{
    switch (syntax) {
    case DICOM_JPEG_BASELINE:
        return EXS_JPEGProcess1;
    case DICOM_JPEG_EXTENDED:
        return EXS_JPEGProcess2_4;
    case DICOM_JPEG_SPECTRAL:
        return EXS_JPEGProcess6_8;
    case DICOM_JPEG_PROGRESSIVE:
        return EXS_JPEGProcess10_12;
    case DICOM_JPEG_LOSSLESS:
        return EXS_JPEGProcess14;
    case DICOM_JPEG_LOSSLESS_FIRST_ORDER:
        return EXS_JPEGProcess14SV1;
    case DICOM_JPEG_LS:
        return EXS_JPEGLSLossless;
    default:
        return EXS_JPEGLSLossy;
    }
}

/* Puts an item into the sequence, which owns it from then on. */
OFCondition add_item(DcmPixelSequence &sequence, const void *bytes, size_t n)
{
    DcmPixelItem *item = new DcmPixelItem(DCM_PixelItemTag);
    OFCondition condition = sequence.insert(item);
    if (condition.good() && n > 0)
        condition =
            item->putUint8Array(static_cast<const Uint8 *>(bytes), static_cast<unsigned long>(n));
    return condition;
}

/* Makes a data set of one image, whose pixels are one fragment. */
OFCondition make_data_set(const struct dicom_frame_form &form, int precision, const void *stream,
                          size_t bytes, DcmDataset &set, DcmPixelData *&pixels)
{
    const struct {
        DcmTagKey tag;
        int value;
    } numbers[] = {{DCM_Rows, form.rows},       {DCM_Columns, form.columns},
                   {DCM_SamplesPerPixel, 1},    {DCM_BitsAllocated, precision > 8 ? 16 : 8},
                   {DCM_BitsStored, precision}, {DCM_HighBit, precision - 1},
                   {DCM_PixelRepresentation, 0}};
    OFCondition condition = set.putAndInsertString(DCM_PhotometricInterpretation, "MONOCHROME2");
    for (const auto &number : numbers)
        if (condition.good())
            condition = set.putAndInsertUint16(number.tag, static_cast<Uint16>(number.value));
    pixels = new DcmPixelData(DCM_PixelData);
    if (condition.good())
        condition = set.insert(pixels);
    DcmPixelSequence *sequence = new DcmPixelSequence(DCM_PixelSequenceTag);
    pixels->putOriginalRepresentation(dcmtk_syntax(form.syntax), nullptr, sequence);
    if (condition.good())
        condition = add_item(*sequence, nullptr, 0); /* the offset table */
    return condition.good() ? add_item(*sequence, stream, bytes) : condition;
}

int decode(const struct dicom_frame_form &form, int precision, const void *stream, size_t bytes,
           void *out, size_t out_bytes, char *error, size_t error_bytes)
{
    DcmDataset set;
    DcmPixelData *pixels = nullptr;
    OFCondition condition = make_data_set(form, precision, stream, bytes, set, pixels);
    if (condition.bad())
        return fail(error, error_bytes, "DCMTK cannot take the frame", condition.text());
    Uint32 frame_bytes = 0;
    condition = pixels->getUncompressedFrameSize(&set, frame_bytes);
    if (condition.bad())
        return fail(error, error_bytes, "DCMTK cannot tell the size of the frame",
                    condition.text());
    /* It rounds odd sizes up: the decoder swaps pairs of bytes. */
    if (frame_bytes != out_bytes && frame_bytes != out_bytes + (out_bytes & 1)) {
        std::snprintf(error, error_bytes, "DCMTK expects a frame of %lu bytes, the header says %lu",
                      static_cast<unsigned long>(frame_bytes),
                      static_cast<unsigned long>(out_bytes));
        return 1;
    }
    std::vector<Uint8> frame(out_bytes + (out_bytes & 1));
    Uint32 first_fragment = 0;
    OFString color_model;
    first_warning->clear();
    condition = pixels->getUncompressedFrame(&set, 0, first_fragment, frame.data(),
                                             static_cast<Uint32>(frame.size()), color_model);
    if (condition.bad())
        return fail(error, error_bytes, "the compressed pixel data is damaged", condition.text());
    if (first_warning->message() != nullptr)
        return fail(error, error_bytes, "the compressed pixel data is damaged",
                    first_warning->message());
    std::memcpy(out, frame.data(), out_bytes);
    return 0;
}

/* DCMTK asks its data dictionary for the type of each element of the data set above. The one that
 * it brings has 5,000 rows in a file of its own, which may be missing, and which every worker would
 * parse for 20 ms. */
const char *load_dictionary()
{
    static const char rows[] = "(0028,0002)\tUS\tSamplesPerPixel\t1\tDICOM\n"
                               "(0028,0004)\tCS\tPhotometricInterpretation\t1\tDICOM\n"
                               "(0028,0010)\tUS\tRows\t1\tDICOM\n"
                               "(0028,0011)\tUS\tColumns\t1\tDICOM\n"
                               "(0028,0100)\tUS\tBitsAllocated\t1\tDICOM\n"
                               "(0028,0101)\tUS\tBitsStored\t1\tDICOM\n"
                               "(0028,0102)\tUS\tHighBit\t1\tDICOM\n"
                               "(0028,0103)\tUS\tPixelRepresentation\t1\tDICOM\n"
                               "(7FE0,0010)\tox\tPixelData\t1\tDICOM\n";
    char path[32];
    const int fd = memfd_create("dictionary", MFD_CLOEXEC);
    if (fd < 0)
        return std::strerror(errno);
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const bool is_written =
        write(fd, rows, sizeof rows - 1) == static_cast<ssize_t>(sizeof rows - 1);
    const bool is_loaded =
        is_written && setenv("DCMDICTPATH", path, 1) == 0 && dcmDataDict.isDictionaryLoaded();
    close(fd);
    return is_loaded ? nullptr : "its rows cannot be written or read";
}

} // namespace

int ts_dicom_decode_init(char *error, size_t error_bytes) noexcept
{
    try {
        OFLog::configure(OFLogger::WARN_LOG_LEVEL);
        first_warning = new FirstWarning;
        log::Logger::getRoot().removeAllAppenders();
        log::Logger::getRoot().addAppender(log::SharedAppenderPtr(first_warning));
        const char *why = load_dictionary();
        if (why != nullptr)
            return fail(error, error_bytes, "DCMTK has no data dictionary", why);
        DJDecoderRegistration::registerCodecs();
        DJLSDecoderRegistration::registerCodecs();
        return 0;
    } catch (const std::exception &exception) {
        return fail(error, error_bytes, "DCMTK could not be started", exception.what());
    } catch (...) {
        return fail(error, error_bytes, "DCMTK could not be started", "unknown exception");
    }
}

int ts_dicom_decode_frame(const struct dicom_frame_form *form, int precision, const void *stream,
                          size_t bytes, void *out, size_t out_bytes, char *error,
                          size_t error_bytes) noexcept
{
    try {
        return decode(*form, precision, stream, bytes, out, out_bytes, error, error_bytes);
    } catch (const std::bad_alloc &) {
        return fail(error, error_bytes, "the frame needs more memory to decode",
                    "the limit of the worker is reached");
    } catch (const std::exception &exception) {
        return fail(error, error_bytes, "the pixel data could not be decoded", exception.what());
    } catch (...) {
        return fail(error, error_bytes, "the pixel data could not be decoded", "unknown exception");
    }
}

const char *ts_dicom_decode_version(void) noexcept
{
    return "DCMTK " OFFIS_DCMTK_VERSION_STRING;
}
