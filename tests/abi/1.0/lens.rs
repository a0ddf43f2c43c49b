//! A lens by the Rust layer, as a plugin of ABI 1.0 has it.

use loupe::{abi::*, DeclaredOption, Event, Lens, Module, Options, Report, Result, Source, Wiring};

struct MeanLens {
    layers: Vec<(u64, String, Source)>,
}

impl Lens for MeanLens {
    const HELP: &'static str = "the mean of each layer";

    fn options() -> Vec<DeclaredOption> {
        Vec::new()
    }
    fn new(_: &Options) -> Result<Self> {
        Ok(MeanLens { layers: Vec::new() })
    }
    fn visit(&mut self, module: &Module, wiring: &mut Wiring) -> Result {
        if module.abi.flags & LOUPE_MODULE_LEAF != 0 {
            let mean = |event: &Event| event.measurement().map(|measured| measured.sum / measured.numel as f64);
            let source = wiring.each(module, ("forward", None), LOUPE_MEASURE_SUMS, mean)?;
            self.layers.push((module.abi.id, module.name(), source));
        }
        Ok(())
    }
    fn forget(&mut self, module: &Module) {
        self.layers.retain(|layer| layer.0 != module.abi.id);
    }
    fn report(&mut self, _: &loupe_tick, report: &Report) -> Result {
        report.tag("Rust Means", Self::HELP, LOUPE_SCALE_NUMERICAL, 0)?;
        for (_, name, source) in &self.layers {
            for (_, mean) in report.read(source)? {
                if mean.count > 0 {
                    report.value("Rust Means", Some(name), "mean", mean.mean, mean.count)?;
                }
            }
        }
        Ok(())
    }
}

loupe::plugin!("rust_lens", "1.0", "rust_lens" => MeanLens);
