/* A PJRT plugin that is loaded and then refused, or whose client is. */
#include <stddef.h>
#include <string.h>

#ifndef MAJOR
#define MAJOR 0
#endif

struct api {
  size_t struct_size;
  void *extensions;
  struct {
    size_t struct_size;
    void *extensions;
    int major, minor;
  } version;
  void *(*functions[140])(void *);
};

struct message {
  size_t struct_size;
  void *extensions;
  const void *error;
  const char *message;
  size_t message_size;
};

static int error;

static void *give_message(void *args) {
  struct message *message = args;
  message->message = "no device is attached";
  message->message_size = strlen(message->message);
  return NULL;
}

static void *succeed(void *args) {
  (void)args;
  return NULL;
}

static void *fail(void *args) {
  (void)args;
  return &error;
}

const struct api *GetPjrtApi(void) {
  static struct api api = {sizeof api, NULL, {24, NULL, MAJOR, MINOR}, {NULL}};
  for (size_t i = 0; i < 140; i++) {
    api.functions[i] = fail;
  }
  api.functions[0] = succeed; /* Error_Destroy */
  api.functions[1] = give_message;
  api.functions[3] = succeed; /* Plugin_Initialize */
  return &api;
}
