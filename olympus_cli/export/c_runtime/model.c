/* Loading, keeping arguments and calling. */

enum {
  OLDEST_API = 81, /* the minor version whose structures pjrt.c has */
  MOST_PLUGINS = 8
};

struct loaded {
  pjrt_loaded *pjrt;
  pjrt_buffer **kept; /* by device, then by argument; NULL for one that is passed */
};

struct olympus_model {
  const olympus_program *program;
  int is_cpu;
  int reads_memory; /* the devices' memory is the host's */
  const struct pjrt_api *api;
  pjrt_client *client;
  struct loaded *loaded; /* by executable */
  pjrt_device **devices; /* by executable, then by device */
  struct mapping mapping;
  pjrt_buffer **stored;      /* by device, then by array of the bundle */
  pjrt_event **stored_read;  /* the mapped array is no longer read */
};

/* Return the API of a plugin, which is loaded once and stays loaded. */
static int open_plugin(const char *path, const struct pjrt_api **api, olympus_error *error) {
  const struct pjrt_api *(*get)(void) = NULL;
  struct stat status;
  if (stat(path, &status) != 0) {
    return fail(error, OLYMPUS_FILE, "the plugin %.500s cannot be read: %s", path,
                strerror(errno));
  }
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char *reason = dlerror();
    return fail(error, OLYMPUS_PLUGIN, "the plugin cannot be loaded: %.800s",
                reason == NULL ? path : reason);
  }
  void *symbol = dlsym(library, "GetPjrtApi");
  memcpy(&get, &symbol, sizeof get);
  *api = get == NULL ? NULL : get();
  if (*api == NULL) {
    return fail(error, OLYMPUS_PLUGIN, "%.500s is not a PJRT plugin: it has no GetPjrtApi", path);
  }
  return OLYMPUS_OK;
}

static int check_version(const olympus_program *program, const struct pjrt_api *api,
                         const char *path, olympus_error *error) {
  const char *any = getenv("OLYMPUS_ANY_PLUGIN");
  int major = api->version.major, minor = api->version.minor;
  if (major != 0 || minor < OLDEST_API || api->struct_size < sizeof *api) {
    return fail(error, OLYMPUS_PLUGIN,
                "the plugin %.400s has version %d.%d of PJRT's API, and 0.%d or a later 0.x is "
                "needed",
                path, major, minor, OLDEST_API);
  }
  if ((any != NULL && strcmp(any, "1") == 0) ||
      (minor >= program->first_api && minor <= program->last_api)) {
    return OLYMPUS_OK;
  }
  if (program->first_api > program->last_api) {
    return fail(error, OLYMPUS_PLUGIN,
                "no plugin is known to fit the executable, which %.100s compiled, and the plugin "
                "%.400s has version 0.%d of PJRT's API; set OLYMPUS_ANY_PLUGIN=1 to try this one",
                program->compiler, path, minor);
  }
  return fail(error, OLYMPUS_PLUGIN,
              "the plugin %.400s has version 0.%d of PJRT's API, and the executable, which %.100s "
              "compiled, is known to fit 0.%d to 0.%d; set OLYMPUS_ANY_PLUGIN=1 to try this one",
              path, minor, program->compiler, program->first_api, program->last_api);
}

/* Initialize a plugin once in the process. */
static int initialize(const struct pjrt_api *api, olympus_error *error) {
  static const struct pjrt_api *initialized[MOST_PLUGINS];
  size_t i = 0;
  while (i < MOST_PLUGINS && initialized[i] != NULL && initialized[i] != api) {
    i++;
  }
  if (i < MOST_PLUGINS && initialized[i] == api) {
    return OLYMPUS_OK;
  }
  struct pjrt_plugin_initialize arguments = {.struct_size = sizeof arguments};
  int code = checked(api, api->plugin_initialize(&arguments), OLYMPUS_PLUGIN,
                     "the plugin cannot be initialized", error);
  if (code == OLYMPUS_OK && i < MOST_PLUGINS) {
    initialized[i] = api;
  }
  return code;
}

