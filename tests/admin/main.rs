//! The admin page.
