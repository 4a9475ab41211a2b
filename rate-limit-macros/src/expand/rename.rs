//! `self` by the name that `#[async_trait]` gives it.

use proc_macro2::{Delimiter, Ident, Literal, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Expr, Result};

use crate::groups::rebuilt;
use crate::model::Rules;

/// Returns the rules with `self` called what `#[async_trait]` calls it.
pub(super) fn rename_self(rules: &Rules, renamed: &Ident) -> Result<Rules> {
    let rename = |expr: &Expr| syn::parse2::<Expr>(replace_self(expr.to_token_stream(), renamed));
    let rename_option = |expr: &Option<Expr>| expr.as_ref().map(rename).transpose();
    let mut rules = rules.clone();
    for expr in [
        &mut rules.success,
        &mut rules.deny_if,
        &mut rules.on_limit,
        &mut rules.at,
        &mut rules.within,
        &mut rules.limiter,
    ] {
        *expr = rename_option(expr)?;
    }
    for rule in &mut rules.rules {
        rule.cost = rename_option(&rule.cost)?;
        rule.skip_if = rename_option(&rule.skip_if)?;
        rule.key = rule.key.iter().map(rename).collect::<Result<_>>()?;
    }
    Ok(rules)
}

/// Replaces `self`, also in the texts that a macro is given, as `format!("{self}")`. A function
/// within has a `self` of its own.
fn replace_self(tokens: TokenStream, renamed: &Ident) -> TokenStream {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut replaced = TokenStream::new();
    let mut in_function = false;
    for (at, tree) in trees.iter().enumerate() {
        let tree: TokenTree = match tree {
            TokenTree::Ident(ident) if ident == "fn" => {
                in_function = matches!(trees.get(at + 1), Some(TokenTree::Ident(_)));
                tree.clone()
            }
            TokenTree::Group(group) if in_function => {
                in_function = group.delimiter() != Delimiter::Brace;
                tree.clone()
            }
            TokenTree::Ident(ident) if ident == "self" => renamed.clone().into(),
            TokenTree::Group(group) => {
                let mut content = replace_self(group.stream(), renamed);
                if is_macro_call(&trees[..at]) {
                    content = content.into_iter().map(|tree| in_text(tree, renamed)).collect();
                }
                rebuilt(group, content).into()
            }
            tree => tree.clone(),
        };
        tree.to_tokens(&mut replaced);
    }
    replaced
}

fn is_macro_call(before: &[TokenTree]) -> bool {
    matches!(before, [.., TokenTree::Ident(_), TokenTree::Punct(bang)] if bang.as_char() == '!')
}

/// Renames `{self}` and `{self:..}` in a string literal. Of doubled braces, which stand for themselves,
/// each second one opens nothing.
fn in_text(tree: TokenTree, renamed: &Ident) -> TokenTree {
    let TokenTree::Literal(literal) = &tree else {
        return tree;
    };
    let text = literal.to_string();
    if !text.contains("{self") {
        return tree;
    }
    let mut parts = text.split('{');
    let mut renamed_text = parts.next().unwrap_or_default().to_owned();
    let mut opens = false;
    for part in parts {
        renamed_text.push('{');
        opens = !opens;
        match part.strip_prefix("self") {
            Some(rest) if opens && (rest.starts_with(['}', ':'])) => {
                renamed_text.push_str(&renamed.to_string());
                renamed_text.push_str(rest);
            }
            _ => renamed_text.push_str(part),
        }
        // The next brace is the second of a pair only if nothing is between.
        opens &= part.is_empty();
    }
    match renamed_text.parse::<Literal>() {
        Ok(mut literal) => {
            literal.set_span(tree.span().resolved_at(renamed.span()));
            literal.into()
        }
        Err(_) => tree,
    }
}
