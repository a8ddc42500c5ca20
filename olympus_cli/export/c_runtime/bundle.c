/* The bundle: a zip file whose members are stored uncompressed, written by OLYMPUS. */

enum {
  END_SIZE = 22,         /* the record at the end of a zip file, without a comment */
  LOCATOR_SIZE = 20,     /* of a file or a member of 4 GiB or more: the records before the end */
  LARGE_END_SIZE = 56,
  ENTRY_SIZE = 46,       /* an entry of the directory, before its name */
  LOCAL_SIZE = 30,       /* the header of a member, before its name */
  MOST_MEMBERS = 1000,
  MOST_DIRECTORY = 1 << 24
};

#define NO_SIZE UINT64_C(0xffffffff) /* the size is in an extra field */

struct entry {
  const unsigned char *name; /* in the directory */
  size_t name_size;
  uint64_t size;
  uint64_t header; /* the position of the member */
  uint64_t content;
};

struct bundle {
  const char *path;
  FILE *file;
  uint64_t base; /* its position in the file: it may be a member of another bundle */
  uint64_t size;
  unsigned char *directory;
  uint64_t directory_at, directory_size;
  size_t count;
  struct entry *entries; /* in the order of their positions */
};

static uint64_t little_endian(const unsigned char *bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = count; i-- > 0;) {
    value = value << 8 | bytes[i];
  }
  return value;
}

static int damaged(const struct bundle *bundle, olympus_error *error, const char *reason) {
  return fail(error, OLYMPUS_DAMAGED, "%.500s is damaged: %.300s", bundle->path, reason);
}

static int read_at(struct bundle *bundle, uint64_t at, void *to, uint64_t size,
                   olympus_error *error) {
  if (at > bundle->size || size > bundle->size - at) {
    return damaged(bundle, error, "a part of it is beyond its end");
  }
  if (fseeko(bundle->file, (off_t)(bundle->base + at), SEEK_SET) != 0 ||
      fread(to, 1, (size_t)size, bundle->file) != size) {
    return fail(error, OLYMPUS_FILE, "%.500s cannot be read: %s", bundle->path,
                ferror(bundle->file) ? strerror(errno) : "it became shorter");
  }
  return OLYMPUS_OK;
}

/* Read the large record of the end, whose numbers have 64 bits. */
static int read_large_end(struct bundle *bundle, uint64_t *end, olympus_error *error) {
  unsigned char locator[LOCATOR_SIZE], record[LARGE_END_SIZE];
  if (*end < LOCATOR_SIZE + LARGE_END_SIZE) {
    return damaged(bundle, error, "its end is missing");
  }
  uint64_t at = *end - LOCATOR_SIZE - LARGE_END_SIZE;
  int code = read_at(bundle, *end - LOCATOR_SIZE, locator, LOCATOR_SIZE, error);
  if (code == OLYMPUS_OK) {
    code = read_at(bundle, at, record, LARGE_END_SIZE, error);
  }
  if (code != OLYMPUS_OK) {
    return code;
  }
  if (memcmp(locator, "PK\6\7", 4) != 0 || memcmp(record, "PK\6\6", 4) != 0 ||
      little_endian(locator + 8, 8) != at ||
      little_endian(record + 24, 8) != little_endian(record + 32, 8) ||
      little_endian(record + 32, 8) > MOST_MEMBERS) {
    return damaged(bundle, error, "its end was changed");
  }
  bundle->count = (size_t)little_endian(record + 32, 8);
  bundle->directory_size = little_endian(record + 40, 8);
  bundle->directory_at = little_endian(record + 48, 8);
  *end = at;
  return OLYMPUS_OK;
}

