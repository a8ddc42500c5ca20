/* Calls with any number of rows: arguments are padded to the next size, and results are cut. */

/* The rows from `start` on of an array with `total` rows, and the first rows of a padded one. */
struct rows {
  const olympus_array *array; /* padded */
  int64_t total, start, count;
};

/* Return the number of bytes of an array of the caller, with `total` rows. */
static size_t size_of_rows(const olympus_array *array, int64_t total) {
  size_t size = DTYPES[array->dtype].size;
  for (size_t i = 0; i < array->rank; i++) {
    int64_t rows = array->rows == NULL ? 0 : array->rows[i];
    size *= (size_t)(rows > 0 ? rows * total : array->shape[i]);
  }
  return size;
}

/* Copy `count` rows between the caller's array and the padded one. */
static void copy_rows(const struct rows *rows, char *whole, char *padded, int to_padded) {
  const olympus_array *array = rows->array;
  int64_t box[MOST_DIMENSIONS] = {0}, index[MOST_DIMENSIONS] = {0};
  size_t strides[MOST_DIMENSIONS] = {0}, padded_strides[MOST_DIMENSIONS] = {0};
  size_t last = 0, offset = 0;
  size_t stride = DTYPES[array->dtype].size, padded_stride = stride;
  for (size_t i = array->rank; i-- > 0;) {
    int64_t per_row = array->rows[i];
    box[i] = per_row > 0 ? per_row * rows->count : array->shape[i];
    last = per_row > 0 && last == 0 ? i : last;
    strides[i] = stride;
    padded_strides[i] = padded_stride;
    offset += (size_t)(per_row * rows->start) * stride;
    stride *= (size_t)(per_row > 0 ? per_row * rows->total : array->shape[i]);
    padded_stride *= (size_t)array->shape[i];
  }
  size_t piece = (size_t)box[last] * strides[last], pieces = piece > 0;
  for (size_t i = 0; i < last; i++) {
    pieces *= (size_t)box[i];
  }
  for (; pieces > 0; pieces--) {
    size_t from = offset, to = 0;
    for (size_t i = 0; i < last; i++) {
      from += (size_t)index[i] * strides[i];
      to += (size_t)index[i] * padded_strides[i];
    }
    memcpy(to_padded ? padded + to : whole + from, to_padded ? whole + from : padded + to, piece);
    for (size_t i = last; i-- > 0;) {
      if (++index[i] < box[i]) {
        break;
      }
      index[i] = 0;
    }
  }
}

/* Repeat the last elements along each dimension with rows, after `count` rows. */
static void repeat_edges(const struct rows *rows, char *padded) {
  const olympus_array *array = rows->array;
  size_t inner = DTYPES[array->dtype].size, size = array->size;
  for (size_t i = array->rank; i-- > 0;) {
    size_t used = (size_t)(array->rows[i] * rows->count), length = (size_t)array->shape[i];
    size_t slab = inner * length;
    for (size_t at = 0; used > 0 && at < size; at += slab) {
      for (size_t k = used; k < length; k++) {
        memcpy(padded + at + k * inner, padded + at + (used - 1) * inner, inner);
      }
    }
    inner = slab;
  }
}

/* Write the bytes of one, as an element of a mask. */
static void write_one(olympus_dtype dtype, unsigned char *element) {
  const float single = 1;
  const double wide = 1;
  memset(element, 0, DTYPES[dtype].size);
  switch (dtype) {
    case OLYMPUS_FLOAT16: element[1] = 0x3c; break;
    case OLYMPUS_BFLOAT16: element[0] = 0x80, element[1] = 0x3f; break;
    case OLYMPUS_FLOAT32: memcpy(element, &single, sizeof single); break;
    case OLYMPUS_FLOAT64: memcpy(element, &wide, sizeof wide); break;
    default: element[0] = 1; break;
  }
}

/* Fill a padded mask: ones in the first rows, zeros in the others. */
static int fill_mask(const struct rows *rows, char *padded, olympus_error *error) {
  struct rows first = {.array = rows->array, .total = rows->count, .count = rows->count};
  size_t size = size_of_rows(rows->array, rows->count), element = DTYPES[rows->array->dtype].size;
  char *ones = malloc(size + 1);
  if (ones == NULL) {
    return out_of_memory(error, size);
  }
  for (size_t at = 0; at < size; at += element) {
    write_one(rows->array->dtype, (unsigned char *)ones + at);
  }
  copy_rows(&first, ones, padded, 1);
  free(ones);
  return OLYMPUS_OK;
}

/* The memory of a call: the arrays that are passed, and those of them that are padded copies. */
struct padded_call {
  const olympus_executable *executable;
  const void **arguments;
  void **results;
  void **owned;
};

