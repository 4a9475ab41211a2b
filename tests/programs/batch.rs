//! Many cases as one program: written, compiled, run and compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::case::{Case, Side};
use crate::grammar::Edition;
use crate::lints;
use crate::rule::Rule;
use crate::toolchain::{Compiled, Diagnostic, Toolchain};

/// How often cases that do not compile are left out and the others tried again.
const ROUNDS: usize = 6;

const HARNESS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/harness/mod.rs");

pub struct Batch {
    pub folder: PathBuf,
    pub edition: Edition,
    pub cases: Vec<Case>,
    /// The first line of each case, by its number, the same on both sides.
    pub starts: BTreeMap<u64, u64>,
}

/// What is not the same with the attribute.
#[derive(Debug)]
pub struct Difference {
    pub case: u64,
    pub what: String,
}

/// The size of a future without the attribute and with it.
pub struct Size {
    pub plain: u64,
    pub limited: u64,
}

#[derive(Default)]
pub struct Report {
    pub ran: usize,
    pub differences: Vec<Difference>,
    pub sizes: Vec<Size>,
}

impl Batch {
    pub fn new(folder: PathBuf, edition: Edition, cases: Vec<Case>) -> Self {
        Self {
            folder,
            edition,
            cases,
            starts: BTreeMap::new(),
        }
    }

    pub fn run(mut self, toolchain: &Toolchain) -> Report {
        let mut report = Report::default();
        for _ in 0..ROUNDS {
            self.write();
            let compiled = toolchain.compile(&self.folder.join("main.rs"), self.edition, &self.folder.join("program"));
            if compiled.succeeded {
                report.differences.extend(lints::differences(&self, &compiled));
                self.compare_runs(&mut report);
                return report;
            }
            self.leave_out_what_fails(&compiled, &mut report);
        }
        panic!("{}: it does not compile, whatever is left out", self.folder.display());
    }

    fn write(&mut self) {
        fs::create_dir_all(&self.folder).expect("the folder of tests can be written to");
        for side in Side::BOTH {
            let mut text = String::new();
            for case in &self.cases {
                self.starts.insert(case.number, text.lines().count() as u64 + 1);
                text.push_str(&case.module(side));
            }
            fs::write(self.path(side), text).expect("it can be written");
        }
        let mut main = format!(
            "#[allow(warnings, clippy::all, clippy::pedantic, clippy::nursery)]\n#[path = {HARNESS:?}]\nmod harness;\nmod plain;\n\
             mod limited;\nuse harness::{{Case, Rule, Settle}};\nfn main() {{\nharness::run(&[\n"
        );
        for case in &self.cases {
            let Case {
                number,
                skip_if,
                deny_if,
                unordered,
                ..
            } = case;
            let rules = case.rules.iter().map(|rule| {
                let Rule {
                    count,
                    cost,
                    settle,
                    observes,
                } = rule;
                format!("Rule {{ count: {count}, cost: {cost}, settle: Settle::{settle:?}, observes: {observes} }}")
            });
            let rules = rules.collect::<Vec<_>>().join(", ");
            let glue = |side: Side| format!("|mode| Box::pin({}::case_{number}::glue(mode))", side.name());
            writeln!(
                main,
                "Case {{ number: {number}, rules: &[{rules}], skip_if: {skip_if}, deny_if: {deny_if}, unordered: {unordered}, plain: {}, \
                 limited: {} }},",
                glue(Side::Plain),
                glue(Side::Limited)
            )
            .expect("text can be written");
        }
        main.push_str("]);\n}\n");
        fs::write(self.folder.join("main.rs"), main).expect("it can be written");
    }

    fn path(&self, side: Side) -> PathBuf {
        self.folder.join(side.name()).with_extension("rs")
    }

    /// Returns the case that a line of either side is in.
    fn case_at(&self, line: u64) -> Option<(u64, u64)> {
        let (number, start) = self
            .starts
            .iter()
            .filter(|(_, start)| **start <= line)
            .max_by_key(|(_, start)| **start)?;
        Some((*number, *start))
    }

    /// Returns what was said about one side, with its case.
    pub fn of_side<'a>(&self, side: Side, diagnostics: &'a [Diagnostic]) -> Vec<(u64, &'a Diagnostic)> {
        let path = self.path(side);
        let case = |diagnostic: &Diagnostic| {
            let span = diagnostic.spans.iter().find(|span| span.file == path)?;
            Some(self.case_at(span.start.0)?.0)
        };
        diagnostics
            .iter()
            .filter_map(|diagnostic| Some((case(diagnostic)?, diagnostic)))
            .collect()
    }

    fn leave_out_what_fails(&mut self, compiled: &Compiled, report: &mut Report) {
        let mut failed = BTreeSet::new();
        for side in Side::BOTH {
            for (case, diagnostic) in self.of_side(side, &compiled.diagnostics) {
                if diagnostic.is_error && failed.insert(case) {
                    let what = format!("does not compile {}: {}", side.name(), diagnostic.rendered);
                    report.differences.push(Difference { case, what });
                }
            }
        }
        if failed.is_empty() {
            let errors = compiled.diagnostics.iter().filter(|diagnostic| diagnostic.is_error);
            let errors = errors.map(|error| error.rendered.as_str()).collect::<String>();
            panic!("{}: errors in no case: {errors}", self.folder.display());
        }
        for case in self.cases.extract_if(.., |case| failed.contains(&case.number)) {
            let text = Side::BOTH
                .map(|side| format!("mod {} {{\n{}}}\n", side.name(), case.module(side)))
                .concat();
            let path = self.folder.join(format!("case_{}.rs", case.number));
            fs::write(path, text).expect("it can be written");
        }
        self.starts.clear();
    }

    fn compare_runs(&self, report: &mut Report) {
        let program = self.folder.join("program");
        let output = Command::new(&program).output().expect("the program runs");
        // All stores are linked with it, so it is large.
        fs::remove_file(&program).expect("it is ours");
        let printed = String::from_utf8_lossy(&output.stdout);
        let complete = printed.lines().any(|line| line == format!("ran {}", self.cases.len()));
        assert!(
            complete,
            "{}: {printed}{}",
            self.folder.display(),
            String::from_utf8_lossy(&output.stderr)
        );
        report.ran += self.cases.len();
        for line in printed.lines() {
            if let Some((case, what)) = line.strip_prefix("case ").and_then(|line| line.split_once(": ")) {
                let case = case.parse().expect("a number");
                report.differences.push(Difference {
                    case,
                    what: what.to_owned(),
                });
            } else if let Some(size) = line.strip_prefix("size ") {
                let numbers: Vec<u64> = size.split(' ').filter_map(|number| number.parse().ok()).collect();
                report.sizes.push(Size {
                    plain: numbers[1],
                    limited: numbers[2],
                });
            } else if let (true, Some(last)) = (line.starts_with("  "), report.differences.last_mut()) {
                last.what.push('\n');
                last.what.push_str(line);
            }
        }
    }
}
