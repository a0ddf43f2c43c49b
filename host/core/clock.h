#ifndef LOUPE_CORE_CLOCK_H
#define LOUPE_CORE_CLOCK_H

namespace loupe {

/// Seconds since 1970, UTC.
double wall_time();

}  // namespace loupe

#endif