static int create_client(olympus_model *model, olympus_error *error) {
  const struct pjrt_api *api = model->api;
  struct pjrt_option option = {.struct_size = sizeof option, .value_size = 1};
  if (model->is_cpu) {
    option.name = "cpu_device_count";
    option.type = PJRT_INT64;
    option.value.integer = (int64_t)model->program->num_devices;
  } else { /* take memory when it is needed, not most of the device's at the start */
    option.name = "preallocate";
    option.type = PJRT_BOOL;
    option.value.boolean = false;
  }
  option.name_size = strlen(option.name);
  struct pjrt_client_create create = {
      .struct_size = sizeof create,
      .options = &option,
      .num_options = model->is_cpu && model->program->num_devices == 1 ? 0 : 1};
  int code = initialize(api, error);
  if (code == OLYMPUS_OK) {
    code = checked(api, api->client_create(&create), OLYMPUS_DEVICE,
                   "the plugin has no device to run on", error);
  }
  model->client = create.client;
  return code;
}

static int check_platform(const olympus_model *model, olympus_error *error) {
  const char *wanted = model->program->platform;
  struct pjrt_client_platform platform = {.struct_size = sizeof platform, .client = model->client};
  int code = checked(model->api, model->api->client_platform(&platform), OLYMPUS_DEVICE,
                     "the plugin has no platform", error);
  if (code == OLYMPUS_OK && (platform.name_size != strlen(wanted) ||
                             memcmp(platform.name, wanted, platform.name_size) != 0)) {
    code = fail(error, OLYMPUS_PLUGIN, "the executable is for %s, and the plugin is for %.*s",
                wanted, (int)platform.name_size, platform.name);
  }
  return code;
}

/* Store the devices of an executable, in the order in which the program numbers them. */
static int find_devices(olympus_model *model, size_t index, olympus_error *error) {
  const struct pjrt_api *api = model->api;
  size_t count = model->program->num_devices;
  struct pjrt_devices devices = {.struct_size = sizeof devices,
                                 .owner = model->loaded[index].pjrt};
  int code = checked(api, api->loaded_devices(&devices), OLYMPUS_DEVICE,
                     "the executable has no devices", error);
  if (code == OLYMPUS_OK && devices.num_devices != count) {
    code = fail(error, OLYMPUS_DEVICE, "the program is for %zu devices, and the executable has %zu",
                count, devices.num_devices);
  }
  if (code == OLYMPUS_OK) {
    memcpy(model->devices + index * count, devices.devices, count * sizeof *devices.devices);
  }
  return code;
}

/* Check the number of results, as far as PJRT tells it before a call. */
static int check_results(olympus_model *model, size_t index, olympus_error *error) {
  const struct pjrt_api *api = model->api;
  size_t count = model->program->executables[index].num_results;
  struct pjrt_get_executable get = {.struct_size = sizeof get, .loaded = model->loaded[index].pjrt};
  int code = checked(api, api->get_executable(&get), OLYMPUS_EXECUTION,
                     "the executable cannot be described", error);
  if (code != OLYMPUS_OK) {
    return code;
  }
  struct pjrt_num_outputs outputs = {.struct_size = sizeof outputs, .executable = get.executable};
  struct pjrt_executable_destroy destroy = {.struct_size = sizeof destroy,
                                            .executable = get.executable};
  code = checked(api, api->num_outputs(&outputs), OLYMPUS_EXECUTION,
                 "the executable cannot be described", error);
  ignore(api, api->executable_destroy(&destroy));
  if (code == OLYMPUS_OK && outputs.count != count) {
    code = fail(error, OLYMPUS_EXECUTION, "the program has %zu results, and the executable has %zu",
                count, outputs.count);
  }
  return code;
}

