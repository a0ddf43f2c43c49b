//! A lens in Rust: for each activation layer the share of units that are silent in a whole batch, and the share of
//! layers with more than `threshold` silent units.

use loupe::{abi::*, DeclaredOption, Event, Lens, Module, Options, Report, Result, Source, Wiring};

struct Layer {
    module: u64,
    name: String,
    source: Source,
}

struct DeadLayers {
    threshold: f64,
    layers: Vec<Layer>,
}

impl Lens for DeadLayers {
    const HELP: &'static str = "the share of each activation layer's units that are silent in a whole batch";

    fn options() -> Vec<DeclaredOption> {
        let help = "a layer is dead when more than this share of its units is";
        vec![DeclaredOption::number("threshold", 0.5, help).between(0.0, 1.0)]
    }
    fn new(options: &Options) -> Result<Self> {
        Ok(DeadLayers { threshold: options.number("threshold")?, layers: Vec::new() })
    }
    fn visit(&mut self, module: &Module, wiring: &mut Wiring) -> Result {
        if module.abi.family == LOUPE_FAMILY_ACTIVATION {
            let share = |event: &Event| {
                let measured = event.measurement()?;
                Some(measured.dead_unit_count as f64 / measured.unit_count as f64)
            };
            let source = wiring.each(module, ("forward", None), LOUPE_MEASURE_ACTIVITY, share)?;
            self.layers.push(Layer { module: module.abi.id, name: module.name(), source });
        }
        Ok(())
    }
    fn forget(&mut self, module: &Module) {
        self.layers.retain(|layer| layer.module != module.abi.id);
    }
    fn report(&mut self, _: &loupe_tick, report: &Report) -> Result {
        let mut is_dead = Vec::new();
        report.tag("Dead Units", Self::HELP, LOUPE_SCALE_PROBABILITY, 0)?;
        for layer in &self.layers {
            for (_, share) in report.read(&layer.source)? {
                if share.count > 0 {
                    report.value("Dead Units", Some(&layer.name), "mean", share.mean, share.count)?;
                    is_dead.push(share.mean > self.threshold);
                }
            }
        }
        let words = "The share of layers whose dead units pass the threshold.";
        report.tag("Dead Layers", words, LOUPE_SCALE_PROBABILITY, LOUPE_TAG_BIG)?;
        if !is_dead.is_empty() {
            let dead = is_dead.iter().filter(|is_dead| **is_dead).count();
            report.value("Dead Layers", None, "share", dead as f64 / is_dead.len() as f64, 0)?;
        }
        Ok(())
    }
}

loupe::plugin!("dead_layers", "1.0.0", "dead_layers" => DeadLayers);
