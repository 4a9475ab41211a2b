//! Parameters: their patterns and types, and the arguments that are given for them.

use super::Grammar;

/// What is known of the type of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A value that notes when it drops.
    Drop,
    Shared,
    Exclusive,
    Number,
    Text,
    Str,
    Pair,
    Tuple,
    Boxed,
    Generic,
    Function,
    Slice,
    Items,
    Bytes,
    Counted,
    /// `self`, by value and by reference.
    OwnedHost,
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Whole,
    /// Its first part was moved out.
    Part,
    Gone,
}

#[derive(Clone, Debug)]
pub struct Binding {
    pub name: String,
    pub kind: Kind,
    pub mutable: bool,
    pub state: State,
}

impl Binding {
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            kind,
            mutable: false,
            state: State::Whole,
        }
    }

    fn mutable(self) -> Self {
        Self { mutable: true, ..self }
    }
}

#[derive(Default)]
pub struct Parameter {
    pub attr: &'static str,
    pub pattern: String,
    pub ty: String,
    /// The argument, or none where the parameter is configured out.
    pub argument: Option<String>,
    /// What the argument borrows.
    pub owner: Option<String>,
    pub bindings: Vec<Binding>,
    /// The type parameter, or constant, that it declares.
    pub generic: Option<String>,
    /// Whether its pattern binds only parts of it.
    pub leaves_unbound: bool,
    pub borrows: bool,
}

impl Parameter {
    fn new(pattern: impl Into<String>, ty: impl Into<String>, argument: impl Into<String>) -> Self {
        Self {
            pattern: pattern.into(),
            ty: ty.into(),
            argument: Some(argument.into()),
            ..Self::default()
        }
    }

    fn bind(mut self, bindings: impl IntoIterator<Item = Binding>) -> Self {
        self.bindings.extend(bindings);
        self
    }

    fn partly(self, leaves_unbound: bool) -> Self {
        Self { leaves_unbound, ..self }
    }

    fn generic(self, declaration: String) -> Self {
        Self {
            generic: Some(declaration),
            ..self
        }
    }

    /// Returns `true` if a future that owns it has to say so by a lifetime.
    pub fn is_captured(&self) -> bool {
        self.borrows || self.generic.is_some() || self.ty.starts_with("impl")
    }

    /// Returns a parameter that borrows an owner for as long as the call.
    fn borrowing(mut self, owner: String) -> Self {
        self.owner = Some(owner);
        self.borrows = true;
        self
    }
}

/// Returns a reference that the function may return.
pub fn lasting(g: &mut Grammar) -> Parameter {
    let (name, owner, value) = (g.fresh("lent"), g.fresh("owner"), g.made("p"));
    Parameter::new(&name, "&'a D", format!("&{owner}"))
        .bind([Binding::new(name, Kind::Shared)])
        .borrowing(format!("let {owner} = {value};"))
}

pub fn parameter(g: &mut Grammar) -> Parameter {
    let mut parameter = match g.random.below(12) {
        0..3 => whole(g),
        3..6 => taken_apart(g),
        6..8 => reference(g),
        8 => generic(g),
        9 => number(g),
        10 => text(g),
        _ => collection(g),
    };
    if g.one_in(12) {
        parameter.attr = g.one_of(&["#[allow(unused_variables)] ", "#[cfg(all())] "]);
    }
    if g.one_in(40) {
        parameter = Parameter {
            attr: "#[cfg(any())] ",
            pattern: g.fresh("gone"),
            ty: "D".to_owned(),
            ..Parameter::default()
        };
    }
    parameter
}

/// Returns a pattern for one droppable value, and what it binds.
fn sub(g: &mut Grammar) -> (String, Option<Binding>) {
    let name = g.fresh("a");
    let forms = if g.refers { 8 } else { 6 };
    match g.random.below(forms) {
        0 => ("_".to_owned(), None),
        1 => (format!("mut {name}"), Some(Binding::new(name, Kind::Drop).mutable())),
        7 => (format!("ref {name}"), Some(Binding::new(name, Kind::Shared))),
        6 => (format!("ref mut {name}"), Some(Binding::new(name, Kind::Exclusive))),
        2 => (format!("_{name}"), Some(Binding::new(format!("_{name}"), Kind::Drop))),
        _ => (name.clone(), Some(Binding::new(name, Kind::Drop))),
    }
}

/// Returns `true` if a value that a pattern for a part leaves where it was outlives what it binds.
fn leaves(pattern: &str) -> bool {
    pattern == "_" || pattern.starts_with("ref ")
}

