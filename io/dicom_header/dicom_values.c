/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of wanted elements, and where their values go: to the file, to every image of it, or,
 * inside of the functional groups of a multi-frame file, to one frame. Private elements are known
 * by the text that reserves their block, since a block's number differs from file to file. Source:
 * DICOM PS3.6 (tags), PS3.3 C.7.6.16 (functional groups), PS3.5 7.8 (private elements); the
 * vendors' conformance statements.
 */
#include "io/dicom_header/dicom_values.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/vector3.h"
#include "io/dicom_header/dicom_fields.h"
#include "io/dicom_header/dicom_parse.h"

enum value_kind {
    VALUE_UID,      /* text that must fit */
    VALUE_TEXT,     /* text, cut at its field */
    VALUE_SHORT,    /* int, from 16 bits; a US or SS by PixelRepresentation is kept as raw bits */
    VALUE_DECIMALS, /* exactly `count` doubles */
    VALUE_INTEGER,  /* int64_t */
    /* a number of any VR as double; NaN if it is not one number: it only tells images apart */
    VALUE_ADVICE,
    VALUE_FIRST,    /* the first of several such numbers */
    VALUE_BINARY,   /* the same, of `count` numbers of a VR that is not text */
    VALUE_INDEXES,  /* up to `count` uint32_t; nothing if there are more */
    VALUE_FLOAT,    /* `count` numbers of VR FL, whatever the encoding says of them */
    VALUE_STORED,   /* one FL or FD as double, which may be infinite or NaN as pixels may */
    VALUE_TIME,     /* TM or DT in seconds; NaN if it is none */
    VALUE_DATETIME, /* DT in seconds of the local clock, as VALUE_TIME, whose zone the image then
                       has */
    VALUE_ZONE,     /* an offset from UTC in seconds; NaN if it is none */
    VALUE_DATE,     /* DA in seconds; NaN if it is none */
    VALUE_PLACE,    /* struct dicom_place: where the value lies */
    VALUE_PRESENCE  /* bool: the element is there */
};

/* These texts reserve blocks of private elements. */
enum creator {
    PUBLIC,
    SIEMENS_CSA,
    SIEMENS_MR,
    SIEMENS_SDI,
    GE_PARAMETERS,
    GE_ACQUISITION,
    GE_RELATIONSHIP,
    PHILIPS_IMAGING,
    PHILIPS_MR,
    UIH_IMAGE,
    PHILIPS_PET,
    CREATORS
};
static const char *const creators[CREATORS] = {
    [SIEMENS_CSA] = "SIEMENS CSA HEADER",
    [SIEMENS_MR] = "SIEMENS MR HEADER",
    [SIEMENS_SDI] = "SIEMENS MR SDI 02",
    [GE_PARAMETERS] = "GEMS_PARM_01",
    [GE_ACQUISITION] = "GEMS_ACQU_01",
    [GE_RELATIONSHIP] = "GEMS_RELA_01",
    [PHILIPS_IMAGING] = "Philips Imaging DD 001",
    [PHILIPS_MR] = "Philips MR Imaging DD 001",
    [UIH_IMAGE] = "Image Private Header",
    [PHILIPS_PET] = "Philips PET Private Group",
};

struct wanted {
    uint32_t parent; /* the sequence in which the element stands; 0: none */
    enum creator
        creator; /* of a private element, whose `tag` is then without the number of the block */
    uint32_t tag;
    enum value_kind kind;
    const char *name;
    enum target { OF_FILE, OF_IMAGE, OF_SCAN } target; /* the struct that holds the field */
    size_t offset, size; /* the field; size: bytes of a text, count of numbers */
    size_t have; /* offset of the have_ flag in struct dicom_image; 0: none (the file is there) */
};

#define FIELD(field) OF_IMAGE, offsetof(struct dicom_image, field)
#define FLAG(field) offsetof(struct dicom_image, field)
#define TEXT(field) FIELD(field), sizeof(((struct dicom_image *)0)->field), 0
#define FILE_FIELD(field) OF_FILE, offsetof(struct dicom_file, field)
#define FILE_TEXT(field) FILE_FIELD(field), sizeof(((struct dicom_file *)0)->field), 0
#define SCAN_FIELD(field) OF_SCAN, offsetof(struct scan, field)
#define TAG DICOM_TAG

