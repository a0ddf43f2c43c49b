//! Tests of the crate without a host: its layouts are those of C, and values cross the boundary unchanged.

use loupe::{abi::*, copied, guarded, Result};
use std::ffi::CStr;
use std::io::Write;
use std::os::raw::{c_char, c_void};
use std::process::{Command, Stdio};

/// Checks sizes, offsets and constants of all declarations against the C compiler's.
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
    assert_eq!(told(100, || panic!("no layer {}", 3)), (LOUPE_FAILED, "it panicked: no layer 3".to_string()));
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

loupe::plugin!("sums", "1.0", preprocessor "sums" => Sums);

/// Pushes the scalar of each event.
struct Sums;
impl loupe::Preprocessor for Sums {
    const HELP: &'static str = "what is pushed";
    const SERIES: &'static [&'static str] = &["pushed", "unused"];

    fn new(_: &loupe::Options) -> Result<Self> {
        Ok(Sums)
    }
    fn request(&self) -> loupe_request {
        loupe_request::EMPTY
    }
    fn process(&mut self, event: &loupe::Event, series: &mut [loupe::Series]) -> Result {
        Ok(series[0].push(event.abi.scalar))
    }
}

unsafe extern "C" fn keep(kept: *mut c_void, bytes: *const c_void, size: usize, _: *mut loupe_error) -> loupe_status {
    (*(kept as *mut Vec<u8>)).extend(std::slice::from_raw_parts(bytes as *const u8, size));
    LOUPE_OK
}

/// The merged numbers of several processes equal the numbers of one process that saw all events.
#[test]
fn states_of_a_preprocessor_merge_as_if_one_had_seen_all() {
    unsafe {
        let plugin = loupe_plugin_entry.get_extension.unwrap()(LOUPE_PLUGIN_ID.as_ptr() as *const c_char);
        let component = **(*(plugin as *const loupe_plugin)).components;
        let table = *(component.table as *const loupe_preprocessor);
        let error = std::ptr::null_mut();
        let made = |values: &[f64]| {
            let mut this = std::ptr::null_mut();
            let (host, options) = (loupe_host::EMPTY, loupe_options::EMPTY);
            assert_eq!(component.create.unwrap()(&component, &host, &options, &mut this, error), LOUPE_OK);
            for scalar in values {
                let event = loupe_event { scalar: *scalar, ..loupe_event::EMPTY };
                assert_eq!(table.process.unwrap()(this, &event, error), LOUPE_OK);
            }
            this
        };
        let numbers = |this| {
            let mut read = loupe_series::EMPTY;
            assert_eq!(table.read.unwrap()(this, 0, &mut read, error), LOUPE_OK);
            let counts = [read.count, read.nan_count, read.inf_count].map(|count| count as f64);
            let rest = [read.sum, read.mean, read.standard_deviation, read.minimum, read.maximum, read.last];
            [counts.to_vec(), rest.to_vec()].concat()
        };
        let (all, first, empty) = (made(&[1.0, f64::NAN, 4.0, -7.0, f64::INFINITY, 2.0]), made(&[1.0, f64::NAN]), made(&[]));
        for other in [made(&[4.0, -7.0, f64::INFINITY]), made(&[2.0]), empty] {
            let mut kept = Vec::new();
            assert_eq!(table.save_state.unwrap()(other, Some(keep), &mut kept as *mut _ as *mut c_void, error), LOUPE_OK);
            let bytes = kept.as_ptr() as *const c_void;
            assert_eq!(table.merge_state.unwrap()(first, bytes, kept.len() - 1, error), LOUPE_INVALID);
            assert_eq!(table.merge_state.unwrap()(first, bytes, kept.len(), error), LOUPE_OK);
        }
        for (one, merged) in numbers(all).iter().zip(numbers(first)) {
            assert!((one - merged).abs() < 1e-12, "{:?} and {:?}", numbers(all), numbers(first));
        }
        assert_eq!(table.reset.unwrap()(first, error), LOUPE_OK);
        assert_eq!(numbers(first), vec![0.0; 9]);
    }
}
