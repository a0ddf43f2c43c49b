#pragma once

#include <stdint.h>

/* How the plugins of these tests speak with the test that loaded them; the host hands it on by its id. */
#define STAGE_ID "loupe_tests.stage/1"

typedef struct stage_interface {
  /* Any thread. */
  void (*note)(const char* line);
  /* Whether the test wants this step to fail. Any thread. */
  int32_t (*fails)(const char* step);
} stage_interface;
