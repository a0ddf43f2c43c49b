#include "command/documents.h"

#include <loupe/draft/abi/option_names.h>
#include <loupe/files/replacement.h>
#include <loupe/text/number_text.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "command/rule_examples.h"
#include "config/sections.h"
#include "core/text.h"
#include "loader/kind.h"
#include "loupe/version.h"
#include "options/option_set.h"
#include "run/program_section.h"

namespace loupe {
namespace {

ArgumentHelp help_of_argument(const CLI::Option& option) {
  ArgumentHelp help;
  for (const std::string& each : option.get_snames()) help.names.push_back("-" + each);
  for (const std::string& each : option.get_lnames()) help.names.push_back("--" + each);
  if (help.names.empty()) help.names.push_back(option.get_name(true));
  help.help = option.get_description();
  help.required = option.get_required();
  const bool is_flag = option.get_items_expected_max() == 0;
  if (is_flag) return help;
  help.repeats = option.get_expected_max() >= CLI::detail::expected_max_vector_size;
  help.default_value = option.get_default_str();
  // The check follows the type: "TEXT:{yes,no}", "INT:INT in [1 - 1000]".
  help.value = option.get_type_name();
  const auto open = help.value.find('{'), close = help.value.find('}');
  if (open != std::string::npos && close != std::string::npos) {
    std::istringstream list(help.value.substr(open + 1, close - open - 1));
    for (std::string each; std::getline(list, each, ',');) help.choices.push_back(each);
  }
  help.value = help.value.substr(0, help.value.find(':'));
  return help;
}

CommandHelp help_of_command(const CLI::App& app, const std::string& name) {
  CommandHelp help{name, app.get_description(), app.get_footer(), {}};
  for (const bool positional : {true, false}) {
    for (const CLI::Option* each : app.get_options())
      if (each->nonpositional() != positional) help.arguments.push_back(help_of_argument(*each));
  }
  return help;
}

}  // namespace

std::vector<std::pair<std::string, OptionTable>> all_sections() {
  auto all = host_sections();
  all.insert(all.end() - 1, {"run_program", run_program_options()});
  return all;
}

std::vector<CommandHelp> help_of_commands(const CLI::App& app) {
  std::vector<CommandHelp> help = {help_of_command(app, "")};
  for (const CLI::App* each : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!each->get_group().empty()) help.push_back(help_of_command(*each, each->get_name()));
  return help;
}

const char* type_word(const loupe_option& option) {
  switch (option.type) {
    case LOUPE_TYPE_BOOLEAN:
      return "boolean";
    case LOUPE_TYPE_INTEGER:
      return "integer";
    case LOUPE_TYPE_NUMBER:
      return "number";
    case LOUPE_TYPE_STRING:
      return "text";
    case LOUPE_TYPE_STRINGS:
      return "list";
    default:
      return "map";
  }
}

std::string limit_words(const loupe_option& option, const loupe_option* named) {
  std::ostringstream text;
  if (option.choice_count > many_names) {
    text << "; one of those below";
  } else if (option.choice_count > 0) {
    text << "; one of";
    for (std::size_t i = 0; i < option.choice_count; ++i) text << (i == 0 ? " " : ", ") << option.choices[i];
  }
  if (const auto kind = kind_named_by(option)) text << "; the name of a " << kind_name(*kind);
  if ((option.flags & LOUPE_DRAFT_OPTION_OPTIONS) != 0 && named != nullptr) text << "; the options of " << named->name;
  if (has_minimum(option)) text << "; at least " << number_text(option.minimum);
  if (has_maximum(option)) text << "; at most " << number_text(option.maximum);
  return text.str();
}

std::string default_words(const loupe_option& option) {
  if ((option.flags & LOUPE_OPTION_REQUIRED) != 0) return "required";
  const YAML::Node value = OptionSet::default_of(option);
  YAML::Emitter text;
  text << YAML::Flow;
  if (value.IsScalar() && option.type == LOUPE_TYPE_STRING) text << YAML::DoubleQuoted;
  text << value;
  return std::string("default ") + text.c_str();
}

namespace {

/// Escapes text for man(7): backslashes and hyphens stay as they were typed, and no line is taken for a request.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char each : text) {
    if (each == '\\') {
      result += "\\e";
    } else if (each == '-') {
      result += "\\-";
    } else if (each == '\'') {
      result += "\\(aq";
    } else {
      result += each;
    }
  }
  return result.empty() || result[0] != '.' ? result : "\\&" + result;
}

