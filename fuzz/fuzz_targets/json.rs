#![no_main]

use stello_session::text::properties::json;

libfuzzer_sys::fuzz_target!(|data: &[u8]| json(data));
