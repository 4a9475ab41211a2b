//! What the user wrote, to be told back.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::Expr;

/// How much of the user's own is told back.
const LONGEST: usize = 60;

/// Spaces that the text of tokens has and the user did not write.
const SPACES: [(&str, &str); 4] = [(" :: ", "::"), ("! (", "!("), ("! [", "!["), (" . ", ".")];

/// Returns the tokens as text, unless that is long.
pub(super) fn source(tokens: &impl ToTokens) -> Option<String> {
    let text = tokens.to_token_stream().to_string();
    let text = SPACES
        .iter()
        .fold(text, |text, (spaced, tight)| text.replace(spaced, tight));
    let text = match text.strip_prefix("| ").and_then(|rest| rest.split_once(" |")) {
        Some((parameters, body)) => format!("|{parameters}|{body}"),
        None => text.strip_prefix("& ").map(|rest| format!("&{rest}")).unwrap_or(text),
    };
    (text.chars().count() <= LONGEST && !text.contains('\n')).then_some(text)
}

/// Returns the last word of a path.
pub(super) fn last_word(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) => path.path.segments.last().map(|last| &last.ident),
        _ => None,
    }
}
