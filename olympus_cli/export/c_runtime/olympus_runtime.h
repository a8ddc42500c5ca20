/* Load and call a program of an .olympus bundle through the PJRT C API, without Python.

   The types in this file describe a program.  `olympus export --format c` writes a description of
   each program, NAME_program, and typed functions around the functions below.

   Arrays are dense and in row-major order (C order).  All memory that the caller passes stays the
   caller's. */
#ifndef OLYMPUS_RUNTIME_H
#define OLYMPUS_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result of a function: OLYMPUS_OK, which is 0, or the kind of its error. */
typedef enum olympus_code {
  OLYMPUS_OK = 0,
  OLYMPUS_USAGE = 1,     /* an argument of the call is missing or not valid */
  OLYMPUS_FILE = 2,      /* a file is missing or cannot be read */
  OLYMPUS_DAMAGED = 3,   /* the bundle is damaged, or is not the exported one */
  OLYMPUS_PROCESSOR = 4, /* the executable is for another system or processor */
  OLYMPUS_PLUGIN = 5,    /* the plugin cannot be loaded, or does not fit the executable */
  OLYMPUS_DEVICE = 6,    /* the plugin has no client, or too few devices */
  OLYMPUS_MEMORY = 7,    /* no memory is left on the host */
  OLYMPUS_EXECUTION = 8  /* the plugin cannot load the executable, or its execution failed */
} olympus_code;

#define OLYMPUS_MESSAGE_SIZE 1024

/* An error; the message is text in UTF-8 that ends with a zero byte. */
typedef struct olympus_error {
  olympus_code code;
  char message[OLYMPUS_MESSAGE_SIZE];
} olympus_error;

/* Element types.  C has no type for some of them:
   bool is uint8_t with the values 0 and 1; float16 and bfloat16 are uint16_t with the bits of the
   value; the 8-bit floats are uint8_t with its bits; a complex number is two floats or doubles, the
   real part first. */
typedef enum olympus_dtype {
  OLYMPUS_BOOL,
  OLYMPUS_INT8,
  OLYMPUS_INT16,
  OLYMPUS_INT32,
  OLYMPUS_INT64,
  OLYMPUS_UINT8,
  OLYMPUS_UINT16,
  OLYMPUS_UINT32,
  OLYMPUS_UINT64,
  OLYMPUS_FLOAT16,
  OLYMPUS_FLOAT32,
  OLYMPUS_FLOAT64,
  OLYMPUS_BFLOAT16,
  OLYMPUS_COMPLEX64,
  OLYMPUS_COMPLEX128,
  OLYMPUS_FLOAT8_E5M2,
  OLYMPUS_FLOAT8_E4M3FN,
  OLYMPUS_FLOAT8_E4M3B11FNUZ,
  OLYMPUS_FLOAT8_E5M2FNUZ,
  OLYMPUS_FLOAT8_E4M3FNUZ,
  OLYMPUS_FLOAT8_E4M3,
  OLYMPUS_FLOAT8_E3M4,
  OLYMPUS_FLOAT8_E8M0FNU,
  OLYMPUS_NUM_DTYPES
} olympus_dtype;

/* The content of padded rows of an argument: zeros, the last element along each dimension, or the
   mask of the rows, which has ones in the caller's rows and zeros in the others. */
typedef enum olympus_fill { OLYMPUS_ZEROS, OLYMPUS_EDGE, OLYMPUS_MASK } olympus_fill;

/* An argument or a result. */
typedef struct olympus_array {
  const char *name; /* the name in the program, such as params['w'] */
  olympus_dtype dtype;
  size_t rank;
  const int64_t *shape; /* `rank` sizes; NULL for a scalar */
  size_t size;          /* bytes of the whole array */
  int donated;          /* the program may reuse the memory: it gets a copy of the argument */
  /* In a program of several devices: the number of parts of each dimension, and for each device
     `rank` numbers, the place of its part.  NULL if each device has the whole array. */
  const int64_t *parts;
  const int64_t *places;
  /* In a program of several numbers of rows: the elements of one row along each dimension, 0 along
     one without rows.  NULL for an array without rows. */
  const int64_t *rows;
  olympus_fill fill;
} olympus_array;

/* A file in the bundle. */
typedef struct olympus_member {
  const char *name;
  uint64_t size;
  unsigned char sha256[32];
} olympus_member;

/* A file with arrays in the bundle, or in the bundle `part` within it, if that is not NULL. */
typedef struct olympus_file {
  const char *part;
  olympus_member member;
} olympus_file;

