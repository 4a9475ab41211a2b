//! Return types, and expressions of them.

use super::Grammar;
use super::body::is_visible;
use super::parameter::{Binding, Kind};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Out {
    Number,
    Unit,
    Drop,
    Text,
    Unsized,
    Opaque,
    Borrowed,
    Both,
    Many,
    Wide,
    Status,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Result(Out, &'static str),
    Option(Out),
    Value(Out),
    Response,
    /// `impl IntoResponse`, of a type of its own.
    Opaque(u64),
}

/// What a function returns.
#[derive(Clone, Copy)]
pub struct Answer {
    form: Form,
    /// Whether a `Result` goes by another name.
    by_alias: bool,
}

/// What `?` takes in the body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    Results,
    Options,
    Nothing,
}

impl Out {
    fn ty(self) -> &'static str {
        match self {
            Self::Number => "u32",
            Self::Unit => "()",
            Self::Drop => "D",
            Self::Text => "String",
            Self::Unsized => "Box<dyn Touch>",
            Self::Opaque => "impl Touch",
            Self::Borrowed => "&'a D",
            Self::Both => "(D, u32)",
            Self::Many => "Vec<u32>",
            Self::Wide => "u64",
            Self::Status => "StatusCode",
        }
    }

    fn value(self, g: &mut Grammar, scope: &[Binding]) -> String {
        let number = number(g, scope);
        match self {
            Self::Number if g.one_in(5) => format!("{}.touch()", g.made("end")),
            Self::Number => number,
            Self::Unit => "()".to_owned(),
            Self::Drop => droppable(g, scope),
            Self::Text => g
                .one_of(&[
                    "\"text\".to_owned()",
                    "String::new()",
                    "format!(\"{}\", input())",
                    "\"into\".into()",
                ])
                .to_owned(),
            Self::Unsized => format!("Box::new({})", droppable(g, scope)),
            Self::Opaque => droppable(g, scope),
            Self::Borrowed => {
                let lasts = |binding: &&Binding| binding.name.starts_with("lent");
                scope
                    .iter()
                    .find(lasts)
                    .expect("a function that lends has it")
                    .name
                    .clone()
            }
            // The number could be of what is moved before it.
            Self::Both => format!("({}, {})", droppable(g, scope), self::number(g, &[])),
            Self::Many => g
                .one_of(&[
                    "vec![1, 2]",
                    "Vec::new()",
                    "(0..input()).collect()",
                    "Default::default()",
                ])
                .to_owned(),
            Self::Wide => format!("u64::from({number})"),
            Self::Status => g.one_of(&["StatusCode::OK", "StatusCode::NOT_FOUND"]).to_owned(),
        }
    }
}

/// Returns an expression of type `u32` over the bindings in scope.
pub fn number(g: &mut Grammar, scope: &[Binding]) -> String {
    let seen = (0..scope.len())
        .filter(|at| is_visible(scope, *at))
        .map(|at| &scope[at]);
    let mut numbers: Vec<String> = seen.filter(|b| !b.is_ignored()).filter_map(Binding::number).collect();
    numbers.push("input()".to_owned());
    numbers.push("42_u32".to_owned());
    let at = g.random.below(numbers.len() as u64) as usize;
    match g.random.below(4) {
        0 => format!("{} + 1", numbers[at]),
        1 => format!("({}) * 2", numbers[at]),
        _ => numbers.swap_remove(at),
    }
}

/// Returns a value that drops: a new one, or one that is moved.
fn droppable(g: &mut Grammar, scope: &[Binding]) -> String {
    let mut seen = (0..scope.len())
        .rev()
        .filter(|at| is_visible(scope, *at))
        .map(|at| &scope[at]);
    let owned = seen.find(|b| b.kind == Kind::Drop && b.is_whole() && !b.is_ignored());
    match owned {
        Some(binding) if g.one_in(2) => binding.name.clone(),
        _ => g.made("out"),
    }
}

impl Answer {
    /// One that goes where names are asked for, or also `impl Trait` where that is allowed.
    pub fn new(g: &mut Grammar, opaque: bool, lends: bool, coerces: bool) -> Self {
        let out = g.one_of(&[
            Out::Number,
            Out::Number,
            Out::Unit,
            Out::Drop,
            Out::Text,
            Out::Unsized,
            Out::Opaque,
            Out::Borrowed,
            Out::Both,
            Out::Many,
            Out::Wide,
            Out::Status,
        ]);
        let out = match out {
            Out::Opaque if !opaque => Out::Drop,
            Out::Unsized if !coerces => Out::Number,
            Out::Borrowed if !lends => Out::Number,
            out => out,
        };
        let named = g.one_of(&[Out::Number, Out::Unit, Out::Drop, Out::Text]);
        let form = match g.random.below(13) {
            0..5 => Form::Result(out, "Fail"),
            5 => Form::Result(out, "Heavy"),
            6 => Form::Result(out, "Box<dyn Error + Send + Sync>"),
            7 if !g.send => Form::Result(out, "Box<dyn Error>"),
            8 => Form::Option(g.one_of(&[Out::Number, Out::Drop, Out::Text])),
            9 => Form::Value(named),
            10 | 11 if opaque => Form::Opaque(g.random.below(4)),
            10 => Form::Response,
            _ => Form::Result(named, "Fail"),
        };
        Self {
            form,
            by_alias: g.one_in(8),
        }
    }