static int load_executable(olympus_model *model, size_t index, const struct code *code_bytes,
                           olympus_error *error) {
  const olympus_program *program = model->program;
  struct loaded *loaded = &model->loaded[index];
  struct pjrt_deserialize deserialize = {.struct_size = sizeof deserialize,
                                         .client = model->client,
                                         .content = (const char *)code_bytes->pjrt,
                                         .size = code_bytes->pjrt_size};
  loaded->kept = calloc(program->executables[index].num_arguments * program->num_devices + 1,
                        sizeof *loaded->kept);
  if (loaded->kept == NULL) {
    return out_of_memory(error, program->executables[index].num_arguments);
  }
  int code = checked(model->api, model->api->deserialize(&deserialize), OLYMPUS_EXECUTION,
                     "the plugin cannot load the executable", error);
  loaded->pjrt = deserialize.loaded;
  if (code == OLYMPUS_OK) {
    code = find_devices(model, index, error);
  }
  return code == OLYMPUS_OK ? check_results(model, index, error) : code;
}

static int check_devices(const olympus_model *model, olympus_error *error) {
  struct pjrt_devices devices = {.struct_size = sizeof devices, .owner = model->client};
  size_t wanted = model->program->num_devices;
  int code = checked(model->api, model->api->client_devices(&devices), OLYMPUS_DEVICE,
                     "the plugin has no devices", error);
  if (code == OLYMPUS_OK && devices.num_devices < wanted) {
    code = fail(error, OLYMPUS_DEVICE, "the program needs %zu devices, and the plugin has %zu",
                wanted, devices.num_devices);
  }
  return code;
}

/* Lend an array of the bundle to a device whose memory is the host's, or copy it to another one. */
static int put_stored(olympus_model *model, size_t device, size_t index, olympus_error *error) {
  const olympus_program *program = model->program;
  const olympus_stored *stored = &program->stored[index];
  const struct pjrt_api *api = model->api;
  const unsigned char *data = model->mapping.files[stored->file] + stored->offset;
  size_t at = device * program->num_stored + index;
  struct part part;
  find_part(&stored->array, device, &part);
  int lends = model->is_cpu && (uintptr_t)data % 64 == 0 && stored->array.parts == NULL;
  struct pjrt_from_host from = {.struct_size = sizeof from,
                                .client = model->client,
                                .data = data + part.offset,
                                .type = DTYPES[stored->array.dtype].pjrt,
                                .shape = part.shape,
                                .rank = part.rank,
                                .semantics = lends ? PJRT_ZERO_COPY : PJRT_COPY_UNTIL_DONE,
                                .device = model->devices[device]};
  if (stored->array.parts != NULL) {
    from.strides = part.strides;
    from.num_strides = part.rank;
  }
  uint64_t size = program->files[stored->file].member.size;
  if (stored->offset > size || stored->array.size > size - stored->offset) {
    return fail(error, OLYMPUS_DAMAGED, "the array %.200s is beyond the end of its file",
                stored->array.name);
  }
  int code = checked(api, api->from_host(&from), OLYMPUS_EXECUTION,
                     "an array of the bundle cannot be put on the device", error);
  model->stored[at] = from.buffer;
  model->stored_read[at] = from.done;
  if (code == OLYMPUS_OK && !lends) {
    model->stored_read[at] = NULL;
    code = finish(api, from.done, "an array of the bundle cannot be copied to the device", error);
  }
  return code;
}

static void free_stored(olympus_model *model) {
  size_t count = model->program->num_stored * model->program->num_devices;
  for (size_t i = 0; model->stored != NULL && model->stored_read != NULL && i < count; i++) {
    destroy_buffer(model->api, model->stored[i]);
    finish(model->api, model->stored_read[i], "", NULL);
  }
  free(model->stored);
  free(model->stored_read);
}

