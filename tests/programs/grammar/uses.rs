//! How a binding is used without moving it, in a statement and in a key.

use super::parameter::{Binding, Kind, State};

impl Binding {
    pub fn is_whole(&self) -> bool {
        self.state == State::Whole
    }

    /// Returns `true` if its name says that it is not used.
    pub fn is_ignored(&self) -> bool {
        self.name.starts_with('_')
    }

    /// Returns a statement that uses what is left of it.
    pub fn used(&self) -> Option<String> {
        let name = &self.name;
        Some(match (self.kind, self.state) {
            (_, State::Gone) => return None,
            (Kind::Pair, State::Part) => format!("{name}.y.touch();"),
            (Kind::Tuple, State::Part) => format!("{name}.1.touch();"),
            (Kind::OwnedHost, State::Part) => format!("note({name}.n);"),
            (_, State::Part) => return None,
            (Kind::Drop | Kind::Shared | Kind::Boxed | Kind::Generic | Kind::Counted, _) => format!("{name}.touch();"),
            (Kind::Exclusive, _) => format!("{name}.change();"),
            (Kind::Number | Kind::Str, _) => format!("note({name});"),
            (Kind::Text, _) => format!("note(&{name});"),
            (Kind::Pair, _) => format!("{name}.x.touch();"),
            (Kind::Tuple, _) => format!("{name}.0.touch();"),
            (Kind::Function, _) => format!("note({name}(3));"),
            (Kind::Slice | Kind::Items, _) => format!("{name}.iter().for_each(|item| drop(item.touch()));"),
            (Kind::Bytes, _) => format!("note({name}.len());"),
            (Kind::OwnedHost | Kind::Host, _) => format!("{name}.name.touch();"),
        })
    }

    /// Returns an expression of type `u32` that notes nothing.
    pub fn number(&self) -> Option<String> {
        let name = &self.name;
        if !self.is_whole() {
            return None;
        }
        Some(match self.kind {
            Kind::Number => name.clone(),
            Kind::Drop | Kind::Shared | Kind::Exclusive | Kind::Boxed | Kind::Counted if !self.is_dynamic() => {
                format!("{name}.0.len() as u32")
            }
            Kind::Text | Kind::Str | Kind::Slice | Kind::Items | Kind::Bytes => format!("{name}.len() as u32"),
            Kind::Pair => format!("{name}.x.id()"),
            Kind::Tuple => format!("{name}.1.id()"),
            Kind::OwnedHost | Kind::Host => format!("{name}.n"),
            _ => return None,
        })
    }

    /// Returns `true` if it may be a `dyn Touch`.
    fn is_dynamic(&self) -> bool {
        self.kind == Kind::Shared && self.name.starts_with('r')
    }

    /// Returns the expressions that a key can be made of it.
    pub fn keys(&self) -> Vec<String> {
        let name = &self.name;
        let of = |forms: &[&str]| forms.iter().map(|form| form.replace("NAME", name)).collect();
        match self.kind {
            _ if self.is_dynamic() => of(&["NAME.show()"]),
            Kind::Drop | Kind::Shared | Kind::Exclusive | Kind::Boxed | Kind::Counted => of(&[
                "NAME.id()",
                "NAME.0",
                "NAME.text()",
                "NAME.text().to_owned()",
                "&NAME.id()",
                "format!(\"{}\", NAME.0)",
                "{ let key = NAME.id(); key + 1 }",
                "if NAME.id() > 2 { 1 } else { 2 }",
            ]),
            Kind::Number => of(&[
                "NAME",
                "NAME + 1",
                "&NAME",
                "(NAME)",
                "u64::from(NAME)",
                "match NAME { 0 => 1, n => n }",
            ]),
            Kind::Text => of(&[
                "NAME",
                "NAME.as_str()",
                "&NAME",
                "NAME.clone()",
                "&NAME[..]",
                "format!(\"{NAME}\")",
            ]),
            Kind::Str => of(&["NAME", "NAME.to_owned()", "NAME.len()"]),
            Kind::Pair => of(&["NAME.x.id()", "NAME.y.text()", "NAME.x.0"]),
            Kind::Tuple => of(&["NAME.0.id()", "NAME.1.text()", "NAME.0.0"]),
            Kind::Generic => of(&["NAME.show()"]),
            Kind::Slice | Kind::Items => of(&["NAME.len()", "NAME[0].id()", "NAME.first().map_or(0, D::id)"]),
            Kind::Bytes => of(&["NAME.len()", "NAME[0]"]),
            Kind::OwnedHost | Kind::Host => of(&["NAME.n", "NAME.name.text()", "&NAME.n", "NAME.key()"]),
            Kind::Function => Vec::new(),
        }
    }
}
