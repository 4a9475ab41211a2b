//! The numbers of a policy as they are written.

use proc_macro2::Span;
use syn::{BinOp, Error, Expr, ExprLit, ExprUnary, Lit, LitInt, Member, Result, UnOp};

use super::bare;
use super::written::{last_word, source};
use crate::window;

/// The largest count that a policy takes.
const MAX_COUNT: u32 = 10_000_000;

#[derive(Clone)]
pub(crate) enum Count {
    Number(u32),
    Const(Expr),
}

#[derive(Clone)]
pub(crate) enum Window {
    Micros(u64),
    Const(Expr),
}

/// Reads a number of calls, of the argument `name`.
pub(super) fn number(name: &str, expr: Expr) -> Result<Count> {
    let expr = bare(expr);
    let Expr::Lit(ExprLit { lit, .. }) = &expr else {
        return match (rate_in_division(&expr), &expr) {
            (Some(rate), _) => Err(Error::new_spanned(&expr, rate.told())),
            (None, Expr::Unary(ExprUnary { op: UnOp::Neg(_), .. })) => Err(Error::new_spanned(&expr, no_number(name))),
            (None, Expr::Closure(_)) => Err(Error::new_spanned(
                &expr,
                format_args!(
                    "the {name} is known when the program is built: write a number or a constant, or `policy = \"..\"`"
                ),
            )),
            (None, _) => Ok(Count::Const(expr)),
        };
    };
    let message = match lit {
        Lit::Int(int) => match int.base10_parse::<u32>() {
            Ok(0) => format!("a {name} of 0 admits nobody: write 1 or more"),
            Ok(count) if count <= MAX_COUNT && unit(int).is_none() => return Ok(Count::Number(count)),
            _ if unit(int).is_some() => {
                format!("the {name} is a number without a unit: write `{}`", int.base10_digits())
            }
            _ => no_number(name),
        },
        Lit::Float(float) => match float.base10_parse::<f64>() {
            Ok(number) if number.fract() == 0.0 && number >= 1.0 && number <= f64::from(MAX_COUNT) => {
                format!("the {name} is a whole number: write `{number}`")
            }
            _ => no_number(name),
        },
        Lit::Str(text) => not_a_text(name, &text.value()),
        Lit::Char(digit) if digit.value().is_ascii_digit() => not_a_text(name, &digit.value().to_string()),
        _ => no_number(name),
    };
    Err(Error::new_spanned(&expr, message))
}

fn no_number(name: &str) -> String {
    format!(
        "the {name} is a whole number from 1 to 10,000,000, or a constant of type `u32`: write for example `{name} = 5`"
    )
}

/// Tells what to write for a number in quotes, or a text in the place of the first number.
fn not_a_text(name: &str, text: &str) -> String {
    let digits = text.trim().replace('_', "");
    if digits.parse::<u32>().is_ok() {
        return format!("the {name} is a number: write `{digits}` without quotes");
    }
    if let Some(rate) = Rate::read(text) {
        return rate.told();
    }
    match window::meant(text) {
        Some(window) => format!("the {name} is a number and comes first: write `5, \"{window}\"`"),
        None => format!(
            "the {name} is a number: write `{name} = 5`; a text by itself is `name = {text:?}` or `policy = {text:?}`"
        ),
    }
}

/// Reads a length of time, of the argument `name`.
pub(super) fn length(name: &str, expr: Expr) -> Result<Window> {
    let expr = bare(expr);
    if let Some(number) = reckoned(&expr) {
        return Err(Error::new_spanned(&expr, window::without_unit(name, number)));
    }
    if let Some(meant) = number_of_unit(&expr) {
        return Err(Error::new_spanned(
            &expr,
            format_args!("a {name} is a string: write `\"{meant}\"`"),
        ));
    }
    let message = match &expr {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => match Rate::read(&text.value()) {
            Some(rate) => rate.told(),
            None => return window::parse(name, text).map(Window::Micros),
        },
        Expr::Lit(ExprLit { lit: Lit::Bool(_), .. }) if name == "block" => {
            "calls over a limit are refused without `block`, which is for how long after one of them: write `block = \"30m\"`".to_owned()
        }
        Expr::Lit(ExprLit { lit, .. }) => match source(lit).and_then(|text| window::meant(&text)) {
            Some(meant) => format!("a {name} is a string: write `\"{meant}\"`"),
            None => format!("a {name} is a string such as `\"10m\"`, or a constant of type `Duration`"),
        },
        _ => match empty_duration(&expr) {
            true => format!("the {name} is 0: write how long it is, as in `\"10m\"`"),
            false => return Ok(Window::Const(expr)),
        },
    };
    Err(Error::new_spanned(&expr, message))
}

/// A number of calls in a length of time, as one text.
pub(super) struct Rate {
    count: u32,
    window: String,
}

impl Rate {
    /// Reads `5/1m`, `10 per minute`, `10r/s`, `100 requests every 10 minutes`.
    pub(super) fn read(text: &str) -> Option<Self> {
        const WORDS: [&str; 9] = ["", "r", "x", "req", "reqs", "requests", "calls", "times", "hits"];
        const BETWEEN: [&str; 6] = ["per", "every", "each", "in", "an", "a"];
        let text = text.trim().to_lowercase();
        let (count, rest) = text.split_at(text.find(|c: char| !c.is_ascii_digit() && c != '_')?);
        let rest = rest.trim_start();
        let separated = rest.split_once(['/', '@']).or_else(|| {
            let words = BETWEEN.into_iter();
            words
                .filter_map(|word| rest.split_once(&format!("{word} ")))
                .find(|(before, _)| WORDS.contains(&before.trim()))
        });
        let (_, after) = separated.filter(|(before, _)| WORDS.contains(&before.trim()))?;
        Some(Self {
            count: count.replace('_', "").parse().ok()?,
            window: window::meant(after)?,
        })
    }

