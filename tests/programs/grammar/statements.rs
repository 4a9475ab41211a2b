//! Statements that neither move nor are baits: uses, waits, branches, loops, closures, blocks, temporaries and items.

use super::Edition;
use super::answer::{Tried, number};
use super::baits::bait;
use super::body::{Body, Place};
use super::parameter::{Binding, Kind};

/// How often another statement is tried where one cannot be written.
const TRIES: u32 = 4;

/// Encloses lines in others.
fn around(before: impl Into<String>, lines: Vec<String>, after: impl Into<String>) -> Vec<String> {
    let mut all = vec![before.into()];
    all.extend(lines);
    all.push(after.into());
    all
}

impl Body<'_> {
    pub fn statement(&mut self, place: Place) -> Vec<String> {
        // Not all can be written everywhere.
        (0..TRIES).find_map(|_| self.one_of_all(place)).unwrap_or_default()
    }

    fn one_of_all(&mut self, place: Place) -> Option<Vec<String>> {
        match self.g.random.below(32) {
            0..4 => self.uses(),
            4..7 if place.waits => Some(vec!["yield_now().await;".to_owned()]),
            7..9 if place.moves => self.moves(place),
            9 if place.moves => self.moves_part(),
            10 if place.moves => self.moves_perhaps(),
            11 => self.assigns(place),
            12..14 => self.local(),
            14 if place.leaves => Some(self.leave()),
            15 if place.leaves => self.question(),
            16..19 if !place.is_deepest() => Some(self.nested(place)),
            19 => Some(self.closure()),
            20 if place.waits => Some(self.future(place)),
            21 | 22 => Some(self.temporary(place)),
            23 => Some(vec![
                "if input() == 3 {".to_owned(),
                "panic!(\"as it goes\");".to_owned(),
                "}".to_owned(),
            ]),
            24 => Some(self.item()),
            25 => self.shadow(),
            26 | 27 => Some(self.odd(place)),
            _ => Some(bait(self.g)),
        }
    }

    fn uses(&mut self) -> Option<Vec<String>> {
        let at = self.find(|b| b.used().is_some())?;
        Some(vec![self.scope[at].used()?])
    }

    fn local(&mut self) -> Option<Vec<String>> {
        let (name, made) = (self.g.fresh("local"), self.g.made("l"));
        Some(match self.g.random.below(5) {
            0 => vec![format!("let _{name} = {made};")],
            1 => vec![format!("let _ = {made};")],
            2 => {
                let value = number(self.g, &self.scope);
                self.scope.push(Binding::new(&name, Kind::Number));
                vec![format!("let {name} = {value};"), format!("note({name});")]
            }
            _ => {
                self.scope.push(Binding::new(&name, Kind::Drop));
                vec![format!("let {name} = {made};"), format!("{name}.touch();")]
            }
        })
    }

    fn shadow(&mut self) -> Option<Vec<String>> {
        let at = self.find(|b| !b.name.starts_with("lent") && !matches!(b.kind, Kind::OwnedHost | Kind::Host))?;
        let name = self.scope[at].name.clone();
        self.scope.push(Binding::new(&name, Kind::Drop));
        Some(vec![format!("let {name} = {};", self.g.made("shadow"))])
    }

    fn leave(&mut self) -> Vec<String> {
        let value = self.value();
        match self.g.random.below(4) {
            0 => vec![format!("let Some(_) = maybe(1) else {{ return {value} }};")],
            1 => vec![
                "match input() {".to_owned(),
                format!("1 => return {value},"),
                "n => note(n),".to_owned(),
                "}".to_owned(),
            ],
            _ => {
                let at = self.g.random.below(5);
                vec![
                    format!("if input() == {at} {{"),
                    format!("return {value};"),
                    "}".to_owned(),
                ]
            }
        }
    }

    fn question(&mut self) -> Option<Vec<String>> {
        let (name, at) = (self.g.fresh("tried"), self.g.random.below(5));
        let tried = match self.answer.tried() {
            Tried::Results => format!("step({at})?"),
            Tried::Options => format!("maybe({at})?"),
            Tried::Nothing => return None,
        };
        Some(match self.g.random.below(3) {
            0 => vec![format!("{tried};")],
            1 => vec![format!("note({tried} + {}.touch());", self.g.made("with"))],
            _ => vec![format!("let {name} = {tried};"), format!("note({name});")],
        })
    }

    fn nested(&mut self, place: Place) -> Vec<String> {
        let once = place;
        let often = Place { moves: false, ..place };
        let (count, name) = (1 + self.g.random.below(3), self.g.fresh("v"));
        match self.g.random.below(8) {
            0 => around("{", self.block(count, once), "}"),
            1 => around("if input() % 2 == 0 {", self.block(count, often), "}"),
            2 => {
                let yes = around(
                    format!("for {name} in 0..2 {{"),
                    self.block(count, often),
                    format!("note({name});"),
                );
                around(yes.join("\n"), Vec::new(), "}")
            }
            3 => {
                let inner = self.block(count, often);
                let ends = vec![
                    format!("if {name} > input() {{"),
                    format!("break '{name};"),
                    "}".to_owned(),
                    format!("{name} += 1;"),
                ];
                let all = [inner, ends].concat();
                let lines = around(format!("'{name}: loop {{"), all, "}");
                [vec![format!("let mut {name} = 0;")], lines].concat()
            }
            4 => {
                let mut inner = self.block(count, once);
                inner.push(format!("if input() == 2 {{ break '{name} 1; }}"));
                inner.push("2".to_owned());
                [
                    around(format!("let {name} = '{name}: {{"), inner, "};"),
                    vec![format!("note({name});")],
                ]
                .concat()
            }
            5 => {
                let mut inner = self.block(count, once);
                inner.push(number(self.g, &[]));
                [
                    around(format!("let {name} = {{"), inner, "};"),
                    vec![format!("note({name});")],
                ]
                .concat()
            }
            6 => {
                let yes = self.block(count, often);
                let no = self.block(count, often);
                [
                    around("if let Some(2) = maybe(2) {", yes, "} else {"),
                    no,
                    vec!["}".to_owned()],
                ]
                .concat()
            }
            _ => {
                let arm = self.block(count, often);
                [
                    around("match input() {\n0 => {", arm, "}"),
                    vec!["_ => {}".to_owned(), "}".to_owned()],
                ]
                .concat()
            }
        }
    }

    fn closure(&mut self) -> Vec<String> {
        let (name, value) = (self.g.fresh("c"), number(self.g, &self.scope));
        match self.g.random.below(3) {
            0 => vec![
                format!("let {name} = |n: u32| n + {value};"),
                format!("note({name}(1));"),
            ],
            1 => vec![
                format!("let {name} = || -> Result<u32, Own> {{"),
                "step(1)?;".to_owned(),
                "if input() == 2 { return Ok(2); }".to_owned(),
                "Ok(3)".to_owned(),
                "};".to_owned(),
                format!("note({name}().is_ok());"),
            ],
            _ => vec![format!("note([1, 2].iter().map(|n| n * 2).sum::<u32>() + {value});")],
        }
    }

    fn future(&mut self, place: Place) -> Vec<String> {
        let inner = Place {
            leaves: false,
            moves: false,
            ..place.deeper()
        };
        let (name, value) = (self.g.fresh("inner"), number(self.g, &self.scope));
        match self.g.random.below(4) {
            0 => around("async {", self.block(2, inner), "}\n.await;"),
            1 => {
                let mut lines = vec![
                    "if input() == 1 { return 5; }".to_owned(),
                    "yield_now().await;".to_owned(),
                ];
                lines.push(value);
                [
                    around(format!("let {name} = async {{"), lines, "}.await;"),
                    vec![format!("note({name});")],
                ]
                .concat()
            }
            2 => vec![
                format!("let {name} = async || step(1);"),
                format!("note({name}().await.is_ok());"),
            ],
            _ => vec![
                format!("let {name}: Result<u32, Own> = async {{ Ok(step(1)? + {value}) }}.await;"),
                format!("note({name}.is_ok());"),
            ],
        }
    }

    /// Returns temporaries, which the editions drop at different times.
    fn temporary(&mut self, place: Place) -> Vec<String> {
        let (made, other) = (self.g.made("temp"), self.g.made("temp"));
        match self.g.random.below(7) {
            0 => vec![format!("{made}.touch();")],
            1 => vec![
                format!("match {made}.id() {{"),
                "0 => {}".to_owned(),
                format!("n => note(n + {other}.id()),"),
                "}".to_owned(),
            ],
            2 => vec![
                format!("if let Some(n) = {made}.peek() {{"),
                "note(n);".to_owned(),
                "} else {".to_owned(),
                "note(\"none\");".to_owned(),
                "}".to_owned(),
            ],
            3 if place.waits => vec![format!("note({made}.later().await + {other}.touch());")],
            4 => vec![format!("note({{ {made}.peek().is_some() }});")],
            5 if self.g.edition == Edition::Of2024 => vec![
                format!("if let Some(n) = {made}.peek() && n > 2 {{"),
                "note(n);".to_owned(),
                "}".to_owned(),
            ],
            _ => vec![format!("let _ = {made}.touch() + {other}.touch();")],
        }
    }

    /// Returns what is written less often.
    fn odd(&mut self, place: Place) -> Vec<String> {
        let (name, made, other) = (self.g.fresh("odd"), self.g.made("o"), self.g.made("o"));
        let lines: &[&str] = match self.g.random.below(10) {
            0 => &["let (NAME, _) = (MADE, OTHER);", "NAME.touch();"],
            1 => &["let NAME = &MADE;", "NAME.touch();"],
            2 => &[
                "let mut NAME = vec![MADE, OTHER];",
                "while let Some(last) = NAME.pop() {",
                "last.touch();",
                "}",
            ],
            3 => &["let NAME = loop {", "break MADE;", "};", "NAME.touch();"],
            4 if place.waits => &["tokio::join!(async { MADE.later().await; }, async { note(\"joined\") });"],
            5 => &[
                "#[cfg(any())]",
                "note(\"never\");",
                "#[allow(clippy::all)]",
                "note(\"always\");",
            ],
            6 => &["note(const { 1 + 2 });"],
            7 => &[
                "match MADE {",
                "NAME if NAME.touch() > 9 => note(\"long\"),",
                "NAME => drop(NAME),",
                "}",
            ],
            8 => &["let NAME;", "NAME = MADE;", "NAME.touch();"],
            _ => &["let [NAME, ..] = [MADE, OTHER];", "NAME.touch();"],
        };
        let fill = |line: &&str| {
            line.replace("NAME", &name)
                .replace("MADE", &made)
                .replace("OTHER", &other)
        };
        lines.iter().map(fill).collect()
    }

    fn item(&mut self) -> Vec<String> {
        let name = self.g.fresh("item");
        let lines: &[&str] = match self.g.random.below(7) {
            0 => &["const NAME: u32 = 3;", "note(NAME);"],
            1 => &["fn NAME(n: u32) -> u32 {", "n + 1", "}", "note(NAME(2));"],
            2 => &["use std::fmt::Write as _;"],
            3 => &[
                "macro_rules! NAME {",
                "($($t:tt)*) => { note(stringify!($($t)*)) };",
                "}",
                "NAME!(a b);",
            ],
            4 => &["static NAME: u32 = 4;", "note(NAME);"],
            5 => &["struct NAME(u32);", "note(NAME(3).0);"],
            _ => &[
                "macro_rules! NAME {",
                "($e:expr) => { $e * 2 };",
                "}",
                "note(NAME!(1 + 2));",
            ],
        };
        lines.iter().map(|line| line.replace("NAME", &name)).collect()
    }
}
