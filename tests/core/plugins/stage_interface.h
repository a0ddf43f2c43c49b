#pragma once

#include <stdint.h>

/* The interface of a test for the plugins that it loads. The host passes it on by this id. */
#define STAGE_ID "loupe_tests.stage/1"

typedef struct stage_interface {
  /* Called on any thread. */
  void (*note)(const char* line);
  /* Whether the test wants this step to fail. Called on any thread. */
  int32_t (*fails)(const char* step);
} stage_interface;
