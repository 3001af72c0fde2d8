#![no_main]

use stello_session::storage::sqlite::properties::bytes;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bytes(data));