static const struct wanted wanted[] = {
    {0, PUBLIC, TAG(0x0008, 0x0008), VALUE_TEXT, "Image Type", FILE_TEXT(image_type)},
    {0, PUBLIC, TAG(0x0008, 0x0016), VALUE_UID, "SOP Class UID", FILE_TEXT(sop_class)},
    {0, PUBLIC, TAG(0x0008, 0x0018), VALUE_UID, "SOP Instance UID", FILE_TEXT(sop_instance)},
    {0, PUBLIC, TAG(0x0008, 0x0020), VALUE_DATE, "Study Date", FILE_FIELD(study_date_s), 1, 0},
    {0, PUBLIC, TAG(0x0008, 0x0022), VALUE_DATE, "Acquisition Date", SCAN_FIELD(acquired.date_s), 1,
     0},
    {0, PUBLIC, TAG(0x0008, 0x0023), VALUE_DATE, "Content Date", SCAN_FIELD(content.date_s), 1, 0},
    {0, PUBLIC, TAG(0x0008, 0x002A), VALUE_DATETIME, "Acquisition DateTime",
     SCAN_FIELD(acquired.both_s), 1, 0},
    {0, PUBLIC, TAG(0x0008, 0x0030), VALUE_TIME, "Study Time", FILE_FIELD(study_time_s), 1, 0},
    {0, PUBLIC, TAG(0x0008, 0x0060), VALUE_TEXT, "Modality", FILE_TEXT(modality)},
    {0, PUBLIC, TAG(0x0008, 0x0032), VALUE_TIME, "Acquisition Time", SCAN_FIELD(acquired.time_s), 1,
     0},
    {0, PUBLIC, TAG(0x0008, 0x0033), VALUE_TIME, "Content Time", SCAN_FIELD(content.time_s), 1, 0},
    {0, PUBLIC, TAG(0x0008, 0x0201), VALUE_ZONE, "Timezone Offset From UTC", SCAN_FIELD(zone_s), 1,
     0},
    {0, PUBLIC, TAG(0x0008, 0x103E), VALUE_TEXT, "Series Description", FILE_TEXT(description)},
    {0, PUBLIC, TAG(0x0008, 0x9208), VALUE_TEXT, "Complex Image Component", TEXT(component)},
    {0, PUBLIC, TAG(0x0010, 0x0010), VALUE_TEXT, "Patient's Name", FILE_TEXT(patient_name)},
    {0, PUBLIC, TAG(0x0018, 0x0024), VALUE_TEXT, "Sequence Name", FILE_TEXT(sequence_name)},
    {0, PUBLIC, TAG(0x0018, 0x0080), VALUE_ADVICE, "Repetition Time", FILE_FIELD(repetition_ms), 1,
     0},
    {0, PUBLIC, TAG(0x0018, 0x0081), VALUE_ADVICE, "Echo Time", FIELD(echo_time_ms), 1, 0},
    {0, PUBLIC, TAG(0x0018, 0x0088), VALUE_ADVICE, "Spacing Between Slices",
     FIELD(spacing_between_slices_mm), 1, 0},
    {0, PUBLIC, TAG(0x0018, 0x1030), VALUE_TEXT, "Protocol Name", FILE_TEXT(protocol)},
    {0, PUBLIC, TAG(0x0018, 0x1060), VALUE_ADVICE, "Trigger Time", FIELD(trigger_ms), 1, 0},
    {0, PUBLIC, TAG(0x0018, 0x1120), VALUE_ADVICE, "Gantry/Detector Tilt", FILE_FIELD(tilt_degree),
     1, 0},
    {0, PUBLIC, TAG(0x0018, 0x1250), VALUE_TEXT, "Receive Coil Name", TEXT(coil)},
    {0, PUBLIC, TAG(0x0018, 0x1310), VALUE_BINARY, "Acquisition Matrix", SCAN_FIELD(matrix), 4, 0},
    {0, PUBLIC, TAG(0x0018, 0x2010), VALUE_TEXT, "Nominal Scanned Pixel Spacing",
     FILE_TEXT(nominal_spacing)},
    {0, PUBLIC, TAG(0x0018, 0x9087), VALUE_BINARY, "Diffusion b-value", FIELD(b_value), 1, 0},
    {0, PUBLIC, TAG(0x0018, 0x9361), VALUE_TEXT, "Multi-energy CT Acquisition",
     FILE_TEXT(multi_energy)},
    {0, PUBLIC, TAG(0x0020, 0x000D), VALUE_UID, "Study Instance UID", FILE_TEXT(study)},
    {0, PUBLIC, TAG(0x0020, 0x000E), VALUE_UID, "Series Instance UID", FILE_TEXT(series)},
    {0, PUBLIC, TAG(0x0018, 0x9089), VALUE_BINARY, "Diffusion Gradient Orientation",
     FIELD(gradient), 3, FLAG(have_gradient)},
    {0, PUBLIC, TAG(0x0020, 0x0011), VALUE_ADVICE, "Series Number", FILE_FIELD(series_number), 1,
     0},
    {0, PUBLIC, TAG(0x0020, 0x0012), VALUE_ADVICE, "Acquisition Number", FIELD(acquisition_number),
     1, 0},
    {0, PUBLIC, TAG(0x0020, 0x0013), VALUE_ADVICE, "Instance Number", FIELD(instance_number), 1, 0},
    {0, PUBLIC, TAG(0x0020, 0x0032), VALUE_DECIMALS, "Image Position (Patient)", FIELD(position_mm),
     3, FLAG(have_position)},
    {0, PUBLIC, TAG(0x0020, 0x0037), VALUE_DECIMALS, "Image Orientation (Patient)",
     FIELD(orientation), 6, FLAG(have_orientation)},
    {0, PUBLIC, TAG(0x0020, 0x0052), VALUE_UID, "Frame of Reference UID",
     FILE_TEXT(frame_of_reference)},
    {0, PUBLIC, TAG(0x0020, 0x0100), VALUE_ADVICE, "Temporal Position Identifier",
     FIELD(temporal_position), 1, 0},
    {0, PUBLIC, TAG(0x0020, 0x930D), VALUE_BINARY, "Temporal Position Time Offset",
     FIELD(time_offset_s), 1, 0},
    {0, PUBLIC, TAG(0x0020, 0x0105), VALUE_ADVICE, "Number of Temporal Positions",
     FILE_FIELD(temporal_positions), 1, 0},
    {0, PUBLIC, TAG(0x0020, 0x0110), VALUE_ADVICE, "Temporal Resolution",
     FILE_FIELD(temporal_resolution_ms), 1, 0},
    {0, PUBLIC, TAG(0x0020, 0x1002), VALUE_ADVICE, "Images in Acquisition",
     FILE_FIELD(images_in_acquisition), 1, 0},
    {0, PUBLIC, TAG(0x0020, 0x1041), VALUE_ADVICE, "Slice Location", FIELD(slice_location_mm), 1,
     0},
    {0, PUBLIC, TAG(0x0020, 0x1209), VALUE_ADVICE, "Number of Series Related Instances",
     FILE_FIELD(series_instances), 1, 0},
    {0, PUBLIC, TAG(0x0020, 0x9161), VALUE_UID, "Concatenation UID", FILE_TEXT(concatenation)},
    {0, PUBLIC, TAG(0x0020, 0x9163), VALUE_BINARY, "In-concatenation Total Number",
     FILE_FIELD(concatenation_files), 1, 0},
    {0, PUBLIC, TAG(0x0020, 0x9241), VALUE_FLOAT, "Nominal Percentage of Cardiac Phase",
     FIELD(cardiac_percent), 1, 0},
    {0, PUBLIC, TAG(0x0020, 0x9245), VALUE_FLOAT, "Nominal Percentage of Respiratory Phase",
     FIELD(respiratory_percent), 1, 0},
    {0, PUBLIC, TAG(0x0020, 0x4000), VALUE_TEXT, "Image Comments", TEXT(comment)},
    {0, PUBLIC, TAG(0x0028, 0x0002), VALUE_SHORT, "Samples per Pixel",
     FILE_FIELD(samples_per_pixel), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0004), VALUE_TEXT, "Photometric Interpretation",
     FILE_TEXT(photometric)},
    {0, PUBLIC, TAG(0x0028, 0x0008), VALUE_INTEGER, "Number of Frames", FILE_FIELD(frames), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0010), VALUE_SHORT, "Rows", FILE_FIELD(rows), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0011), VALUE_SHORT, "Columns", FILE_FIELD(columns), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0030), VALUE_DECIMALS, "Pixel Spacing", FIELD(spacing_mm), 2,
     FLAG(have_spacing)},
    {0, PUBLIC, TAG(0x0028, 0x0034), VALUE_TEXT, "Pixel Aspect Ratio", FILE_TEXT(aspect)},
    {0, PUBLIC, TAG(0x0028, 0x0100), VALUE_SHORT, "Bits Allocated", FILE_FIELD(bits_allocated), 1,
     0},
    {0, PUBLIC, TAG(0x0028, 0x0101), VALUE_SHORT, "Bits Stored", FILE_FIELD(bits_stored), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0102), VALUE_SHORT, "High Bit", FILE_FIELD(high_bit), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0103), VALUE_SHORT, "Pixel Representation",
     FILE_FIELD(pixel_representation), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0106), VALUE_BINARY, "Smallest Image Pixel Value",
     SCAN_FIELD(smallest), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0107), VALUE_BINARY, "Largest Image Pixel Value", SCAN_FIELD(largest),
     1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0120), VALUE_SHORT, "Pixel Padding Value", SCAN_FIELD(padding), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0121), VALUE_SHORT, "Pixel Padding Range Limit",
     SCAN_FIELD(padding_limit), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0122), VALUE_STORED, "Float Pixel Padding Value",
     SCAN_FIELD(float_padding), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0123), VALUE_STORED, "Double Float Pixel Padding Value",
     SCAN_FIELD(double_padding), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0124), VALUE_STORED, "Float Pixel Padding Range Limit",
     SCAN_FIELD(float_padding_limit), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0125), VALUE_STORED, "Double Float Pixel Padding Range Limit",
     SCAN_FIELD(double_padding_limit), 1, 0},
    {0, PUBLIC, TAG(0x0028, 0x0301), VALUE_TEXT, "Burned In Annotation", FILE_TEXT(burned_in)},
    {0, PUBLIC, TAG(0x0028, 0x1052), VALUE_DECIMALS, "Rescale Intercept", FIELD(intercept), 1,
     FLAG(have_intercept)},
    {0, PUBLIC, TAG(0x0028, 0x1053), VALUE_DECIMALS, "Rescale Slope", FIELD(slope), 1,
     FLAG(have_slope)},
    {0, PUBLIC, TAG(0x0028, 0x1054), VALUE_TEXT, "Rescale Type", TEXT(rescale_type)},
    {0, PUBLIC, TAG(0x0028, 0x2110), VALUE_TEXT, "Lossy Image Compression",
     FILE_TEXT(lossy_compression)},
    {0, PUBLIC, TAG(0x0028, 0x2112), VALUE_TEXT, "Lossy Image Compression Ratio",
     FILE_TEXT(lossy_ratio)},
    {0, PUBLIC, TAG(0x0028, 0x2114), VALUE_TEXT, "Lossy Image Compression Method",
     FILE_TEXT(lossy_method)},
    {TAG(0x0028, 0x3000), PUBLIC, TAG(0x0028, 0x3002), VALUE_BINARY, "LUT Descriptor",
     SCAN_FIELD(lut_descriptor), 3, 0},
    {TAG(0x0028, 0x3000), PUBLIC, TAG(0x0028, 0x3004), VALUE_TEXT, "Modality LUT Type",
     TEXT(rescale_type)},
    {TAG(0x0028, 0x3000), PUBLIC, TAG(0x0028, 0x3006), VALUE_PLACE, "LUT Data",
     FILE_FIELD(lut.data), 1, 0},
    {0, PUBLIC, TAG(0x0040, 0x9096), VALUE_PRESENCE, "Real World Value Mapping",
     FILE_FIELD(real_world), 1, 0},
    {0, PUBLIC, TAG(0x0054, 0x0081), VALUE_ADVICE, "Number of Slices", FILE_FIELD(pet_slices), 1,
     0},
    {0, PUBLIC, TAG(0x0054, 0x0101), VALUE_ADVICE, "Number of Time Slices",
     FILE_FIELD(pet_time_slices), 1, 0},
    {0, PUBLIC, TAG(0x0054, 0x1001), VALUE_TEXT, "Units", FILE_TEXT(units)},
    {0, PUBLIC, TAG(0x0054, 0x1300), VALUE_ADVICE, "Frame Reference Time",
     FIELD(frame_reference_ms), 1, 0},
    {0, PUBLIC, TAG(0x3004, 0x0002), VALUE_TEXT, "Dose Units", FILE_TEXT(dose_units)},
    {0, PUBLIC, TAG(0x3004, 0x000C), VALUE_PLACE, "Grid Frame Offset Vector",
     SCAN_FIELD(plane_offsets), 1, 0},
    {0, PUBLIC, TAG(0x3004, 0x000E), VALUE_DECIMALS, "Dose Grid Scaling", SCAN_FIELD(dose_scaling),
     1, 0},
    {TAG(0x0040, 0x9096), PUBLIC, TAG(0x0040, 0x9224), VALUE_BINARY, "Real World Value Intercept",
     FIELD(real_intercept), 1, 0},
    {TAG(0x0040, 0x9096), PUBLIC, TAG(0x0040, 0x9225), VALUE_BINARY, "Real World Value Slope",
     FIELD(real_slope), 1, 0},
    {TAG(0x0040, 0x08EA), PUBLIC, TAG(0x0008, 0x0100), VALUE_TEXT, "Code Value", TEXT(real_unit)},
    /* Elements of functional groups. */
    {TAG(0x0018, 0x9114), PUBLIC, TAG(0x0018, 0x9082), VALUE_BINARY, "Effective Echo Time",
     FIELD(echo_time_ms), 1, 0},
    {TAG(0x0018, 0x9117), PUBLIC, TAG(0x0018, 0x9087), VALUE_BINARY, "Diffusion b-value",
     FIELD(b_value), 1, 0},
    {TAG(0x0018, 0x9076), PUBLIC, TAG(0x0018, 0x9089), VALUE_BINARY,
     "Diffusion Gradient Orientation", FIELD(gradient), 3, FLAG(have_gradient)},
    {TAG(0x0018, 0x9118), PUBLIC, TAG(0x0020, 0x9153), VALUE_BINARY,
     "Nominal Cardiac Trigger Delay Time", FIELD(trigger_ms), 1, 0},
    {TAG(0x0018, 0x9118), PUBLIC, TAG(0x0020, 0x9241), VALUE_FLOAT,
     "Nominal Percentage of Cardiac Phase", FIELD(cycle_percent), 1, 0},
    {TAG(0x0018, 0x9118), PUBLIC, TAG(0x0020, 0x9252), VALUE_BINARY,
     "Actual Cardiac Trigger Delay Time", FIELD(delay_ms), 1, 0},
    {TAG(0x0018, 0x9125), PUBLIC, TAG(0x0018, 0x9058), VALUE_BINARY,
     "MR Acquisition Frequency Encoding Steps", SCAN_FIELD(steps[0]), 1, 0},
    {TAG(0x0018, 0x9125), PUBLIC, TAG(0x0018, 0x9231), VALUE_BINARY,
     "MR Acquisition Phase Encoding Steps in-plane", SCAN_FIELD(steps[1]), 1, 0},
    {TAG(0x0018, 0x9197), PUBLIC, TAG(0x0018, 0x9090), VALUE_BINARY, "Velocity Encoding Direction",
     FIELD(velocity_direction), 3, 0},
    {TAG(0x0018, 0x9197), PUBLIC, TAG(0x0018, 0x9217), VALUE_BINARY,
     "Velocity Encoding Maximum Value", FIELD(velocity_most), 1, 0},
    {TAG(0x0020, 0x9253), PUBLIC, TAG(0x0020, 0x9245), VALUE_FLOAT,
     "Nominal Percentage of Respiratory Phase", FIELD(respiratory_percent), 1, 0},
    {TAG(0x0020, 0x9253), PUBLIC, TAG(0x0020, 0x9247), VALUE_TEXT, "Starting Respiratory Phase",
     TEXT(breath)},
    {TAG(0x0020, 0x9253), PUBLIC, TAG(0x0020, 0x9255), VALUE_BINARY,
     "Nominal Respiratory Trigger Delay Time", FIELD(delay_ms), 1, 0},
    {TAG(0x0018, 0x9226), PUBLIC, TAG(0x0008, 0x9007), VALUE_TEXT, "Frame Type", TEXT(frame_type)},
    {TAG(0x0018, 0x9329), PUBLIC, TAG(0x0008, 0x9007), VALUE_TEXT, "Frame Type", TEXT(frame_type)},
    {TAG(0x0018, 0x9751), PUBLIC, TAG(0x0008, 0x9007), VALUE_TEXT, "Frame Type", TEXT(frame_type)},
    {TAG(0x0018, 0x9226), PUBLIC, TAG(0x0008, 0x9208), VALUE_TEXT, "Complex Image Component",
     TEXT(component)},
    {TAG(0x0020, 0x9111), PUBLIC, TAG(0x0018, 0x9074), VALUE_DATETIME, "Frame Acquisition DateTime",
     FIELD(acquired_s), 1, 0},
    {TAG(0x0020, 0x9111), PUBLIC, TAG(0x0020, 0x9056), VALUE_TEXT, "Stack ID", TEXT(stack)},
    {TAG(0x0020, 0x9111), PUBLIC, TAG(0x0020, 0x9057), VALUE_BINARY, "In-Stack Position Number",
     FIELD(in_stack), 1, 0},
    {TAG(0x0020, 0x9111), PUBLIC, TAG(0x0020, 0x9128), VALUE_BINARY, "Temporal Position Index",
     FIELD(temporal_position), 1, 0},
    {TAG(0x0020, 0x9111), PUBLIC, TAG(0x0020, 0x9156), VALUE_BINARY, "Frame Acquisition Number",
     FIELD(acquisition_number), 1, 0},
    {TAG(0x0020, 0x9111), PUBLIC, TAG(0x0020, 0x9157), VALUE_INDEXES, "Dimension Index Values",
     FIELD(dimensions), DICOM_DIMENSIONS, 0},
    {TAG(0x0020, 0x9111), PUBLIC, TAG(0x0020, 0x9158), VALUE_TEXT, "Frame Comments", TEXT(comment)},
    {TAG(0x0020, 0x9113), PUBLIC, TAG(0x0020, 0x0032), VALUE_DECIMALS, "Image Position (Patient)",
     FIELD(position_mm), 3, FLAG(have_position)},
    {TAG(0x0020, 0x9116), PUBLIC, TAG(0x0020, 0x0037), VALUE_DECIMALS,
     "Image Orientation (Patient)", FIELD(orientation), 6, FLAG(have_orientation)},
    {TAG(0x0020, 0x9310), PUBLIC, TAG(0x0020, 0x930D), VALUE_BINARY,
     "Temporal Position Time Offset", FIELD(time_offset_s), 1, 0},
    {TAG(0x0028, 0x9110), PUBLIC, TAG(0x0018, 0x0088), VALUE_ADVICE, "Spacing Between Slices",
     FIELD(spacing_between_slices_mm), 1, 0},
    {TAG(0x0028, 0x9110), PUBLIC, TAG(0x0028, 0x0030), VALUE_DECIMALS, "Pixel Spacing",
     FIELD(spacing_mm), 2, FLAG(have_spacing)},
    {TAG(0x0028, 0x9145), PUBLIC, TAG(0x0028, 0x1052), VALUE_DECIMALS, "Rescale Intercept",
     FIELD(intercept), 1, FLAG(have_intercept)},
    {TAG(0x0028, 0x9145), PUBLIC, TAG(0x0028, 0x1053), VALUE_DECIMALS, "Rescale Slope",
     FIELD(slope), 1, FLAG(have_slope)},
    {TAG(0x0028, 0x9145), PUBLIC, TAG(0x0028, 0x1054), VALUE_TEXT, "Rescale Type",
     TEXT(rescale_type)},
    {TAG(0x5200, 0x9229), PUBLIC, TAG(0x0040, 0x9096), VALUE_PRESENCE, "Real World Value Mapping",
     FILE_FIELD(real_world), 1, 0},
    {TAG(0x5200, 0x9230), PUBLIC, TAG(0x0040, 0x9096), VALUE_PRESENCE, "Real World Value Mapping",
     FILE_FIELD(real_world), 1, 0},
    /* Private elements. */
    {0, SIEMENS_CSA, TAG(0x0029, 0x0010), VALUE_PLACE, "CSA Image Header Info", SCAN_FIELD(csa), 1,
     0},
    {0, SIEMENS_MR, TAG(0x0019, 0x000A), VALUE_BINARY, "Number of Images in Mosaic",
     SCAN_FIELD(mosaic_tiles), 1, 0},
    {0, SIEMENS_MR, TAG(0x0019, 0x000C), VALUE_ADVICE, "b-value", FIELD(b_value), 1, 0},
    {0, SIEMENS_MR, TAG(0x0019, 0x000E), VALUE_BINARY, "gradient direction", FIELD(gradient), 3,
     FLAG(have_gradient)},
    {0, SIEMENS_MR, TAG(0x0051, 0x0014), VALUE_TEXT, "flow sensitivity", FILE_TEXT(flow)},
    {TAG(0x0021, 0x00FE), SIEMENS_SDI, TAG(0x0021, 0x0075), VALUE_TEXT, "image type text",
     SCAN_FIELD(type_text), DICOM_TEXT_MAX, 0},
    {0, GE_PARAMETERS, TAG(0x0043, 0x002F), VALUE_BINARY, "image type", FIELD(ge_type), 1, 0},
    {0, GE_PARAMETERS, TAG(0x0043, 0x0030), VALUE_BINARY, "collapse flag", FIELD(vendor_kind), 1,
     0},
    {0, GE_PARAMETERS, TAG(0x0043, 0x0039), VALUE_FIRST, "b-value", FIELD(ge_b_value), 1, 0},
    {0, GE_ACQUISITION, TAG(0x0019, 0x009C), VALUE_TEXT, "pulse sequence name",
     FILE_TEXT(ge_sequence)},
    {0, GE_ACQUISITION, TAG(0x0019, 0x00B3), VALUE_ADVICE, "user variable 12",
     SCAN_FIELD(ge_polarity), 1, 0},
    {0, GE_ACQUISITION, TAG(0x0019, 0x00BB), VALUE_ADVICE, "gradient direction",
     FIELD(ge_gradient[0]), 1, 0},
    {0, GE_ACQUISITION, TAG(0x0019, 0x00BC), VALUE_ADVICE, "gradient direction",
     FIELD(ge_gradient[1]), 1, 0},
    {0, GE_ACQUISITION, TAG(0x0019, 0x00BD), VALUE_ADVICE, "gradient direction",
     FIELD(ge_gradient[2]), 1, 0},
    {0, GE_RELATIONSHIP, TAG(0x0021, 0x004F), VALUE_BINARY, "Locations in Acquisition",
     FILE_FIELD(private_slices), 1, 0},
    {0, PHILIPS_IMAGING, TAG(0x2001, 0x0018), VALUE_BINARY, "Number of Slices MR",
     FILE_FIELD(private_slices), 1, 0},
    {0, PHILIPS_IMAGING, TAG(0x2001, 0x0081), VALUE_ADVICE, "Number of Dynamic Scans",
     FILE_FIELD(private_volumes), 1, 0},
    {0, PHILIPS_IMAGING, TAG(0x2001, 0x0003), VALUE_FLOAT, "b-value", FIELD(b_value), 1, 0},
    {0, PHILIPS_IMAGING, TAG(0x2001, 0x001A), VALUE_FLOAT, "PC velocity", FIELD(velocity_philips),
     3, 0},
    {0, PHILIPS_MR, TAG(0x2005, 0x00B0), VALUE_FLOAT, "gradient direction", FIELD(gradient[0]), 1,
     FLAG(have_gradient)},
    {0, PHILIPS_MR, TAG(0x2005, 0x00B1), VALUE_FLOAT, "gradient direction", FIELD(gradient[1]), 1,
     FLAG(have_gradient)},
    {0, PHILIPS_MR, TAG(0x2005, 0x00B2), VALUE_FLOAT, "gradient direction", FIELD(gradient[2]), 1,
     FLAG(have_gradient)},
    {0, PHILIPS_MR, TAG(0x2005, 0x000D), VALUE_FLOAT, "Scale Intercept", FIELD(scale_intercept), 1,
     0},
    {0, PHILIPS_MR, TAG(0x2005, 0x000E), VALUE_FLOAT, "Scale Slope", FIELD(scale_slope), 1, 0},
    {0, PHILIPS_PET, TAG(0x7053, 0x0009), VALUE_ADVICE, "Activity Concentration Scale Factor",
     FILE_FIELD(activity_scale), 1, 0},
    {0, UIH_IMAGE, TAG(0x0065, 0x0009), VALUE_BINARY, "b-value", SCAN_FIELD(grid_b_value), 1, 0},
    {0, UIH_IMAGE, TAG(0x0065, 0x0037), VALUE_BINARY, "gradient direction",
     SCAN_FIELD(grid_gradient), 3, 0},
    {0, UIH_IMAGE, TAG(0x0065, 0x0050), VALUE_ADVICE, "Number of Images in Grid",
     SCAN_FIELD(grid_tiles), 1, 0},
    {TAG(0x2005, 0x000F), PHILIPS_MR, TAG(0x2005, 0x000D), VALUE_FLOAT, "Scale Intercept",
     FIELD(scale_intercept), 1, 0},
    {TAG(0x2005, 0x000F), PHILIPS_MR, TAG(0x2005, 0x000E), VALUE_FLOAT, "Scale Slope",
     FIELD(scale_slope), 1, 0},
};
static const double SAME_SHARE = 1e-6; /* of a number, by which a repeated one is rounded */
static const double SAME_B = 10, SAME_B_SHARE = 0.05; /* s/mm2, and of a b-value */
static const double SAME_COSINE = 0.98, LEAST_LENGTH = 0.1;
enum { WANTED_COUNT = sizeof wanted / sizeof *wanted };
_Static_assert(sizeof wanted / sizeof *wanted <= DICOM_MAX_WANTED,
               "struct scan has a flag for each");

