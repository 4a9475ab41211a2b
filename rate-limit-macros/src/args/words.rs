//! Arguments whose value is one of a few words, a name, or a path.

use proc_macro2::{Ident, Span};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprLit, Lit, LitStr, Path, Result};

use super::written::{last_word, source};
use super::{bare, value};
use crate::suggest;

#[derive(Clone, Copy)]
pub(crate) enum Algorithm {
    SlidingWindow,
    TokenBucket,
    FixedWindow,
}

#[derive(Clone, Copy)]
pub(crate) enum OnStoreError {
    Open,
    Closed,
    Local,
}

/// A word, what it means, and what others call that.
type Word<T> = (&'static str, T, &'static [&'static str]);

const ALGORITHMS: [Word<Algorithm>; 3] = [
    (
        "sliding_window",
        Algorithm::SlidingWindow,
        &[
            "sliding",
            "sliding_log",
            "sliding_window_log",
            "sliding_window_counter",
            "sliding_counter",
            "rolling",
            "rolling_window",
            "moving_window",
            "log",
            "window",
            "exact",
        ],
    ),
    (
        "token_bucket",
        Algorithm::TokenBucket,
        &[
            "gcra",
            "leaky_bucket",
            "leakybucket",
            "tokenbucket",
            "bucket",
            "tokens",
            "token",
            "leaky",
            "token_buckets",
        ],
    ),
    (
        "fixed_window",
        Algorithm::FixedWindow,
        &[
            "fixed",
            "fixed_window_counter",
            "fixed_window_elastic_expiry",
            "counter",
            "fixedwindow",
        ],
    ),
];

const MODES: [Word<OnStoreError>; 3] = [
    (
        "open",
        OnStoreError::Open,
        &["allow", "admit", "pass", "fail_open", "ignore", "accept", "skip"],
    ),
    (
        "closed",
        OnStoreError::Closed,
        &[
            "deny",
            "close",
            "refuse",
            "reject",
            "fail_closed",
            "fail",
            "block",
            "error",
            "raise",
        ],
    ),
    (
        "local",
        OnStoreError::Local,
        &["fallback", "memory", "in_memory", "fail_local", "embedded"],
    ),
];

/// Reads one of `words`, as the value of `argument`.
fn word<T: Copy>(argument: &str, words: &[Word<T>], input: ParseStream<'_>) -> Result<T> {
    let names: Vec<&str> = words.iter().map(|(name, ..)| *name).collect();
    let value: Expr = input.parse()?;
    let value = bare(value);
    let (given, quoted) = given(&value);
    let alone = matches!(&value, Expr::Path(path) if path.path.get_ident().is_some());
    if let Some((_, value, _)) = words.iter().find(|(name, ..)| alone && *name == given) {
        return Ok(*value);
    }
    let meant = meant(&given, words).or_else(|| suggest::nearest(&snake_case(&given), &names));
    let message = match meant {
        Some(meant) if quoted && meant == given => format!("write it without quotes: `{argument} = {meant}`"),
        Some(meant) if given.is_empty() => format!("write `{argument} = {meant}`"),
        Some(meant) => format!("unknown `{argument}` `{given}`: write `{argument} = {meant}`"),
        None => format!(
            "`{argument}` is {}: write for example `{argument} = {}`",
            suggest::list(&names),
            names[1]
        ),
    };
    Err(Error::new_spanned(&value, message))
}

/// Returns the last word of a path, or a text, and whether it is a text.
fn given(value: &Expr) -> (String, bool) {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => (text.value(), true),
        value => (last_word(value).map(Ident::to_string).unwrap_or_default(), false),
    }
}

/// Returns the one of `words` that `given` is another name of.
fn meant<T>(given: &str, words: &[Word<T>]) -> Option<&'static str> {
    let called = snake_case(given);
    let meant = words
        .iter()
        .find(|(name, _, others)| *name == called || others.contains(&called.as_str()));
    meant.map(|(name, ..)| *name)
}

/// Returns the algorithm that a value means, in whatever form.
pub(super) fn algorithm(value: &Expr) -> Option<&'static str> {
    meant(&given(value).0, &ALGORITHMS)
}

/// Converts `TokenBucket`, `token-bucket` and `Token Bucket` to `token_bucket`.
pub(super) fn snake_case(word: &str) -> String {
    let mut snake = String::new();
    let mut lower = false;
    for c in word.trim().chars() {
        if c.is_uppercase() && lower {
            snake.push('_');
        }
        lower = c.is_lowercase() || c.is_ascii_digit();
        match c {
            '-' | ' ' => snake.push('_'),
            c => snake.extend(c.to_lowercase()),
        }
    }
    snake
}

