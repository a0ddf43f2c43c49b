//! What of the crate needs no host: that it is laid out as C is, and what crosses the boundary.

use loupe::{abi::*, copied, guarded, Result};
use std::ffi::CStr;
use std::io::Write;
use std::os::raw::c_char;
use std::process::{Command, Stdio};

/// Sizes, places and constants of all declarations, as the C compiler has them.
#[test]
fn every_number_is_that_of_c() {
    let mut source = "#include <loupe/abi.h>\n".to_string();
    let mut is =
        |c: String, number: i128| source += &format!("_Static_assert((__int128){} == {}, \"{}\");\n", c, number, c);
    macro_rules! constant {
        ($name:ident) => {
            is(stringify!($name).to_string(), $name as i128)
        };
    }
    macro_rules! size {
        ($kind:ident) => {
            is(format!("sizeof({})", stringify!($kind)), std::mem::size_of::<$kind>() as i128)
        };
    }
    macro_rules! place {
        ($kind:ident, $member:ident, $name:expr) => {{
            let (whole, at) = ($kind::EMPTY, std::mem::size_of::<$kind>());
            let place = std::ptr::addr_of!(whole.$member) as usize - std::ptr::addr_of!(whole) as usize;
            assert!(place < at);
            is(format!("offsetof({}, {})", stringify!($kind), $name), place as i128)
        }};
    }
    include!(concat!(env!("OUT_DIR"), "/numbers.rs"));
    assert!(source.lines().count() > 400, "the headers declare more than {}", source.lines().count());
    let mut compiler = Command::new("cc")
        .args(["-x", "c", "-std=gnu11", "-fsyntax-only", "-I", env!("LOUPE_HEADERS"), "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    compiler.stdin.take().unwrap().write_all(source.as_bytes()).unwrap();
    assert!(compiler.wait().unwrap().success());
}

fn told(capacity: usize, work: impl FnOnce() -> Result) -> (loupe_status, String) {
    let mut buffer = vec![0 as c_char; capacity.max(1)];
    let mut error = loupe_error { capacity: capacity as u32, message: buffer.as_mut_ptr(), ..loupe_error::EMPTY };
    let status = unsafe { guarded(&mut error, work) };
    (status, unsafe { CStr::from_ptr(buffer.as_ptr()) }.to_str().unwrap().to_string())
}

#[test]
fn a_panic_becomes_a_failure_with_its_words() {
    assert_eq!(told(100, || panic!("no layer {}", 3)), (LOUPE_FAILED, "the lens panicked: no layer 3".to_string()));
}
#[test]
fn a_sentence_is_cut_between_two_characters() {
    assert_eq!(told(4, || Err("aéé".into())), (LOUPE_FAILED, "aé".to_string()));
    assert_eq!(told(0, || Err("a".into())), (LOUPE_FAILED, String::new()));
}
#[test]
fn a_caller_may_want_no_sentence() {
    assert_eq!(unsafe { guarded(std::ptr::null_mut(), || Err("a".into())) }, LOUPE_FAILED);
}
#[test]
fn what_lies_beyond_a_structs_size_is_zero() {
    let options = loupe_options { struct_size: 16, value_count: 7, ..loupe_options::EMPTY };
    let read = unsafe { copied(&options) }.unwrap();
    assert_eq!((read.struct_size, read.value_count), (16, 0));
    assert!(unsafe { copied(std::ptr::null::<loupe_options>()) }.is_none());
}
