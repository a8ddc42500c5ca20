/* The part of the PJRT C API that the runtime uses: the layout of version 0.81, which later minor
   versions extend at the end.  Every structure of arguments begins with its size. */

typedef struct pjrt_error pjrt_error;
typedef struct pjrt_event pjrt_event;
typedef struct pjrt_client pjrt_client;
typedef struct pjrt_device pjrt_device;
typedef struct pjrt_buffer pjrt_buffer;
typedef struct pjrt_executable pjrt_executable;
typedef struct pjrt_loaded pjrt_loaded;

struct pjrt_version {
  size_t struct_size;
  void *extensions;
  int major, minor;
};

struct pjrt_error_destroy {
  size_t struct_size;
  void *extensions;
  pjrt_error *error;
};

struct pjrt_error_message {
  size_t struct_size;
  void *extensions;
  const pjrt_error *error;
  const char *message;
  size_t message_size;
};

struct pjrt_plugin_initialize {
  size_t struct_size;
  void *extensions;
};

struct pjrt_event_use { /* of Event_Destroy and Event_Await */
  size_t struct_size;
  void *extensions;
  pjrt_event *event;
};

enum { PJRT_INT64 = 1, PJRT_BOOL = 4 }; /* types of options */

struct pjrt_option {
  size_t struct_size;
  void *extensions;
  const char *name;
  size_t name_size;
  int type;
  union {
    int64_t integer;
    bool boolean;
  } value;
  size_t value_size;
};

struct pjrt_client_create {
  size_t struct_size;
  void *extensions;
  const struct pjrt_option *options;
  size_t num_options;
  void *get, *get_argument, *put, *put_argument;
  pjrt_client *client;
  void *try_get, *try_get_argument;
};

struct pjrt_client_destroy {
  size_t struct_size;
  void *extensions;
  pjrt_client *client;
};

struct pjrt_client_platform {
  size_t struct_size;
  void *extensions;
  pjrt_client *client;
  const char *name;
  size_t name_size;
};

struct pjrt_devices { /* of Client_AddressableDevices and LoadedExecutable_AddressableDevices */
  size_t struct_size;
  void *extensions;
  void *owner;
  pjrt_device *const *devices;
  size_t num_devices;
};

enum { PJRT_COPY_DURING_CALL = 0, PJRT_COPY_UNTIL_DONE = 1, PJRT_ZERO_COPY = 2 };

struct pjrt_from_host {
  size_t struct_size;
  void *extensions;
  pjrt_client *client;
  const void *data;
  int type;
  const int64_t *shape;
  size_t rank;
  const int64_t *strides; /* in bytes */
  size_t num_strides;
  int semantics;
  pjrt_device *device;
  void *memory;
  void *layout;
  pjrt_event *done;
  pjrt_buffer *buffer;
};

struct pjrt_to_host {
  size_t struct_size;
  void *extensions;
  pjrt_buffer *buffer;
  void *layout;
  void *data;
  size_t size;
  pjrt_event *done;
};

struct pjrt_pointer { /* of Buffer_UnsafePointer */
  size_t struct_size;
  void *extensions;
  pjrt_buffer *buffer;
  uintptr_t data;
};

struct pjrt_buffer_destroy {
  size_t struct_size;
  void *extensions;
  pjrt_buffer *buffer;
};

struct pjrt_deserialize {
  size_t struct_size;
  void *extensions;
  pjrt_client *client;
  const char *content;
  size_t size;
  pjrt_loaded *loaded;
  const char *options;
  size_t options_size;
};

struct pjrt_loaded_destroy {
  size_t struct_size;
  void *extensions;
  pjrt_loaded *loaded;
};

struct pjrt_get_executable {
  size_t struct_size;
  void *extensions;
  pjrt_loaded *loaded;
  pjrt_executable *executable;
};

struct pjrt_num_outputs {
  size_t struct_size;
  void *extensions;
  pjrt_executable *executable;
  size_t count;
};

struct pjrt_executable_destroy {
  size_t struct_size;
  void *extensions;
  pjrt_executable *executable;
};

struct pjrt_execute_options {
  size_t struct_size;
  void *extensions;
  void *send, *receive;
  size_t num_send, num_receive;
  int launch_id;
  const int64_t *not_donated;
  size_t num_not_donated;
  void *context;
  const char *location;
  size_t num_tasks;
  int *task_ids;
  int64_t *incarnation_ids;
};

struct pjrt_execute {
  size_t struct_size;
  void *extensions;
  pjrt_loaded *loaded;
  struct pjrt_execute_options *options;
  pjrt_buffer *const *const *arguments; /* by device, then by argument */
  size_t num_devices, num_arguments;
  pjrt_buffer **const *results; /* by device, then by result */
  pjrt_event **done;            /* by device */
  pjrt_device *device;
};

typedef void (*pjrt_unused)(void);

