//! The sum of each row, and a finding where the first is negative: what a lens does with Numbers and a Rule.

use loupe::{abi::*, Each, Failure, Layer, LayerLens, Module, Options, Report, Rule, Seen};

struct RowSums {
    negative: Rule,
}

impl LayerLens for RowSums {
    const NAME: &'static str = "row_sums";
    const HELP: &'static str = "the sum of each row of an output";

    fn new(_: &Options) -> Result<Self, Failure> {
        Ok(RowSums { negative: Rule::new("negative_row", 1, 1) })
    }
    fn visit(&self, _: &Module, each: &mut Each) {
        each.each_numbers("forward", 0, |event, numbers| {
            let tensor = match event.tensor() {
                Some(tensor) if tensor.sizes().len() == 2 => tensor,
                _ => return,
            };
            for row in 0..tensor.sizes()[0] {
                let sum = (0..tensor.sizes()[1]).map(|column| tensor.at(&[row, column])).sum();
                numbers.push_at("row", row as usize, sum);
            }
        });
    }
    fn report(&mut self, layers: &[Layer], report: &Report) -> Result<(), Failure> {
        for layer in layers {
            if let Some(sum) = layer.get_of("row 0", LOUPE_AGGREGATE_MEAN).filter(|sum| *sum < 0.0) {
                let message = format!("the first row of '{}' sums to {}", layer.name, sum);
                self.negative.see(Seen::new(&layer.name, sum, 0.0, &message, "look at its weights"));
            }
        }
        self.negative.end_tick(report)
    }
}

loupe::plugin!("row_sums", "0.1.0", RowSums);
