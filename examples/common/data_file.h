#pragma once

namespace examples {

/// data/digits.csv of the checkout that the examples were built from.
extern const char digits_file[];

}  // namespace examples