fn whole(g: &mut Grammar) -> Parameter {
    let value = g.made("p");
    match g.random.below(8) {
        0..5 => {
            let (pattern, binding) = sub(g);
            let referenced = pattern.starts_with("ref ");
            Parameter::new(pattern, "D", value).bind(binding).partly(referenced)
        }
        5 => {
            let name = g.fresh("boxed");
            Parameter::new(&name, "Box<D>", format!("Box::new({value})")).bind([Binding::new(name, Kind::Boxed)])
        }
        6 if !g.send => {
            let name = g.fresh("counted");
            Parameter::new(&name, "Rc<D>", format!("Rc::new({value})")).bind([Binding::new(name, Kind::Counted)])
        }
        6 => Parameter::new("_", "D", value),
        _ => {
            let (name, other) = (g.fresh("pair"), g.made("p"));
            match g.one_in(2) {
                true => Parameter::new(&name, "Pair", format!("Pair {{ x: {value}, y: {other} }}"))
                    .bind([Binding::new(name, Kind::Pair)]),
                false => Parameter::new(&name, "(D, D)", format!("({value}, {other})"))
                    .bind([Binding::new(name, Kind::Tuple)]),
            }
        }
    }
}

fn taken_apart(g: &mut Grammar) -> Parameter {
    let (a, first) = sub(g);
    let (b, second) = sub(g);
    let (x, y, z) = (g.made("p"), g.made("p"), g.made("p"));
    let leaves_part = leaves(&a) || leaves(&b);
    let tuple = format!("({x}, {y})");
    let pair = format!("Pair {{ x: {x}, y: {y} }}");
    match g.random.below(12) {
        0 | 1 => Parameter::new(format!("({a}, {b})"), "(D, D)", tuple)
            .bind(first)
            .bind(second)
            .partly(leaves_part),
        2 => Parameter::new(format!("({a}, ..)"), "(D, D)", tuple)
            .bind(first)
            .partly(true),
        3 => Parameter::new(format!("(.., {b})"), "(D, D)", tuple)
            .bind(second)
            .partly(true),
        4 => Parameter::new(format!("Pair {{ x: {a}, y: {b} }}"), "Pair", pair)
            .bind(first)
            .bind(second)
            .partly(leaves_part),
        5 => Parameter::new(format!("Pair {{ y: {b}, .. }}"), "Pair", pair)
            .bind(second)
            .partly(true),
        6 => Parameter::new(format!("Wrap({a})"), "Wrap", format!("Wrap({x})"))
            .bind(first)
            .partly(leaves(&a)),
        7 => Parameter::new(format!("[{a}, {b}]"), "[D; 2]", format!("[{x}, {y}]"))
            .bind(first)
            .bind(second)
            .partly(leaves_part),
        8 => Parameter::new(format!("[{a}, .., {b}]"), "[D; 3]", format!("[{x}, {y}, {z}]"))
            .bind(first)
            .bind(second)
            .partly(true),
        9 => {
            let n = g.fresh("n");
            let value = format!("Outer {{ pair: {pair}, n: 3 }}");
            Parameter::new(
                format!("Outer {{ pair: Pair {{ x: {a}, .. }}, n: {n} }}"),
                "Outer",
                value,
            )
            .bind(first)
            .bind([Binding::new(n, Kind::Number)])
            .partly(true)
        }
        10 => {
            let name = g.fresh("side");
            Parameter::new(
                format!("(Side::Left({name}) | Side::Right({name}))"),
                "Side",
                format!("Side::Right({x})"),
            )
            .bind([Binding::new(name, Kind::Drop)])
        }
        _ => {
            let name = g.fresh("whole");
            Parameter::new(format!("{name} @ (_, _)"), "(D, D)", tuple).bind([Binding::new(name, Kind::Tuple)])
        }
    }
}

fn reference(g: &mut Grammar) -> Parameter {
    let (name, owner, value) = (g.fresh("r"), g.fresh("owner"), g.made("p"));
    let life = g.life;
    let own = |kind: &str| format!("let {kind}{owner} = {value};");
    match g.random.below(6) {
        0 | 1 => Parameter::new(&name, format!("&{life}D"), format!("&{owner}"))
            .bind([Binding::new(name, Kind::Shared)])
            .borrowing(own("")),
        2 => Parameter::new(&name, format!("&{life}mut D"), format!("&mut {owner}"))
            .bind([Binding::new(name, Kind::Exclusive)])
            .borrowing(own("mut ")),
        3 => Parameter::new(&name, format!("&{life}dyn Touch"), format!("&{owner}"))
            .bind([Binding::new(name, Kind::Shared)])
            .borrowing(own("")),
        4 => {
            let owner_of_two = format!("let {owner} = ({value}, 4);");
            Parameter::new(
                format!("&(ref {name}, _)"),
                format!("&{life}(D, u32)"),
                format!("&{owner}"),
            )
            .bind([Binding::new(name, Kind::Shared)])
            .borrowing(owner_of_two)
        }
        _ => Parameter::new(
            format!("({name}, _)"),
            format!("(&{life}D, u32)"),
            format!("(&{owner}, 4)"),
        )
        .bind([Binding::new(name, Kind::Shared)])
        .borrowing(own("")),
    }
}

fn generic(g: &mut Grammar) -> Parameter {
    let (name, value, bound) = (g.fresh("t"), g.made("p"), g.bound);
    match g.random.below(5) {
        0 | 1 => {
            let ty = g.fresh("T");
            Parameter::new(&name, &ty, value)
                .bind([Binding::new(name, Kind::Generic)])
                .generic(format!("{ty}: Touch{bound}"))
        }
        2 | 3 => Parameter::new(&name, format!("impl Touch{bound}"), value).bind([Binding::new(name, Kind::Generic)]),
        _ => {
            let bound = if g.send {
                format!(" + Send + Sync{bound}")
            } else {
                bound.to_owned()
            };
            Parameter::new(&name, format!("impl Fn(u32) -> u32{bound}"), "|n| n + 1")
                .bind([Binding::new(name, Kind::Function)])
        }
    }
}

fn number(g: &mut Grammar) -> Parameter {
    let (n, m, life) = (g.fresh("n"), g.fresh("n"), g.life);
    let binding = Binding::new(&n, Kind::Number);
    match g.random.below(7) {
        0 => Parameter::new(format!("mut {n}"), "u32", "3").bind([binding.mutable()]),
        1 => Parameter {
            borrows: true,
            ..Parameter::new(format!("&{n}"), format!("&{life}u32"), "&4").bind([binding])
        },
        2 => Parameter::new(format!("{n} @ 0.."), "u32", "5").bind([binding]),
        3 => Parameter::new(format!("{n} @ {m}"), "u32", "6").bind([binding, Binding::new(m, Kind::Number)]),
        4 => {
            Parameter::new(format!("({n}, {m})"), "(u32, u32)", "(1, 2)").bind([binding, Binding::new(m, Kind::Number)])
        }
        _ => Parameter::new(&n, "u32", "7").bind([binding]),
    }
}

fn text(g: &mut Grammar) -> Parameter {
    let (name, owner, life) = (g.fresh("text"), g.fresh("owner"), g.life);
    let own = format!("let {owner} = \"lent\".to_owned();");
    match g.random.below(5) {
        0 | 1 => Parameter::new(&name, "String", "\"given\".to_owned()").bind([Binding::new(name, Kind::Text)]),
        2 => Parameter {
            borrows: true,
            ..Parameter::new(&name, format!("&{life}str"), "\"text\"").bind([Binding::new(name, Kind::Str)])
        },
        3 => Parameter::new(format!("mut {name}"), "String", "\"given\".to_owned()").bind([Binding::new(
            name,
            Kind::Text,
        )
        .mutable()]),
        _ => Parameter::new(&name, format!("&{life}String"), format!("&{owner}"))
            .bind([Binding::new(name, Kind::Str)])
            .borrowing(own),
    }
}

fn collection(g: &mut Grammar) -> Parameter {
    let (name, owner, life) = (g.fresh("items"), g.fresh("owner"), g.life);
    let items = format!("vec![{}, {}]", g.made("p"), g.made("p"));
    match g.random.below(4) {
        0 => Parameter::new(&name, "Vec<D>", items).bind([Binding::new(name, Kind::Items)]),
        1 => Parameter::new(&name, format!("&{life}[D]"), format!("&{owner}"))
            .bind([Binding::new(name, Kind::Slice)])
            .borrowing(format!("let {owner} = {items};")),
        2 => Parameter::new(&name, format!("&{life}Vec<D>"), format!("&{owner}"))
            .bind([Binding::new(name, Kind::Slice)])
            .borrowing(format!("let {owner} = {items};")),
        _ => {
            let size = g.fresh("N");
            Parameter::new(&name, format!("[u8; {size}]"), "[1, 2, 3]")
                .bind([Binding::new(name, Kind::Bytes)])
                .generic(format!("const {size}: usize"))
        }
    }
}
