//! Statements that move, in whole or in part, and those that give back.

use super::body::{Body, Place};
use super::parameter::{Binding, Kind, State};

pub fn is_owned(binding: &Binding) -> bool {
    matches!(
        binding.kind,
        Kind::Drop | Kind::Pair | Kind::Tuple | Kind::Boxed | Kind::Generic | Kind::Text | Kind::Items | Kind::Counted
    )
}

impl Body<'_> {
    /// Moves the whole of a binding.
    pub fn moves(&mut self, place: Place) -> Option<Vec<String>> {
        let at = self.find(|b| is_owned(b) && b.is_whole())?;
        let (name, kind) = (self.scope[at].name.clone(), self.scope[at].kind);
        self.set(at, State::Gone);
        let kept = self.g.fresh("kept");
        Some(match (kind, self.g.random.below(7)) {
            (Kind::Drop, 0) => vec![format!("consume({name});")],
            (Kind::Drop, 1) if place.waits => vec![format!("consume_later({name}).await;")],
            (Kind::Drop, 2) => vec![
                format!("let {kept} = move || {name}.touch();"),
                format!("note({kept}());"),
            ],
            (Kind::Drop, 3) if place.waits => vec![
                "async move {".to_owned(),
                format!("{name}.touch();"),
                "yield_now().await;".to_owned(),
                "}".to_owned(),
                ".await;".to_owned(),
            ],
            (Kind::Drop, 4) => vec![format!("let {kept} = [{name}];"), format!("{kept}[0].touch();")],
            (Kind::Boxed, 0) => vec![format!("let {kept} = *{name};"), format!("{kept}.touch();")],
            (Kind::Pair, 0) => vec![
                format!("let Pair {{ y: {kept}, .. }} = {name};"),
                format!("{kept}.touch();"),
            ],
            (Kind::Tuple, 0) => vec![format!("let (_, {kept}) = {name};"), format!("{kept}.touch();")],
            (Kind::Items, 0) => vec![
                format!("for item in {name} {{"),
                "item.touch();".to_owned(),
                "}".to_owned(),
            ],
            (Kind::Drop, _) => {
                self.scope.push(Binding::new(&kept, Kind::Drop));
                vec![format!("let {kept} = {name};")]
            }
            _ => vec![format!("drop({name});")],
        })
    }

    /// Moves the first part of a binding out of it.
    pub fn moves_part(&mut self) -> Option<Vec<String>> {
        let parted = |b: &Binding| matches!(b.kind, Kind::Pair | Kind::Tuple | Kind::OwnedHost);
        let at = self.find(|b| parted(b) && b.is_whole())?;
        let part = match self.scope[at].kind {
            Kind::Pair => "x",
            Kind::Tuple => "0",
            _ => "name",
        };
        let (name, kept) = (self.scope[at].name.clone(), self.g.fresh("part"));
        self.set(at, State::Part);
        self.scope.push(Binding::new(&kept, Kind::Drop));
        Some(vec![format!("let {kept} = {name}.{part};")])
    }

    /// Moves a binding on one way only.
    pub fn moves_perhaps(&mut self) -> Option<Vec<String>> {
        let at = self.find(|b| is_owned(b) && b.is_whole())?;
        let name = self.scope[at].name.clone();
        self.set(at, State::Gone);
        Some(match self.g.random.below(2) {
            0 => vec!["if input() < 2 {".to_owned(), format!("drop({name});"), "}".to_owned()],
            _ => vec![
                "match input() {".to_owned(),
                format!("0 | 3 => drop({name}),"),
                "_ => note(\"kept\"),".to_owned(),
                "}".to_owned(),
            ],
        })
    }

    /// Assigns to a mutable binding, which may have been moved.
    pub fn assigns(&mut self, place: Place) -> Option<Vec<String>> {
        let assigned = |b: &Binding| b.mutable && matches!(b.kind, Kind::Drop | Kind::Number | Kind::Text);
        let at = self.find(|b| assigned(b) && (place.moves || b.is_whole()))?;
        let name = self.scope[at].name.clone();
        self.set(at, State::Whole);
        Some(match self.scope[at].kind {
            Kind::Drop => vec![format!("{name} = {};", self.g.made("again"))],
            Kind::Number => vec![format!("{name} += 1;")],
            _ => vec![format!("{name} = \"again\".to_owned();")],
        })
    }
}
