/* Verify mutated copies of a bundle: mutations BUNDLE COPY COUNT SEED [BEGIN END ...].

   The ranges are the contents that the program uses.  A copy that is shorter or longer, or has one
   byte of a range changed, must be refused as damaged; others must be refused or accepted, without
   an error of the sanitizers.  The numbers of both are printed. */
#include "f.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANGES = 8, MOST_GROWTH = 4096 };

static uint64_t state;

static uint64_t drawn(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return below == 0 ? 0 : state % below;
}

static int is_used(size_t at, size_t ranges, const size_t *bounds) {
  for (size_t i = 0; i < ranges; i++) {
    if (at >= bounds[2 * i] && at < bounds[2 * i + 1]) {
      return 1;
    }
  }
  return 0;
}

/* Overwrite a field of up to 8 bytes with an extreme or a random value. */
static void overwrite(unsigned char *copy, size_t size, size_t at) {
  size_t width = (size_t)1 << drawn(4);
  uint64_t values[] = {0, UINT64_MAX, 1, 0xffff, 0x7fffffff, size, size - 22, drawn(size), state};
  uint64_t value = values[drawn(sizeof values / sizeof *values)];
  for (size_t i = 0; i < width && at + i < size; i++) {
    copy[at + i] = (unsigned char)(value >> 8 * i);
  }
}

/* Mutate a copy; return 1 if it must be refused. */
static int mutate(unsigned char *copy, size_t *size, size_t ranges, const size_t *bounds) {
  size_t at = drawn(*size), length = 1 + drawn(256), original = *size;
  switch (drawn(7)) {
    case 0:
      copy[at] ^= (unsigned char)(1 << drawn(8));
      return is_used(at, ranges, bounds);
    case 1:
      *size = at;
      return 1;
    case 2:
      for (size_t i = 0; i < length; i++) {
        copy[(*size)++] = (unsigned char)drawn(256);
      }
      return 1;
    case 3: /* remove a part */
      length = length < *size - at ? length : *size - at;
      memmove(copy + at, copy + at + length, *size - at - length);
      *size -= length;
      return 1;
    case 4: /* repeat a part */
      length = length < *size - at ? length : *size - at;
      memmove(copy + at + length, copy + at, *size - at);
      *size += length;
      return 1;
    case 5: /* a field of the directory or of the end */
      overwrite(copy, original, original - 1 - drawn(original < 900 ? original : 900));
      return 0;
    default: /* several fields of the headers */
      for (uint64_t i = 1 + drawn(4); i > 0; i--) {
        overwrite(copy, original, original - 1 - drawn(original < 900 ? original : 900));
        overwrite(copy, original, drawn(original));
      }
      return 0;
  }
}

static unsigned char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
    exit(2);
  }
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *content = malloc(*size);
  if (content == NULL || fread(content, 1, *size, file) != *size) {
    exit(2);
  }
  fclose(file);
  return content;
}

static void write_file(const char *path, const unsigned char *content, size_t size) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(content, 1, size, file) != size || fclose(file) != 0) {
    exit(2);
  }
}

int main(int count, char **words) {
  size_t size, bounds[2 * MOST_RANGES] = {0}, ranges = 0;
  long refused = 0, accepted = 0;
  if (count < 5 || count > 5 + 2 * MOST_RANGES) {
    return 2;
  }
  state = strtoull(words[4], NULL, 10) * 2654435761 + 1;
  for (int i = 5; i + 1 < count; i += 2) {
    bounds[2 * ranges] = strtoull(words[i], NULL, 10);
    bounds[2 * ranges++ + 1] = strtoull(words[i + 1], NULL, 10);
  }
  unsigned char *original = read_file(words[1], &size), *copy = malloc(size + MOST_GROWTH);
  for (long i = strtol(words[3], NULL, 10); copy != NULL && i > 0; i--) {
    size_t length = size;
    olympus_error error;
    memcpy(copy, original, size);
    int must = mutate(copy, &length, ranges, bounds);
    write_file(words[2], copy, length);
    int code = olympus_verify(&f_program, words[2], &error);
    if ((code != OLYMPUS_OK && code != OLYMPUS_DAMAGED) || (must && code == OLYMPUS_OK)) {
      printf("%s: %d %s\n", words[2], code, error.message);
      return 1;
    }
    *(code == OLYMPUS_OK ? &accepted : &refused) += 1;
  }
  free(original);
  free(copy);
  printf("%ld %ld\n", refused, accepted);
  return 0;
}
