/* One call: arguments to the devices, execution, results to the host. */

/* The objects of a call.  Arrays by device, then by argument or result. */
struct call {
  const olympus_model *model;
  const olympus_executable *executable;
  struct loaded *loaded;
  pjrt_device *const *devices;
  size_t num_devices;
  pjrt_buffer **inputs;
  pjrt_buffer **outputs;
  pjrt_event **sent;     /* by input: the host's array is no longer read */
  pjrt_event **received; /* by output */
  pjrt_event **executed; /* by device */
  pjrt_buffer ***input_lists;
  pjrt_buffer ***output_lists;
  void **pieces; /* by output: memory of a part that is not dense on the host */
};

static int begin_call(struct call *call, olympus_model *model, size_t index,
                      olympus_error *error) {
  size_t devices = model->program->num_devices;
  const olympus_executable *executable = &model->program->executables[index];
  size_t inputs = executable->num_arguments * devices, outputs = executable->num_results * devices;
  size_t all = executable->num_arguments + executable->num_stored;
  size_t count = 2 * inputs + 3 * outputs + 3 * devices + all * devices;
  void **memory = calloc(count + 1, sizeof *memory);
  if (memory == NULL) {
    return out_of_memory(error, count * sizeof *memory);
  }
  call->model = model;
  call->executable = executable;
  call->loaded = &model->loaded[index];
  call->devices = model->devices + index * devices;
  call->num_devices = devices;
  call->inputs = (pjrt_buffer **)memory;
  call->outputs = (pjrt_buffer **)(memory + inputs);
  call->sent = (pjrt_event **)(memory + inputs + outputs);
  call->received = (pjrt_event **)(memory + 2 * inputs + outputs);
  call->pieces = memory + 2 * inputs + 2 * outputs;
  call->executed = (pjrt_event **)(memory + 2 * inputs + 3 * outputs);
  void **lists = memory + 2 * inputs + 3 * outputs + devices;
  call->input_lists = (pjrt_buffer ***)lists;
  call->output_lists = (pjrt_buffer ***)(lists + devices);
  for (size_t i = 0; i < devices; i++) {
    call->input_lists[i] = (pjrt_buffer **)(lists + 2 * devices + i * all);
    call->output_lists[i] = call->outputs + i * executable->num_results;
  }
  return OLYMPUS_OK;
}

/* Copy or lend the part of an argument that device `device` takes. */
static int send_part(struct call *call, size_t device, size_t argument, const char *data,
                     int semantics, olympus_error *error) {
  const olympus_array *array = &call->executable->arguments[argument];
  const struct pjrt_api *api = call->model->api;
  size_t at = device * call->executable->num_arguments + argument;
  struct part part;
  find_part(array, device, &part);
  struct pjrt_from_host from = {.struct_size = sizeof from,
                                .client = call->model->client,
                                .data = data + part.offset,
                                .type = DTYPES[array->dtype].pjrt,
                                .shape = part.shape,
                                .rank = part.rank,
                                .semantics = semantics,
                                .device = call->devices[device]};
  if (array->parts != NULL) {
    from.strides = part.strides;
    from.num_strides = part.rank;
  }
  int code = checked(api, api->from_host(&from), OLYMPUS_EXECUTION,
                     "an argument cannot be copied to the device", error);
  call->inputs[at] = from.buffer;
  call->sent[at] = from.done;
  return code;
}

static int send_arguments(struct call *call, const void *const *arguments, olympus_error *error) {
  int code = OLYMPUS_OK;
  for (size_t i = 0; i < call->num_devices; i++) {
    for (size_t k = 0; code == OLYMPUS_OK && k < call->executable->num_arguments; k++) {
      const olympus_array *array = &call->executable->arguments[k];
      if (arguments[k] == NULL) {
        pjrt_buffer *kept = call->loaded->kept[i * call->executable->num_arguments + k];
        if (kept == NULL) {
          return fail(error, OLYMPUS_USAGE, "the argument %.200s of %.200s is NULL, and is not kept",
                      array->name, call->model->program->name);
        }
        call->inputs[i * call->executable->num_arguments + k] = kept;
      } else {
        int semantics = array->donated ? PJRT_COPY_DURING_CALL : PJRT_ZERO_COPY;
        code = send_part(call, i, k, arguments[k], semantics, error);
      }
    }
  }
  return code;
}