impl Parse for OnStoreError {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        word("on_store_error", &MODES, input)
    }
}

impl Parse for Algorithm {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        word("algorithm", &ALGORITHMS, input)
    }
}

/// Reads the text of the argument `name`, which is in quotes and not blank.
pub(super) fn text(name: &Ident, example: &str, input: ParseStream<'_>) -> Result<LitStr> {
    let value = bare(value(name, example, input)?);
    match &value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) if text.value().trim().is_empty() => {
            let otherwise = match name == "name" {
                true => "leave it out for the path of the function",
                false => "write the one that the configuration has",
            };
            Err(Error::new(
                text.span(),
                format_args!("the `{name}` is empty: write `{name} = {example}`, or {otherwise}"),
            ))
        }
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) => Ok(text.clone()),
        Expr::Path(path) if path.path.get_ident().is_some() => Err(Error::new_spanned(
            &value,
            format_args!(
                "`{name}` is a text in quotes: write `{name} = \"{}\"`",
                path.path.segments[0].ident
            ),
        )),
        _ => Err(Error::new_spanned(
            &value,
            format_args!("`{name}` is a text in quotes: write for example `{name} = {example}`"),
        )),
    }
}

/// The path after `crate =`.
pub(super) struct PathArg(pub(super) Path);

impl Parse for PathArg {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if let Ok(text) = input.fork().parse::<LitStr>() {
            let path = text
                .parse_with(Path::parse_mod_style)
                .ok()
                .and_then(|path| source(&path));
            let path = path.unwrap_or_else(|| "crate::limits".to_owned());
            return Err(no_quotes(text.span(), "crate", &path.replace(' ', "")));
        }
        let path = input.call(Path::parse_mod_style);
        path.map(Self).map_err(|error| {
            Error::new(
                error.span(),
                "`crate` is a path without quotes: write for example `crate = crate::limits`",
            )
        })
    }
}

/// The name after `permit =`.
pub(super) struct NameArg(pub(super) Ident);

impl Parse for NameArg {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        if let Ok(text) = input.fork().parse::<LitStr>() {
            let name = text
                .parse::<Ident>()
                .map_or_else(|_| "permit".to_owned(), |name| name.to_string());
            return Err(no_quotes(text.span(), "permit", &name));
        }
        let value: Expr = input.parse()?;
        match &value {
            Expr::Path(path) if path.path.get_ident().is_some() => Ok(Self(path.path.segments[0].ident.clone())),
            _ => Err(Error::new(
                value.span(),
                "`permit` is a name that the body then has: write for example `permit = permit`",
            )),
        }
    }
}

fn no_quotes(span: Span, argument: &str, value: &str) -> Error {
    Error::new(span, format_args!("write it without quotes: `{argument} = {value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f_53_words_of_other_limiters_mean_one_of_ours() {
        let mode = |words: &str| {
            syn::parse_str::<OnStoreError>(words)
                .err()
                .map(|error| error.to_string())
        };
        assert_eq!(mode("closed"), None);
        for (given, expected) in [
            ("allow", "open"),
            ("fail_open", "open"),
            ("deny", "closed"),
            ("memory", "local"),
            ("lcoal", "local"),
        ] {
            let message = format!("unknown `on_store_error` `{given}`: write `on_store_error = {expected}`");
            assert_eq!(mode(given), Some(message));
        }
        let message = "unknown `on_store_error` `Closed`: write `on_store_error = closed`";
        assert_eq!(mode("OnStoreError::Closed").as_deref(), Some(message));
        let algorithm = |words: &str| syn::parse_str::<Algorithm>(words).err().map(|error| error.to_string());
        assert_eq!(algorithm("token_bucket"), None);
        for (given, expected) in [
            ("gcra", "token_bucket"),
            ("leaky_bucket", "token_bucket"),
            ("TokenBucket", "token_bucket"),
            ("sliding_window_counter", "sliding_window"),
            ("fixed", "fixed_window"),
        ] {
            let message = format!("unknown `algorithm` `{given}`: write `algorithm = {expected}`");
            assert_eq!(algorithm(given), Some(message));
        }
        assert_eq!(
            algorithm("\"token_bucket\"").as_deref(),
            Some("write it without quotes: `algorithm = token_bucket`")
        );
        assert_eq!(
            algorithm("banana").as_deref(),
            Some(
                "`algorithm` is `sliding_window`, `token_bucket` or `fixed_window`: write for example `algorithm = token_bucket`"
            )
        );
    }
}
