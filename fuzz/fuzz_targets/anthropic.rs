#![no_main]

use stello_session::llm::properties::anthropic;

libfuzzer_sys::fuzz_target!(|data: &[u8]| anthropic(data));
