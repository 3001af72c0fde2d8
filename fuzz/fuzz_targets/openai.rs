#![no_main]

use stello_session::llm::properties::openai;

libfuzzer_sys::fuzz_target!(|data: &[u8]| openai(data));
