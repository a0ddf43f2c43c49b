//! The sum of the first row of each output, and a result of Loupe's preprocessor; the pushed losses, the
//! steps, and a finding while a sum is negative: parts of the crate that the example does not use.

use loupe::{abi::*, DeclaredOption, Lens, Module, Options, Report, Result, Source, Wiring};

struct RowSums {
    panics: bool,
    rule: String,
    layers: Vec<(String, [Source; 2])>,
    pushes: Option<Source>,
    steps: u32,
}

impl Lens for RowSums {
    const HELP: &'static str = "the sum of the first row of each output";
    const STEPS: bool = true;

    fn options() -> Vec<DeclaredOption> {
        let panics = DeclaredOption::boolean("panics", false, "panic at the first module");
        vec![panics, DeclaredOption::text("rule", "negative_row", "how a finding is called")]
    }
    fn new(options: &Options) -> Result<Self> {
        let (panics, rule) = (options.boolean("panics")?, options.text("rule")?);
        Ok(RowSums { panics, rule, layers: Vec::new(), pushes: None, steps: 0 })
    }
    fn attach(&mut self, wiring: &mut Wiring) -> Result {
        self.pushes = Some(wiring.watch(None, ("push", None), "explicit_call")?);
        Ok(())
    }
    fn visit(&mut self, module: &Module, wiring: &mut Wiring) -> Result {
        assert!(!self.panics, "it was told to");
        let sum = wiring.each(module, ("forward", None), 0, |event| {
            let tensor = event.tensor().filter(|tensor| tensor.sizes().len() == 2)?;
            Some((0..tensor.sizes()[1]).map(|column| tensor.at(&[0, column])).sum())
        })?;
        let norm = wiring.watch(Some(module), ("forward", None), "output_norm")?;
        self.layers.push((module.name(), [sum, norm]));
        Ok(())
    }
    fn step(&mut self, _: &loupe_step, _: &Report) -> Result {
        self.steps += 1;
        Ok(())
    }
    // This lens has no forget(): sources of forgotten modules give nothing.
    fn report(&mut self, _: &loupe_tick, report: &Report) -> Result {
        report.tag("Row Sums", Self::HELP, LOUPE_SCALE_NUMERICAL, 0)?;
        report.tag("Pushed", "What was pushed, and how many steps there were.", LOUPE_SCALE_NUMERICAL, LOUPE_TAG_BIG)?;
        for (layer, sources) in &self.layers {
            for (name, numbers) in [report.read(&sources[0])?, report.read(&sources[1])?].concat() {
                if numbers.count + numbers.nan_count == 0 {
                    continue;
                }
                report.value("Row Sums", Some(layer), &name, numbers.mean, numbers.count)?;
                report.value("Row Sums", Some(layer), &(name.clone() + " NaN"), numbers.nan_count as f64, 0)?;
                if name == "value" {
                    let message = format!("the first row of '{}' sums to {}", layer, numbers.mean);
                    let severity = Some(LOUPE_SEVERITY_WARNING).filter(|_| numbers.mean < 0.0);
                    report.finding(severity, &self.rule, Some(layer), [&message, "look at its weights"])?;
                }
            }
        }
        for (name, numbers) in report.read(self.pushes.as_ref().ok_or("it was not attached")?)? {
            report.value("Pushed", None, &name, numbers.last, numbers.count)?;
        }
        report.value("Pushed", None, "steps", self.steps as f64, 0)
    }
}

loupe::plugin!("row_sums", "1.0.0", "row_sums" => RowSums);