/* Find the directory, which is between the members and the end. */
static int find_directory(struct bundle *bundle, olympus_error *error) {
  unsigned char record[END_SIZE];
  if (bundle->size < END_SIZE) {
    return damaged(bundle, error, "it is not a zip file, or its end is missing");
  }
  uint64_t end = bundle->size - END_SIZE;
  int code = read_at(bundle, end, record, END_SIZE, error);
  if (code != OLYMPUS_OK) {
    return code;
  }
  uint64_t entries = little_endian(record + 10, 2);
  if (memcmp(record, "PK\5\6", 4) != 0 || little_endian(record + 4, 4) != 0 ||
      little_endian(record + 8, 2) != entries || little_endian(record + 20, 2) != 0) {
    return damaged(bundle, error, "it is not a zip file, or its end is missing");
  }
  bundle->count = (size_t)entries;
  bundle->directory_size = little_endian(record + 12, 4);
  bundle->directory_at = little_endian(record + 16, 4);
  if (bundle->directory_size == NO_SIZE || bundle->directory_at == NO_SIZE || entries == 0xffff) {
    code = read_large_end(bundle, &end, error);
    if (code != OLYMPUS_OK) {
      return code;
    }
  }
  if (bundle->count > MOST_MEMBERS || bundle->directory_size > MOST_DIRECTORY ||
      bundle->directory_at > end || bundle->directory_size != end - bundle->directory_at) {
    return damaged(bundle, error, "the list of its members was changed");
  }
  return OLYMPUS_OK;
}

/* Read the 64-bit sizes and position of a large member: those whose 32-bit field is full. */
static int read_extra(const unsigned char *extra, size_t size, uint64_t *const *fields,
                      size_t count) {
  for (size_t at = 0; size - at >= 4;) {
    size_t kind = (size_t)little_endian(extra + at, 2);
    size_t length = (size_t)little_endian(extra + at + 2, 2);
    at += 4;
    if (length > size - at) {
      return 0;
    }
    if (kind == 1) {
      size_t used = 0;
      for (size_t i = 0; i < count; i++) {
        if (*fields[i] == NO_SIZE) {
          if (length - used < 8) {
            return 0;
          }
          *fields[i] = little_endian(extra + at + used, 8);
          used += 8;
        }
      }
    }
    at += length;
  }
  return 1;
}

static int is_plain_name(const unsigned char *name, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (name[i] < 0x20 || name[i] == 0x7f || name[i] == '\\' ||
        (name[i] == '.' && i + 1 < size && name[i + 1] == '.')) {
      return 0;
    }
  }
  return size > 0;
}

/* Read one entry of the directory, at `*at`. */
static int read_entry(struct bundle *bundle, uint64_t *at, struct entry *entry,
                      olympus_error *error) {
  uint64_t rest = bundle->directory_size - *at;
  const unsigned char *record = bundle->directory + *at;
  if (rest < ENTRY_SIZE || memcmp(record, "PK\1\2", 4) != 0) {
    return damaged(bundle, error, "the list of its members was changed");
  }
  uint64_t stored = little_endian(record + 20, 4);
  entry->size = little_endian(record + 24, 4);
  entry->header = little_endian(record + 42, 4);
  entry->name = record + ENTRY_SIZE;
  entry->name_size = (size_t)little_endian(record + 28, 2);
  size_t extra = (size_t)little_endian(record + 30, 2);
  size_t comment = (size_t)little_endian(record + 32, 2);
  uint64_t *fields[] = {&entry->size, &stored, &entry->header};
  if (rest - ENTRY_SIZE < (uint64_t)entry->name_size + extra + comment ||
      !read_extra(entry->name + entry->name_size, extra, fields, 3) ||
      !is_plain_name(entry->name, entry->name_size)) {
    return damaged(bundle, error, "the list of its members was changed");
  }
  if (little_endian(record + 10, 2) != 0 || (record[8] & 1) != 0 || stored != entry->size) {
    return damaged(bundle, error, "a member of it is compressed or encrypted");
  }
  *at += ENTRY_SIZE + (uint64_t)entry->name_size + extra + comment;
  return OLYMPUS_OK;
}

static int by_position(const void *a, const void *b) {
  uint64_t x = ((const struct entry *)a)->header, y = ((const struct entry *)b)->header;
  return (x > y) - (x < y);
}