/* Returns the creator of a private element's block as the file states it; PUBLIC if it is none of
 * the known ones. */
static enum creator creator_of(const struct scan *scan, uint32_t parent, uint32_t tag)
{
    const uint32_t block = (tag & 0xFFFF0000) | (tag & 0xFFFF) >> 8;
    for (int i = 0; i < scan->n_blocks; i++)
        if (scan->blocks[i].tag == block && scan->blocks[i].parent == parent)
            return scan->blocks[i].creator;
    return PUBLIC;
}

static bool is_private(uint32_t tag)
{
    return tag >> 16 & 1;
}

/* Returns a tag as the table has it: a private one without the number of its block. */
static uint32_t without_block(uint32_t tag)
{
    return is_private(tag) ? tag & 0xFFFF00FF : tag;
}

/* Few elements of a header are wanted, and most are told apart by a hash of their tag. first_row
 * has the row behind which a chain of rows with one hash begins, and next_row the one behind each
 * row, counted from 1; 0 ends a chain. */
enum { HASH_BITS = 9 };
static unsigned char first_row[1 << HASH_BITS], next_row[WANTED_COUNT];
static pthread_once_t indexed = PTHREAD_ONCE_INIT;

static unsigned char *chain_of(uint32_t tag)
{
    return &first_row[(tag * UINT32_C(2654435769)) >> (32 - HASH_BITS)];
}

