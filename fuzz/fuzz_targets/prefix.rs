#![no_main]

use stello_session::context::compress::properties::prefix;

libfuzzer_sys::fuzz_target!(|data: &[u8]| prefix(data));
