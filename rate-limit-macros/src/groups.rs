//! The invisible groups that `macro_rules!` puts around its fragments.
//!
//! The compiler heeds such a group only while it stays inside of delimiters whose content no macro
//! takes apart. `x * $e` with `2 + 1` becomes `x * 2 + 1` once it is taken apart and put together
//! again, so what is taken apart gets visible parentheses first.

use proc_macro2::{Delimiter, Group, Spacing, Span, TokenStream, TokenTree};
use quote::ToTokens as _;
use syn::parse::Parser as _;
use syn::{Expr, Pat, Type, TypeParamBound, UnOp};

/// How deep a stream is taken apart.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Depth {
    /// Delimited groups stay whole.
    Top,
    /// Delimited groups are taken apart too, as `syn` does with what it parses. Attributes stay
    /// whole.
    All,
}

/// Returns the stream without invisible groups, down to `depth`. The content of each takes its place,
/// in parentheses where operators around it could otherwise bind to a part of it.
pub(crate) fn visible(stream: TokenStream, depth: Depth) -> TokenStream {
    if !has_invisible(stream.clone(), depth) {
        return stream;
    }
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    let mut visible_trees = TokenStream::new();
    for (at, tree) in trees.iter().enumerate() {
        let (before, after) = (&trees[..at], &trees[at + 1..]);
        match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::None => {
                let content = visible(group.stream(), depth);
                if is_alone(before, after) || !needs_parens(&content, after.first()) {
                    visible_trees.extend(content);
                } else {
                    parens(content, group.span()).to_tokens(&mut visible_trees);
                }
            }
            TokenTree::Group(group) if depth == Depth::All && !is_attribute(before, group) => {
                rebuilt(group, visible(group.stream(), depth)).to_tokens(&mut visible_trees);
            }
            tree => tree.to_tokens(&mut visible_trees),
        }
    }
    visible_trees
}

/// Returns the group with another stream in its delimiters.
pub(crate) fn rebuilt(group: &Group, stream: TokenStream) -> Group {
    let mut rebuilt = Group::new(group.delimiter(), stream);
    rebuilt.set_span(group.span());
    rebuilt
}

/// Returns parentheses that no lint finds superfluous.
pub(crate) fn parens(content: TokenStream, span: Span) -> Group {
    let mut parens = Group::new(Delimiter::Parenthesis, content);
    parens.set_span(span.resolved_at(Span::mixed_site()));
    parens
}

fn has_invisible(stream: TokenStream, depth: Depth) -> bool {
    stream.into_iter().any(|tree| match tree {
        TokenTree::Group(group) => {
            group.delimiter() == Delimiter::None || (depth == Depth::All && has_invisible(group.stream(), depth))
        }
        _ => false,
    })
}

fn is_attribute(before: &[TokenTree], group: &Group) -> bool {
    let hash = match before {
        [.., hash, TokenTree::Punct(bang)] if bang.as_char() == '!' => Some(hash),
        [.., hash] => Some(hash),
        [] => None,
    };
    group.delimiter() == Delimiter::Bracket && matches!(hash, Some(TokenTree::Punct(hash)) if hash.as_char() == '#')
}

/// Returns `true` if a group is all that stands between separators, so that nothing can bind to a part of it.
fn is_alone(before: &[TokenTree], after: &[TokenTree]) -> bool {
    let starts = match before {
        [] => true,
        [.., TokenTree::Punct(joint), TokenTree::Punct(_)] if joint.spacing() == Spacing::Joint => false,
        [.., TokenTree::Punct(punct)] => matches!(punct.as_char(), ',' | ';' | '='),
        _ => false,
    };
    let ends = match after {
        [] => true,
        [TokenTree::Punct(punct), ..] => {
            matches!(punct.as_char(), ',' | ';' | ':') && punct.spacing() == Spacing::Alone
        }
        _ => false,
    };
    starts && ends
}

/// Returns `true` if what stands around could bind to a part of the content.
fn needs_parens(content: &TokenStream, next: Option<&TokenTree>) -> bool {
    if content.clone().into_iter().nth(1).is_none() {
        return false;
    }
    if let Ok(expr) = syn::parse2::<Expr>(content.clone()) {
        return expr_needs_parens(&expr, next);
    }
    if let Ok(ty) = syn::parse2::<Type>(content.clone()) {
        return match ty {
            Type::ImplTrait(ty) => has_several(ty.bounds.iter()),
            Type::TraitObject(ty) => has_several(ty.bounds.iter()),
            _ => false,
        };
    }
    // Nothing else of several trees needs them: visibilities, statements, items.
    matches!(
        Pat::parse_multi_with_leading_vert.parse2(content.clone()),
        Ok(Pat::Or(_) | Pat::Ident(_))
    )
}

fn has_several<'a>(mut bounds: impl Iterator<Item = &'a TypeParamBound>) -> bool {
    bounds.nth(1).is_some()
}

fn expr_needs_parens(expr: &Expr, next: Option<&TokenTree>) -> bool {
    match expr {
        // A negative literal stands where an operation cannot: in a pattern, as an argument of a
        // type.
        Expr::Unary(unary) if matches!(unary.op, UnOp::Neg(_)) && matches!(*unary.expr, Expr::Lit(_)) => {
            matches!(next, Some(TokenTree::Punct(punct)) if matches!(punct.as_char(), '.' | '?'))
        }
        // `..` of a pattern.
        Expr::Range(range) => range.start.is_some() || range.end.is_some(),
        // They end by themselves. Some of them may stand as statements, and without a semicolon.
        Expr::Path(_)
        | Expr::Macro(_)
        | Expr::Let(_)
        | Expr::If(_)
        | Expr::Match(_)
        | Expr::Block(_)
        | Expr::Unsafe(_)
        | Expr::Const(_)
        | Expr::Async(_)
        | Expr::ForLoop(_)
        | Expr::While(_)
        | Expr::Loop(_)
        | Expr::TryBlock(_) => false,
        _ => true,
    }
}
