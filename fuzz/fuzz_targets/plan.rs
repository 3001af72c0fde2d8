#![no_main]

use stello_session::context::compress::properties::plan;

libfuzzer_sys::fuzz_target!(|data: &[u8]| plan(data));
