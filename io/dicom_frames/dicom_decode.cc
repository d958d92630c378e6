/* SPDX-License-Identifier: Apache-2.0
 *
 * This thin shim over DCMTK decodes one JPEG lossless or JPEG-LS frame of a file that our own scan has checked. It runs
 * in worker processes only, never in the program itself. Frames are taken with DcmPixelData::getUncompressedFrame,
 * which writes into a buffer of our size; chooseRepresentation and DicomImage are not used, since both trust the
 * header's sizes.
 */
#include "io/dicom_frames/dicom_decode.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>
#include <vector>

#include <unistd.h>

#include "dcmtk/config/osconfig.h"
#include "dcmtk/dcmdata/dcdatset.h"
#include "dcmtk/dcmdata/dcdeftag.h"
#include "dcmtk/dcmdata/dcdict.h"
#include "dcmtk/dcmdata/dcfilefo.h"
#include "dcmtk/dcmdata/dcistrmb.h"
#include "dcmtk/dcmdata/dcpixel.h"
#include "dcmtk/dcmdata/dcuid.h"
#include "dcmtk/dcmjpeg/djdecode.h"
#include "dcmtk/dcmjpls/djdecode.h"
#include "dcmtk/oflog/appender.h"
#include "dcmtk/oflog/oflog.h"
#include "dcmtk/oflog/spi/logevent.h"

namespace
{

namespace log = dcmtk::log4cplus;

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
        if (text.empty())
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

int decode(const void *bytes, size_t n_bytes, void *out, size_t out_bytes, char *error, size_t error_bytes)
{
    DcmFileFormat file;
    DcmInputBufferStream stream;
    stream.setBuffer(bytes, static_cast<offile_off_t>(n_bytes));
    stream.setEos();
    file.transferInit();
    OFCondition condition = file.read(stream, EXS_Unknown, EGL_noChange, DCM_MaxReadLength);
    file.transferEnd();
    if (condition.bad())
        return fail(error, error_bytes, "DCMTK cannot read the file", condition.text());
    DcmElement *element = nullptr;
    condition = file.getDataset()->findAndGetElement(DCM_PixelData, element);
    DcmPixelData *pixels = dynamic_cast<DcmPixelData *>(element);
    if (condition.bad() || pixels == nullptr)
        return fail(error, error_bytes, "DCMTK finds no pixel data", condition.text());

    Uint32 frame_bytes = 0;
    condition = pixels->getUncompressedFrameSize(file.getDataset(), frame_bytes);
    if (condition.bad())
        return fail(error, error_bytes, "DCMTK cannot tell the size of the frame", condition.text());
    /* It rounds odd sizes up: the decoder swaps pairs of bytes. */
    if (frame_bytes != out_bytes && frame_bytes != out_bytes + (out_bytes & 1)) {
        std::snprintf(error, error_bytes, "DCMTK expects a frame of %lu bytes, the header says %lu",
                      static_cast<unsigned long>(frame_bytes), static_cast<unsigned long>(out_bytes));
        return 1;
    }
    std::vector<Uint8> frame(out_bytes + (out_bytes & 1));
    Uint32 first_fragment = 0;
    OFString color_model;
    first_warning->clear();
    condition = pixels->getUncompressedFrame(file.getDataset(), 0, first_fragment, frame.data(),
                                             static_cast<Uint32>(frame.size()), color_model);
    if (condition.bad())
        return fail(error, error_bytes, "the compressed pixel data is damaged", condition.text());
    if (first_warning->message() != nullptr)
        return fail(error, error_bytes, "the compressed pixel data is damaged", first_warning->message());
    std::memcpy(out, frame.data(), out_bytes);
    return 0;
}

/* Lets DCMTK use the dictionary of the bundle where this program stands in one; DCMTK otherwise looks in the folder
 * that its build named.
 */
void find_dictionary()
{
    static const char below[] = "/../share/tomostage/dcmtk/dicom.dic";
    char path[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof below);
    if (length <= 0)
        return;
    path[length] = '\0';
    std::strcpy(std::strrchr(path, '/'), below);
    if (access(path, R_OK) == 0)
        setenv("DCMDICTPATH", path, 0);
}

} // namespace

int ts_dicom_decode_init(char *error, size_t error_bytes) noexcept
{
    try {
        OFLog::configure(OFLogger::WARN_LOG_LEVEL);
        first_warning = new FirstWarning;
        log::Logger::getRoot().removeAllAppenders();
        log::Logger::getRoot().addAppender(log::SharedAppenderPtr(first_warning));
        find_dictionary();
        if (!dcmDataDict.isDictionaryLoaded())
            return fail(error, error_bytes, "DCMTK has no data dictionary",
                        "install the package that holds dicom.dic (Debian: libdcmtk17)");
        DJDecoderRegistration::registerCodecs();
        DJLSDecoderRegistration::registerCodecs();
        return 0;
    } catch (const std::exception &exception) {
        return fail(error, error_bytes, "DCMTK could not be started", exception.what());
    } catch (...) {
        return fail(error, error_bytes, "DCMTK could not be started", "unknown exception");
    }
}

int ts_dicom_decode_frame(const void *file, size_t file_bytes, void *out, size_t out_bytes, char *error,
                          size_t error_bytes) noexcept
{
    try {
        return decode(file, file_bytes, out, out_bytes, error, error_bytes);
    } catch (const std::bad_alloc &) {
        return fail(error, error_bytes, "the file needs more memory to decode", "the limit of the worker is reached");
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
