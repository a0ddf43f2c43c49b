# Writes the files of the page of `loupe view` as a C++ source.
# cmake -DOUTPUT=file -DFILES=files -P embed.cmake
cmake_minimum_required(VERSION 3.18)
set(source "#include \"view/server.h\"\n\nnamespace loupe::view {\n\n")
string(APPEND source "const std::map<std::string, std::string>& page_files() {\n")
string(APPEND source "  static const std::map<std::string, std::string> files = {\n")
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} text)
  string(APPEND source "      {\"${name}\", R\"LOUPE(${text})LOUPE\"},\n")
endforeach()
file(WRITE ${OUTPUT} "${source}  };\n  return files;\n}\n\n}  // namespace loupe::view\n")