static void index_rows(void)
{
    for (int i = WANTED_COUNT - 1; i >= 0; i--) {
        unsigned char *chain = chain_of(wanted[i].tag);
        next_row[i] = *chain;
        *chain = (unsigned char)(i + 1);
    }
}

/* Returns the row of an element; -1 if it is not wanted. */
static int dicom_values_find(const struct scan *scan, uint32_t parent, uint32_t tag)
{
    const bool private = is_private(tag);
    const uint32_t wanted_tag = without_block(tag), wanted_parent = without_block(parent);
    pthread_once(&indexed, index_rows);
    int row = *chain_of(wanted_tag);
    if (row == 0)
        return -1;
    const enum creator creator = private ? creator_of(scan, parent, tag) : PUBLIC;
    for (; row > 0 && (!private || creator != PUBLIC); row = next_row[row - 1]) {
        const struct wanted *want = &wanted[row - 1];
        if (want->tag == wanted_tag && want->parent == wanted_parent && want->creator == creator)
            return row - 1;
    }
    return -1;
}

/* Notes which block of private elements a known text reserves. */
static void take_creator(struct scan *scan, const struct dicom_element *element)
{
    char bytes[64];
    const char *text = bytes;
    size_t length = element->length;
    if (length > sizeof bytes || scan->n_blocks == DICOM_MAX_BLOCKS ||
        !ts_dicom_read(&scan->reader, element->offset, bytes, length))
        return;
    ts_dicom_trim(&text, &length);
    for (int i = PUBLIC + 1; i < CREATORS; i++)
        if (strlen(creators[i]) == length && !memcmp(creators[i], text, length))
            scan->blocks[scan->n_blocks++] = (struct dicom_block){element->tag, element->parent, i};
}