/* Check that a member begins where its entry has it, and find its content. */
static int find_content(struct bundle *bundle, struct entry *entry, olympus_error *error) {
  unsigned char header[LOCAL_SIZE];
  int code = read_at(bundle, entry->header, header, LOCAL_SIZE, error);
  if (code != OLYMPUS_OK) {
    return code;
  }
  uint64_t names = little_endian(header + 26, 2) + little_endian(header + 28, 2);
  if (memcmp(header, "PK\3\4", 4) != 0 || little_endian(header + 8, 2) != 0) {
    return damaged(bundle, error, "the header of a member was changed");
  }
  entry->content = entry->header + LOCAL_SIZE + names;
  if (entry->content > bundle->directory_at ||
      entry->size > bundle->directory_at - entry->content) {
    return damaged(bundle, error, "its members are larger than the file");
  }
  return OLYMPUS_OK;
}

static int read_directory(struct bundle *bundle, olympus_error *error) {
  bundle->directory = malloc((size_t)bundle->directory_size + 1);
  bundle->entries = calloc(bundle->count + 1, sizeof *bundle->entries);
  if (bundle->directory == NULL || bundle->entries == NULL) {
    return out_of_memory(error, bundle->directory_size);
  }
  int code = read_at(bundle, bundle->directory_at, bundle->directory, bundle->directory_size,
                     error);
  uint64_t at = 0, end = 0;
  for (size_t i = 0; code == OLYMPUS_OK && i < bundle->count; i++) {
    code = read_entry(bundle, &at, &bundle->entries[i], error);
  }
  if (code != OLYMPUS_OK) {
    return code;
  }
  if (at != bundle->directory_size) {
    return damaged(bundle, error, "the list of its members was changed");
  }
  qsort(bundle->entries, bundle->count, sizeof *bundle->entries, by_position);
  for (size_t i = 0; i < bundle->count; i++) {
    struct entry *entry = &bundle->entries[i];
    if (entry->header < end) {
      return damaged(bundle, error, "two of its members overlap");
    }
    code = find_content(bundle, entry, error);
    if (code != OLYMPUS_OK) {
      return code;
    }
    end = entry->content + entry->size;
  }
  return OLYMPUS_OK;
}

static void free_directory(struct bundle *bundle) {
  free(bundle->directory);
  free(bundle->entries);
}

