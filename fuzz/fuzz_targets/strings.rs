#![no_main]

use stello_session::text::properties::strings;

libfuzzer_sys::fuzz_target!(|data: &[u8]| strings(data));
