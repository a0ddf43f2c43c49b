//! A lens in Rust: of each activation layer the share of units that are silent in a whole batch, and the share of
//! layers in which more than `threshold` of them are.

use loupe::{abi::*, DeclaredOption, Each, Failure, Layer, LayerLens, Module, Options, Report};

struct DeadLayers {
    threshold: f64,
    last_share: Option<f64>,
}

impl LayerLens for DeadLayers {
    const NAME: &'static str = "dead_layers";
    const HELP: &'static str = "the share of each activation layer's units that are silent in a whole batch";
    const TAG: &'static str = "Dead Units";
    const TAG_TYPE: u32 = LOUPE_TAG_PROBABILITY;

    fn options() -> Vec<DeclaredOption> {
        let help = "a layer is dead when more than this share of its units is";
        vec![DeclaredOption::number("threshold", 0.5, help, 0.0, 1.0)]
    }
    fn new(options: &Options) -> Result<Self, Failure> {
        Ok(DeadLayers { threshold: options.number("threshold")?, last_share: None })
    }
    fn visit(&self, module: &Module, each: &mut Each) {
        if each.takes(module.family() == LOUPE_FAMILY_ACTIVATION) {
            each.each("forward", LOUPE_MEASURE_ACTIVITY, |event| {
                let measured = event.measurement()?;
                Some(measured.dead_units as f64 / measured.unit_count as f64)
            });
        }
    }
    fn report(&mut self, layers: &[Layer], report: &Report) -> Result<(), Failure> {
        let shares = layers.iter().filter_map(|layer| layer.get(LOUPE_AGGREGATE_MEAN)).filter(|share| share.is_finite());
        let dead: Vec<bool> = shares.map(|share| share > self.threshold).collect();
        let count = dead.iter().filter(|is_dead| **is_dead).count();
        self.last_share = if dead.is_empty() { None } else { Some(count as f64 / dead.len() as f64) };
        let words = "The share of layers whose dead units pass the threshold.";
        report.tag("Dead Layers", words, LOUPE_TAG_PROBABILITY, true)?;
        self.last_share.map_or(Ok(()), |share| report.value("Dead Layers", None, "share", share, 0))
    }
    fn query(&self, key: &str) -> Option<f64> {
        self.last_share.filter(|_| key == "dead_layers")
    }
}

loupe::plugin!("dead_layers", "0.1.0", DeadLayers);
