#!/usr/bin/env bash
# Checks that the lenses printed in README.md and in the SDK's page compile outside of Loupe
# and pass `loupe check`.
#   lens_compiles.sh PROJECT COMPILER LOUPE FOLDER
set -euo pipefail
project=$1 compiler=$2 loupe=$3 folder=$4
mkdir -p "$folder"

fail() {
  echo "$*" >&2
  exit 1
}
source "$project/tests/readme/printed.sh"
block() { printed_block "$project/sdk/README.md" "$1"; }

printed_block "$project/README.md" 'LOUPE_PLUGIN\(' >"$folder/dead_units.cpp"
lines=$(grep -c . "$folder/dead_units.cpp")
if ((lines > 13)); then
  echo "the README's lens has $lines lines"
  exit 1
fi
# The printed code for findings belongs into the lens printed before it.
block 'struct AttentionEntropy' >"$folder/attention"
block 'loupe::Rule collapsed_' >"$folder/finding"
{
  echo '#include <loupe/plugin.h>'
  sed '$d' "$folder/attention"
  cat "$folder/finding"
  echo '};'
  echo 'LOUPE_PLUGIN("attention_entropy", "1.0", AttentionEntropy);'
} >"$folder/attention_entropy.cpp"

block 'has_previous' >"$folder/cosine"
{
  echo '#include <loupe/plugin.h>'
  echo 'struct GradientTurn : loupe::LayerLens {'
  echo '  static constexpr auto name = "gradient_turn", help = "the cosine of a gradient and the one before it";'
  echo '  using LayerLens::LayerLens;'
  echo '  void visit(const loupe::Module& module) override {'
  echo '    if (!takes(module, module.has_parameter("weight"))) return;'
  echo '    each(module, loupe::Watch("step_gradient").label("weight").measure(LOUPE_MEASURE_PREVIOUS),'
  echo '         [](const loupe::Event& event) -> std::optional<double> {'
  echo '      const auto& m = event.measurement();'
  cat "$folder/cosine"
  echo '    });'
  echo '  }'
  echo '};'
  echo 'LOUPE_PLUGIN("gradient_turn", "1.0", GradientTurn);'
} >"$folder/gradient_turn.cpp"

for lens in dead_units attention_entropy gradient_turn; do
  "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Werror -fPIC -shared -fvisibility=hidden -fvisibility-inlines-hidden \
    -Wl,-z,defs "-Wl,--version-script=$project/sdk/cmake/plugin.map" -I "$project/sdk/include" \
    -o "$folder/$lens.so" "$folder/$lens.cpp"
  "$loupe" check "$folder/$lens.so"
done
