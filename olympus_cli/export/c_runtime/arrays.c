/* Arrays on the host, whole, and their parts on the devices. */

enum { MOST_DIMENSIONS = 64 };

/* The part of an array on one device, within the whole array on the host. */
struct part {
  size_t rank;
  size_t offset; /* bytes from the start of the array */
  size_t size;   /* bytes */
  int64_t shape[MOST_DIMENSIONS];
  int64_t strides[MOST_DIMENSIONS]; /* bytes, of the whole array */
};

static void find_part(const olympus_array *array, size_t device, struct part *part) {
  int64_t stride = (int64_t)DTYPES[array->dtype].size;
  part->rank = array->rank;
  part->offset = 0;
  part->size = (size_t)stride;
  for (size_t i = array->rank; i-- > 0;) {
    int64_t count = array->parts == NULL ? 1 : array->parts[i];
    part->shape[i] = array->shape[i] / count;
    part->strides[i] = stride;
    part->size *= (size_t)part->shape[i];
    if (array->places != NULL) {
      int64_t place = array->places[device * array->rank + i];
      part->offset += (size_t)(place * part->shape[i] * stride);
    }
    stride *= array->shape[i];
  }
}

/* Return 1 if an earlier device has the same part. */
static int is_copy(const olympus_array *array, size_t device) {
  size_t size = array->rank * sizeof *array->places;
  if (array->places == NULL || size == 0) {
    return device > 0;
  }
  for (size_t i = 0; i < device; i++) {
    if (memcmp(array->places + i * array->rank, array->places + device * array->rank, size) == 0) {
      return 1;
    }
  }
  return 0;
}

/* Return 1 if the bytes of a part are one piece of the whole array. */
static int is_dense(const struct part *part, size_t element) {
  size_t size = element;
  for (size_t i = part->rank; i-- > 0;) {
    if (part->shape[i] != 1 && part->strides[i] != (int64_t)size) {
      return 0;
    }
    size *= (size_t)part->shape[i];
  }
  return 1;
}

/* Copy a part, which is dense at `from`, into its place in the whole array. */
static void place_part(const struct part *part, size_t element, const char *from, char *whole) {
  int64_t index[MOST_DIMENSIONS] = {0};
  size_t inner = part->rank == 0 ? 0 : part->rank - 1;
  size_t row = part->rank == 0 ? element : (size_t)part->shape[inner] * element;
  for (size_t at = 0; at < part->size; at += row) {
    size_t to = part->offset;
    for (size_t i = 0; i < inner; i++) {
      to += (size_t)(index[i] * part->strides[i]);
    }
    memcpy(whole + to, from + at, row);
    for (size_t i = inner; i-- > 0;) {
      if (++index[i] < part->shape[i]) {
        break;
      }
      index[i] = 0;
    }
  }
}