static int pad_argument(struct padded_call *call, size_t i, const struct rows *rows,
                        const void *argument, olympus_error *error) {
  if (rows->array->fill != OLYMPUS_MASK && argument == NULL) {
    return fail(error, OLYMPUS_USAGE, "the argument %.200s is NULL, and has rows",
                rows->array->name);
  }
  char *padded = call->owned[i] = aligned_alloc(64, (rows->array->size / 64 + 1) * 64);
  if (padded == NULL) {
    return out_of_memory(error, rows->array->size);
  }
  memset(padded, 0, rows->array->size);
  call->arguments[i] = padded;
  if (rows->array->fill == OLYMPUS_MASK) {
    return fill_mask(rows, padded, error);
  }
  char *whole;
  memcpy(&whole, &argument, sizeof whole); /* it is only read */
  copy_rows(rows, whole, padded, 1);
  if (rows->array->fill == OLYMPUS_EDGE) {
    repeat_edges(rows, padded);
  }
  return OLYMPUS_OK;
}

static int pad(struct padded_call *call, struct rows rows, const void *const *arguments,
               void *const *results, olympus_error *error) {
  size_t count = call->executable->num_arguments;
  int fits = rows.total == call->executable->rows, code = OLYMPUS_OK;
  for (size_t i = 0; code == OLYMPUS_OK && i < count; i++) {
    rows.array = &call->executable->arguments[i];
    call->arguments[i] = arguments[i];
    if (rows.array->rows != NULL && (!fits || rows.array->fill == OLYMPUS_MASK)) {
      code = pad_argument(call, i, &rows, arguments[i], error);
    }
  }
  for (size_t i = 0; code == OLYMPUS_OK && i < call->executable->num_results; i++) {
    const olympus_array *array = &call->executable->results[i];
    call->results[i] = results[i];
    if (array->rows != NULL && !fits && results[i] != NULL) {
      call->results[i] = call->owned[count + i] = malloc(array->size + 1);
      code = call->results[i] == NULL ? out_of_memory(error, array->size) : OLYMPUS_OK;
    }
  }
  return code;
}

/* Call one executable for `rows.count` rows of the caller's arrays. */
static int call_part(olympus_model *model, size_t index, struct rows rows,
                     const void *const *arguments, void *const *results, olympus_error *error) {
  const olympus_executable *executable = &model->program->executables[index];
  size_t inputs = executable->num_arguments, outputs = executable->num_results;
  void **memory = calloc(2 * (inputs + outputs) + 1, sizeof *memory);
  if (memory == NULL) {
    return out_of_memory(error, 2 * (inputs + outputs) * sizeof *memory);
  }
  struct padded_call call = {.executable = executable,
                             .arguments = (const void **)memory,
                             .results = memory + inputs,
                             .owned = memory + inputs + outputs};
  int code = pad(&call, rows, arguments, results, error);
  if (code == OLYMPUS_OK) {
    code = olympus_call(model, index, call.arguments, call.results, error);
  }
  for (size_t i = 0; i < outputs; i++) {
    if (code == OLYMPUS_OK && call.owned[inputs + i] != NULL) {
      rows.array = &executable->results[i];
      copy_rows(&rows, results[i], call.owned[inputs + i], 0);
    }
  }
  for (size_t i = 0; i < inputs + outputs; i++) {
    free(call.owned[i]);
  }
  free(memory);
  return code;
}

int olympus_call_rows(olympus_model *model, int64_t rows, const void *const *arguments,
                      void *const *results, olympus_error *error) {
  int code = check_index(model, 0, arguments, results, error);
  if (code != OLYMPUS_OK) {
    return code;
  }
  const olympus_program *program = model->program;
  int64_t most = program->executables[program->num_executables - 1].rows;
  if (rows < 1 || (rows > most && !program->splits)) {
    return fail(error, OLYMPUS_USAGE, "%.200s takes 1 to %" PRId64 " rows, and got %" PRId64,
                program->name, most, rows);
  }
  for (int64_t start = 0; code == OLYMPUS_OK && start < rows; start += most) {
    struct rows part = {.total = rows, .start = start};
    size_t index = 0;
    part.count = rows - start < most ? rows - start : most;
    while (program->executables[index].rows < part.count) {
      index++;
    }
    code = call_part(model, index, part, arguments, results, error);
  }
  return code;
}

int olympus_keep_rows(olympus_model *model, const void *const *arguments, olympus_error *error) {
  int code = check_index(model, 0, arguments, arguments, error);
  const olympus_executable *first = code == OLYMPUS_OK ? model->program->executables : NULL;
  for (size_t i = 0; code == OLYMPUS_OK && i < first->num_arguments; i++) {
    if (arguments[i] != NULL && first->arguments[i].rows != NULL) {
      code = fail(error, OLYMPUS_USAGE, "the argument %.200s has rows, so that it cannot be kept",
                  first->arguments[i].name);
    }
  }
  if (code == OLYMPUS_OK) {
    code = olympus_keep(model, 0, arguments, error);
  }
  if (code == OLYMPUS_OK) { /* the others use the copies of the first one */
    size_t count = first->num_arguments * model->program->num_devices;
    for (size_t i = 1; i < model->program->num_executables; i++) {
      memcpy(model->loaded[i].kept, model->loaded[0].kept, count * sizeof *model->loaded[0].kept);
    }
  }
  return code;
}
