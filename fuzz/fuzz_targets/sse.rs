#![no_main]

use stello_session::llm::properties::sse;

libfuzzer_sys::fuzz_target!(|data: &[u8]| sse(data));
