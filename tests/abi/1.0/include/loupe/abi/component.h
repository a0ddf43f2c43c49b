/* What a plugin offers, and what the host lends each instance of it. */
#pragma once

#include <loupe/abi/options.h>

#define LOUPE_PLUGIN_ID "loupe.plugin/1"

/* Handed to create; one for each instance, valid until its destroy. Grows, but its functions stay. */
typedef struct loupe_host {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  const char* version;     /* Loupe's */
  const char* plugin_path; /* the file that this plugin was loaded from; "" if it is part of the program */
  void* context;           /* first argument of every host service */
  /* Prints one line to the user, with the component's name. */
  /* @thread any @state always @reenter none @owns borrows message @since 1.0 */
  void (*log)(void* context, int32_t level, const char* message);
  /* A service of the host beyond its table, by its id: LOUPE_RUN_ID, LOUPE_TENSORS_ID, LOUPE_PARAMETERS_ID. */
  /* @thread any @state always @reenter none @owns host owns the table @since 1.0 */
  const void* (*get_extension)(void* context, const char* id);
  const char* name; /* of the instance, as the user knows it: the component's name, or the one given by `as` */
} loupe_host;

/* One component that a plugin offers. Grows, but its functions stay. If several have the same kind and name, the first
 * in this order is used: components linked into the program; then the files and folders of the search path in their
 * order, which ends with Loupe's own, so that a plugin may replace one of those; within a folder, by file name. A file
 * in a folder without a loupe_elf_note comes after all others. Names take precedence over aliases. A message names the
 * components that are not used. */
typedef struct loupe_component {
  uint32_t struct_size, reserved;
  const char* interface_id;   /* LOUPE_LENS_ID and so on */
  const char* name;           /* as YAML names it; snake_case */
  const char* const* aliases; /* further names that YAML accepts */
  size_t alias_count;
  const char* help; /* one line */
  /* For `loupe describe`: its results, each "name: one line" (a preprocessor's series, a lens's tags), and an example
   * in YAML. May be null. */
  const char* const* gives;
  size_t give_count;
  const char* example;
  const loupe_option* const* options;
  size_t option_count;
  const void* table; /* the loupe_lens, … that interface_id names */
  void* context;     /* the plugin's own; the host does not read it */
  /* `component` is this struct, so one function can create many components. */
  /* @thread trainer or model @state always @reenter none @owns caller destroys the instance; host lives until then
   * @since 1.0 */
  loupe_status (*create)(const struct loupe_component* component, const loupe_host* host, const loupe_options* options,
                         void** self, loupe_error* error);
  /* Never called from an event. */
  /* @thread trainer or display @state created @reenter none @owns the instance ends @since 1.0 */
  void (*destroy)(void* self);
} loupe_component;

/* LOUPE_PLUGIN_ID. */
typedef struct loupe_plugin {
  uint32_t struct_size, reserved;
  const char* name;
  const char* version;
  /* For `loupe list --long`; each may be null. */
  const char* description;
  const char* author;
  const char* license; /* an SPDX expression, such as "MIT" */
  const char* homepage;
  const loupe_component* const* components;
  size_t component_count;
} loupe_plugin;