static int start(olympus_model *model, const struct code *codes, const char *plugin_path,
                 olympus_error *error) {
  const olympus_program *program = model->program;
  int code = open_plugin(plugin_path, &model->api, error);
  if (code == OLYMPUS_OK) {
    code = check_version(program, model->api, plugin_path, error);
  }
  if (code == OLYMPUS_OK) {
    code = create_client(model, error);
  }
  if (code == OLYMPUS_OK) {
    code = check_platform(model, error);
  }
  if (code == OLYMPUS_OK) {
    code = check_devices(model, error);
  }
  for (size_t i = 0; code == OLYMPUS_OK && i < program->num_executables; i++) {
    code = load_executable(model, i, &codes[i], error);
  }
  for (size_t i = 0; code == OLYMPUS_OK && i < program->num_devices; i++) {
    for (size_t k = 0; code == OLYMPUS_OK && k < program->num_stored; k++) {
      code = put_stored(model, i, k, error);
    }
  }
  return code;
}

static olympus_model *new_model(const olympus_program *program) {
  olympus_model *model = calloc(1, sizeof *model);
  if (model != NULL) {
    model->program = program;
    model->is_cpu = strcmp(program->platform, "cpu") == 0;
#ifndef OLYMPUS_COPY_RESULTS /* tests define it, to copy as from other devices */
    model->reads_memory = model->is_cpu;
#endif
    model->loaded = calloc(program->num_executables + 1, sizeof *model->loaded);
    model->devices =
        calloc(program->num_executables * program->num_devices + 1, sizeof *model->devices);
    model->stored = calloc(program->num_stored * program->num_devices + 1, sizeof *model->stored);
    model->stored_read =
        calloc(program->num_stored * program->num_devices + 1, sizeof *model->stored_read);
    if (model->loaded == NULL || model->devices == NULL || model->stored == NULL ||
        model->stored_read == NULL) {
      olympus_free(model);
      model = NULL;
    }
  }
  return model;
}

int olympus_load(const olympus_program *program, const char *bundle_path, const char *plugin_path,
                 olympus_model **model, olympus_error *error) {
  struct code *codes = NULL;
  if (model != NULL) {
    *model = NULL;
  }
  if (program == NULL || bundle_path == NULL || plugin_path == NULL || model == NULL) {
    return fail(error, OLYMPUS_USAGE,
                "olympus_load needs a program, the paths of a bundle and a plugin, and a model");
  }
  olympus_model *created = new_model(program);
  if (created == NULL) {
    return out_of_memory(error, sizeof *created);
  }
  int code = read_codes(program, bundle_path, &codes, &created->mapping, error);
  if (code == OLYMPUS_OK) {
    code = check_processor(program, error);
  }
  if (code == OLYMPUS_OK) {
    code = start(created, codes, plugin_path, error);
  }
  free_codes(codes, program->num_executables);
  if (code != OLYMPUS_OK) {
    olympus_free(created);
    return code;
  }
  *model = created;
  return succeed(error);
}

void olympus_free(olympus_model *model) {
  if (model == NULL) {
    return;
  }
  const struct pjrt_api *api = model->api;
  for (size_t i = model->loaded == NULL ? 0 : model->program->num_executables; i-- > 0;) {
    struct loaded *loaded = &model->loaded[i];
    size_t count = model->program->executables[i].num_arguments * model->program->num_devices;
    for (size_t k = 0; loaded->kept != NULL && k < count; k++) {
      if (i == 0 || loaded->kept[k] != model->loaded[0].kept[k]) { /* else it is shared */
        destroy_buffer(api, loaded->kept[k]);
      }
    }
    free(loaded->kept);
    if (loaded->pjrt != NULL) {
      struct pjrt_loaded_destroy destroy = {.struct_size = sizeof destroy, .loaded = loaded->pjrt};
      ignore(api, api->loaded_destroy(&destroy));
    }
  }
  free_stored(model);
  if (model->client != NULL) {
    struct pjrt_client_destroy destroy = {.struct_size = sizeof destroy, .client = model->client};
    ignore(api, api->client_destroy(&destroy));
  }
  free_mapping(&model->mapping);
  free(model->loaded);
  free(model->devices);
  free(model);
}
