//! `self` by the name that `#[async_trait]` gives it.

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::{Expr, Result};

use crate::model::Rules;

/// The rules with `self` called what `#[async_trait]` calls it.
pub(super) fn rename_self(rules: &Rules, renamed: &Ident) -> Result<Rules> {
    let rename = |expr: &Expr| syn::parse2::<Expr>(replace_self(expr.to_token_stream(), renamed));
    let rename_option = |expr: &Option<Expr>| expr.as_ref().map(rename).transpose();
    let mut rules = rules.clone();
    for expr in [
        &mut rules.success,
        &mut rules.deny_if,
        &mut rules.on_limit,
        &mut rules.at,
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

fn replace_self(tokens: TokenStream, renamed: &Ident) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Ident(ident) if ident == "self" => renamed.clone().into(),
            TokenTree::Group(group) => {
                let mut inner = proc_macro2::Group::new(group.delimiter(), replace_self(group.stream(), renamed));
                inner.set_span(group.span());
                inner.into()
            }
            token => token,
        })
        .collect()
}
