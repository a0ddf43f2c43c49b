//! Writes abi.rs into OUT_DIR, with the declarations of the SDK's C headers under their own names and with their layout;
//! and numbers.rs, which lists every size, place and constant for a test. Unknown declarations stop the build. Cargo runs
//! this; without cargo it is a program, see examples/rust_lens/build.sh.

use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let headers = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("../include/loupe/abi");
    let mut headers: Vec<_> = fs::read_dir(headers).unwrap().map(|file| file.unwrap().path()).collect();
    headers.sort();
    let mut abi = Abi { code: "use std::os::raw::{c_char, c_void};\n".to_string(), ..Abi::default() };
    for header in headers {
        println!("cargo:rerun-if-changed={}", header.display());
        let words = abi.preprocess(&fs::read_to_string(header).unwrap());
        let mut alias = None;
        split(&words, ";").for_each(|declaration| alias = abi.declare(declaration, alias.take()));
    }
    let folder = PathBuf::from(env::var("OUT_DIR").unwrap());
    fs::write(folder.join("abi.rs"), abi.code).unwrap();
    fs::write(folder.join("numbers.rs"), format!("{{\n{}}}\n", abi.numbers)).unwrap();
}

#[derive(Default)]
struct Abi {
    code: String,
    numbers: String,
}

impl Abi {
    /// Adds the constants, and returns the words of all other code, without comments and without code only for C++.
    fn preprocess(&mut self, text: &str) -> Vec<String> {
        let parts = text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code));
        let (mut code, mut branches) = (String::new(), Vec::new());
        for line in parts.collect::<String>().replace("\\\n", " ").lines() {
            let (directive, rest) = line.split_once(' ').unwrap_or((line, ""));
            match directive {
                "#ifndef" => branches.push(true),
                "#if" | "#ifdef" => branches.push(false),
                "#else" => *branches.last_mut().unwrap() ^= true,
                "#endif" => drop(branches.pop()),
                _ if branches.contains(&false) => {}
                "#define" => self.define(rest, &words(rest)),
                "#include" | "#pragma" => {}
                _ => code += &(line.to_string() + "\n"),
            }
        }
        words(&code)
    }
    fn define(&mut self, line: &str, words: &[String]) {
        match words.get(1).map_or("", |first| first) {
            // Include guards, macros with arguments, and code that only a C compiler understands.
            "" | "(" => {}
            first if first.starts_with("__") => {}
            first if first.starts_with('"') => {
                let text = line[line.find('"').unwrap() + 1..line.rfind('"').unwrap()].replace("\" \"", "");
                self.code += &format!("pub const {}: &[u8] = b\"{}\\0\";\n", words[0], text);
            }
            "UINT64_C" => self.constant(&words[0], "u64", &words[3].clone()),
            _ => self.constant(&words[0], "u32", &expression(&words[1..])),
        }
    }
    fn constant(&mut self, name: &str, kind: &str, value: &str) {
        self.code += &format!("pub const {}: {} = {};\n", name, kind, value);
        self.numbers += &format!("constant!({});\n", name);
    }
    /// `alias`, and the returned name: an integer type that the previous declaration named, for the enumeration after it.
    fn declare(&mut self, words: &[String], alias: Option<String>) -> Option<String> {
        let shape: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
        match shape[..] {
            [] | ["struct", _] => {}
            ["enum", "{", .., "}"] => self.values(&words[2..words.len() - 1], alias),
            ["typedef", "struct", _, "{", .., "}", name] => self.members(name, &words[4..words.len() - 2]),
            ["typedef", "struct", _, name] => self.code += &format!("pub enum {} {{}}\n", name),
            ["typedef", ..] => {
                let (name, kind) = declared(&words[1..]);
                self.code += &format!("pub type {} = {};\n", name, kind);
                return Some(name).filter(|_| !kind.starts_with("Option"));
            }
            _ => panic!("a declaration that the generator does not know: {}", shape.join(" ")),
        }
        None
    }
    fn values(&mut self, words: &[String], alias: Option<String>) {
        let mut value = "0".to_string();
        for each in split(words, ",").filter(|each| !each.is_empty()) {
            if each.len() > 1 {
                value = expression(&each[2..]);
            }
            let is_signed = each[0].starts_with("LOUPE_LOG_") || each[0].starts_with("LOUPE_DEVICE_");
            let kind = alias.as_deref().unwrap_or(if is_signed { "i32" } else { "u32" });
            self.constant(&each[0], kind, &value);
            value = each[0].clone() + " + 1";
        }
    }
    fn members(&mut self, name: &str, words: &[String]) {
        let (mut members, mut size) = (String::new(), "");
        self.numbers += &format!("size!({});\n", name);
        for declaration in split(words, ";").filter(|declaration| !declaration.is_empty()) {
            let mut all = split(declaration, ",");
            let (first, kind) = declared(all.next().unwrap());
            for member in std::iter::once(first).chain(all.map(|other| other[0].clone())) {
                members += &format!("    pub r#{}: {},\n", member, kind);
                self.numbers += &format!("place!({}, r#{}, {:?});\n", name, member, member);
                if member == "struct_size" {
                    size = "struct_size: std::mem::size_of::<Self>() as u32, ";
                    self.code += &format!("unsafe impl crate::Struct for {} {{}}\n", name);
                }
            }
        }
        self.code += &format!("#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {} {{\n{}}}\n", name, members);
        let zeros = "std::mem::transmute([0u8; std::mem::size_of::<Self>()])";
        self.code += &format!("impl {} {{\n    /// Zero but for its size.\n", name);
        self.code += &format!("    pub const EMPTY: Self = Self {{ {}..unsafe {{ {} }} }};\n}}\n", size, zeros);
    }
}

/// Splits code into names, numbers, quoted texts and single signs.
fn words(text: &str) -> Vec<String> {
    let apart =
        |letter: char| if "(){}[]*,;=<>|".contains(letter) { format!(" {} ", letter) } else { letter.to_string() };
    text.chars().map(apart).collect::<String>().split_whitespace().map(str::to_string).collect()
}
/// Splits words at a sign, but not inside brackets.
fn split<'a>(words: &'a [String], sign: &'a str) -> impl Iterator<Item = &'a [String]> {
    let mut depth = 0;
    words.split(move |word| {
        depth += ["(", "{", "["].contains(&word.as_str()) as i32 - [")", "}", "]"].contains(&word.as_str()) as i32;
        depth == 0 && word == sign
    })
}
/// A C expression in Rust, where numbers have no suffix.
fn expression(words: &[String]) -> String {
    let is_number = |word: &String| word.starts_with(|first: char| first.is_ascii_digit());
    let plain = |word: &String| {
        if is_number(word) { word.trim_end_matches(&['u', 'U', 'l', 'L'][..]) } else { word }.to_string()
    };
    words.iter().map(plain).collect::<Vec<_>>().join(" ").replace("< <", "<<")
}
/// The name, which may be missing, and the type of a member, an argument or a typedef.
fn declared(words: &[String]) -> (String, String) {
    if let Some(at) = words.windows(2).position(|pair| pair == ["(", "*"]) {
        let arguments = split(&words[at + 5..words.len() - 1], ",").map(|argument| declared(argument).1);
        let arguments: Vec<String> = arguments.filter(|argument| argument != "c_void").collect();
        let gives = Some(rust_type(&words[..at])).filter(|gives| gives != "c_void");
        let gives = gives.map_or(String::new(), |gives| " -> ".to_string() + &gives);
        let kind = format!("Option<unsafe extern \"C\" fn({}){}>", arguments.join(", "), gives);
        return (words[at + 2].clone(), kind);
    }
    if let Some(at) = words.iter().position(|word| word == "[") {
        let (name, kind) = declared(&words[..at]);
        return (name, format!("[{}; {} as usize]", kind, expression(&words[at + 1..words.len() - 1])));
    }
    let is_plain = |word: &&String| !["const", "struct", "*"].contains(&word.as_str());
    let has_name = words.iter().filter(is_plain).count() > 1;
    let (kind, name) = words.split_at(words.len() - has_name as usize);
    (name.concat(), rust_type(kind))
}
/// A C type without a name, for example `const char* const*`, in Rust.
fn rust_type(words: &[String]) -> String {
    let (mut kind, mut is_const) = (String::new(), false);
    for word in words {
        match word.as_str() {
            "const" => is_const = true,
            "struct" => {}
            "*" => {
                kind = format!("*{} {}", if is_const { "const" } else { "mut" }, kind);
                is_const = false;
            }
            "size_t" => kind = "usize".to_string(),
            "double" => kind = "f64".to_string(),
            "char" | "void" => kind = "c_".to_string() + word,
            other if other.starts_with("uint") => kind = other.replace("uint", "u").replace("_t", ""),
            other if other.starts_with("int") => kind = other.replace("int", "i").replace("_t", ""),
            other => kind = other.to_string(),
        }
    }
    kind
}
