//! A minimal component of each kind except a lens, and a lens that combines them: it takes the outputs of
//! every other forward, computes their mean squares, and writes lines of text.

use loupe::{abi::*, DeclaredOption, Event, Gatherer, Lens, Module, Options, Preprocessor, Report, Result};
use loupe::{Series, Source, Taps, Told, Visualizer, Wiring};
use std::fs::File;
use std::io::Write;

/// Passes on every other output.
struct EveryOther;

impl Gatherer for EveryOther {
    const HELP: &'static str = "every other output";
    const EVENTS: bool = true;

    fn new(_: &Options) -> Result<Self> {
        Ok(EveryOther)
    }
    fn open(&mut self, taps: &Taps, _: Option<&Module>, _: Option<&str>) -> Result {
        taps.subscribe(LOUPE_TAP_FORWARD, None, 0)
    }
    fn event(&mut self, event: &Event, taps: &Taps) -> Result {
        if event.abi.number % 2 == 0 { taps.emit(&event.abi) } else { Ok(()) }
    }
}

/// Computes a number from each tensor.
struct MeanSquare;

impl Preprocessor for MeanSquare {
    const HELP: &'static str = "the mean square of each tensor's elements";
    const SERIES: &'static [&'static str] = &["mean_square"];

    fn new(_: &Options) -> Result<Self> {
        Ok(MeanSquare)
    }
    fn request(&self) -> loupe_request {
        loupe_request { measures: LOUPE_MEASURE_SUMS, passes: LOUPE_PASS_TRAINING, ..loupe_request::EMPTY }
    }
    fn process(&mut self, event: &Event, series: &mut [Series]) -> Result {
        let measured = event.measurement().ok_or("the event is not measured")?;
        if measured.nan_count + measured.inf_count > 0 {
            series[0].push(f64::NAN);
        } else if measured.numel > 0 {
            series[0].push(measured.sum_squares / measured.numel as f64);
        }
        Ok(())
    }
}

/// Writes a line for each number.
struct Lines {
    path: String,
    file: Option<File>,
    epoch: f64,
}

impl Lines {
    fn write(&mut self, line: String) -> Result {
        let file = self.file.as_mut().ok_or("the run has not begun")?;
        writeln!(file, "{}", line).map_err(|e| format!("'{}' cannot be written: {}", self.path, e).into())
    }
}

impl Visualizer for Lines {
    const HELP: &'static str = "a line of text for each number";

    fn options() -> Vec<DeclaredOption> {
        vec![DeclaredOption::text("path", "lines.txt", "the file")]
    }
    fn new(options: &Options) -> Result<Self> {
        Ok(Lines { path: options.text("path")?, file: None, epoch: 0.0 })
    }
    fn begin(&mut self, _: &Told<loupe_run>) -> Result {
        let file = File::create(&self.path).map_err(|e| format!("'{}' cannot be written: {}", self.path, e))?;
        self.file = Some(file);
        Ok(())
    }
    fn begin_tick(&mut self, tick: &loupe_tick) -> Result {
        self.epoch = tick.at.epoch;
        Ok(())
    }
    fn row(&mut self, row: &Told<loupe_row>) -> Result {
        let layer = row.layer().unwrap_or_default();
        for (name, value) in row.values() {
            self.write(format!("epoch {}: {}, {}, {}: {}", self.epoch, row.tag(), layer, name, value))?;
        }
        Ok(())
    }
    fn finding(&mut self, finding: &Told<loupe_finding>) -> Result {
        self.write(format!("{}: {}", finding.rule(), finding.message()))
    }
}

/// Shows the mean squares of every other output of each layer.
struct MeanSquares(Vec<(u64, String, Source)>);

impl Lens for MeanSquares {
    const HELP: &'static str = "the mean square of every other output";

    fn new(_: &Options) -> Result<Self> {
        Ok(MeanSquares(Vec::new()))
    }
    fn visit(&mut self, module: &Module, wiring: &mut Wiring) -> Result {
        if module.abi.flags & LOUPE_MODULE_LEAF != 0 {
            let source = wiring.watch(Some(module), ("every_other", None), "mean_square")?;
            self.0.push((module.abi.id, module.name(), source));
        }
        Ok(())
    }
    fn forget(&mut self, module: &Module) {
        self.0.retain(|layer| layer.0 != module.abi.id);
    }
    fn report(&mut self, _: &loupe_tick, report: &Report) -> Result {
        report.tag("Mean Squares", Self::HELP, LOUPE_SCALE_NUMERICAL, 0)?;
        for (_, layer, source) in &self.0 {
            for (name, numbers) in report.read(source)? {
                if numbers.count > 0 {
                    report.value("Mean Squares", Some(layer), &name, numbers.mean, numbers.count)?;
                }
            }
        }
        Ok(())
    }
}

loupe::plugin!("every_kind", "0.1.0", gatherer "every_other" => EveryOther, preprocessor "mean_square" => MeanSquare,
               "mean_squares" => MeanSquares, visualizer "rust_lines" => Lines);