/* List the inputs of the executable: the arguments, and the stored arrays at their positions. */
static void list_inputs(struct call *call) {
  const olympus_executable *executable = call->executable;
  size_t all = executable->num_arguments + executable->num_stored;
  for (size_t i = 0; i < call->num_devices; i++) {
    size_t stored = 0, argument = 0;
    pjrt_buffer *const *own = call->model->stored + i * call->model->program->num_stored;
    for (size_t k = 0; k < all; k++) {
      if (stored < executable->num_stored && executable->stored[stored].position == k) {
        call->input_lists[i][k] = own[executable->stored[stored++].index];
      } else {
        call->input_lists[i][k] = call->inputs[i * executable->num_arguments + argument++];
      }
    }
  }
}

static int execute(struct call *call, olympus_error *error) {
  const struct pjrt_api *api = call->model->api;
  list_inputs(call);
  struct pjrt_execute_options options = {.struct_size = sizeof options};
  struct pjrt_execute run = {.struct_size = sizeof run,
                             .loaded = call->loaded->pjrt,
                             .options = &options,
                             .arguments = (pjrt_buffer *const *const *)call->input_lists,
                             .num_devices = call->num_devices,
                             .num_arguments =
                                 call->executable->num_arguments + call->executable->num_stored,
                             .results = (pjrt_buffer **const *)call->output_lists,
                             .done = call->executed};
  return checked(api, api->execute(&run), OLYMPUS_EXECUTION, "the execution failed", error);
}

/* Copy the part of a result that a device of the CPU has, which is in the host's memory.  PJRT's
   own copy is passed to another thread, which takes longer than a small program. */
static int read_part(struct call *call, size_t device, size_t result, char *data,
                     olympus_error *error) {
  const olympus_array *array = &call->executable->results[result];
  size_t element = DTYPES[array->dtype].size;
  struct pjrt_pointer from = {
      .struct_size = sizeof from,
      .buffer = call->outputs[device * call->executable->num_results + result]};
  struct part part;
  find_part(array, device, &part);
  int code = checked(call->model->api, call->model->api->pointer(&from), OLYMPUS_EXECUTION,
                     "a result cannot be read", error);
  if (code == OLYMPUS_OK && part.size > 0) {
    if (is_dense(&part, element)) {
      memcpy(data + part.offset, (const void *)from.data, part.size);
    } else {
      place_part(&part, element, (const char *)from.data, data);
    }
  }
  return code;
}

/* Begin to copy the part of a result that a device has. */
static int receive_part(struct call *call, size_t device, size_t result, char *data,
                        olympus_error *error) {
  const olympus_array *array = &call->executable->results[result];
  const struct pjrt_api *api = call->model->api;
  size_t at = device * call->executable->num_results + result;
  struct part part;
  find_part(array, device, &part);
  void *to = data + part.offset;
  if (!is_dense(&part, DTYPES[array->dtype].size)) {
    to = call->pieces[at] = malloc(part.size + 1);
    if (to == NULL) {
      return out_of_memory(error, part.size);
    }
  }
  struct pjrt_to_host copy = {
      .struct_size = sizeof copy, .buffer = call->outputs[at], .data = to, .size = part.size};
  int code = checked(api, api->to_host(&copy), OLYMPUS_EXECUTION,
                     "a result cannot be copied to the host", error);
  call->received[at] = copy.done;
  return code;
}

/* Copy the results, or begin to copy them; each part once. */
static int receive_results(struct call *call, void *const *results, olympus_error *error) {
  size_t count = call->executable->num_results;
  int code = OLYMPUS_OK;
  for (size_t i = 0; i < call->num_devices; i++) {
    for (size_t k = 0; code == OLYMPUS_OK && k < count; k++) {
      if (results[k] != NULL && !is_copy(&call->executable->results[k], i)) {
        code = call->model->reads_memory ? read_part(call, i, k, results[k], error)
                                         : receive_part(call, i, k, results[k], error);
      }
    }
  }
  return code;
}

/* Wait until all devices have executed the program; the first error counts. */
static int finish_execution(struct call *call, olympus_error *error) {
  int code = OLYMPUS_OK;
  for (size_t i = 0; i < call->num_devices; i++) {
    int own = finish(call->model->api, call->executed[i], "the execution failed",
                     code == OLYMPUS_OK ? error : NULL);
    code = code == OLYMPUS_OK ? own : code;
  }
  return code;
}

