/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds a file's format from its first bytes. Inputs, masks and `tomostage info` share one table of
 * signatures. HDF5 is not in it: its signature may be at several places, where io/hdf5 looks for
 * it.
 */
#ifndef IO_FILE_FILE_SIGNATURE_H
#define IO_FILE_FILE_SIGNATURE_H

/* Returns the name of the format: "dicom", "tiff", "nrrd", "mha", "nifti", "npy", "gzip" for any
   gzip file, or "archive" for what other programs packed (zip, bzip2, xz, zstd, 7z, tar). NULL if
   no signature is found or the file cannot be read. `path` is its name: a gzip file is "nifti" if
   its name ends in .nii.gz, because such files are read without unpacking. One whose name ends in
   .mgz is none, because programs that read it do the same. */
const char *ts_file_signature(int fd, const char *path);
/* Returns how to unpack a file of that format; NULL for formats that can be read without that. */
const char *ts_file_unpack_hint(const char *format);

#endif
