/** "64 → 10" of a Linear, the weight's "32 × 1 × 3 × 3" of other types, "" where a module holds no such tensor. */
function shapeOf({type, shapes}) {
  const weight = (shapes || []).find((shape) => shape.length > 1);
  if (!weight) return "";
  return type === "Linear" && weight.length === 2 ? `${weight[1]} → ${weight[0]}` : weight.join(" × ");
}

/** The modules that a run told of, by the names that plots call them. */
const modulesOf = (() => {
  const known = new Map();
  return (run) => {
    if (!known.has(run)) {
      const told = run.models.flatMap((model) => (model && Array.isArray(model.modules) ? model.modules : []));
      known.set(run, new Map(told.map((module) => [module.name, module])));
    }
    return known.get(run);
  };
})();

/** "Linear 64 → 10"; "" where no module is called so, as with a function or the output of one of several. */
function kindOf(run, layerName) {
  const module = modulesOf(run).get(layerName);
  return module ? [module.type, shapeOf(module)].filter(Boolean).join(" ") : "";
}