/* An array in the bundle: a constant of the program, or the weights of an argument. */
typedef struct olympus_stored {
  olympus_array array;
  size_t file;     /* the index of its file */
  uint64_t offset; /* of its first byte in the file */
} olympus_stored;

/* The input of an executable that is array `index` of the program's stored arrays. */
typedef struct olympus_input {
  size_t position;
  size_t index;
} olympus_input;

/* One compiled form of the program, for `rows` rows if the program has several. */
typedef struct olympus_executable {
  /* The bundle within the bundle that has it, with the names of its members separated by slashes;
     NULL for the bundle itself. */
  const char *part;
  olympus_member manifest;
  olympus_member member;
  int64_t rows;
  size_t num_arguments;
  size_t num_results;
  const olympus_array *arguments; /* those that a call passes */
  const olympus_array *results;
  size_t num_stored;
  const olympus_input *stored; /* the other inputs, in the order of their positions */
} olympus_executable;

/* A program: the constants that `olympus export` wrote. */
typedef struct olympus_program {
  const char *name;
  const char *platform;             /* of PJRT: "cpu" or "cuda" */
  const char *system;               /* of the builder, such as "Linux" */
  const char *machine;              /* of the builder, such as "x86_64" */
  const char *const *cpu_features;  /* instruction sets of the builder; NULL if they are unknown */
  size_t num_cpu_features;
  const char *compiler;             /* such as "jaxlib 0.10.2" */
  int first_api;                    /* the minor versions of PJRT's API that fit the executables */
  int last_api;
  size_t num_devices;
  int splits; /* a call with more rows than the last executable has is made in parts */
  size_t num_executables;
  const olympus_executable *executables; /* in the order of their rows */
  size_t num_files;
  const olympus_file *files;
  size_t num_stored;
  const olympus_stored *stored; /* the arrays in the bundle, which the executables share */
} olympus_program;

typedef struct olympus_model olympus_model;

/* Read a bundle and verify it: its zip structure, and the size and the SHA-256 of its manifest, its
   executables and its files with arrays.  No plugin is needed.  `error` may be NULL, here and below. */
int olympus_verify(const olympus_program *program, const char *bundle_path, olympus_error *error);

/* Load a bundle with a PJRT plugin, a shared library with the function GetPjrtApi.

   The bundle, the processor and the version of the plugin are checked before the executable is
   passed to the plugin.  The environment variable OLYMPUS_ANY_PLUGIN=1 accepts a plugin of another
   version; a plugin that does not fit can end the process.  Arrays in the bundle are mapped into
   memory: a CPU reads them there, and other devices get one copy.  On success `*model` must be released
   with `olympus_free`.  The plugin stays loaded until the process ends.  Load one model at a time;
   a process can have several. */
int olympus_load(const olympus_program *program, const char *bundle_path, const char *plugin_path,
                 olympus_model **model, olympus_error *error);

/* Copy arguments to the devices, for all later calls of executable `index`.  `arguments` has one
   pointer for each argument, or NULL for one that each call passes.  An earlier copy is replaced.
   No other thread may use the model meanwhile.  A donated argument cannot be kept. */
int olympus_keep(olympus_model *model, size_t index, const void *const *arguments,
                 olympus_error *error);

/* Call executable `index`, and wait for the results.

   `arguments` has a pointer to each argument, or NULL for the value of `olympus_keep`; `results`
   has a pointer to the memory of each result, or NULL for a result that is not needed.  The
   arguments are only read; the results must not overlap them.  On an error the contents of the
   results are undefined.  Several threads may call one model at the same time. */
int olympus_call(olympus_model *model, size_t index, const void *const *arguments,
                 void *const *results, olympus_error *error);

/* Call a program of several numbers of rows with any number up to the largest, or, if it splits
   calls, with any number.  The arguments and results have `rows` rows; those of a mask are NULL.
   The rest is as for `olympus_call`. */
int olympus_call_rows(olympus_model *model, int64_t rows, const void *const *arguments,
                      void *const *results, olympus_error *error);

/* As `olympus_keep`, for all executables of a program of several numbers of rows.  An argument with
   rows cannot be kept. */
int olympus_keep_rows(olympus_model *model, const void *const *arguments, olympus_error *error);

/* Release a model; NULL is allowed.  No call may be in progress. */
void olympus_free(olympus_model *model);

/* The name of an element type, such as "float32", and its size in bytes. */
const char *olympus_dtype_name(olympus_dtype dtype);
size_t olympus_dtype_size(olympus_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif
