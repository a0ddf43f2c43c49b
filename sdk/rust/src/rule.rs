//! What a lens sees at ticks, as one finding.

use crate::abi::*;
use crate::boundary::Failure;
use crate::report::{Finding, Report};

/// One layer that breaks a rule.
#[derive(Clone)]
pub struct Seen {
    /// Empty where it concerns no one layer.
    pub layer: String,
    /// The further the value lies beyond the threshold, on either side, the worse.
    pub value: f64,
    pub threshold: f64,
    /// One sentence with its figures.
    pub message: String,
    /// One sentence; may be empty.
    pub advice: String,
    pub severity: u32,
}

impl Seen {
    /// A warning.
    pub fn new(layer: &str, value: f64, threshold: f64, message: &str, advice: &str) -> Self {
        let (layer, message, advice) = (layer.to_string(), message.to_string(), advice.to_string());
        Seen { layer, value, threshold, message, advice, severity: LOUPE_SEVERITY_WARNING }
    }
    /// How far beyond its threshold it lies.
    fn distance(&self) -> f64 {
        if !self.value.is_finite() {
            return f64::INFINITY;
        }
        if self.value > 0.0 && self.threshold > 0.0 {
            return (self.value / self.threshold).ln().abs();
        }
        (self.value - self.threshold).abs()
    }
    fn is_worse_than(&self, other: &Seen) -> bool {
        (self.severity, self.distance()).partial_cmp(&(other.severity, other.distance()))
            == Some(std::cmp::Ordering::Greater)
    }
    /// Whether it lies ten times as far beyond its threshold as what was told.
    fn has_grown_since(&self, told: &Seen) -> bool {
        let all = [self.value, self.threshold, told.value, told.threshold];
        if all.iter().any(|number| !(*number > 0.0)) {
            return false;
        }
        let (before, after) = (told.value / told.threshold, self.value / self.threshold);
        if before > 1.0 {
            after > 10.0 * before
        } else {
            after * 10.0 < before
        }
    }
}

/// A rule of a lens, told once it was broken at `patience` ticks in a row, of the worst layer and with how many others
/// break it; again where it gets ten times as bad, more severe, or was seen twice as often; and gone after `cooldown`
/// ticks without.
pub struct Rule {
    name: String,
    patience: u32,
    cooldown: u32,
    seen: Vec<Seen>,
    told: Option<Seen>,
    streak: u32,
    unseen: u32,
    count: u64,
    told_count: u64,
}

impl Rule {
    /// `name` in snake_case; `patience` and `cooldown` in ticks, at least 1.
    pub fn new(name: &str, patience: u32, cooldown: u32) -> Self {
        let (name, seen) = (name.to_string(), Vec::new());
        Rule { name, patience, cooldown, seen, told: None, streak: 0, unseen: 0, count: 0, told_count: 0 }
    }
    /// The rule is broken at this tick: once for each layer that breaks it.
    pub fn see(&mut self, seen: Seen) {
        self.seen.push(seen);
    }
    /// In LayerLens::report, after what was seen.
    pub fn end_tick(&mut self, report: &Report) -> Result<(), Failure> {
        self.end_tick_by(&mut |seen, state, count| {
            report.finding(&Finding {
                rule: &seen.0,
                severity: seen.1.severity,
                state,
                layer: Some(seen.1.layer.as_str()).filter(|layer| !layer.is_empty()),
                message: &seen.1.message,
                advice: Some(seen.1.advice.as_str()).filter(|advice| !advice.is_empty()),
                value: seen.1.value,
                threshold: seen.1.threshold,
                count,
            })
        })
    }
    pub fn stands(&self) -> bool {
        self.told.is_some()
    }

