#include "preprocessors/activation.h"
#include "preprocessors/geometry.h"
#include "preprocessors/losses.h"
#include "preprocessors/norms.h"
#include "preprocessors/parameter_condition.h"

LOUPE_PLUGIN_WITH((loupe::PluginInfo{"preprocessors", LOUPE_VERSION,
                                     "Preprocessors that turn tensors and pushed values into numbers.",
                                     "the authors of Loupe", "MIT"}),
                  loupe::OutputActivation, loupe::OutputNorm, loupe::GradientActivation, loupe::GradientGeometry,
                  loupe::OutputGradientGeometry, loupe::ParameterDifferenceGeometry, loupe::ParameterNorm,
                  loupe::ParameterCondition, loupe::LossModule, loupe::ExplicitCall);
