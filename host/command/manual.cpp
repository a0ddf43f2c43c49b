#include <loupe/files/replacement.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "command/option_words.h"
#include "command/told_commands.h"
#include "config/sections.h"
#include "loupe/version.h"

namespace loupe {
namespace {

/// Text as man(7) reads it: a backslash is one, a hyphen is the one that is typed, and no line is taken for a request.
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

std::string page_name(const ToldCommand& command) {
  return command.name.empty() ? "loupe" : "loupe-" + command.name;
}

/// What `apropos` shows: the help up to where it goes into particulars, without a capital.
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

std::string synopsis_of(const ToldCommand& command) {
  std::string line = bold(command.name.empty() ? "loupe" : "loupe " + command.name) + " [" + italic("options") + "]";
  if (command.name.empty()) return line + " " + italic("command") + " ...\n";
  for (const ToldArgument& each : command.arguments) {
    if (each.is_option() && !each.required) continue;
    const std::string shown = each.is_option() ? bold(each.name()) + " " + italic(each.value) : italic(each.name());
    const std::string repeated = shown + (each.repeats && !each.is_option() ? " ..." : "");
    line += each.required ? " " + repeated : " [" + repeated + "]";
  }
  return line + "\n";
}

std::string argument_entry(const ToldArgument& argument) {
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

/// Commands as one types them, and what each does.
const Entries& examples_of(const std::string& command) {
  static const auto& all = *new std::map<std::string, Entries>{
      {"",
       {{"loupe run ./trainer", "Watches a trainer and writes loupe-runs/trainer/report.html."},
        {"loupe view loupe-runs", "Lists the runs in a browser."}}},
      {"list", {{"loupe list", "Lists every lens, visualizer, gatherer and preprocessor."}}},
      {"describe", {{"loupe describe health", "Tells the options of the lens 'health' and their defaults."}}},
      {"explain",
       {{"loupe explain dead_units", "Tells what the rule is, its thresholds, and what it follows from."},
        {"loupe explain 'Weight Norm'", "Tells what the plot shows, and what is healthy."}}},
      {"validate", {{"loupe validate loupe.yaml", "Says whether the configuration is right, and if not, where."}}},
      {"check", {{"loupe check build/my_lens.so", "Holds a plugin to the rules of the boundary."}}},
      {"new", {{"loupe new lens gradient_noise", "Makes the folder of a new lens with its test."}}},
      {"replay",
       {{"loupe replay loupe-runs/digits --visualizer html --out again", "Makes the report of a run anew."},
        {"loupe replay loupe-runs/digits/incident-412", "Tells the last steps before a finding."}}},
      {"merge", {{"loupe merge runs/digits", "Puts the ranks of a run together."}}},
      {"compare",
       {{"loupe compare runs", "Prints which of the runs in a folder is best, and what was different."},
        {"loupe compare runs --out compared", "Writes a report of all of them, too."}}},
      {"view",
       {{"loupe view runs", "Serves the list of the runs below a folder."},
        {"curl http://127.0.0.1:7175/api/runs", "Gets the same list as JSON while it is served."}}},
      {"run",
       {{"loupe run ./trainer --epochs 20", "Starts the trainer with its own arguments, and watches it."},
        {"loupe run --name first ./trainer", "Names the run."}}},
      {"trace", {{"loupe trace ./trainer", "Writes a few steps as a trace."}}},
      {"diagnose", {{"loupe diagnose loupe-runs/digits", "Says what was wrong with a past run."}}},
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

/// What every reader of a manual looks for at its end.
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
                            {"NO_COLOR", "Where it is set, nothing is printed in colors."}});
}

std::string page_of(const ToldCommand& command, const std::vector<ToldCommand>& all, const std::string& date) {
  std::string title = page_name(command);
  std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string page = ".TH " + escaped(title) + " 1 " + date + " \"Loupe " LOUPE_VERSION "\" \"Loupe\"\n.SH NAME\n" +
                     escaped(page_name(command)) + " \\- " + escaped(summary_of(command.help)) + "\n.SH SYNOPSIS\n" +
                     synopsis_of(command) + ".SH DESCRIPTION\n" + sentence(command.help) + "\n";
  if (!command.footer.empty()) page += ".PP\n" + sentence(command.footer) + "\n";
  const auto entries = [&](const char* heading, bool options) {
    std::string list;
    for (const ToldArgument& each : command.arguments)
      if (each.is_option() == options) list += argument_entry(each);
    if (!list.empty()) page += std::string(".SH ") + heading + "\n" + list;
  };
  entries("ARGUMENTS", false);
  entries("OPTIONS", true);
  std::string others;
  if (command.name.empty()) page += ".SH COMMANDS\n";
  for (const ToldCommand& each : all) {
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

/// The page of the configuration, by what the host declares of its keys, as `loupe describe config` tells it.
std::string configuration_page(const std::string& date) {
  std::string page = ".TH LOUPE.YAML 5 " + date +
                     " \"Loupe " LOUPE_VERSION
                     "\" \"Loupe\"\n.SH NAME\nloupe.yaml \\- what Loupe looks at, and who shows it\n.SH DESCRIPTION\n"
                     "A YAML file, which a trainer reads by its inspector, and " +
                     bold("loupe run") + " by " + bold("--config") +
                     ".\nIt may have any name. All keys may be left out but those of the components.\n";
  page += entry_list("KEYS", {{"loupe", "The version of this form, 1."},
                              {"lenses", "What to measure and judge: a list of names, or of names with their options"},
                              {"visualizers", "Who shows that: a list of the same form"},
                              {"plugins", "A map, in which path names folders and files to search for components"},
                              {"ranks",
                               "How the processes of a run are compared: auto, off, or a map with store, timeout and "
                               "show"},
                              {"on_error", "What a component that fails leads to: quarantine (the default) or stop"}});
  page += ".PP\n" + bold("loupe list") + " names all components, and " + bold("loupe describe NAME") +
          " tells the options of each, with an example.\n";
  page += ".SH OPTIONS OF EVERY LENS\n" + option_entries(lens_options());
  for (const auto& [section, table] : host_sections())
    page += ".SH THE MAP " + bold(section) + "\n" + option_entries(table);
  page +=
      ".SH EXAMPLES\n.nf\nlenses:\n  \\- health\n  \\- loss_metrics\n  \\- parameter_norm: {include: [+linear]}\n"
      "visualizers:\n  \\- console\n  \\- html\nrun: {name: digits, dir: runs/digits}\n.fi\n";
  page += entry_list("FILES", {{"report.html", "What the visualizer html writes, in the folder run.dir."},
                               {"record.jsonl", "What the visualizer record writes there."}});
  page += entry_list("ENVIRONMENT", {{"LOUPE_PLUGIN_PATH", "Searched for plugins after plugins.path."}});
  return page + ".SH SEE ALSO\n.BR loupe\\-describe (1) ,\n.BR loupe\\-validate (1) ,\n.BR loupe\\-run (1)\n";
}

}  // namespace

void write_manual(const std::vector<ToldCommand>& commands, const std::string& date, const std::string& folder) {
  for (const ToldCommand& each : commands) {
    Replacement file(std::filesystem::path(folder) / "man1" / (page_name(each) + ".1"));
    file.write(page_of(each, commands, date));
    file.commit(false);
  }
  Replacement file(std::filesystem::path(folder) / "man5" / "loupe.yaml.5");
  file.write(configuration_page(date));
  file.commit(false);
}

}  // namespace loupe