std::string bold(const std::string& text) {
  return "\\fB" + escaped(text) + "\\fR";
}
std::string italic(const std::string& text) {
  return "\\fI" + escaped(text) + "\\fR";
}

std::string page_name(const CommandHelp& command) {
  return command.name.empty() ? "loupe" : "loupe-" + command.name;
}

/// The summary that `apropos` shows: the help up to its details, without a capital.
std::string summary_of(const std::string& help) {
  std::string summary = help.substr(0, std::min({help.find(": "), help.find("; "), help.find(", "), help.size()}));
  if (summary.back() == '.') summary.pop_back();
  summary[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(summary[0])));
  return summary;
}

/// A sentence, with its stop.
std::string sentence(const std::string& text) {
  return escaped(text) + (text.empty() || text.back() == '.' ? "" : ".");
}

std::string synopsis_of(const CommandHelp& command) {
  std::string line = bold(command.name.empty() ? "loupe" : "loupe " + command.name) + " [" + italic("options") + "]";
  if (command.name.empty()) return line + " " + italic("command") + " ...\n";
  for (const ArgumentHelp& each : command.arguments) {
    if (each.is_option() && !each.required) continue;
    const std::string shown = each.is_option() ? bold(each.name()) + " " + italic(each.value) : italic(each.name());
    const std::string repeated = shown + (each.repeats && !each.is_option() ? " ..." : "");
    line += each.required ? " " + repeated : " [" + repeated + "]";
  }
  return line + "\n";
}

std::string argument_entry(const ArgumentHelp& argument) {
  std::string names;
  for (const std::string& each : argument.names)
    names += (names.empty() ? "" : ", ") + (argument.is_option() ? bold(each) : italic(each));
  std::string value;
  for (const std::string& each : argument.choices) value += (value.empty() ? "" : "|") + bold(each);
  if (value.empty()) value = italic(argument.value);
  const bool shows_value = argument.takes_value() && (argument.is_option() || !argument.choices.empty());
  std::string entry = ".TP\n" + names + (shows_value ? " " + value : "") + "\n" + sentence(argument.help) + "\n";
  if (!argument.default_value.empty()) entry += "Default: " + escaped(argument.default_value) + ".\n";
  return entry;
}

using Entries = std::vector<std::pair<const char*, const char*>>;

/// Example commands, each with a description.
const Entries& examples_of(const std::string& command) {
  static const auto& all = *new std::map<std::string, Entries>{
      {"",
       {{"loupe run ./trainer", "Watches a trainer and writes loupe-runs/trainer/report.html."},
        {"loupe view loupe-runs", "Lists the runs in a browser."}}},
      {"list",
       {{"loupe list", "Lists every lens, visualizer, gatherer and preprocessor."},
        {"loupe list --loaded runs/digits", "Lists what that run loaded: components, plugins and drafts."}}},
      {"describe", {{"loupe describe health", "Prints the options of the lens 'health' and their defaults."}}},
      {"explain",
       {{"loupe explain dead_units", "Explains the rule, its thresholds, and its possible causes."},
        {"loupe explain 'Weight Norm'", "Explains what the plot shows, and what is healthy."}}},
      {"validate", {{"loupe validate loupe.yaml", "Checks the configuration and lists its errors."}}},
      {"check", {{"loupe check build/my_lens.so", "Checks a plugin against the rules of the boundary."}}},
      {"new", {{"loupe new lens gradient_noise", "Creates the folder of a new lens with its test."}}},
      {"replay",
       {{"loupe replay loupe-runs/digits --visualizer html --out again", "Makes the report of a run again."},
        {"loupe replay loupe-runs/digits/incident-412", "Shows the last steps before a finding."}}},
      {"merge", {{"loupe merge runs/digits", "Merges the ranks of a run."}}},
      {"compare",
       {{"loupe compare runs", "Prints which run in a folder is best, and the differences."},
        {"loupe compare runs --out compared", "Writes a report of all of them, too."}}},
      {"view",
       {{"loupe view runs", "Serves the list of the runs below a folder."},
        {"curl http://127.0.0.1:7175/api/runs", "Gets the same list as JSON while it is served."}}},
      {"run",
       {{"loupe run ./trainer --epochs 20", "Starts the trainer with its own arguments, and watches it."},
        {"loupe run --name first ./trainer", "Names the run."}}},
      {"trace", {{"loupe trace ./trainer", "Writes a few steps as a trace."}}},
      {"diagnose", {{"loupe diagnose loupe-runs/digits", "Prints the problems of a past run."}}},
      {"learn", {{"loupe learn runs/* --out good.json", "Learns what good runs are like."}}},
  };
  static const Entries& none = *new Entries;
  const auto found = all.find(command);
  return found == all.end() ? none : found->second;
}

