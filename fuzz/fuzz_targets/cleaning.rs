#![no_main]

use stello_session::context::tool_groups::properties::cleaning;

libfuzzer_sys::fuzz_target!(|data: &[u8]| cleaning(data));