    pub fn ty(&self) -> String {
        match self.form {
            Form::Result(out, "Fail") if self.by_alias => format!("Reply<{}>", out.ty()),
            Form::Result(out, error) => format!("Result<{}, {error}>", out.ty()),
            Form::Option(out) => format!("Option<{}>", out.ty()),
            Form::Value(out) => out.ty().to_owned(),
            Form::Response => "Response".to_owned(),
            Form::Opaque(_) => "impl IntoResponse".to_owned(),
        }
    }

    /// Returns the arrow and the type, or nothing for `()`.
    pub fn arrow(&self) -> String {
        match self.form {
            Form::Value(Out::Unit) => String::new(),
            _ => format!(" -> {}", self.ty()),
        }
    }

    pub fn lends(&self) -> bool {
        matches!(self.form, Form::Result(Out::Borrowed, _))
    }

    pub fn is_response(&self) -> bool {
        matches!(self.form, Form::Opaque(_))
    }

    /// Returns `true` if it may be held while a call is settled without the future losing `Send`.
    pub fn is_send(&self) -> bool {
        !matches!(self.form, Form::Result(_, "Box<dyn Error>"))
    }

    /// Returns `true` if it is one value, so that a tail without value says as much.
    pub fn is_unit(&self) -> bool {
        self.form == Form::Value(Out::Unit)
    }

    pub fn tried(&self) -> Tried {
        match self.form {
            Form::Result(..) => Tried::Results,
            Form::Option(_) => Tried::Options,
            _ => Tried::Nothing,
        }
    }

    /// Returns an `on_limit`, and whether there has to be one.
    pub fn on_limit(&self) -> (&'static [&'static str], bool) {
        match self.form {
            Form::Result(_, "Fail") => (
                &[
                    "|_| Err(Fail::Refused)",
                    "|rejection| { let refused = rejection; Err(refused.into()) }",
                ],
                false,
            ),
            Form::Result(_, _) => (&["|rejection| { let refused = rejection; Err(refused.into()) }"], false),
            Form::Option(Out::Number) => (&["|_| Some(REFUSED)"], true),
            Form::Option(Out::Drop) => (&["|_| Some(D(REFUSED_TEXT))"], true),
            Form::Option(_) => (&["|_| Some(REFUSED_TEXT.to_owned())"], true),
            Form::Value(Out::Number) => (
                &["|_| REFUSED", "|rejection| { let _ = rejection.kind(); REFUSED }"],
                true,
            ),
            Form::Value(Out::Unit) => (&["|_| ()", "drop", "|_| {}"], true),
            Form::Value(Out::Drop) => (&["|_| D(REFUSED_TEXT)"], true),
            Form::Value(_) => (&["|_| REFUSED_TEXT.to_owned()", "|_| REFUSED_TEXT.into()"], true),
            Form::Response => (
                &[
                    "|_| StatusCode::TOO_MANY_REQUESTS.into_response()",
                    "Rejection::into_response",
                ],
                false,
            ),
            Form::Opaque(_) => (&[], false),
        }
    }

    /// Returns an expression of the type.
    pub fn value(&self, g: &mut Grammar, scope: &[Binding]) -> String {
        match self.form {
            // A failure alone does not tell the type.
            Form::Result(Out::Opaque, _) => format!("Ok({})", Out::Opaque.value(g, scope)),
            Form::Result(out, error) => match g.random.below(6) {
                0 if error == "Fail" => "Err(Fail::Own(7))".to_owned(),
                0 | 1 => "Err(Own(7).into())".to_owned(),
                2 if out == Out::Number => "Ok(step(2)?)".to_owned(),
                2 if out == Out::Number => "step(2).map_err(Into::into)".to_owned(),
                _ => format!("Ok({})", out.value(g, scope)),
            },
            Form::Option(out) => match g.random.below(4) {
                0 => "None".to_owned(),
                _ => format!("Some({})", out.value(g, scope)),
            },
            Form::Value(out) => out.value(g, scope),
            Form::Response => g
                .one_of(&[
                    "StatusCode::OK.into_response()",
                    "StatusCode::NOT_FOUND.into_response()",
                ])
                .to_owned(),
            Form::Opaque(0) => format!("Resp({})", droppable(g, scope)),
            Form::Opaque(1) => g.one_of(&["StatusCode::OK", "StatusCode::NOT_FOUND"]).to_owned(),
            Form::Opaque(2) => g
                .one_of(&["(StatusCode::ACCEPTED, \"yes\")", "(StatusCode::NOT_FOUND, \"no\")"])
                .to_owned(),
            Form::Opaque(_) => format!("Ok::<_, StatusCode>(Resp({}))", droppable(g, scope)),
        }
    }
}
