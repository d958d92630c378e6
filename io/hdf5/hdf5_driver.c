/* SPDX-License-Identifier: Apache-2.0
 *
 * The driver behaves like the library's "sec2": the address space may be longer than the file, and
 * bytes behind the file's end read as zeros. It locks nothing, since nobody else knows the files
 * that we write, and readers of a finished file need no lock. Source: HDF5 virtual file layer
 * (H5FDpublic.h); H5FDsec2.c for what the library expects.
 */
#include "io/hdf5/hdf5_driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/file/file_bytes.h"

#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

struct driver_file {
    H5FD_t public; /* must be first: the library casts between the two */
    int fd;
    haddr_t eoa, eof;
    dev_t device;
    ino_t inode;
    bool discard;
    bool noting; /* places of values are noted, and the values not written */
    int n_noted;
    haddr_t noted;
    size_t noted_bytes;
    int error; /* errno of the first write that failed */
};

static const haddr_t largest_address = INT64_MAX;

/* The library needs a name. An absolute one keeps it from asking for the working folder. */
static const char any_name[] = "/tomostage";

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t max)
{
    (void)max;
    struct stat status;
    /* For external links and virtual datasets the library opens further names, which must not get
       this descriptor. */
    const int *fd = strcmp(name, any_name) == 0 ? H5Pget_driver_info(access) : NULL;
    if (!fd)
        return NULL;
    /* The library first opens without H5F_ACC_TRUNC, to find out if it has the file open already.
       The sandbox forbids the call that glibc makes for fstat(). */
    if (((flags & H5F_ACC_TRUNC) && ftruncate(*fd, 0) != 0) ||
        syscall(SYS_fstat, *fd, &status) != 0) {
        ts_hdf5_keep_error(errno);
        return NULL;
    }
    struct driver_file *file = calloc(1, sizeof *file);
    if (!file) {
        ts_hdf5_keep_error(ENOMEM);
        return NULL;
    }
    file->fd = *fd;
    file->eof = (haddr_t)status.st_size;
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return &file->public;
}

static herr_t driver_close(H5FD_t *handle)
{
    free(handle);
    return 0;
}

static int driver_compare(const H5FD_t *a, const H5FD_t *b)
{
    const struct driver_file *one = (const struct driver_file *)a,
                             *two = (const struct driver_file *)b;
    if (one->device != two->device)
        return one->device < two->device ? -1 : 1;
    return one->inode < two->inode ? -1 : one->inode > two->inode;
}

/* Without POSIX_COMPAT_HANDLE the library does not look for the name on the disk. */
static herr_t driver_query(const H5FD_t *handle, unsigned long *flags)
{
    (void)handle;
    *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
             H5FD_FEAT_AGGREGATE_SMALLDATA;
#ifdef H5FD_FEAT_DEFAULT_VFD_COMPATIBLE
    *flags |= H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
#endif
    return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *handle, H5FD_mem_t type)
{
    (void)type;
    return ((const struct driver_file *)handle)->eoa;
}

static herr_t driver_set_eoa(H5FD_t *handle, H5FD_mem_t type, haddr_t address)
{
    (void)type;
    ((struct driver_file *)handle)->eoa = address;
    return 0;
}

static haddr_t driver_get_eof(const H5FD_t *handle, H5FD_mem_t type)
{
    (void)type;
    return ((const struct driver_file *)handle)->eof;
}

static herr_t driver_get_handle(H5FD_t *handle, hid_t access, void **out)
{
    (void)access;
    *out = handle;
    return 0;
}

static bool outside(haddr_t address, size_t size)
{
    return address > largest_address || size > largest_address - address;
}

static herr_t driver_read(H5FD_t *handle, H5FD_mem_t type, hid_t transfer, haddr_t address,
                          size_t size, void *buffer)
{
    (void)type, (void)transfer;
    const struct driver_file *file = (const struct driver_file *)handle;
    size_t inside;
    if (address >= file->eof)
        inside = 0;
    else
        inside = size < file->eof - address ? size : (size_t)(file->eof - address);
    if (outside(address, size))
        return -1;
    if (!ts_file_read_at(file->fd, buffer, inside, address)) {
        ts_hdf5_keep_error(errno ? errno : EIO); /* EIO: the file has become shorter */
        return -1;
    }
    memset((char *)buffer + inside, 0, size - inside);
    return 0;
}

static herr_t fail_write(struct driver_file *file, int error)
{
    file->error = error;
    ts_hdf5_keep_error(error);
    return -1;
}

static herr_t driver_write(H5FD_t *handle, H5FD_mem_t type, hid_t transfer, haddr_t address,
                           size_t size, const void *buffer)
{
    (void)transfer;
    struct driver_file *file = (struct driver_file *)handle;
    const bool noted = file->noting && type == H5FD_MEM_DRAW;
    if (file->discard)
        return 0;
    if (file->error || outside(address, size))
        return fail_write(file, file->error ? file->error : EFBIG);
    if (noted) {
        file->noted = address;
        file->noted_bytes = size;
        file->n_noted++;
    } else if (!ts_file_write_at(file->fd, buffer, size, address)) {
        return fail_write(file, errno);
    }
    if (address + size > file->eof)
        file->eof = address + size;
    return 0;
}

