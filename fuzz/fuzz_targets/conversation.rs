#![no_main]

use stello_session::context::compress::properties::conversation;

libfuzzer_sys::fuzz_target!(|data: &[u8]| conversation(data));
