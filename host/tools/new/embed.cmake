# Writes the templates of `loupe new` as a C++ source.
# cmake -DOUTPUT=file -DFOLDER=host/tools/new -DTEMPLATES=names -P embed.cmake
cmake_minimum_required(VERSION 3.18)
set(source "#include <map>\n#include <string>\n\nnamespace loupe {\n\n")
string(APPEND source "const std::map<std::string, std::string>& new_templates() {\n")
string(APPEND source "  static const std::map<std::string, std::string> templates = {\n")
foreach(name ${TEMPLATES})
  file(READ ${FOLDER}/${name} text)
  string(APPEND source "      {\"${name}\", R\"LOUPE(${text})LOUPE\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${source}  };\n  return templates;\n}\n\n}  // namespace loupe\n")
