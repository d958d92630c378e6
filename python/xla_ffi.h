/* SPDX-License-Identifier: Apache-2.0
 *
 * The part of XLA's foreign function interface (xla/ffi/api/c_api.h, version 0) that a handler of
 * JAX needs, so that JAX is not needed when this package is built. The interface is a stable one:
 * structs state their size, and grow at their end.
 */
#ifndef PYTHON_XLA_FFI_H
#define PYTHON_XLA_FFI_H

#include <cstddef>
#include <cstdint>

namespace xla
{
enum { EXTENSION_METADATA = 1, STAGE_EXECUTE = 3, TYPE_F32 = 11, CODE_INTERNAL = 13 };

struct Error;
struct Context;

struct Extension {
    size_t size;
    int type;
    Extension *next;
};

struct Version {
    size_t size;
    Extension *extensions;
    int major, minor;
};

struct Metadata {
    size_t size;
    Version version;
    uint32_t traits;
};

struct MetadataExtension {
    Extension base;
    Metadata *metadata;
};

struct Buffer {
    size_t size;
    Extension *extensions;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *n;
};

struct Scalar {
    int dtype;
    void *value;
};

struct Text {
    const char *data;
    size_t length;
};

/* Arguments, or results. */
struct Buffers {
    size_t size;
    Extension *extensions;
    int64_t n;
    int *types;
    Buffer **buffers;
};

struct Attributes {
    size_t size;
    Extension *extensions;
    int64_t n;
    int *types;
    Text **names;
    Scalar **values;
};

struct ErrorArguments {
    size_t size;
    Extension *extensions;
    const char *message;
    int code;
};

struct StreamArguments {
    size_t size;
    Extension *extensions;
    Context *context;
    void *stream;
};

struct OrdinalArguments {
    size_t size;
    Extension *extensions;
    Context *context;
    int32_t ordinal;
};

struct Api {
    size_t size;
    Extension *extensions;
    Version version;
    const void *internal;
    Error *(*create_error)(ErrorArguments *arguments);
    void *error_message, *destroy_error, *register_handler;
    Error *(*get_stream)(StreamArguments *arguments);
    void *register_type, *get_context, *set_state, *get_state, *allocate, *free, *schedule,
        *n_threads, *create_future, *set_available, *set_error, *run_id;
    Error *(*get_ordinal)(OrdinalArguments *arguments);
};

struct CallFrame {
    size_t size;
    Extension *extensions;
    const Api *api;
    Context *context;
    int stage;
    Buffers arguments, results;
    Attributes attributes;
    void *future;
};
} // namespace xla

#endif
