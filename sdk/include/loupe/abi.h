/* The stable boundary between Loupe and its plugins, and the one include that an author needs. Plain C11; C++17 authors
 * use loupe/plugin.h, which is built on it. Interfaces that may still change are in loupe/draft.
 *
 * Rules that hold everywhere:
 * - A plugin exports one symbol, `loupe_plugin_entry`. The host asks for everything else by an id with a revision. An
 *   id is never renamed; a break gets a new revision.
 * - Every struct but the entry, its loupe_elf_note and loupe_moment begins with `struct_size`, filled by whoever
 *   allocates it. A reader accepts any size that covers the members it needs and never demands equality.
 * - Structs of data grow, at their end. A member beyond `struct_size` is absent; absent means zero, and zero means the
 *   default, "none" or "not offered". No struct holds another by value but loupe_moment, which never grows, and arrays
 *   hold pointers, so that every struct may grow.
 * - Tables of functions never grow. A new function gets a new table with its own id: `get_extension` returns the
 *   further tables of a host, plugin or component, and null for an unknown id. A component may leave it out. An
 *   optional function that is not offered is null: LOUPE_OFFERS. loupe_host and loupe_component are data, which grow,
 *   although they have functions; those functions never change.
 * - A pointer is null only where its comment allows it; an array may also be null if its count is 0. A `context`
 *   belongs to its owner and may be null. Every pointer to a loupe_error may be null: then nobody reads the message.
 * - Enumerations grow too. A reader treats a value that it does not know as "other", skips what it cannot read and
 *   ignores unknown bits of a set of flags. `reserved` is 0.
 * - The headers declare types and constants and nothing that is linked, so C++ needs no `extern "C"` around them.
 * - Strings are UTF-8, NUL-terminated and borrowed for the call. A host replaces invalid UTF-8 in the strings it is
 *   given to show, so nobody else needs to check. What a component or module points at lives as long as it does. A
 *   function that fills a caller's buffer writes at most `capacity` and returns the full size, for a second call.
 * - NaN is a value that a model or a formula produced. It never stands for a missing number: a flag, a count of 0, or a
 *   status does.
 * - No exception crosses. A call that can fail returns a status and, when that is not LOUPE_OK, writes one sentence
 *   into the caller's loupe_error.
 * - A component is created, used and destroyed; destroy is the last call. After a call that failed it may still get
 *   any call but `process` and `event`.
 *
 * The life of a component. A word in brackets is its state during the call before it, one without is its state after:
 *   gatherer      create -> created -> open [opening] -> open -> event [in an event] ... -> destroy
 *   preprocessor  create -> created -> request -> open -> process, read, reset, save_state ... -> destroy
 *   lens          create -> created -> attach [attaching] -> attached
 *                 -> visit [visiting], step [stepping], report [reporting], forget ... -> destroy
 *   visualizer    create -> created -> begin -> begun -> begin_tick -> in a tick -> end_tick -> begun ...
 *                 -> end -> destroy
 * `begin` may come again if a run continues in another folder. "always" is any time from create to destroy.
 *
 * The line above each function is its contract. Tests check that it is there; LOUPE_CHECK=strict checks at run time
 * that it is kept.
 *   @thread   trainer: the thread that calls the inspector, and the thread that ticks.
 *             model: a thread that runs the model: its forwards, backwards and optimizer steps.
 *             display: the host's own thread that calls visualizers, never the trainer's or a model's. In a replay,
 *             which trains nothing, it is the thread that replays.
 *             any: any thread, also several at once.
 *             The trainer's and the model's thread may be the same. Calls on one lens never overlap, whatever their
 *             threads, and neither do calls on one visualizer, or calls on a gatherer and the preprocessors behind it.
 *             Two lenses, or two visualizers, may be called at once.
 *   @state    when it may be called.
 *   @reenter  which calls may come on the same thread before this one returns: for a component's function, calls on
 *             the same instance; for a host's function, calls that it makes into components.
 *   @owns     who owns what is passed.
 *   @since    the version of the ABI that added it.
 */
#pragma once

#include <loupe/abi/builtin.h>
#include <loupe/abi/component.h>
#include <loupe/abi/entry.h>
#include <loupe/abi/events.h>
#include <loupe/abi/findings.h>
#include <loupe/abi/gatherer.h>
#include <loupe/abi/lens.h>
#include <loupe/abi/modules.h>
#include <loupe/abi/options.h>
#include <loupe/abi/preprocessor.h>
#include <loupe/abi/run.h>
#include <loupe/abi/shown.h>
#include <loupe/abi/steps.h>
#include <loupe/abi/tensors.h>
#include <loupe/abi/visualizer.h>