bool makes_runs(const std::string& command) {
  return command.empty() || command == "run" || command == "trace";
}

std::string entry_list(const char* heading, const Entries& entries) {
  std::string list;
  for (const auto& [term, meaning] : entries) list += ".TP\n" + bold(term) + "\n" + sentence(meaning) + "\n";
  return list.empty() ? "" : std::string(".SH ") + heading + "\n" + list;
}

/// The sections that readers expect at the end of a manual page.
std::string last_sections(const std::string& command) {
  std::string text = entry_list("EXAMPLES", examples_of(command));
  if (makes_runs(command)) {
    text += entry_list("FILES", {{"loupe-runs/NAME/record.jsonl", "All numbers of a run, a line of JSON each."},
                                 {"loupe-runs/NAME/report.html", "The report, which opens offline in a browser."},
                                 {"loupe-runs/NAME/incident-STEP", "The last steps before a finding."}});
  }
  if (command == "view") {
    text += entry_list("FILES", {{"RUN/notes.json", "The tags and the note of a run, and whether it is archived."}});
  }
  return text + entry_list("ENVIRONMENT",
                           {{"LOUPE_PLUGIN_PATH", "Folders and files to search for plugins, with colons between."},
                            {"NO_COLOR", "If it is set, nothing is printed in colors."}});
}

std::string page_of(const CommandHelp& command, const std::vector<CommandHelp>& all, const std::string& date) {
  std::string title = page_name(command);
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string page = ".TH " + escaped(title) + " 1 " + date + " \"Loupe " LOUPE_VERSION "\" \"Loupe\"\n.SH NAME\n" +
                     escaped(page_name(command)) + " \\- " + escaped(summary_of(command.help)) + "\n.SH SYNOPSIS\n" +
                     synopsis_of(command) + ".SH DESCRIPTION\n" + sentence(command.help) + "\n";
  if (!command.footer.empty()) page += ".PP\n" + sentence(command.footer) + "\n";
  const auto entries = [&](const char* heading, bool options) {
    std::string list;
    for (const ArgumentHelp& each : command.arguments)
      if (each.is_option() == options) list += argument_entry(each);
    if (!list.empty()) page += std::string(".SH ") + heading + "\n" + list;
  };
  entries("ARGUMENTS", false);
  entries("OPTIONS", true);
  std::string others;
  if (command.name.empty()) page += ".SH COMMANDS\n";
  for (const CommandHelp& each : all) {
    if (command.name.empty() && !each.name.empty())
      page += ".TP\n" + bold(each.name) + "\n" + sentence(each.help) + "\n";
    if (each.name != command.name) others += (others.empty() ? ".BR " : " ,\n.BR ") + escaped(page_name(each)) + " (1)";
  }
  page += last_sections(command.name);
  return page + ".SH SEE ALSO\n" + others + " ,\n.BR loupe.yaml (5)\n";
}