static int open_bundle(struct bundle *bundle, const char *path, olympus_error *error) {
  struct stat status;
  memset(bundle, 0, sizeof *bundle);
  bundle->path = path;
  if (stat(path, &status) != 0) {
    return fail(error, OLYMPUS_FILE, "%.500s cannot be read: %s", path, strerror(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail(error, OLYMPUS_FILE, "%.500s is not a regular file", path);
  }
  bundle->file = fopen(path, "rb");
  if (bundle->file == NULL) {
    return fail(error, OLYMPUS_FILE, "%.500s cannot be read: %s", path, strerror(errno));
  }
  bundle->size = (uint64_t)status.st_size;
  int code = find_directory(bundle, error);
  return code == OLYMPUS_OK ? read_directory(bundle, error) : code;
}

/* Return the only member whose name has these bytes; NULL if it is missing or twice there. */
static const struct entry *find_named(const struct bundle *bundle, const char *name, size_t size) {
  const struct entry *found = NULL;
  for (size_t i = 0; i < bundle->count; i++) {
    const struct entry *entry = &bundle->entries[i];
    if (entry->name_size == size && memcmp(entry->name, name, size) == 0) {
      if (found != NULL) {
        return NULL;
      }
      found = entry;
    }
  }
  return found;
}

static const struct entry *find_member(const struct bundle *bundle, const char *name) {
  return find_named(bundle, name, strlen(name));
}

/* Find a member with the size that the program has. */
static int find_exact(const struct bundle *bundle, const olympus_member *member,
                      const struct entry **entry, olympus_error *error) {
  *entry = find_member(bundle, member->name);
  if (*entry == NULL) {
    return fail(error, OLYMPUS_DAMAGED, "%.500s is damaged: it does not have %.200s once",
                bundle->path, member->name);
  }
  if ((*entry)->size != member->size) {
    return fail(error, OLYMPUS_DAMAGED,
                "%.500s is not the bundle that was exported: its %.200s has %" PRIu64
                " bytes, and the program has %" PRIu64,
                bundle->path, member->name, (*entry)->size, member->size);
  }
  return OLYMPUS_OK;
}

static int check_digest(const struct bundle *bundle, const olympus_member *member,
                        const unsigned char *content, olympus_error *error) {
  unsigned char digest[32];
  sha256(content, member->size, digest);
  if (memcmp(digest, member->sha256, sizeof digest) != 0) {
    return fail(error, OLYMPUS_DAMAGED,
                "%.500s is damaged, or is not the bundle that was exported: the SHA-256 of its "
                "%.200s is another one",
                bundle->path, member->name);
  }
  return OLYMPUS_OK;
}

/* Read a member with the size and the digest that the program has; free `*content` afterwards. */
static int read_member(struct bundle *bundle, const olympus_member *member,
                       unsigned char **content, olympus_error *error) {
  const struct entry *entry = NULL;
  int code = find_exact(bundle, member, &entry, error);
  if (code != OLYMPUS_OK) {
    return code;
  }
  *content = member->size < SIZE_MAX ? malloc((size_t)member->size + 1) : NULL;
  if (*content == NULL) {
    return out_of_memory(error, member->size);
  }
  code = read_at(bundle, entry->content, *content, member->size, error);
  if (code == OLYMPUS_OK) {
    code = check_digest(bundle, member, *content, error);
  }
  if (code != OLYMPUS_OK) {
    free(*content);
    *content = NULL;
  }
  return code;
}

/* An executable's bytes in memory, and PJRT's part of them. */
struct code {
  unsigned char *content;
  const unsigned char *pjrt;
  size_t pjrt_size;
};

/* Find PJRT's part, after the length of a message of IFRT, a varint, and the message. */
static int find_pjrt_part(const struct bundle *bundle, uint64_t size, struct code *code,
                          olympus_error *error) {
  uint64_t length = 0, at = 0;
  for (int shift = 0; shift < 63 && at < size; shift += 7) {
    unsigned char byte = code->content[at++];
    length |= (uint64_t)(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) {
      if (length >= size - at) {
        break;
      }
      code->pjrt = code->content + at + length;
      code->pjrt_size = (size_t)(size - at - length);
      return OLYMPUS_OK;
    }
  }
  return damaged(bundle, error, "its executable has another form");
}

static void free_codes(struct code *codes, size_t count) {
  for (size_t i = 0; codes != NULL && i < count; i++) {
    free(codes[i].content);
  }
  free(codes);
}

/* Read and verify an executable, and the manifest of the bundle that has it. */
static int read_executable(struct bundle *bundle, const olympus_executable *executable,
                           struct code *code_bytes, olympus_error *error) {
  unsigned char *manifest = NULL;
  int code = read_member(bundle, &executable->manifest, &manifest, error);
  free(manifest);
  if (code == OLYMPUS_OK) {
    code = read_member(bundle, &executable->member, &code_bytes->content, error);
  }
  if (code == OLYMPUS_OK) {
    code = find_pjrt_part(bundle, executable->member.size, code_bytes, error);
  }
  return code;
}

/* Open a bundle within a bundle; release it with `free_directory`.  `path` has the names of the
   members, separated by slashes. */
static int open_part(const struct bundle *bundle, const char *path, struct bundle *part,
                     olympus_error *error) {
  const struct bundle *outer = bundle;
  int code = OLYMPUS_OK;
  memset(part, 0, sizeof *part);
  while (code == OLYMPUS_OK && *path != '\0') {
    size_t length = strcspn(path, "/");
    const struct entry *entry = find_named(outer, path, length);
    if (entry == NULL) {
      return fail(error, OLYMPUS_DAMAGED, "%.500s is damaged: it does not have %.*s once",
                  bundle->path, (int)length, path);
    }
    struct bundle inner = {.path = bundle->path,
                           .file = bundle->file,
                           .base = outer->base + entry->content,
                           .size = entry->size};
    free_directory(part);
    *part = inner;
    outer = part;
    code = find_directory(part, error);
    if (code == OLYMPUS_OK) {
      code = read_directory(part, error);
    }
    path += length;
    path += *path == '/';
  }
  return code;
}

/* The same for an executable of a bundle within this one. */
static int read_part_executable(const struct bundle *bundle, const olympus_executable *executable,
                                struct code *code_bytes, olympus_error *error) {
  struct bundle part;
  int code = open_part(bundle, executable->part, &part, error);
  if (code == OLYMPUS_OK) {
    code = read_executable(&part, executable, code_bytes, error);
  }
  free_directory(&part);
  return code;
}

/* The bundle in memory, if it has arrays, and the start of each file with arrays. */
struct mapping {
  unsigned char *start;
  size_t size;
  const unsigned char **files;
};

static void free_mapping(struct mapping *mapping) {
  if (mapping->start != NULL) {
    munmap(mapping->start, mapping->size);
  }
  free((void *)mapping->files);
}

/* Verify a file with arrays in the mapped bundle, and find its start. */
static int find_file(const struct bundle *bundle, const olympus_file *file, struct mapping *mapping,
                     const unsigned char **start, olympus_error *error) {
  struct bundle part;
  const struct bundle *owner = bundle;
  const struct entry *entry = NULL;
  int code = OLYMPUS_OK;
  memset(&part, 0, sizeof part);
  if (file->part != NULL) {
    code = open_part(bundle, file->part, &part, error);
    owner = &part;
  }
  if (code == OLYMPUS_OK) {
    code = find_exact(owner, &file->member, &entry, error);
  }
  if (code == OLYMPUS_OK) {
    *start = mapping->start + owner->base + entry->content;
    code = check_digest(owner, &file->member, *start, error);
  }
  free_directory(&part);
  return code;
}

/* Map a bundle into memory, and verify its files with arrays; release it with `free_mapping`. */
static int map_files(const struct bundle *bundle, const olympus_program *program,
                     struct mapping *mapping, olympus_error *error) {
  mapping->files = calloc(program->num_files + 1, sizeof *mapping->files);
  if (mapping->files == NULL) {
    return out_of_memory(error, program->num_files);
  }
  if (program->num_files == 0) {
    return OLYMPUS_OK;
  }
  void *start = bundle->size > SIZE_MAX ? MAP_FAILED
                                        : mmap(NULL, (size_t)bundle->size, PROT_READ, MAP_PRIVATE,
                                               fileno(bundle->file), 0);
  if (start == MAP_FAILED) {
    return fail(error, OLYMPUS_FILE, "%.500s cannot be mapped into memory: %s", bundle->path,
                strerror(errno));
  }
  mapping->start = start;
  mapping->size = (size_t)bundle->size;
  int code = OLYMPUS_OK;
  for (size_t i = 0; code == OLYMPUS_OK && i < program->num_files; i++) {
    code = find_file(bundle, &program->files[i], mapping, &mapping->files[i], error);
  }
  return code;
}

/* Read and verify all executables and arrays of a program; release them with `free_codes` and
   `free_mapping`. */
static int read_codes(const olympus_program *program, const char *path, struct code **codes,
                      struct mapping *mapping, olympus_error *error) {
  struct bundle bundle;
  *codes = calloc(program->num_executables + 1, sizeof **codes);
  if (*codes == NULL) {
    return out_of_memory(error, program->num_executables);
  }
  int code = open_bundle(&bundle, path, error);
  for (size_t i = 0; code == OLYMPUS_OK && i < program->num_executables; i++) {
    const olympus_executable *executable = &program->executables[i];
    code = executable->part == NULL
               ? read_executable(&bundle, executable, &(*codes)[i], error)
               : read_part_executable(&bundle, executable, &(*codes)[i], error);
  }
  if (code == OLYMPUS_OK) {
    code = map_files(&bundle, program, mapping, error);
  }
  free_directory(&bundle);
  if (bundle.file != NULL) {
    fclose(bundle.file);
  }
  return code;
}

int olympus_verify(const olympus_program *program, const char *bundle_path, olympus_error *error) {
  struct code *codes = NULL;
  struct mapping mapping = {0};
  if (program == NULL || bundle_path == NULL) {
    return fail(error, OLYMPUS_USAGE, "olympus_verify needs a program and the path of a bundle");
  }
  int code = read_codes(program, bundle_path, &codes, &mapping, error);
  free_codes(codes, program->num_executables);
  free_mapping(&mapping);
  return code == OLYMPUS_OK ? succeed(error) : code;
}
