/* What a plugin offers, and what the host lends each instance of it. */
#ifndef LOUPE_ABI_COMPONENT_H
#define LOUPE_ABI_COMPONENT_H

#include <loupe/abi/options.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LOUPE_PLUGIN_ID "loupe.plugin/1"

/* Handed to create; one for each instance, valid until its destroy. */
typedef struct loupe_host {
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor;
  uint32_t reserved;
  const char* version;     /* Loupe's */
  const char* plugin_path; /* the file that this plugin was loaded from; "" where it is part of the program */
  void* context;           /* first argument of every host service */
  /* One line to the user, who is told which component speaks. */
  /* @thread any @state always @reenter none @owns borrows message @since 1.0 */
  void (*log)(void* host, int32_t level, const char* message);
  /* Null for an id that this host does not offer. */
  /* @thread any @state always @reenter none @owns host owns the table @since 1.0 */
  const void* (*get_interface)(void* host, const char* id);
} loupe_host;

/* One component that a plugin offers. */
typedef struct loupe_component {
  uint32_t struct_size;
  uint32_t reserved;
  const char* interface_id;   /* LOUPE_LENS_ID and so on */
  const char* name;           /* as YAML names it; snake_case */
  const char* const* aliases; /* other names that YAML accepts */
  size_t alias_count;
  const char* help; /* one line */
  /* For `loupe describe`: what it gives, each "name: one line" (a preprocessor's series, a lens's tags), and an example
   * in YAML. Null where there is nothing to say. */
  const char* const* gives;
  size_t give_count;
  const char* example;
  const loupe_option* const* options;
  size_t option_count;
  const void* table; /* the loupe_lens, … that interface_id names */
  void* context;     /* the plugin's own; the host does not read it */
  /* `component` is this very struct, so that one function can make many components. */
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
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;
  const char* version;
  /* For `loupe list --long`; each may be null. */
  const char* description;
  const char* author;
  const char* license; /* an SPDX expression, such as "MIT" */
  const char* homepage;
  const loupe_component* const* components;
  size_t component_count;
  /* Called once as the process ends, when no instance is left and none will be made. The code stays loaded.
   * Optional. */
  /* @thread trainer @state when no instance is left @reenter none @owns nothing @since 1.0 */
  void (*unload)(void);
} loupe_plugin;

#ifdef __cplusplus
}
#endif

#endif