std::string option_entries(const OptionTable& table) {
  std::string list;
  for (const loupe_option* option : table)
    list += ".TP\n" + bold(option->name) + " (" + escaped(type_word(*option)) + ", " +
            escaped(default_words(*option) + limit_words(*option, nullptr)) + ")\n" + sentence(option->help) + "\n";
  return list;
}

/// The page of the configuration's keys, as the host declares them and `loupe describe config` prints them.
std::string configuration_page(const std::string& date) {
  std::string page = ".TH LOUPE.YAML 5 " + date +
                     " \"Loupe " LOUPE_VERSION
                     "\" \"Loupe\"\n.SH NAME\nloupe.yaml \\- what Loupe measures, and what shows it\n.SH DESCRIPTION\n"
                     "A YAML file, which a trainer reads by its inspector, and " +
                     bold("loupe run") + " by " + bold("--config") +
                     ".\nIt may have any name. All keys may be left out but those of the components.\n";
  page += entry_list("KEYS", {{"loupe", "The version of this form, 1."},
                              {"lenses", "What to measure and judge: a list of names, or of names with their options"},
                              {"visualizers", "What shows that: a list of the same form"},
                              {"plugins", "A map, in which path names folders and files to search for components"},
                              {"ranks",
                               "How the processes of a run are compared: auto, off, or a map with store, timeout and "
                               "show"},
                              {"on_error", "The reaction to a failed component: quarantine (the default) or stop"}});
  page += ".PP\n" + bold("loupe list") + " names all components, and " + bold("loupe describe NAME") +
          " prints the options of each, with an example.\n";
  page += ".SH OPTIONS OF EVERY LENS\n" + option_entries(lens_options());
  for (const auto& [section, table] : all_sections())
    page += ".SH THE MAP " + bold(section) + "\n" + option_entries(table);
  page +=
      ".SH EXAMPLES\n.nf\nlenses:\n  \\- health\n  \\- loss_metrics\n  \\- parameter_norm: {include: [+linear]}\n"
      "visualizers:\n  \\- console\n  \\- html\nrun: {name: digits, dir: runs/digits}\n.fi\n";
  page += entry_list("FILES", {{"report.html", "The report of the visualizer html, in the folder run.dir."},
                               {"record.jsonl", "The record of the visualizer record, in the same folder."}});
  page += entry_list("ENVIRONMENT", {{"LOUPE_PLUGIN_PATH", "Searched for plugins after plugins.path."}});
  return page + ".SH SEE ALSO\n.BR loupe\\-describe (1) ,\n.BR loupe\\-validate (1) ,\n.BR loupe\\-run (1)\n";
}

}  // namespace

void write_manual(const std::vector<CommandHelp>& commands, const std::string& date, const std::string& folder) {
  for (const CommandHelp& each : commands) {
    Replacement file(std::filesystem::path(folder) / "man1" / (page_name(each) + ".1"));
    file.write(page_of(each, commands, date));
    file.commit(false);
  }
  Replacement file(std::filesystem::path(folder) / "man5" / "loupe.yaml.5");
  file.write(configuration_page(date));
  file.commit(false);
}