bool ts_dicom_has_in(const struct scan *scan, uint32_t parent, uint32_t tag)
{
    const int i = dicom_values_find(scan, parent, tag);
    return i >= 0 && scan->filled[i];
}

bool ts_dicom_has(const struct scan *scan, uint32_t tag)
{
    return ts_dicom_has_in(scan, 0, tag);
}

void ts_dicom_need(struct scan *scan, uint32_t tag)
{
    if (!ts_dicom_has(scan, tag))
        ts_dicom_refuse(scan, "dicom-missing-element", "%s (%04x,%04x) is missing",
                        wanted[dicom_values_find(scan, 0, tag)].name, tag >> 16, tag & 0xFFFF);
}

/* Returns true if the row is of an element of a functional group, whose value is a text or numbers.
 */
static bool is_public_group(const struct wanted *want)
{
    return want->parent != 0 && want->creator == PUBLIC && want->kind != VALUE_INDEXES;
}

static bool is_short_vr(const char *vr)
{
    return !*vr || !strcmp(vr, "US") || !strcmp(vr, "SS") || !strcmp(vr, "UN");
}

/* Returns the field of the value: that of the frame whose functional groups are read, or of the
 * file or all images. */
static void *field_of(struct scan *scan, const struct wanted *want)
{
    char *const targets[] = {
        [OF_FILE] = (char *)scan->file,
        [OF_IMAGE] = (char *)ts_dicom_current_image(scan),
        [OF_SCAN] = (char *)scan,
    };
    return targets[want->target] + want->offset;
}

