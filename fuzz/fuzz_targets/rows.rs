#![no_main]

use stello_session::storage::sqlite::properties::rows;

libfuzzer_sys::fuzz_target!(|data: &[u8]| rows(data));
