//! What to write for an argument that has the name that other limiters give it.

mod table;

use syn::{Expr, ExprLit, Lit};

use self::table::{ALIASES, Alias, Value};
use super::bare;
use super::expressions::body;
use super::numbers::{Rate, reckoned};
use super::words::{algorithm, snake_case};
use super::written::source;
use crate::window;

fn find(word: &str) -> Option<&'static Alias> {
    ALIASES
        .iter()
        .find(|alias| alias.words.split_whitespace().any(|known| known == word))
}

/// Tells what to write for a word of another limiter, and the value that it was given.
pub(super) fn meant(word: &str, value: Option<&Expr>) -> Option<String> {
    let word = snake_case(word);
    let alias = find(&word)?;
    let rate = match value.cloned().map(bare) {
        Some(Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        })) => Rate::read(&text.value()),
        _ => None,
    };
    Some(match (alias.value, rate) {
        (Value::Number(_) | Value::Length { .. }, Some(rate)) => {
            format!("the count and the window are `{}`", rate.positional())
        }
        (takes, _) => {
            let value = value.and_then(|value| takes.form(value));
            let line = alias
                .line
                .replace("{}", &value.unwrap_or_else(|| takes.example().to_owned()));
            format!("{} `{line}`", alias.says)
        }
    })
}

/// Tells the same for a word that stands alone: a value that has this name, such as a constant `limit`, or an option that is
/// on. Any other word is a value of the user's.
pub(super) fn meant_alone(word: &str) -> Option<String> {
    let alias = find(word)?;
    let names = ["count = ", "window = ", "key = "];
    let options = ["on_store_error = ", "reset_on_", "refund_on_", "observe", "#["];
    let starts = |starts: &[&str]| starts.iter().any(|start| alias.line.starts_with(start));
    match alias.value {
        Value::Fixed if starts(&options) => meant(word, None),
        Value::Fixed => None,
        _ if starts(&["skip_if = {}"]) => meant("exempt", None),
        _ => meant(word, syn::parse_str(word).ok().as_ref()).filter(|_| starts(&names)),
    }
}