/* Wait for the copies that were begun; the first error counts. */
static int finish_results(struct call *call, void *const *results, olympus_error *error) {
  size_t count = call->executable->num_results;
  int code = OLYMPUS_OK;
  for (size_t at = 0; at < count * call->num_devices; at++) {
    int own = finish(call->model->api, call->received[at], "a result cannot be copied to the host",
                     code == OLYMPUS_OK ? error : NULL);
    code = code == OLYMPUS_OK ? own : code;
    if (call->pieces[at] != NULL && code == OLYMPUS_OK) {
      const olympus_array *array = &call->executable->results[at % count];
      struct part part;
      find_part(array, at / count, &part);
      place_part(&part, DTYPES[array->dtype].size, call->pieces[at], results[at % count]);
    }
  }
  return code;
}

/* Destroy the buffers of a call, and wait until the plugin has released the caller's arrays. */
static void end_call(struct call *call) {
  const struct pjrt_api *api = call->model->api;
  size_t inputs = call->executable->num_arguments * call->num_devices;
  size_t outputs = call->executable->num_results * call->num_devices;
  for (size_t i = 0; i < inputs; i++) {
    if (call->inputs[i] != call->loaded->kept[i]) {
      destroy_buffer(api, call->inputs[i]);
    }
  }
  for (size_t i = 0; i < outputs; i++) {
    destroy_buffer(api, call->outputs[i]);
    free(call->pieces[i]);
  }
  for (size_t i = 0; i < inputs; i++) {
    finish(api, call->sent[i], "", NULL);
  }
  free(call->inputs); /* the start of the memory of all arrays */
}

static int check_index(const olympus_model *model, size_t index, const void *arguments,
                       const void *results, olympus_error *error) {
  if (model == NULL || arguments == NULL || results == NULL) {
    return fail(error, OLYMPUS_USAGE, "a call needs a model, arguments and results");
  }
  if (index >= model->program->num_executables) {
    return fail(error, OLYMPUS_USAGE, "%.200s has %zu executables, and number %zu is requested",
                model->program->name, model->program->num_executables, index);
  }
  return OLYMPUS_OK;
}

int olympus_call(olympus_model *model, size_t index, const void *const *arguments,
                 void *const *results, olympus_error *error) {
  struct call call;
  int code = check_index(model, index, arguments, results, error);
  if (code == OLYMPUS_OK) {
    code = begin_call(&call, model, index, error);
  }
  if (code != OLYMPUS_OK) {
    return code;
  }
  code = send_arguments(&call, arguments, error);
  if (code == OLYMPUS_OK) {
    code = execute(&call, error);
  }
  if (code == OLYMPUS_OK) {
    code = finish_execution(&call, error);
  }
  if (code == OLYMPUS_OK) {
    code = receive_results(&call, results, error);
    int finished = finish_results(&call, results, code == OLYMPUS_OK ? error : NULL);
    code = code == OLYMPUS_OK ? finished : code;
  }
  end_call(&call);
  return code == OLYMPUS_OK ? succeed(error) : code;
}

/* Move a new copy of an argument from the call to the model. */
static void keep_argument(struct call *call, size_t argument) {
  for (size_t i = 0; i < call->num_devices; i++) {
    size_t at = i * call->executable->num_arguments + argument;
    destroy_buffer(call->model->api, call->loaded->kept[at]);
    call->loaded->kept[at] = call->inputs[at];
  }
}

int olympus_keep(olympus_model *model, size_t index, const void *const *arguments,
                 olympus_error *error) {
  struct call call;
  int code = check_index(model, index, arguments, arguments, error);
  if (code == OLYMPUS_OK) {
    code = begin_call(&call, model, index, error);
  }
  if (code != OLYMPUS_OK) {
    return code;
  }
  for (size_t k = 0; code == OLYMPUS_OK && k < call.executable->num_arguments; k++) {
    const olympus_array *array = &call.executable->arguments[k];
    if (arguments[k] != NULL && array->donated) {
      code = fail(error, OLYMPUS_USAGE, "the argument %.200s of %.200s is donated, so that it "
                  "cannot be kept", array->name, model->program->name);
    }
    for (size_t i = 0; code == OLYMPUS_OK && arguments[k] != NULL && i < call.num_devices; i++) {
      size_t at = i * call.executable->num_arguments + k;
      code = send_part(&call, i, k, arguments[k], PJRT_COPY_UNTIL_DONE, error);
      if (code == OLYMPUS_OK) {
        code = finish(model->api, call.sent[at], "an argument cannot be copied to the device",
                      error);
        call.sent[at] = NULL;
      }
    }
  }
  for (size_t k = 0; code == OLYMPUS_OK && k < call.executable->num_arguments; k++) {
    if (arguments[k] != NULL) {
      keep_argument(&call, k);
    }
  }
  end_call(&call);
  return code == OLYMPUS_OK ? succeed(error) : code;
}
