//! A generated function, as it is with the attribute and without.

use crate::rule::Rule;

/// What a line begins with that is the attribute in the one and a comment in the other.
pub const LIMIT: &str = "@limited ";

pub struct Case {
    pub number: u64,
    pub text: String,
    pub rules: Vec<Rule>,
    pub skip_if: bool,
    pub deny_if: bool,
    /// Whether its arguments may drop in another order.
    pub unordered: bool,
    /// Whether its body is within a block that owns the arguments.
    pub is_wrapped: bool,
    /// Whether another attribute puts the body into a block.
    pub is_rewritten: bool,
    /// Whether a macro makes it of fragments.
    pub is_of_fragments: bool,
}

/// With the attribute, or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Plain,
    Limited,
}

impl Side {
    pub const BOTH: [Self; 2] = [Self::Plain, Self::Limited];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Limited => "limited",
        }
    }
}

impl Case {
    /// Its module, line by line as many on both sides.
    pub fn module(&self, side: Side) -> String {
        let mut module = format!(
            "pub(crate) mod case_{} {{\n#[allow(unused_imports)]\nuse crate::harness::*;\n",
            self.number
        );
        for line in self.text.lines() {
            match (line.strip_prefix(LIMIT), side) {
                (Some(attribute), Side::Limited) => module.push_str(attribute),
                (Some(_), Side::Plain) => module.push_str("// limited"),
                (None, _) => module.push_str(line),
            }
            module.push('\n');
        }
        module.push_str("}\n");
        module
    }
}
