#![no_main]

use stello_session::llm::properties::tool_calls;

libfuzzer_sys::fuzz_target!(|data: &[u8]| tool_calls(data));
