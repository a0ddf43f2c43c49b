#include <loupe/files/replacement.h>

#include <filesystem>

#include "command/rule_examples.h"
#include "command/told_commands.h"

namespace loupe {
namespace {

/// Prints the names of components, by what `loupe list` says.
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

/// Within single quotes, as bash and zsh read them.
std::string quoted(const std::string& text) {
  return "'" + replaced(text, "'", "'\\''") + "'";
}

std::vector<std::string> names_of_options(const ToldCommand& command) {
  std::vector<std::string> names;
  for (const ToldArgument& each : command.arguments)
    if (each.is_option()) names.insert(names.end(), each.names.begin(), each.names.end());
  return names;
}

/// What `loupe explain` can be asked, but for the plots, whose names have blanks in them.
std::string topics() {
  std::vector<std::string> names;
  for (const RuleExample& each : rule_examples()) names.emplace_back(each.rule);
  return joined(names);
}

// Of bash: what an argument's value may be, as a word for the function below.
std::string bash_value(const ToldArgument& argument) {
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

std::string bash_completion(const std::vector<ToldCommand>& commands) {
  std::string text = bash_begin, cases;
  std::vector<std::string> first;
  for (const ToldCommand& command : commands) {
    if (command.name.empty()) {
      for (const ToldArgument& each : command.arguments)
        first.insert(first.end(), each.names.begin(), each.names.end());
      continue;
    }
    first.push_back(command.name);
    std::vector<std::string> valued, places;
    for (const ToldArgument& each : command.arguments) {
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

/// What zsh calls for a value, behind "description:".
std::string zsh_action(const ToldArgument& argument) {
  if (!argument.choices.empty()) return "(" + joined(argument.choices) + ")";
  if (argument.value == "FILE") return "_files";
  if (argument.value == "FOLDER") return "_files -/";
  if (argument.value == "COMPONENT") return "_loupe_components";
  if (argument.value == "VISUALIZER") return "_loupe_visualizers";
  if (argument.value == "TOPIC") return "(" + topics() + ")";
  return " ";
}

/// A part of a specification of _arguments, in which brackets and colons mean something.
std::string zsh_text(const std::string& text) {
  return replaced(replaced(replaced(replaced(text, "\\", "\\\\"), "[", "\\["), "]", "\\]"), ":", "\\:");
}

std::string zsh_arguments(const ToldCommand& command) {
  std::string list;
  int place = 0;
  for (const ToldArgument& each : command.arguments) {
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

std::string zsh_completion(const std::vector<ToldCommand>& commands) {
  std::string text = "#compdef loupe\n# Completion of loupe for zsh; made by loupe itself.\n";
  for (const auto& [name, names] :
       {std::pair("components", component_names), std::pair("visualizers", visualizer_names)})
    text += std::string("_loupe_") + name + "() {\n  local -a names\n  names=(${(f)\"$(" + names +
            ")\"})\n  compadd -a names\n}\n";
  text += "_loupe() {\n  local -a commands\n  local state line\n  typeset -A opt_args\n  commands=(\n";
  std::string own, cases;
  for (const ToldCommand& command : commands) {
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

void write_completion(const std::vector<ToldCommand>& commands, const std::string& folder) {
  const std::pair<const char*, std::string> files[] = {{"loupe.bash", bash_completion(commands)},
                                                       {"_loupe", zsh_completion(commands)}};
  for (const auto& [name, text] : files) {
    Replacement file(std::filesystem::path(folder) / name);
    file.write(text);
    file.commit(false);
  }
}

}  // namespace loupe
