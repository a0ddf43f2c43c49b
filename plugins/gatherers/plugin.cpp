#include "gatherers/attribute.h"
#include "gatherers/module_gatherers.h"
#include "gatherers/parameter_gatherers.h"
#include "gatherers/push.h"

LOUPE_PLUGIN("gatherers", "0.1.0", loupe::Forward, loupe::ForwardInput, loupe::OutputGradient, loupe::InputGradient,
             loupe::ParameterGradient, loupe::StepGradient, loupe::CallParameter, loupe::Tick, loupe::OptimizerStep,
             loupe::Attribute, loupe::Push);
