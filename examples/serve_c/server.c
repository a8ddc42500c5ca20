/* A search service on a Unix socket, without Python: one thread for each connection.

   server BUNDLE PLUGIN ITEMS SOCKET

   ITEMS has the embeddings, float32 in row-major order.  A request is an embedding, and its reply
   the scores, float32, and the row numbers, int32, of the nearest items. */
#define _POSIX_C_SOURCE 200809L
#include "search.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static search_model *model;

/* Read or write all bytes; return 0 at the end of the connection. */
static int receive(int connection, void *to, size_t size) {
  for (char *at = to; size > 0;) {
    ssize_t count = read(connection, at, size);
    if (count <= 0) {
      return 0;
    }
    at += count;
    size -= (size_t)count;
  }
  return 1;
}

static int reply(int connection, const void *from, size_t size) {
  for (const char *at = from; size > 0;) {
    ssize_t count = write(connection, at, size);
    if (count <= 0) {
      return 0;
    }
    at += count;
    size -= (size_t)count;
  }
  return 1;
}

static void *serve(void *argument) {
  int connection = *(int *)argument;
  _Alignas(64) float query[SEARCH_QUERY_COUNT];
  float scores[SEARCH_RESULT_0_COUNT];
  int32_t rows[SEARCH_RESULT_1_COUNT];
  const search_arguments arguments = {.query = query}; /* the items are kept */
  const search_results results = {.result_0 = scores, .result_1 = rows};
  olympus_error error;
  free(argument);
  while (receive(connection, query, sizeof query)) {
    if (search_call(model, &arguments, &results, &error) != OLYMPUS_OK) {
      fprintf(stderr, "error: %s\n", error.message);
      break;
    }
    if (!reply(connection, scores, sizeof scores) || !reply(connection, rows, sizeof rows)) {
      break;
    }
  }
  close(connection);
  return NULL;
}

static int keep_items(const char *path, olympus_error *error) {
  float *items = malloc(SEARCH_ITEMS_COUNT * sizeof *items);
  FILE *file = fopen(path, "rb");
  int code = OLYMPUS_FILE;
  snprintf(error->message, sizeof error->message, "%s does not have %d values of float32", path,
           SEARCH_ITEMS_COUNT);
  if (items != NULL && file != NULL &&
      fread(items, sizeof *items, SEARCH_ITEMS_COUNT, file) == SEARCH_ITEMS_COUNT) {
    code = search_keep(model, &(search_arguments){.items = items}, error);
  }
  if (file != NULL) {
    fclose(file);
  }
  free(items);
  return code;
}

static int listen_at(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int listener = socket(AF_UNIX, SOCK_STREAM, 0);
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  unlink(path);
  if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
      listen(listener, 16) != 0) {
    perror(path);
    return -1;
  }
  return listener;
}

int main(int count, char **words) {
  olympus_error error;
  if (count != 5) {
    fputs("usage: server BUNDLE PLUGIN ITEMS SOCKET\n", stderr);
    return 2;
  }
  if (search_load(words[1], words[2], &model, &error) != OLYMPUS_OK ||
      keep_items(words[3], &error) != OLYMPUS_OK) {
    fprintf(stderr, "error: %s\n", error.message);
    search_free(model);
    return 1;
  }
  signal(SIGPIPE, SIG_IGN);
  int listener = listen_at(words[4]);
  if (listener < 0) {
    return 1;
  }
  puts("ready");
  fflush(stdout);
  for (int connection; (connection = accept(listener, NULL, NULL)) >= 0;) {
    int *argument = malloc(sizeof *argument);
    pthread_t thread;
    if (argument == NULL) {
      close(connection);
      continue;
    }
    *argument = connection;
    if (pthread_create(&thread, NULL, serve, argument) != 0) {
      free(argument);
      close(connection);
    } else {
      pthread_detach(thread);
    }
  }
  return 1;
}
