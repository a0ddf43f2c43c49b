// Uses the classes that libloupe_host.so gives to programs, so that its debug information has their layouts.

#include <loupe/config_error.h>
#include <loupe/difference_monitor.h>
#include <loupe/inspector.h>
#include <loupe/log.h>
#include <loupe/loops.h>
#include <loupe/recorders.h>
#include <loupe/reducers.h>
#include <loupe/register_plugin.h>

LOUPE_API void errors(loupe::ConfigError, loupe::LogLevel) {}
LOUPE_API void inspector(loupe::Inspector&, loupe::Epochs&, loupe::Steps&, loupe::Epochs::Iterator&,
                         loupe::Steps::Iterator&) {}
LOUPE_API void differences(loupe::DifferenceMonitor&, loupe::DifferenceSettings&) {}
LOUPE_API void recorders(loupe::recorders::Settings&, loupe::recorders::Select&, loupe::recorders::ForwardPre&,
                         loupe::recorders::ForwardInput&, loupe::recorders::ForwardOutput&,
                         loupe::recorders::BackwardInput&, loupe::recorders::BackwardOutput&) {}
LOUPE_API void reducers(loupe::Reducer&, loupe::reducers::Passthrough&, loupe::reducers::Event&,
                        loupe::reducers::ExponentialAverage&, loupe::reducers::CumulativeAverage&,
                        loupe::reducers::Sum&, loupe::reducers::Minimum&, loupe::reducers::Maximum&) {}
