/* The check that this processor has the instruction sets of the one that built the program. */

enum { LINE_SIZE = 1 << 14 };

/* Return the list of instruction sets in a line of /proc/cpuinfo; NULL if it is another line. */
static const char *features_of(const char *line) {
  if (strncmp(line, "flags", 5) != 0 && strncmp(line, "Features", 8) != 0) {
    return NULL;
  }
  const char *rest = line + (line[0] == 'f' ? 5 : 8);
  rest += strspn(rest, " \t");
  return *rest == ':' ? rest + 1 : NULL;
}

static int has_word(const char *words, const char *word) {
  size_t size = strlen(word);
  for (const char *at = words; (at = strstr(at, word)) != NULL; at += size) {
    int begins = at == words || at[-1] == ' ' || at[-1] == '\t';
    if (begins && (at[size] == '\0' || at[size] == ' ' || at[size] == '\n')) {
      return 1;
    }
  }
  return 0;
}

static int check_features(const olympus_program *program, const char *features,
                          olympus_error *error) {
  char missing[256] = "";
  size_t used = 0;
  for (size_t i = 0; i < program->num_cpu_features; i++) {
    const char *feature = program->cpu_features[i];
    size_t size = strlen(feature);
    if (!has_word(features, feature) && size + 3 < sizeof missing - used) {
      used += (size_t)snprintf(missing + used, sizeof missing - used, "%s%s", used ? ", " : "",
                               feature);
    }
  }
  if (used == 0) {
    return OLYMPUS_OK;
  }
  return fail(error, OLYMPUS_PROCESSOR,
              "%.200s was built on a processor with %s, which this one lacks: build it on this "
              "machine, or on one without them",
              program->name, missing);
}

static int check_instruction_sets(const olympus_program *program, olympus_error *error) {
  const char *features = NULL;
  char *line = malloc(LINE_SIZE);
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (features == NULL && line != NULL && file != NULL &&
         fgets(line, LINE_SIZE, file) != NULL) {
    features = features_of(line);
  }
  int code;
  if (features == NULL || program->cpu_features == NULL) {
    code = fail(error, OLYMPUS_PROCESSOR, "the instruction sets of %s are not known",
                features == NULL ? "this processor" : "the processor that built the program");
  } else {
    code = check_features(program, features, error);
  }
  if (file != NULL) {
    fclose(file);
  }
  free(line);
  return code;
}

static int check_processor(const olympus_program *program, olympus_error *error) {
  struct utsname here;
  if (uname(&here) < 0) {
    return fail(error, OLYMPUS_PROCESSOR, "the system and the machine cannot be read");
  }
  if (strcmp(here.sysname, program->system) != 0 || strcmp(here.machine, program->machine) != 0) {
    return fail(error, OLYMPUS_PROCESSOR, "%.200s was built on %.100s %.100s, and this is %s %s",
                program->name, program->system, program->machine, here.sysname, here.machine);
  }
  if (strcmp(program->platform, "cpu") != 0) {
    return OLYMPUS_OK;
  }
  return check_instruction_sets(program, error);
}
