/* A function for XLA's typed interface: result = x * factor, in float. The factor is the attribute
   "by", to which the second element of an array and the length of a text are added. */
#include <stdint.h>
#include <string.h>

#include "xla/ffi/api/c_api.h"

int64_t calls = 0;

static int describe(XLA_FFI_CallFrame* frame) {
  XLA_FFI_Extension_Base* start = frame->extension_start;
  if (start == 0 || start->type != XLA_FFI_Extension_Metadata) return 0;
  XLA_FFI_Metadata* metadata = ((XLA_FFI_Metadata_Extension*)start)->metadata;
  metadata->api_version.major_version = XLA_FFI_API_MAJOR;
  metadata->api_version.minor_version = XLA_FFI_API_MINOR;
  return 1;
}

XLA_FFI_Error* scale(XLA_FFI_CallFrame* frame) {
  if (describe(frame)) return 0;
  ++calls;
  XLA_FFI_Buffer* x = frame->args.args[0];
  XLA_FFI_Buffer* y = frame->rets.rets[0];
  float by = 0;
  for (int64_t i = 0; i < frame->attrs.size; ++i) {
    void* value = frame->attrs.attrs[i];
    switch (frame->attrs.types[i]) {
      case XLA_FFI_AttrType_SCALAR: by += *(float*)((XLA_FFI_Scalar*)value)->value; break;
      case XLA_FFI_AttrType_ARRAY: by += ((float*)((XLA_FFI_Array*)value)->data)[1]; break;
      case XLA_FFI_AttrType_STRING: by += ((XLA_FFI_ByteSpan*)value)->len; break;
      default: break;
    }
  }
  int64_t size = 1;
  for (int64_t i = 0; i < x->rank; ++i) size *= x->dims[i];
  for (int64_t i = 0; i < size; ++i) ((float*)y->data)[i] = by * ((float*)x->data)[i];
  return 0;
}