    /// Returns what to write for the two, each in its place.
    pub(super) fn positional(&self) -> String {
        format!("{}, \"{}\"", self.count, self.window)
    }

    fn told(&self) -> String {
        format!(
            "the count and the window are two arguments: write `{}`",
            self.positional()
        )
    }
}

/// Returns the rate that `10 / s`, `10r/s` or `5/1m` stands for. Without quotes it is a division.
fn rate_in_division(expr: &Expr) -> Option<Rate> {
    let Expr::Binary(binary) = expr else {
        return None;
    };
    let (Expr::Lit(_), BinOp::Div(_)) = (&*binary.left, &binary.op) else {
        return None;
    };
    // A division by a number or by a constant is one.
    let per_unit = match &*binary.right {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => unit(int).is_some(),
        right => last_word(right).is_some_and(|word| window::meant(&word.to_string()).is_some()),
    };
    let text = format!("{}/{}", source(&binary.left)?, source(&binary.right)?);
    Rate::read(&text).filter(|_| per_unit)
}

/// Returns the suffix of an integer literal, unless it is the name of an integer type.
fn unit(int: &LitInt) -> Option<&str> {
    let suffix = int.suffix();
    let of_a_type =
        suffix.is_empty() || suffix.trim_start_matches(['u', 'i']).parse::<u8>().is_ok() || suffix.ends_with("size");
    (!of_a_type).then_some(suffix)
}

/// Returns the product of integer literals, as in `15 * 60 * 1000`.
pub(super) fn reckoned(expr: &Expr) -> Option<u64> {
    match expr {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) if unit(int).is_none() => int.base10_parse().ok(),
        Expr::Paren(paren) => reckoned(&paren.expr),
        Expr::Binary(binary) => {
            let (left, right) = (reckoned(&binary.left)?, reckoned(&binary.right)?);
            match binary.op {
                BinOp::Mul(_) => left.checked_mul(right),
                BinOp::Add(_) => left.checked_add(right),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the duration that `10.minutes()` or `10.minutes` stands for, in the syntax of the attribute. Neither is a constant expression in Rust.
fn number_of_unit(expr: &Expr) -> Option<String> {
    let (number, unit) = match expr {
        Expr::MethodCall(call) if call.args.is_empty() => (&call.receiver, call.method.to_string()),
        Expr::Field(field) => match &field.member {
            Member::Named(unit) => (&field.base, unit.to_string()),
            Member::Unnamed(_) => return None,
        },
        _ => return None,
    };
    let number = reckoned(number)?;
    window::meant(&format!("{number} {unit}"))
}

/// Returns `true` for `Duration::ZERO` and `Duration::from_..(0)`, which `cargo check` accepts and `cargo build` rejects.
fn empty_duration(expr: &Expr) -> bool {
    let of_duration = |expr: &Expr, is: &dyn Fn(&str) -> bool| match expr {
        Expr::Path(path) => {
            let mut segments = path.path.segments.iter().rev();
            let name = segments.next().is_some_and(|name| is(&name.ident.to_string()));
            name && segments.next().is_some_and(|ty| ty.ident == "Duration")
        }
        _ => false,
    };
    match expr {
        Expr::Call(call) => {
            let zero =
                |arg: &Expr| matches!(arg, Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) if int.base10_digits() == "0");
            of_duration(&call.func, &|name| name.starts_with("from_"))
                && call.args.len() == 1
                && call.args.iter().all(zero)
        }
        _ => of_duration(expr, &|name| name == "ZERO"),
    }
}

/// Returns what to write for numbers and words that stand beside each other, as in `10 per minute` or `10 minutes`.
pub(super) fn in_words(text: &str, at: Span) -> Option<Error> {
    let told = match Rate::read(text) {
        Some(rate) => rate.told(),
        None => format!("a window is a string: write `\"{}\"`", window::meant(text)?),
    };
    Some(Error::new(at, told))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_53_a_rate_in_one_text_is_read() {
        let rates = [
            ("5/1m", "5, \"1m\""),
            ("10 per minute", "10, \"1m\""),
            ("5/minute", "5, \"1m\""),
            ("10r/s", "10, \"1s\""),
            ("100 requests every 10 minutes", "100, \"10m\""),
            ("100 in 1h", "100, \"1h\""),
            ("1_000/day", "1000, \"1d\""),
            ("3 times a week", "3, \"7d\""),
            ("5 req / 1.5h", "5, \"1h30m\""),
            ("2@10s", "2, \"10s\""),
        ];
        for (text, expected) in rates {
            assert_eq!(
                Rate::read(text).map(|rate| rate.positional()).as_deref(),
                Some(expected),
                "{text}"
            );
        }
        for text in [
            "5",
            "10m",
            "login",
            "per minute",
            "5/",
            "5/login",
            "login/1m",
            "10 apples per minute",
        ] {
            assert!(Rate::read(text).is_none(), "{text}");
        }
    }
}