namespace {

/// Prints the names of components, from the output of `loupe list`.
constexpr const char* component_names = R"(loupe list 2>/dev/null | sed -n "s/^  \([a-z0-9_]\{1,\}\)  .*/\1/p")";
constexpr const char* visualizer_names =
    R"(loupe list 2>/dev/null | sed -n "/^visualizers/,/^preprocessors/s/^  \([a-z0-9_]\{1,\}\)  .*/\1/p")";

std::string joined(const std::vector<std::string>& words, const std::string& between = " ") {
  std::string result;
  for (const std::string& each : words) result += (result.empty() ? "" : between) + each;
  return result;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

/// Puts a text into single quotes, as bash and zsh read them.
std::string quoted(const std::string& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}

std::vector<std::string> names_of_options(const CommandHelp& command) {
  std::vector<std::string> names;
  for (const ArgumentHelp& each : command.arguments)
    if (each.is_option()) names.insert(names.end(), each.names.begin(), each.names.end());
  return names;
}

/// The arguments of `loupe explain`, except plots, whose names contain blanks.
std::string topics() {
  std::vector<std::string> names;
  for (const RuleExample& each : rule_examples()) names.emplace_back(each.rule);
  return joined(names);
}

/// The kind of an argument's value, as a word for the function below.
std::string bash_value(const ArgumentHelp& argument) {
  return argument.choices.empty() ? argument.value : joined(argument.choices, ",");
}

constexpr const char* bash_begin = R"(# Completion of loupe for bash; made by loupe itself.
_loupe() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local options='' valued='' places=() value='' place=0 each
  COMPREPLY=()
  # --option=value comes as three words.
  if [[ $word == '=' ]]; then
    word=''
  elif [[ $before == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if ((COMP_CWORD == 1)); then
)";
constexpr const char* bash_end = R"(    *) return ;;
  esac
  # Which of the places of arguments this is, and whether it belongs to a program that loupe starts.
  for ((each = 2; each < COMP_CWORD; ++each)); do
    case ${COMP_WORDS[each]} in
      --)
        [[ ${places[0]-} == PROGRAM ]] && ((++each)) && place=1
        break
        ;;
      -*) [[ " $valued " == *" ${COMP_WORDS[each]}="* ]] && ((++each)) && [[ ${COMP_WORDS[each]} == '=' ]] && ((++each)) ;;
      *)
        ((++place))
        [[ ${places[0]-} == PROGRAM ]] && break
        ;;
    esac
  done
  if ((place > 0)) && [[ ${places[0]-} == PROGRAM ]]; then
    if declare -F _command_offset >/dev/null; then _command_offset "$each"; else compopt -o default 2>/dev/null; fi
    return
  fi
  for each in $valued; do
    if [[ $before == "${each%%=*}" ]]; then value=${each#*=}; fi
  done
  if [[ -z $value && $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    return
  fi
  if [[ -z $value && ${#places[@]} -gt 0 ]]; then
    # The last place may be taken again.
    value=${places[place < ${#places[@]} ? place : ${#places[@]} - 1]}
  fi
  case $value in
    FILE) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
    FOLDER) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$word") ;;
    PROGRAM)
      if [[ $word == */* ]]; then
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
      else
        mapfile -t COMPREPLY < <(compgen -c -- "$word")
      fi
      ;;
)";

std::string bash_completion(const std::vector<CommandHelp>& commands) {
  std::string text = bash_begin, cases;
  std::vector<std::string> first;
  for (const CommandHelp& command : commands) {
    if (command.name.empty()) {
      for (const ArgumentHelp& each : command.arguments)
        first.insert(first.end(), each.names.begin(), each.names.end());
      continue;
    }
    first.push_back(command.name);
    std::vector<std::string> valued, places;
    for (const ArgumentHelp& each : command.arguments) {
      if (!each.is_option()) places.push_back(bash_value(each));
      if (each.is_option() && each.takes_value())
        for (const std::string& name : each.names) valued.push_back(name + "=" + bash_value(each));
    }
    cases += "    " + command.name + ")\n      options='" + joined(names_of_options(command)) + "'\n";
    if (!valued.empty()) cases += "      valued='" + joined(valued) + "'\n";
    if (!places.empty()) cases += "      places=('" + joined(places, "' '") + "')\n";
    cases += "      ;;\n";
  }
  text += "    mapfile -t COMPREPLY < <(compgen -W '" + joined(first) + "' -- \"$word\")\n    return\n  fi\n";
  text += "  case ${COMP_WORDS[1]} in\n" + cases + bash_end;
  text += std::string("    COMPONENT) mapfile -t COMPREPLY < <(compgen -W \"config $(") + component_names +
          ")\" -- \"$word\") ;;\n    VISUALIZER) mapfile -t COMPREPLY < <(compgen -W \"$(" + visualizer_names +
          ")\" -- \"$word\") ;;\n    TOPIC) mapfile -t COMPREPLY < <(compgen -W '" + topics() +
          "' -- \"$word\") ;;\n    [a-z]*) mapfile -t COMPREPLY < <(compgen -W \"${value//,/ }\" -- \"$word\") ;;\n  "
          "esac\n}\n"
          "complete -F _loupe loupe\n";
  return text;
}

/// The action by which zsh completes a value, which follows "description:".
std::string zsh_action(const ArgumentHelp& argument) {
  if (!argument.choices.empty()) return "(" + joined(argument.choices) + ")";
  if (argument.value == "FILE") return "_files";
  if (argument.value == "FOLDER") return "_files -/";
  if (argument.value == "COMPONENT") return "_loupe_components";
  if (argument.value == "VISUALIZER") return "_loupe_visualizers";
  if (argument.value == "TOPIC") return "(" + topics() + ")";
  return " ";
}

/// A part of a specification of _arguments, in which brackets and colons are special.
std::string zsh_text(const std::string& text) {
  return replaced(replaced(replaced(replaced(text, "\\", "\\\\"), "[", "\\["), "]", "\\]"), ":", "\\:");
}

std::string zsh_arguments(const CommandHelp& command) {
  std::string list;
  int place = 0;
  for (const ArgumentHelp& each : command.arguments) {
    const auto add = [&](const std::string& specification) { list += " \\\n        " + quoted(specification); };
    const std::string value = each.takes_value() ? ":" + zsh_text(each.value) + ":" + zsh_action(each) : "";
    if (each.value == "PROGRAM") {
      add("(-)1:program: _command_names -e");
      add("*::arguments: _normal");
    } else if (!each.is_option()) {
      const std::string where = each.repeats ? "*" : std::to_string(++place);
      add(where + ":" + zsh_text(each.names.front()) + ":" + zsh_action(each));
    } else {
      for (const std::string& name : each.names)
        add((each.repeats ? "*" : "(" + joined(each.names) + ")") + name +
            (each.takes_value() && name[1] == '-' ? "=" : "") + "[" + zsh_text(each.help) + "]" + value);
    }
  }
  return list;
}

std::string zsh_completion(const std::vector<CommandHelp>& commands) {
  std::string text = "#compdef loupe\n# Completion of loupe for zsh; made by loupe itself.\n";
  for (const auto& [name, names] :
       {std::pair("components", component_names), std::pair("visualizers", visualizer_names)})
    text += std::string("_loupe_") + name + "() {\n  local -a names\n  names=(${(f)\"$(" + names +
            ")\"})\n  compadd -a names\n}\n";
  text += "_loupe() {\n  local -a commands\n  local state line\n  typeset -A opt_args\n  commands=(\n";
  std::string own, cases;
  for (const CommandHelp& command : commands) {
    if (command.name.empty()) {
      own = zsh_arguments(command);
      continue;
    }
    text += "    " + quoted(command.name + ":" + replaced(command.help, ":", "\\:")) + "\n";
    cases += "    " + command.name + ")\n      _arguments -S" + zsh_arguments(command) + "\n      ;;\n";
  }
  return text + "  )\n  _arguments -C" + own +
         " \\\n        '1:command:->command' \\\n        '*::argument:->argument' && return\n"
         "  case $state in\n  command) _describe command commands ;;\n  argument)\n    case $words[1] in\n" +
         cases +
         "    esac\n    ;;\n  esac\n}\n"
         "if [[ $funcstack[1] == _loupe ]]; then _loupe \"$@\"; else compdef _loupe loupe; fi\n";
}

}  // namespace

void write_completion(const std::vector<CommandHelp>& commands, const std::string& folder) {
  const std::pair<const char*, std::string> files[] = {{"loupe.bash", bash_completion(commands)},
                                                       {"_loupe", zsh_completion(commands)}};
  for (const auto& [name, text] : files) {
    Replacement file(std::filesystem::path(folder) / name);
    file.write(text);
    file.commit(false);
  }
}

}  // namespace loupe