struct pjrt_api {
  size_t struct_size;
  void *extensions;
  struct pjrt_version version;
  void (*error_destroy)(struct pjrt_error_destroy *);
  void (*error_message)(struct pjrt_error_message *);
  pjrt_unused before_plugin[1];
  pjrt_error *(*plugin_initialize)(struct pjrt_plugin_initialize *);
  pjrt_unused before_event[1];
  pjrt_error *(*event_destroy)(struct pjrt_event_use *);
  pjrt_unused before_await[2];
  pjrt_error *(*event_await)(struct pjrt_event_use *);
  pjrt_unused before_client[1];
  pjrt_error *(*client_create)(struct pjrt_client_create *);
  pjrt_error *(*client_destroy)(struct pjrt_client_destroy *);
  pjrt_error *(*client_platform)(struct pjrt_client_platform *);
  pjrt_unused before_devices[3];
  pjrt_error *(*client_devices)(struct pjrt_devices *);
  pjrt_unused before_from_host[5];
  pjrt_error *(*from_host)(struct pjrt_from_host *);
  pjrt_unused before_executable[17];
  pjrt_error *(*executable_destroy)(struct pjrt_executable_destroy *);
  pjrt_unused before_outputs[3];
  pjrt_error *(*num_outputs)(struct pjrt_num_outputs *);
  pjrt_unused before_loaded[5];
  pjrt_error *(*loaded_destroy)(struct pjrt_loaded_destroy *);
  pjrt_error *(*get_executable)(struct pjrt_get_executable *);
  pjrt_error *(*loaded_devices)(struct pjrt_devices *);
  pjrt_unused before_execute[2];
  pjrt_error *(*execute)(struct pjrt_execute *);
  pjrt_error *(*deserialize)(struct pjrt_deserialize *);
  pjrt_unused before_buffer[1];
  pjrt_error *(*buffer_destroy)(struct pjrt_buffer_destroy *);
  pjrt_unused before_to_host[11];
  pjrt_error *(*to_host)(struct pjrt_to_host *);
  pjrt_unused before_pointer[2];
  pjrt_error *(*pointer)(struct pjrt_pointer *);
};

/* The layout that plugins for 64-bit machines have. */
#if UINTPTR_MAX == UINT64_MAX
#define HAS_SIZE(name, size) _Static_assert(sizeof(struct pjrt_##name) == size, #name)
#define IS_AT(name, offset) _Static_assert(offsetof(struct pjrt_api, name) == offset, #name)
HAS_SIZE(error_destroy, 24);
HAS_SIZE(error_message, 40);
HAS_SIZE(plugin_initialize, 16);
HAS_SIZE(event_use, 24);
HAS_SIZE(option, 56);
HAS_SIZE(client_create, 88);
HAS_SIZE(client_destroy, 24);
HAS_SIZE(client_platform, 40);
HAS_SIZE(devices, 40);
HAS_SIZE(from_host, 120);
HAS_SIZE(to_host, 56);
HAS_SIZE(pointer, 32);
HAS_SIZE(buffer_destroy, 24);
HAS_SIZE(deserialize, 64);
HAS_SIZE(loaded_destroy, 24);
HAS_SIZE(get_executable, 32);
HAS_SIZE(num_outputs, 32);
HAS_SIZE(executable_destroy, 24);
HAS_SIZE(execute_options, 112);
HAS_SIZE(execute, 80);
HAS_SIZE(version, 24);
IS_AT(error_destroy, 40);
IS_AT(error_message, 48);
IS_AT(plugin_initialize, 64);
IS_AT(event_destroy, 80);
IS_AT(event_await, 104);
IS_AT(client_create, 120);
IS_AT(client_platform, 136);
IS_AT(client_devices, 168);
IS_AT(from_host, 216);
IS_AT(executable_destroy, 360);
IS_AT(num_outputs, 392);
IS_AT(loaded_destroy, 440);
IS_AT(loaded_devices, 456);
IS_AT(execute, 480);
IS_AT(deserialize, 488);
IS_AT(buffer_destroy, 504);
IS_AT(to_host, 600);
IS_AT(pointer, 624);
#undef HAS_SIZE
#undef IS_AT
#endif

/* Turn an error of the plugin, if there is one, into ours, and destroy it. */
static int checked(const struct pjrt_api *api, pjrt_error *plugin_error, olympus_code code,
                   const char *action, olympus_error *error) {
  if (plugin_error == NULL) {
    return OLYMPUS_OK;
  }
  struct pjrt_error_message message = {.struct_size = sizeof message, .error = plugin_error};
  api->error_message(&message);
  size_t size = message.message_size < 800 ? message.message_size : 800;
  fail(error, code, "%s: %.*s", action, (int)size, message.message);
  struct pjrt_error_destroy destroy = {.struct_size = sizeof destroy, .error = plugin_error};
  api->error_destroy(&destroy);
  return (int)code;
}

static void ignore(const struct pjrt_api *api, pjrt_error *plugin_error) {
  checked(api, plugin_error, OLYMPUS_EXECUTION, "", NULL);
}

/* Wait for an event and destroy it; NULL is allowed. */
static int finish(const struct pjrt_api *api, pjrt_event *event, const char *action,
                  olympus_error *error) {
  if (event == NULL) {
    return OLYMPUS_OK;
  }
  struct pjrt_event_use use = {.struct_size = sizeof use, .event = event};
  int code = checked(api, api->event_await(&use), OLYMPUS_EXECUTION, action, error);
  ignore(api, api->event_destroy(&use));
  return code;
}

static void destroy_buffer(const struct pjrt_api *api, pjrt_buffer *buffer) {
  if (buffer != NULL) {
    struct pjrt_buffer_destroy destroy = {.struct_size = sizeof destroy, .buffer = buffer};
    ignore(api, api->buffer_destroy(&destroy));
  }
}
