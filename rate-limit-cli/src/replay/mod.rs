//! `replay`: whom a policy would have refused.

mod candidate;
mod plot;
mod report;
mod slots;
mod trial;
