#include "record/run_player.h"

#include <loupe/error.h>
#include <yaml-cpp/exceptions.h>

#include <deque>
#include <vector>

#include "config/settings.h"
#include "config/yaml_text.h"
#include "loupe/config_error.h"

namespace loupe::replay {
namespace {

/// Calls `use` with the run as its record describes it, for the time of the call.
template <class Use>
void lend_run(const RecordedRun& run, const std::string& name, Use&& use) {
  std::vector<const char*> lenses;
  for (const std::string& lens : run.lenses) lenses.push_back(lens.c_str());
  const std::string config = bounded_config(run);
  settings_of(config).lend([&](const loupe_options* settings) {
    use(loupe_run{.struct_size = sizeof(loupe_run),
                  .flags = run.resumed ? uint32_t{LOUPE_RUN_RESUMED} : 0u,
                  .name = name.c_str(),
                  .directory = run.directory.c_str(),
                  .config = config.c_str(),
                  .loupe_version = run.loupe_version.c_str(),
                  .framework_version = run.framework_version.c_str(),
                  .started = run.started.c_str(),
                  .start_time = run.start_time,
                  .rank = run.rank,
                  .world_size = run.world_size,
                  .train_loss = run.train_loss.c_str(),
                  .validation_loss = run.validation_loss.c_str(),
                  .settings = settings,
                  .lenses = lenses.data(),
                  .lens_count = lenses.size(),
                  .framework = run.framework.c_str()});
  });
}

}  // namespace

std::string bounded_config(const RecordedRun& run) {
  Diagnostics diagnostics("config");
  try {
    check_yaml_bounds(run.config, diagnostics);
  } catch (const ConfigError& e) {
    return std::string("# left out of the record, because Loupe would refuse it: ") + e.what();
  } catch (const YAML::Exception&) {
    // A text that is not YAML does no harm.
  }
  return run.config;
}

void RunPlayer::set_editor(TickEditor& editor) {
  editor_ = &editor;
  visualizers_.set_editor(&editor);
}

std::string RunPlayer::play(const std::string& name, const std::string& directory, std::uint32_t flags) {
  name_ = name;
  lend_run(record().run(), name, [&](loupe_run told) {
    told.flags |= flags;
    visualizers_.set_run(told);
    told.directory = directory.c_str();
    visualizers_.begin(told);
  });
  RecordLine line;
  while (record().next(line)) {
    if (on_line_) on_line_(line);
    take(line);
  }
  show_last_events();
  if (editor_ != nullptr) editor_->end(ending().has_value());
  visualizers_.flush();
  if (ending()) visualizers_.end(message_of<loupe_ending>(*ending()));
  return left_out();
}

void RunPlayer::take_run() {
  if (is_in_epoch()) record().fail("a run continues here, before the end of epoch " + epoch_text(epoch()));
  show_events();
  findings().go_on();
  lend_run(parse_run_line(record().text()), name_, [&](loupe_run told) {
    told.flags = LOUPE_RUN_RESUMED;
    visualizers_.set_run(told);
  });
}

template <class Parse>
auto RunPlayer::parsed(Parse&& parse) const {
  try {
    return parse(record().text());
  } catch (const Error& e) {
    record().fail(e.what());
  }
}

void RunPlayer::take_model() {
  show_events();
  const RecordedModel recorded = parsed(parse_model_line);
  std::deque<loupe_parameter> parameters;
  std::deque<std::vector<const loupe_parameter*>> parameter_pointers;
  std::deque<loupe_module> modules;
  std::vector<const loupe_module*> pointers;
  loupe_model model{.struct_size = sizeof(loupe_model),
                    .name = recorded.name.c_str(),
                    .type = recorded.type.c_str(),
                    .parameter_element_count = recorded.parameters,
                    .own_name = ""};
  for (const RecordedModel::Module& each : recorded.modules) {
    std::vector<const loupe_parameter*>& own = parameter_pointers.emplace_back();
    for (const RecordedModel::Parameter& parameter : each.parameters) {
      const auto dimensions = static_cast<int64_t>(parameter.sizes.size());
      parameters.push_back({.struct_size = sizeof(loupe_parameter),
                            .name = "",
                            .dim = dimensions,
                            .numel = parameter.elements,
                            .sizes = parameter.sizes.data()});
      own.push_back(&parameters.back());
    }
    loupe_module module{};
    module.struct_size = sizeof module;
    module.flags = each.leaf ? LOUPE_MODULE_LEAF : 0;
    module.name = module.path = each.name.c_str();
    module.model = &model;
    module.type = module.full_type = each.type.c_str();
    module.parameters = own.data();
    module.parameter_count = own.size();
    modules.push_back(module);
    pointers.push_back(&modules.back());
  }
  model.modules = pointers.data();
  model.module_count = pointers.size();
  visualizers_.model(model);
}

void RunPlayer::take_hyperparameter() {
  show_events();
  const RecordedSetting setting = parsed(parse_hyperparameter_line);
  std::vector<const char*> strings;
  for (const std::string& each : setting.strings) strings.push_back(each.c_str());
  visualizers_.hyperparameter({.struct_size = sizeof(loupe_option_value),
                               .type = setting.type,
                               .name = setting.name.c_str(),
                               .integer = setting.integer,
                               .number = setting.number,
                               .string = setting.type == LOUPE_TYPE_STRING ? setting.string.c_str() : nullptr,
                               .strings = strings.data(),
                               .string_count = strings.size()});
}

}  // namespace loupe::replay
