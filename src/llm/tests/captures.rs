//! Raw responses of real servers.
