#pragma once

#include <string>

#include "loader/catalogue.h"
#include "options/option_set.h"

namespace loupe {

/// Why a gatherer cannot be opened on a module, found out by opening one on a module that has every parameter asked
/// for; empty where it can.
/// @param label  the parameter or attribute; null for none
std::string refusal_of(const CatalogueEntry& gatherer, const OptionSet& options, const char* label);

}  // namespace loupe
