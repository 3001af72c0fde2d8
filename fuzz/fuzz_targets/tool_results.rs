#![no_main]

use stello_session::context::tool_results::properties::tool_results;

libfuzzer_sys::fuzz_target!(|data: &[u8]| tool_results(data));
