//! `replay`: whom a policy would have refused.

mod candidate;
mod slots;
mod trial;
