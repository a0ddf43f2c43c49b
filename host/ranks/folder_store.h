#pragma once

#include <string>

#include "ranks/rank_store.h"

namespace loupe {

/// A store in the folder `name` of `parent`: each message is a file, which appears whole by a rename, so that nobody
/// waits for a lock. Both folders are made where they are not there. That of the messages must be this user's alone
/// (mode 0700) and no link, or opening it throws Error.
OpenRankStore store_in_folder(const std::string& parent, const std::string& name);

/// Where processes of this machine meet: $XDG_RUNTIME_DIR where that is a folder of this user's, else the folder for
/// temporary files.
std::string parent_of_meeting_folder();

}  // namespace loupe
