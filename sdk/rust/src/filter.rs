//! The options `include` and `exclude`, which mean the same in every lens.

use crate::view::Module;

const FAMILIES: [&str; 12] = [
    "other", "activation", "dropout", "linear", "convolution", "normalization", "recurrent", "pooling", "embedding",
    "attention", "loss", "padding",
];

/// Whether `text` is `glob`, in which * stands for any letters and ? for one.
fn fits_glob(glob: &[u8], text: &[u8]) -> bool {
    match glob.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|skipped| fits_glob(rest, &text[skipped..])),
        Some((letter, rest)) => {
            !text.is_empty() && (*letter == b'?' || *letter == text[0]) && fits_glob(rest, &text[1..])
        }
    }
}

#[derive(Default)]
pub(crate) struct Filter {
    pub include: Vec<String>,
    pub exclude: Vec<String>,
}

impl Filter {
    /// Without `include`, what the lens looks at by default; with it what an entry names; one after a + adds to the
    /// default. `exclude` wins.
    pub fn takes(&self, module: &Module, by_default: bool) -> bool {
        let names = |entry: &str| {
            let family = FAMILIES.get(module.family() as usize).copied().unwrap_or("other");
            let texts = [module.name(), module.type_name(), module.full_type()];
            texts.iter().any(|text| text == entry)
                || ((module.is_leaf() || by_default)
                    && (entry == family || texts.iter().any(|text| fits_glob(entry.as_bytes(), text.as_bytes()))))
        };
        let is_only = |entry: &&String| !entry.starts_with('+');
        let only = self.include.iter().filter(is_only).any(|entry| names(entry));
        let more = self.include.iter().filter(|entry| !is_only(entry)).any(|entry| names(&entry[1..]));
        let has_only = self.include.iter().any(|entry| is_only(&entry));
        (only || more || (!has_only && by_default)) && !self.exclude.iter().any(|entry| names(entry))
    }
}

#[cfg(test)]
mod tests {
    use super::fits_glob;

    #[test]
    fn globs_stand_for_letters() {
        for (glob, text, fits) in [("*.fc", "a.b.fc", true), ("fc?", "fc1", true), ("fc?", "fc", false), ("", "", true)] {
            assert_eq!(fits_glob(glob.as_bytes(), text.as_bytes()), fits, "{} {}", glob, text);
        }
    }
}
