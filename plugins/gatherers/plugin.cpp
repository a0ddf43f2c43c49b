#include "gatherers/attribute.h"
#include "gatherers/module_gatherers.h"
#include "gatherers/parameter_gatherers.h"
#include "gatherers/push.h"
#include "gatherers/step_gatherers.h"

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"gatherers", "0.1.0", "The places that lenses take data from.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::Forward, loupe::ForwardInput, loupe::OutputGradient, loupe::InputGradient, loupe::LossInput,
                  loupe::ParameterGradient, loupe::StepGradient, loupe::CallParameter, loupe::AtTick,
                  loupe::OptimizerStep, loupe::Attribute, loupe::Push, loupe::StepTime, loupe::StepMemory);