    fn end_tick_by(&mut self, tell: Teller) -> Result<(), Failure> {
        let all = std::mem::take(&mut self.seen);
        let mut now = match self.worst_of(&all) {
            Some(worst) => worst,
            None => return self.end_tick_without(tell),
        };
        if self.told.as_ref().map_or(false, |told| told.layer != now.layer) {
            self.end(tell)?;
        }
        self.streak += 1;
        self.unseen = 0;
        self.count += 1;
        if self.streak < self.patience {
            return Ok(());
        }
        now.message += &match all.len() - 1 {
            0 => String::new(),
            1 => "; another layer too".to_string(),
            others => format!("; {} other layers too", others),
        };
        let state = match &self.told {
            None => LOUPE_FINDING_RAISED,
            Some(told) => {
                let is_worse = now.severity > told.severity || now.has_grown_since(told);
                if !is_worse && self.count < 2 * self.told_count {
                    return Ok(());
                }
                now.severity = now.severity.max(told.severity);
                LOUPE_FINDING_CHANGED
            }
        };
        self.told_count = self.count;
        tell((&self.name, &now), state, self.count)?;
        self.told = Some(now);
        Ok(())
    }
    /// What stands stays of its layer, as long as that breaks the rule.
    fn worst_of(&self, all: &[Seen]) -> Option<Seen> {
        if let Some(told) = &self.told {
            if let Some(same) = all.iter().find(|each| each.layer == told.layer) {
                return Some(same.clone());
            }
        }
        all.iter().reduce(|a, b| if b.is_worse_than(a) { b } else { a }).cloned()
    }
    fn end_tick_without(&mut self, tell: Teller) -> Result<(), Failure> {
        self.streak = 0;
        if self.told.is_none() {
            return Ok(());
        }
        self.unseen += 1;
        if self.unseen >= self.cooldown {
            return self.end(tell);
        }
        Ok(())
    }
    fn end(&mut self, tell: Teller) -> Result<(), Failure> {
        if let Some(told) = self.told.take() {
            tell((&self.name, &told), LOUPE_FINDING_GONE, self.count)?;
        }
        self.count = 0;
        self.told_count = 0;
        Ok(())
    }
}

/// Is told the rule's name and what was seen, the finding's state, and how often it was seen.
type Teller<'a> = &'a mut dyn FnMut((&str, &Seen), u32, u64) -> Result<(), Failure>;

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(rule: &mut Rule, layers: &[(&str, f64)]) -> Vec<String> {
        for (layer, value) in layers {
            rule.see(Seen::new(layer, *value, 1.0, &format!("{} is {}", layer, value), ""));
        }
        let mut told = Vec::new();
        let result = rule.end_tick_by(&mut |seen, state, _| {
            let word = ["", "raised", "changed", "gone"][state as usize];
            told.push(format!("{} {}: {}", seen.0, word, seen.1.message));
            Ok(())
        });
        assert!(result.is_ok());
        told
    }

    #[test]
    fn is_told_of_the_worst_layer_once_its_patience_is_over() {
        let mut rule = Rule::new("large", 2, 2);
        assert!(tick(&mut rule, &[("a", 2.0)]).is_empty());
        let told = tick(&mut rule, &[("a", 2.0), ("b", 9.0), ("c", 3.0)]);
        assert_eq!(told, ["large raised: b is 9; 2 other layers too"]);
        assert!(rule.stands());
    }
    #[test]
    fn is_told_again_where_it_grows_and_stays_of_its_layer() {
        let mut rule = Rule::new("large", 1, 2);
        assert_eq!(tick(&mut rule, &[("a", 2.0)]), ["large raised: a is 2"]);
        assert_eq!(tick(&mut rule, &[("b", 90.0), ("a", 30.0)]), ["large changed: a is 30; another layer too"]);
        assert!(tick(&mut rule, &[("a", 31.0)]).is_empty());
        assert_eq!(tick(&mut rule, &[("b", 2.0)]), ["large gone: a is 30; another layer too", "large raised: b is 2"]);
    }
    #[test]
    fn is_gone_after_its_cooldown() {
        let mut rule = Rule::new("large", 1, 2);
        tick(&mut rule, &[("a", 2.0)]);
        assert!(tick(&mut rule, &[]).is_empty());
        assert_eq!(tick(&mut rule, &[]), ["large gone: a is 2"]);
        assert!(!rule.stands());
        assert!(tick(&mut rule, &[]).is_empty());
    }
    #[test]
    fn a_break_starts_its_patience_anew() {
        let mut rule = Rule::new("large", 2, 1);
        assert!(tick(&mut rule, &[("a", 2.0)]).is_empty());
        assert!(tick(&mut rule, &[]).is_empty());
        assert!(tick(&mut rule, &[("a", 2.0)]).is_empty());
    }
    #[test]
    fn what_is_not_finite_is_worst() {
        let mut rule = Rule::new("large", 1, 1);
        assert_eq!(tick(&mut rule, &[("a", 1e30), ("b", f64::NAN)]), ["large raised: b is NaN; another layer too"]);
    }
}
