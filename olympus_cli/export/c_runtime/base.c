/* Errors and element types. */

#define FAIL_FORMAT
#if defined(__GNUC__)
#undef FAIL_FORMAT
#define FAIL_FORMAT __attribute__((format(printf, 3, 4)))
#endif

FAIL_FORMAT
static int fail(olympus_error *error, olympus_code code, const char *format, ...) {
  if (error != NULL) {
    va_list values;
    va_start(values, format);
    error->code = code;
    if (vsnprintf(error->message, sizeof error->message, format, values) < 0) {
      error->message[0] = '\0';
    }
    va_end(values);
  }
  return (int)code;
}

static int out_of_memory(olympus_error *error, uint64_t size) {
  return fail(error, OLYMPUS_MEMORY, "no memory is left: %" PRIu64 " bytes are needed", size);
}

static int succeed(olympus_error *error) {
  if (error != NULL) {
    error->code = OLYMPUS_OK;
    error->message[0] = '\0';
  }
  return OLYMPUS_OK;
}

struct dtype {
  const char *name;
  size_t size;
  int pjrt; /* the number of the type in PJRT's API */
};

static const struct dtype DTYPES[OLYMPUS_NUM_DTYPES] = {
    [OLYMPUS_BOOL] = {"bool", 1, 1},
    [OLYMPUS_INT8] = {"int8", 1, 2},
    [OLYMPUS_INT16] = {"int16", 2, 3},
    [OLYMPUS_INT32] = {"int32", 4, 4},
    [OLYMPUS_INT64] = {"int64", 8, 5},
    [OLYMPUS_UINT8] = {"uint8", 1, 6},
    [OLYMPUS_UINT16] = {"uint16", 2, 7},
    [OLYMPUS_UINT32] = {"uint32", 4, 8},
    [OLYMPUS_UINT64] = {"uint64", 8, 9},
    [OLYMPUS_FLOAT16] = {"float16", 2, 10},
    [OLYMPUS_FLOAT32] = {"float32", 4, 11},
    [OLYMPUS_FLOAT64] = {"float64", 8, 12},
    [OLYMPUS_BFLOAT16] = {"bfloat16", 2, 13},
    [OLYMPUS_COMPLEX64] = {"complex64", 8, 14},
    [OLYMPUS_COMPLEX128] = {"complex128", 16, 15},
    [OLYMPUS_FLOAT8_E5M2] = {"float8_e5m2", 1, 16},
    [OLYMPUS_FLOAT8_E4M3FN] = {"float8_e4m3fn", 1, 17},
    [OLYMPUS_FLOAT8_E4M3B11FNUZ] = {"float8_e4m3b11fnuz", 1, 18},
    [OLYMPUS_FLOAT8_E5M2FNUZ] = {"float8_e5m2fnuz", 1, 19},
    [OLYMPUS_FLOAT8_E4M3FNUZ] = {"float8_e4m3fnuz", 1, 20},
    [OLYMPUS_FLOAT8_E4M3] = {"float8_e4m3", 1, 26},
    [OLYMPUS_FLOAT8_E3M4] = {"float8_e3m4", 1, 27},
    [OLYMPUS_FLOAT8_E8M0FNU] = {"float8_e8m0fnu", 1, 28},
};

const char *olympus_dtype_name(olympus_dtype dtype) {
  return (unsigned)dtype < OLYMPUS_NUM_DTYPES ? DTYPES[dtype].name : "unknown";
}

size_t olympus_dtype_size(olympus_dtype dtype) {
  return (unsigned)dtype < OLYMPUS_NUM_DTYPES ? DTYPES[dtype].size : 0;
}
