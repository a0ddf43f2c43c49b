#pragma once

namespace examples {

/// The path of data/digits.csv in the checkout that the examples were built from.
extern const char digits_file[];

}  // namespace examples
