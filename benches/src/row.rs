//! What is told of one comparison.

use serde::Serialize;

/// What is compared.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    /// Less is better.
    Cost(&'static str),
    /// More is better.
    Rate(&'static str),
}

/// Ours beside a peer's.
#[derive(Debug, Serialize)]
pub struct Row {
    pub name: String,
    /// The median over the rounds, as is `peer`.
    pub ours: f64,
    pub peer: f64,
    pub unit: &'static str,
    /// Smaller is better for us: ours / peer for a cost, peer / ours for a rate.
    pub ratio: f64,
    /// The ratio to reach, where there is one.
    pub goal: Option<f64>,
    pub rounds: usize,
}

impl Row {
    pub fn new(name: impl Into<String>, unit: Unit, (ours, peer): (f64, f64), rounds: usize) -> Self {
        let (unit, ratio) = match unit {
            Unit::Cost(unit) => (unit, ours / peer),
            Unit::Rate(unit) => (unit, peer / ours),
        };
        Self {
            name: name.into(),
            ours,
            peer,
            unit,
            ratio,
            goal: None,
            rounds,
        }
    }

    /// With the ratio to reach.
    pub fn goal(self, ratio: f64) -> Self {
        Self {
            goal: Some(ratio),
            ..self
        }
    }
}

/// Prints rows as they are measured.
pub struct Table {
    json: bool,
}

impl Table {
    pub fn new(json: bool) -> Self {
        if !json {
            println!(
                "{:<60} {:>12} {:>12} {:<6} {:>7} {:>7}",
                "", "ours", "peer", "unit", "ratio", "goal"
            );
        }
        Self { json }
    }

    pub fn add(&self, row: &Row) {
        if self.json {
            println!("{}", serde_json::to_string(row).expect("a row is plain"));
        } else {
            let Row {
                name,
                ours,
                peer,
                unit,
                ratio,
                ..
            } = row;
            let goal = row.goal.map_or_else(String::new, |goal| format!("{goal:.3}"));
            let missed = row.goal.is_some_and(|goal| *ratio > goal);
            println!(
                "{name:<60} {ours:>12.1} {peer:>12.1} {unit:<6} {ratio:>7.3} {goal:>7}{}",
                if missed { "  missed" } else { "" }
            );
        }
    }
}