impl Value {
    fn example(self) -> &'static str {
        match self {
            Self::Number(example)
            | Self::Function(example)
            | Self::Length { example, .. }
            | Self::Expression(example)
            | Self::Text(example) => example,
            Self::Algorithm => "token_bucket",
            Self::Fixed => "",
        }
    }

    /// Returns what the user gave as it is written here, if it has the form of the value.
    fn form(self, expr: &Expr) -> Option<String> {
        let expr = bare(expr.clone());
        match (self, &expr) {
            (Self::Number(_), expr) if reckoned(expr).is_some() => reckoned(expr).map(|number| number.to_string()),
            (Self::Length { unit, .. }, expr) if reckoned(expr).is_some() => {
                reckoned(expr).map(|number| format!("\"{number}{unit}\""))
            }
            (
                Self::Number(_),
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text), ..
                }),
            ) => text.value().trim().parse::<u32>().ok().map(|number| number.to_string()),
            (Self::Number(_), Expr::Path(_)) => source(&expr),
            (
                Self::Length { unit, .. },
                Expr::Lit(ExprLit {
                    lit: Lit::Str(text), ..
                }),
            ) => {
                let text = text.value();
                let text = if text.parse::<u64>().is_ok() {
                    format!("{text}{unit}")
                } else {
                    text
                };
                window::meant(&text).map(|text| format!("\"{text}\""))
            }
            (Self::Length { .. }, Expr::Lit(ExprLit { lit, .. })) => source(lit)
                .and_then(|text| window::meant(&text))
                .map(|text| format!("\"{text}\"")),
            (Self::Length { .. }, Expr::Path(_) | Expr::Call(_)) => source(&expr),
            (
                Self::Expression(_),
                Expr::Path(_)
                | Expr::Field(_)
                | Expr::MethodCall(_)
                | Expr::Tuple(_)
                | Expr::Unary(_)
                | Expr::Binary(_),
            ) => source(&expr),
            (Self::Expression(_), Expr::Lit(ExprLit { lit: Lit::Int(int), .. })) => {
                Some(int.base10_digits().to_owned())
            }
            (Self::Text(_), Expr::Lit(ExprLit { lit: Lit::Str(_), .. })) => source(&expr),
            (Self::Expression(_) | Self::Function(_), Expr::Closure(closure)) => body(closure),
            (Self::Function(_), Expr::Field(_) | Expr::MethodCall(_) | Expr::Tuple(_)) => source(&expr),
            (Self::Algorithm, expr) => algorithm(expr).map(str::to_owned),
            (Self::Text(_), Expr::Path(path)) => path.path.get_ident().map(|word| format!("\"{word}\"")),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_word_of_another_limiter_stands_once_and_is_none_of_ours() {
        let mut seen = HashSet::new();
        for word in ALIASES.iter().flat_map(|alias| alias.words.split_whitespace()) {
            assert!(seen.insert(word), "{word} twice");
            assert_eq!(snake_case(word), word);
            assert!(!super::super::NAMES.contains(&word), "{word} is an argument");
        }
        assert!(seen.len() > 250, "{}", seen.len());
    }

    /// Each line is read without an error, so that none sends its reader to a further one.
    #[test]
    fn every_line_that_an_alias_tells_is_read() {
        for alias in ALIASES {
            let line = alias.line.replace("{}", alias.value.example());
            let args = line
                .strip_prefix("#[limit_per_time(")
                .map_or(line.as_str(), |args| args.trim_end_matches(")]"));
            let read = syn::parse_str::<super::super::Args>(args);
            assert!(
                read.is_ok() || args == "exempt",
                "{line}: {}",
                read.err().map(|error| error.to_string()).unwrap_or_default()
            );
        }
    }

    #[test]
    fn f_53_the_users_own_value_is_told_where_it_has_the_form() {
        let told = |word: &str, value: &str| {
            let value = syn::parse_str::<Expr>(value).expect(value);
            meant(word, Some(&value)).expect(word)
        };
        assert_eq!(told("limit", "5"), "the count is `count = 5`");
        assert_eq!(told("limit", "\"5\""), "the count is `count = 5`");
        assert_eq!(
            told("limit", "\"5/minute\""),
            "the count and the window are `5, \"1m\"`"
        );
        assert_eq!(told("limit", "|| 5"), "the count is `count = 5`");
        assert_eq!(told("per", "\"1m\""), "the window is `window = \"1m\"`");
        assert_eq!(told("per", "60"), "the window is `window = \"60s\"`");
        assert_eq!(told("windowMs", "500"), "the window is `window = \"500ms\"`");
        assert_eq!(told("minutes", "10"), "the window is `window = \"10m\"`");
        assert_eq!(told("period", "1h30m"), "the window is `window = \"1h30m\"`");
        assert_eq!(told("period", "banana()"), "the window is `window = banana ()`");
        assert_eq!(told("by", "user"), "the client is `key = user`");
        assert_eq!(told("scope", "login"), "the name of the counters is `name = \"login\"`");
        assert_eq!(meant("banana", None), None);
    }

    #[test]
    fn f_53_a_word_alone_is_an_option_or_a_value() {
        assert_eq!(meant_alone("limit").as_deref(), Some("the count is `count = limit`"));
        assert_eq!(meant_alone("user").as_deref(), Some("the client is `key = user`"));
        assert_eq!(
            meant_alone("dry_run").as_deref(),
            Some("to refuse nothing and report, write `observe`")
        );
        let exempt = "a function within a limited `impl` or trait is exempt by itself, as `#[limit_per_time(exempt)]`";
        assert_eq!(meant_alone("skip").as_deref(), Some(exempt));
        for value in ["token", "state", "db", "group", "now", "refund_on_banana"] {
            assert_eq!(meant_alone(value), None, "{value}");
        }
    }
}
