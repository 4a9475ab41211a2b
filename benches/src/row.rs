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
                "{:<88} {:>12} {:>12} {:<6} {:>7} {:>7}",
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
                "{name:<88} {ours:>12.1} {peer:>12.1} {unit:<6} {ratio:>7.3} {goal:>7}{}",
                if missed { "  missed" } else { "" }
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_is_below_1_where_ours_costs_less_or_does_more() {
        let cost = Row::new("a call", Unit::Cost("ns"), (50.0, 200.0), 3);
        assert_eq!((cost.ratio, cost.unit), (0.25, "ns"));
        let rate = Row::new("a server", Unit::Rate("req/s"), (200.0, 50.0), 3);
        assert_eq!((rate.ratio, rate.unit), (0.25, "req/s"));
    }

    #[test]
    fn a_row_has_a_goal_only_where_one_is_set() {
        let row = Row::new("a call", Unit::Cost("ns"), (3.0, 2.0), 5);
        assert_eq!(row.goal, None);
        let row = row.goal(1.25);
        assert_eq!((row.goal, row.ratio, row.rounds), (Some(1.25), 1.5, 5));
    }
}
