//! Arguments that are expressions: over the arguments of the function, or closures that are handed a value.

use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprClosure, ExprLit, Lit, LitStr, Pat, Result};

use super::numbers::Rate;
use super::written::{last_word, source};
use super::{bare, value};
use crate::window;

/// Reads an expression over the arguments, of the argument `name`.
pub(super) fn over_arguments(name: &Ident, example: &str, input: ParseStream<'_>) -> Result<Expr> {
    let value: Expr = value(name, example, input)?;
    let message = match &value {
        Expr::Closure(closure) => {
            let line = body(closure).unwrap_or_else(|| example.to_owned());
            format!("`{name}` is an expression over the arguments, not a closure: write `{name} = {line}`")
        }
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) if name != "key" => match name == "within" && is_window(text) {
            true => format!(
                "`within` is the SQL transaction that a token is taken in; the window is `window = {text}`",
                text = window_of(text)
            ),
            false => format!(
                "`{name}` is an expression: write it without quotes, as in `{name} = {}`",
                unquoted(text, example)
            ),
        },
        _ => return Ok(value),
    };
    Err(Error::new_spanned(&value, message))
}

/// Reads a closure that is handed the return value or the rejection, of the argument `name`.
pub(super) fn closure(name: &Ident, example: &str, input: ParseStream<'_>) -> Result<Expr> {
    let value: Expr = value(name, example, input)?;
    let parameter = if name == "success" { "|out|" } else { "|_|" };
    let line = |value: &dyn quote::ToTokens| {
        source(&value.to_token_stream()).map_or_else(|| example.to_owned(), |value| format!("{parameter} {value}"))
    };
    let inner = bare(value.clone());
    let message = match &inner {
        Expr::Closure(closure) if closure.inputs.is_empty() => {
            let given = if name == "success" { "return value" } else { "rejection" };
            format!(
                "the closure of `{name}` is given the {given}: write `{name} = {}`",
                line(&closure.body)
            )
        }
        Expr::Lit(ExprLit { lit: Lit::Bool(_), .. }) if name == "success" => {
            format!("`success` is a closure over the return value: write `success = {example}`")
        }
        Expr::Lit(ExprLit {
            lit: Lit::Str(text), ..
        }) if name == "success" => {
            let inner = unquoted(text, example);
            let parameter = if inner.contains('|') { "" } else { "|out| " };
            format!("`success` is a closure, without quotes: write `success = {parameter}{inner}`")
        }
        value if is_value(value) => format!("`{name}` is a closure: write `{name} = {}`", line(value)),
        _ => return Ok(value),
    };
    Err(Error::new_spanned(&value, message))
}

/// Returns `true` if the form of the expression is that of a value, not of a function.
fn is_value(expr: &Expr) -> bool {
    match expr {
        Expr::Lit(_) | Expr::Tuple(_) | Expr::Array(_) | Expr::Struct(_) => true,
        Expr::Path(path) => path.path.is_ident("None"),
        Expr::Call(call) => last_word(&call.func).is_some_and(|word| word == "Ok" || word == "Err" || word == "Some"),
        Expr::Macro(call) => call.mac.path.is_ident("format") || call.mac.path.is_ident("vec"),
        _ => false,
    }
}

/// Returns the body of a closure, where that is an expression which may be written in its place.
pub(super) fn body(closure: &ExprClosure) -> Option<String> {
    let named = |inputs: &Punctuated<Pat, _>| {
        inputs
            .iter()
            .all(|pat| matches!(pat, Pat::Ident(_) | Pat::Type(_) | Pat::Reference(_)))
    };
    match &*closure.body {
        Expr::Block(_) | Expr::Async(_) | Expr::Closure(_) => None,
        body if named(&closure.inputs) => source(body),
        _ => None,
    }
}

/// Returns what a text holds, where that is an expression itself.
fn unquoted(text: &LitStr, example: &str) -> String {
    let inner = text.value();
    let inner = inner
        .trim()
        .trim_start_matches(['#', '$', '{'])
        .trim_end_matches('}')
        .trim();
    match syn::parse_str::<Expr>(inner) {
        Ok(_) if !inner.is_empty() => inner.to_owned(),
        _ => example.to_owned(),
    }
}

fn is_window(text: &LitStr) -> bool {
    window::meant(&text.value()).is_some() || Rate::read(&text.value()).is_some()
}

fn window_of(text: &LitStr) -> String {
    format!(
        "\"{}\"",
        window::meant(&text.value()).unwrap_or_else(|| "10m".to_owned())
    )
}