/* Stores `count` binary numbers; a value that has fewer leaves NaN. */
static void store_binary(const struct wanted *want, const char *bytes, size_t length,
                         const struct dicom_element *element, bool big_endian, double *field)
{
    const size_t each = length / want->size;
    const bool unknown = !*element->vr || !strcmp(element->vr, "UN");
    const char *vr = want->kind == VALUE_FLOAT && unknown ? "FL" : element->vr;
    for (size_t i = 0; i < want->size; i++)
        field[i] = ts_dicom_parse_number(bytes + i * each, want->size == 1 ? length : each, vr,
                                         true, big_endian);
}

/* Stores the indexes that frames have along the dimensions of their file. A list that was cut by
 * its buffer is longer than the field, too. */
static void store_indexes(const struct wanted *want, const unsigned char *bytes, size_t length,
                          bool big_endian, uint32_t *field)
{
    for (size_t i = 0; length <= 4 * want->size && i < length / 4; i++)
        field[i] = ts_dicom_u32(bytes + 4 * i, big_endian);
}

/* Stores a time, and the zone that it ends in as that of the image; without one the image keeps the
 * zone it has. */
static void store_datetime(const char *bytes, size_t length, double *field,
                           struct dicom_image *image)
{
    const double zone = ts_dicom_parse_zone(bytes, length);
    *field = ts_dicom_parse_time(bytes, length);
    if (!isnan(*field) && !isnan(zone)) {
        image->zone_s = zone;
        image->zone_in_time = true;
    }
}

