//! What the user wrote, to be told back.

use proc_macro2::Ident;
use quote::ToTokens;
use syn::Expr;

/// How much of the user's own is told back.
const LONGEST: usize = 60;

/// Spaces that the text of tokens has and the user did not write.
const SPACES: [(&str, &str); 6] = [
    (" :: ", "::"),
    ("! (", "!("),
    ("! [", "!["),
    ("& ", "&"),
    ("| _ |", "|_|"),
    (" . ", "."),
];

/// Returns the tokens as text, unless that is long.
pub(super) fn source(tokens: &impl ToTokens) -> Option<String> {
    let text = tokens.to_token_stream().to_string();
    let text = SPACES
        .iter()
        .fold(text, |text, (spaced, tight)| text.replace(spaced, tight));
    (text.chars().count() <= LONGEST && !text.contains('\n')).then_some(text)
}

/// The last word of a path.
pub(super) fn last_word(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Path(path) => path.path.segments.last().map(|last| &last.ident),
        _ => None,
    }
}