/* The library does not report every write that failed; here it must. */
static herr_t driver_flush(H5FD_t *handle, hid_t transfer, hbool_t closing)
{
    (void)transfer, (void)closing;
    struct driver_file *file = (struct driver_file *)handle;
    return file->error && !file->discard ? fail_write(file, file->error) : 0;
}

static herr_t driver_truncate(H5FD_t *handle, hid_t transfer, hbool_t closing)
{
    (void)transfer, (void)closing;
    struct driver_file *file = (struct driver_file *)handle;
    if (file->discard || file->eoa == file->eof)
        return 0;
    if (file->error)
        return fail_write(file, file->error);
    while (ftruncate(file->fd, (off_t)file->eoa) != 0)
        if (errno != EINTR)
            return fail_write(file, errno);
    file->eof = file->eoa;
    return 0;
}

static const H5FD_class_t driver_class = {
#if H5_VERSION_GE(1, 13, 0)
    .version = H5FD_CLASS_VERSION,
    .value = 617, /* from the range for drivers that are not registered with the makers of HDF5 */
#endif
    .name = "tomostage descriptor",
    .maxaddr = INT64_MAX,
    .fc_degree = H5F_CLOSE_STRONG,
    .fapl_size = sizeof(int),
    .open = driver_open,
    .close = driver_close,
    .cmp = driver_compare,
    .query = driver_query,
    .get_eoa = driver_get_eoa,
    .set_eoa = driver_set_eoa,
    .get_eof = driver_get_eof,
    .get_handle = driver_get_handle,
    .read = driver_read,
    .write = driver_write,
    .flush = driver_flush,
    .truncate = driver_truncate,
    .fl_map = H5FD_FLMAP_DICHOTOMY,
};

/* Makes access properties for the descriptor, or -1. Registers the driver again if a host program
   has closed the library since. */
static hid_t create_access(int fd)
{
    static hid_t driver = -1;
    if (driver < 0 || H5Iget_type(driver) != H5I_VFL)
        driver = H5FDregister(&driver_class);
    hid_t access = driver >= 0 ? H5Pcreate(H5P_FILE_ACCESS) : -1;
    if (access >= 0 && (H5Pset_driver(access, driver, &fd) < 0 ||
                        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) < 0)) {
        H5Pclose(access);
        return -1;
    }
    return access;
}

/* The format allows the signature at 0, 512, 1024, 2048, ... */
bool ts_hdf5_has_signature(int fd)
{
    static const char signature[] = "\211HDF\r\n\032\n";
    char found[sizeof signature - 1];
    errno = 0;
    for (off_t at = 0; pread(fd, found, sizeof found, at) == (ssize_t)sizeof found;
         at = at ? 2 * at : 512)
        if (memcmp(found, signature, sizeof found) == 0)
            return true;
    return false;
}

hid_t ts_hdf5_open_descriptor(int fd, struct hdf5_failure *failure)
{
    hid_t file = -1, access = create_access(fd);
    /* Plugins would run foreign code for foreign files. */
    if (access >= 0 && H5PLset_loading_state(0) >= 0)
        file = H5Fopen(any_name, H5F_ACC_RDONLY, access);
    if (file < 0)
        ts_hdf5_failure(failure); /* before another call erases the reason */
    TS_HDF5_CLOSE(access);
    /* For a file without the signature the library only says "bad superblock" or less. */
    if (file < 0 && !failure->error_number && !ts_hdf5_has_signature(fd))
        snprintf(failure->text, sizeof failure->text, "it is not an HDF5 file");
    return file;
}

hid_t ts_hdf5_create_descriptor(int fd, hid_t creation, struct hdf5_failure *failure)
{
    hid_t file = -1, access = create_access(fd);
    if (access >= 0 && H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0)
        file = H5Fcreate(any_name, H5F_ACC_TRUNC, creation, access);
    if (file < 0)
        ts_hdf5_failure(failure);
    TS_HDF5_CLOSE(access);
    return file;
}

static struct driver_file *driver_of(hid_t file)
{
    void *handle = NULL;
    return H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) >= 0 ? handle : NULL;
}

bool ts_hdf5_driver_place(hid_t file, hid_t dataset, const hsize_t *start, size_t bytes,
                          uint64_t *offset)
{
    static const char nothing;
    struct driver_file *driver = driver_of(file);
    if (!driver)
        return false;
    driver->noting = true;
    driver->n_noted = 0;
    const bool done = H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, start, bytes, &nothing) >= 0;
    driver->noting = false;
    *offset = driver->noted;
    return done && driver->n_noted == 1 && driver->noted_bytes == bytes;
}

void ts_hdf5_driver_discard(hid_t file)
{
    struct driver_file *driver = driver_of(file);
    if (driver)
        driver->discard = true;
}
