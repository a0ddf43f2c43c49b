// The `loupe` command: lists and describes components, checks configurations, and shows recorded runs.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "command/commands.h"
#include "command/documents.h"
#include "command/tool.h"
#include "command/usage_error.h"
#include "core/text.h"
#include "loupe/config_error.h"
#include "loupe/version.h"
#include "pipeline/monitor.h"
#include "show/display.h"

namespace {

constexpr int exit_invalid = 2;

/// Remarks on a valid configuration, a line each.
std::string remarks_on(const loupe::Config& config) {
  std::string remarks;
  const auto remark = [&](const std::string& text) { remarks += config.file + ": note: " + text + "\n"; };
  if (config.text.rfind("loupe:", 0) != 0 && config.text.find("\nloupe:") == std::string::npos)
    remark("it does not say for which version it is written; begin it with 'loupe: 1'");
  const std::string folder = std::filesystem::path(config.run_directory).filename().string();
  if (config.has_run_directory && folder.find_first_not_of("0123456789") == std::string::npos && !folder.empty())
    remark("run.dir is a number, so the run goes into the folder '" + folder + "'");
  if (config.visualizers.empty())
    remark("no visualizer shows or stores the run; name some, for example: visualizers: [console, record, html]");
  return remarks;
}

int validate(const std::string& file, std::ostream& out) {
  const loupe::Monitor monitor(loupe::Config::from_file(file));
  for (const auto& lens : monitor.lenses()) {
    if (lens->quarantined()) return exit_invalid;  // the reason is in the log
  }
  const std::size_t lenses = monitor.config().lenses.size(), visualizers = monitor.config().visualizers.size();
  out << file << ": valid, " << lenses << (lenses == 1 ? " lens, " : " lenses, ") << visualizers
      << (visualizers == 1 ? " visualizer\n" : " visualizers\n") << remarks_on(monitor.config());
  return 0;
}

std::string version() {
  return std::string("loupe " LOUPE_VERSION "\nplugin ABI ") + std::to_string(LOUPE_ABI_MAJOR) + "." +
         std::to_string(LOUPE_ABI_MINOR) + "\nLibTorch " + loupe::libtorch_version();
}

/// Turns `loupe help COMMAND` into `loupe COMMAND --help`. Returns the new number of arguments.
int take_help(const CLI::App& app, int count, char** arguments) {
  static char option[] = "--help";
  if (count < 2 || std::string("help") != arguments[1]) return count;
  if (count > 2) arguments[1] = arguments[2];
  // With the option, CLI11 would not refuse an unknown command.
  const auto is_meant = [&](const CLI::App* command) { return command->get_name() == arguments[1]; };
  if (count > 2 && app.get_subcommands(is_meant).empty()) return 2;
  arguments[count > 2 ? 2 : 1] = option;
  return count > 2 ? 3 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("See what a LibTorch model does while it trains.");
  app.set_version_flag("--version", version());
  app.require_subcommand(1);
  app.footer("Plugins are searched in plugins.path of the YAML, in LOUPE_PLUGIN_PATH, and beside this installation.");

  std::vector<std::string> paths;
  std::string name, file;
  bool in_full = false;
  const auto add_plugins_option = [&](CLI::App& command) { loupe::add_plugins_option(command, paths); };
  auto* list = app.add_subcommand("list", "List all components");
  add_plugins_option(*list);
  list->add_flag("--long", in_full,
                 "Also print the file of each, and the description, author, license and homepage of every plugin");
  std::string loaded;
  list->add_option("--loaded", loaded,
                   "List what a run loaded instead, by its folder or record: components, plugins and drafts")
      ->type_name("FILE");
  auto* describe = app.add_subcommand("describe", "Describe a component: its options, what it gives, and an example");
  describe->add_option("name", name, "Name of the component in YAML; 'config' for the configuration itself")
      ->required()
      ->type_name("COMPONENT");
  bool as_schema = false;
  describe->add_flag("--schema", as_schema, "With 'config': print its JSON Schema, with all components, for editors");
  add_plugins_option(*describe);
  loupe::Explain explain;
  auto* explaining = explain.add_to(app);
  add_plugins_option(*explaining);
  auto* validating = app.add_subcommand("validate", "Check a configuration (exit code 2 if it has errors)");
  validating->add_option("file", file, "The YAML file")->required()->type_name("FILE");
  loupe::Check check;
  auto* checking = check.add_to(app);
  loupe::New making;
  auto* newly = making.add_to(app);
  loupe::Replay replay;
  auto* replaying = replay.add_to(app);
  add_plugins_option(*replaying);
  loupe::Merge merge;
  auto* merging = merge.add_to(app);
  add_plugins_option(*merging);
  loupe::Compare compare;
  auto* comparing = compare.add_to(app);
  add_plugins_option(*comparing);
  loupe::View view;
  auto* viewing = view.add_to(app);
  loupe::RunProgram run;
  auto* running = run.add_to(app);
  loupe::RunProgram trace;
  trace.traces = true;
  auto* tracing = trace.add_to(app);
  loupe::Diagnose diagnose;
  auto* diagnosing = diagnose.add_to(app);
  loupe::Learn learn;
  auto* learning = learn.add_to(app);
  // This command is hidden: it is for the build of Loupe.
  std::string date;
  auto* documenting = app.add_subcommand("document", "Write the manual's pages and the completion of shells");
  documenting->group("");
  documenting->add_option("folder", file, "Where to")->required()->type_name("FOLDER");
  documenting->add_option("--date", date, "Date on the pages, for example 2026-01-31")->required()->type_name("DATE");
  const int count = trace.take_program(run.take_program(take_help(app, argc, argv), argv), argv);
  return loupe::answer_command_line(app, count, argv, [&](loupe::Outputs& outputs) {
    auto& [out, unwrapped, errors] = outputs;
    if (validating->parsed()) return validate(file, out);
    if (running->parsed()) return run.run(errors);
    if (tracing->parsed()) return trace.run(errors);
    if (checking->parsed()) loupe::run_tool("check", argv + 2);
    if (viewing->parsed()) loupe::run_tool("view", argv + 2);
    if (diagnosing->parsed()) return diagnose.run(diagnose.as_json ? unwrapped : out, errors) ? 0 : 1;
    if (learning->parsed()) return learn.run(out, errors), 0;
    if (newly->parsed()) return making.run(out), 0;
    if (documenting->parsed()) {
      const std::vector<loupe::CommandHelp> commands = loupe::help_of_commands(app);
      loupe::write_manual(commands, date, file);
      loupe::write_completion(commands, file);
      return 0;
    }
    if (!loaded.empty()) return loupe::list_loaded(loaded, out), 0;
    const bool needs_all = list->parsed() || explaining->parsed() || as_schema;
    const loupe::Catalogue catalogue = loupe::standard_catalogue(paths, needs_all, errors);
    if (list->parsed()) {
      loupe::list_components(catalogue, in_full, out);
      if (in_full) loupe::list_plugins(catalogue, out);
      return 0;
    }
    if (explaining->parsed()) return explain.run(catalogue, paths, unwrapped, errors) ? 0 : exit_invalid;
    if (replaying->parsed()) return replay.run(catalogue, unwrapped, errors), 0;
    if (merging->parsed()) return merge.run(catalogue, paths, out, errors), 0;
    if (comparing->parsed()) return compare.run(catalogue, out, errors);
    if (as_schema && name != "config") throw loupe::UsageError("--schema is for 'config', not for '" + name + "'");
    if (as_schema) return loupe::write_schema(catalogue, unwrapped), 0;
    return loupe::describe_component(catalogue, name, out, errors) ? 0 : exit_invalid;
  });
}