/* Warns if the groups of a frame state another value than those that all frames share, which may
 * not state it then. Scanners repeat what is the same. */
static void compare_shared(struct scan *scan, const struct wanted *want)
{
    const struct dicom_image *frame = ts_dicom_current_image(scan);
    const char *here = (const char *)frame + want->offset,
               *all = (const char *)&scan->image + want->offset;
    if (scan->file->warning) /* the first one stays */
        return;
    bool differs = want->kind == VALUE_TEXT && strcmp(here, all) != 0;
    for (size_t i = 0; want->kind != VALUE_TEXT && i < want->size; i++) {
        const double a = ((const double *)here)[i], b = ((const double *)all)[i];
        differs |= fabs(a - b) > SAME_SHARE * fmax(fabs(a), fabs(b));
    }
    const char *text =
        differs ? ts_arena_printf(scan->arena,
                                  "the functional groups of a frame contradict those that all "
                                  "frames share in %s: each frame has its own",
                                  want->name)
                : NULL;
    if (text)
        ts_dicom_warn(scan, text);
}

static bool is_private_weighting(const struct wanted *want)
{
    return want->creator != PUBLIC && want->target == OF_IMAGE && want->parent == 0 &&
           ((want->offset == offsetof(struct dicom_image, b_value) && want->size == 1) ||
            (want->offset == offsetof(struct dicom_image, gradient) && want->size == 3));
}

/* Warns if a private b-value or gradient is another one than that of the standard's element, which
 * stands before it. Both may be rounded, and a gradient has no sign. */
static void compare_private(struct scan *scan, const struct wanted *want, const double before[3])
{
    const double *now = field_of(scan, want);
    const double off = fabs(*now - *before), most = fmax(fabs(*now), fabs(*before));
    if (want->size == 1 && off > fmax(SAME_B, SAME_B_SHARE * most))
        ts_dicom_warn(scan, "a private b-value is another one than Diffusion b-value (0018,9087), "
                            "and is taken");
    if (want->size == 3 && ts_length(before) > LEAST_LENGTH && ts_length(now) > LEAST_LENGTH &&
        fabs(ts_dot(now, before)) < SAME_COSINE * ts_length(now) * ts_length(before))
        ts_dicom_warn(scan, "a private gradient is another one than Diffusion Gradient "
                            "Orientation (0018,9089), and is taken");
}

/* Stores the value in its field; false if it is not of its kind. */
static bool dicom_values_store(const struct wanted *want, const char *bytes, size_t length,
                               const struct dicom_element *element, bool big_endian,
                               struct scan *scan)
{
    void *field = field_of(scan, want);
    const unsigned char *raw = (const unsigned char *)bytes;
    int64_t integer = 0;
    switch (want->kind) {
    case VALUE_UID:
    case VALUE_TEXT:
        ts_dicom_trim(&bytes, &length);
        if (!ts_dicom_is_text_vr(element->vr) || (want->kind == VALUE_UID && length >= want->size))
            return false;
        length = length < want->size ? length : want->size - 1;
        memcpy(field, bytes, length);
        ((char *)field)[length] = '\0';
        return true;
    case VALUE_SHORT:
        if (length != 2 || !is_short_vr(element->vr))
            return false;
        *(int *)field = ts_dicom_u16(raw, big_endian);
        return true;
    case VALUE_DECIMALS:
        return ts_dicom_is_text_vr(element->vr) &&
               ts_dicom_parse_decimals(bytes, length, field, want->size);
    case VALUE_INTEGER:
        if (!ts_dicom_is_text_vr(element->vr) || !ts_dicom_parse_integer(bytes, length, &integer))
            return false;
        *(int64_t *)field = integer;
        return true;
    case VALUE_ADVICE:
        *(double *)field = ts_dicom_parse_number(bytes, length, element->vr, false, big_endian);
        return true;
    case VALUE_FIRST: {
        const char *end = ts_dicom_is_text_vr(element->vr) ? memchr(bytes, '\\', length) : NULL;
        *(double *)field = ts_dicom_parse_number(bytes, end ? (size_t)(end - bytes) : length,
                                                 element->vr, false, big_endian);
        return true;
    }
    case VALUE_STORED:
        return ts_dicom_parse_stored(raw, length, element->vr, big_endian, field);
    case VALUE_BINARY:
    case VALUE_FLOAT:
        store_binary(want, bytes, length, element, big_endian, field);
        return true;
    case VALUE_INDEXES:
        store_indexes(want, raw, length, big_endian, field);
        return true;
    case VALUE_TIME:
        *(double *)field = ts_dicom_parse_time(bytes, length);
        return true;
    case VALUE_DATETIME:
        store_datetime(bytes, length, field, ts_dicom_current_image(scan));
        return true;
    case VALUE_ZONE:
        *(double *)field = ts_dicom_parse_zone(bytes, length);
        return true;
    case VALUE_DATE:
        *(double *)field = ts_dicom_parse_date(bytes, length);
        return true;
    case VALUE_PLACE:
    case VALUE_PRESENCE:
        return true;
    }
    return false;
}

