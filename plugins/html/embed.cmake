# Assembles the report's page and writes it as a C++ source.
# cmake -DOUTPUT=... -DDYGRAPHS=folder -DLICENCE=file -DPAGE=report.html -DBUNDLE=file-without-extension -P embed.cmake
cmake_minimum_required(VERSION 3.18)

file(READ ${PAGE} page)
file(READ ${DYGRAPHS}/dygraph.min.css dygraphs_styles)
file(READ ${DYGRAPHS}/dygraph.min.js dygraphs)
file(READ ${LICENCE} licence)
file(READ ${BUNDLE}.css styles)
file(READ ${BUNDLE}.js scripts)

# Remove links to source maps, which a report does not contain.
string(REGEX REPLACE "/[/*]# sourceMappingURL=[^\n]*" "" dygraphs "${dygraphs}")
string(REGEX REPLACE "/[/*]# sourceMappingURL=[^\n]*" "" dygraphs_styles "${dygraphs_styles}")
string(REPLACE "--" "- -" licence "${licence}")

foreach(text dygraphs dygraphs_styles styles scripts)
  if("${${text}}" MATCHES "</(script|style)")
    message(FATAL_ERROR "${text} would end its own element: it contains '</${CMAKE_MATCH_1}'.")
  endif()
endforeach()

string(REPLACE "@LICENCE@" "${licence}" page "${page}")
string(REPLACE "@STYLES@" "${dygraphs_styles}\n${styles}" page "${page}")
string(REPLACE "@DYGRAPHS@" "${dygraphs}" page "${page}")
string(REPLACE "@SCRIPTS@" "${scripts}" page "${page}")

string(FIND "${page}" "@DATA@" cut)
string(SUBSTRING "${page}" 0 ${cut} before)
math(EXPR cut "${cut} + 6")
string(SUBSTRING "${page}" ${cut} -1 after)

# Write an array of bytes: compilers need not accept string literals of this length.
function(write_bytes name text)
  file(WRITE ${OUTPUT}.part "${text}")
  file(READ ${OUTPUT}.part hexadecimal HEX)
  file(REMOVE ${OUTPUT}.part)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hexadecimal}")
  string(REPLACE "'\\x0a'," "'\\x0a',\n" bytes "${bytes}")
  file(APPEND ${OUTPUT} "constexpr char ${name}_BYTES[] = {${bytes}};\n"
                        "extern const std::string_view ${name};\n"
                        "const std::string_view ${name}(${name}_BYTES, sizeof ${name}_BYTES);\n")
endfunction()

file(WRITE ${OUTPUT} "#include <string_view>\nnamespace loupe::html {\n")
write_bytes(PAGE_BEFORE_DATA "${before}")
write_bytes(PAGE_AFTER_DATA "${after}")
file(APPEND ${OUTPUT} "}  // namespace loupe::html\n")