/* The message does not have the value, since people can write anything into it. */
static void refuse_value(struct scan *scan, const struct wanted *want,
                         const struct dicom_element *element)
{
    static const char *const decimals[] = {
        "", "a decimal number",   "two decimal numbers", "three decimal numbers", "",
        "", "six decimal numbers"};
    const unsigned group = element->tag >> 16, number = element->tag & 0xFFFF;
    const char *expected = "text";
    if (want->kind == VALUE_UID)
        expected = "a UID of at most 64 characters";
    else if (want->kind == VALUE_INTEGER)
        expected = "an integer";
    else if (want->kind == VALUE_DECIMALS)
        expected = decimals[want->size];
    else if (want->kind == VALUE_STORED)
        expected = "one floating point number";
    if (want->kind == VALUE_SHORT)
        ts_dicom_refuse(scan, "dicom-bad-value",
                        "%s (%04x,%04x) is not one 16-bit number: VR %s, %" PRIu32 " bytes",
                        want->name, group, number, *element->vr ? element->vr : "(implicit)",
                        element->length);
    else
        ts_dicom_refuse(scan, "dicom-bad-value", "%s (%04x,%04x) is not %s", want->name, group,
                        number, expected);
}

/* Returns true if the element, which is wanted, has a value to be read; its presence is noted. */
static bool has_value(struct scan *scan, int i, const struct dicom_element *element)
{
    const struct wanted *want = &wanted[i];
    if (scan->met[i] &&
        (want->creator != PUBLIC || want->parent == TAG(0x0040, 0x9096) ||
         want->parent == TAG(0x0040, 0x08EA) || want->parent == TAG(0x0018, 0x9197)))
        return false; /* tools that copy private blocks may leave two; the first one is the
                         scanner's; values may be mapped, and flows encoded, in several ways */
    if (scan->met[i]) {
        ts_dicom_refuse(scan, "dicom-repeated-element", "%s (%04x,%04x) is given twice", want->name,
                        element->tag >> 16, element->tag & 0xFFFF);
        return false;
    }
    scan->met[i] = true;
    if (want->kind == VALUE_PRESENCE)
        *(bool *)field_of(scan, want) = true;
    if (want->kind == VALUE_PLACE && element->length > 0) {
        *(struct dicom_place *)field_of(scan, want) =
            (struct dicom_place){element->offset, element->length};
        scan->filled[i] = true;
    }
    return want->kind != VALUE_PRESENCE && want->kind != VALUE_PLACE && element->length > 0;
}

void ts_dicom_take(struct scan *scan, const struct dicom_walk *walk,
                   const struct dicom_element *element)
{
    char bytes[512];
    if (is_private(element->tag) && (element->tag & 0xFFFF) >= 0x10 &&
        (element->tag & 0xFFFF) <= 0xFF)
        take_creator(scan, element);
    ts_dicom_take_field(scan, element, walk->big_endian);
    const int i = dicom_values_find(scan, element->parent, element->tag);
    if (i < 0 || !has_value(scan, i, element))
        return;
    const struct wanted *want = &wanted[i];
    const unsigned group = element->tag >> 16, number = element->tag & 0xFFFF;
    const size_t length = element->length < sizeof bytes ? element->length : sizeof bytes;
    const bool tolerant = want->kind == VALUE_TEXT || want->kind == VALUE_ADVICE ||
                          want->kind == VALUE_FIRST || want->kind == VALUE_BINARY ||
                          want->kind == VALUE_FLOAT || want->kind == VALUE_TIME ||
                          want->kind == VALUE_DATETIME || want->kind == VALUE_ZONE ||
                          want->kind == VALUE_DATE || want->kind == VALUE_INDEXES;
    if (length < element->length && !tolerant) {
        ts_dicom_refuse(scan, "dicom-bad-value", "%s (%04x,%04x) is %" PRIu32 " bytes long",
                        want->name, group, number, element->length);
        return;
    }
    if (!ts_dicom_read(&scan->reader, element->offset, bytes, length)) {
        ts_dicom_refuse(scan, "dicom-unreadable", "%s (%04x,%04x) cannot be read", want->name,
                        group, number);
        return;
    }
    const char *text = bytes;
    size_t text_length = length;
    const bool is_number = want->kind == VALUE_BINARY || want->kind == VALUE_FLOAT ||
                           want->kind == VALUE_INDEXES || want->kind == VALUE_STORED ||
                           !strcmp(element->vr, "FD") ||
                           (want->kind == VALUE_ADVICE && !ts_dicom_is_text_vr(element->vr));
    const bool is_text = want->kind != VALUE_SHORT && !is_number;
    if (is_text)
        ts_dicom_trim(&text, &text_length);
    if (is_text && text_length == 0)
        return; /* nothing but padding: absent */
    const bool weighting = is_private_weighting(want);
    double before[3] = {NAN, NAN, NAN};
    if (weighting)
        memcpy(before, field_of(scan, want), want->size * sizeof *before);
    if (!dicom_values_store(want, bytes, length, element, walk->big_endian, scan)) {
        refuse_value(scan, want, element);
        return;
    }
    if (weighting)
        compare_private(scan, want, before);
    scan->filled[i] = true;
    scan->shared[i] |= element->root == DICOM_SHARED_GROUPS;
    if (scan->shared[i] && scan->n_frames > 0 && want->target == OF_IMAGE && is_public_group(want))
        compare_shared(scan, want);
    if (want->have)
        *(bool *)((char *)ts_dicom_current_image(scan) + want->have) = true;
}

void ts_dicom_forget_groups(struct scan *scan)
{
    for (int i = 0; i < WANTED_COUNT; i++)
        scan->met[i] = scan->met[i] && wanted[i].parent == 0;
    int kept = 0;
    for (int i = 0; i < scan->n_blocks; i++)
        if (scan->blocks[i].parent == 0)
            scan->blocks[kept++] = scan->blocks[i];
    scan->n_blocks = kept;
}
