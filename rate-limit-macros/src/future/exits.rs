//! The ways out of a function before its last expression.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use syn::parse::Parser as _;
use syn::visit_mut::{self, VisitMut};
use syn::{Block, Expr, ExprReturn, Item, Macro};

/// A `return`.
pub(super) struct Exit {
    pub(super) span: Span,
    /// What it returns, where that was parsed.
    pub(super) value: Option<Expr>,
}

/// Finds each `return` in statements, but for those of another function: of a closure or an item.
/// `async` blocks are left out already.
pub(super) fn returns(stmts: TokenStream) -> Vec<Exit> {
    let mut returns = Returns(Vec::new());
    match Block::parse_within.parse2(stmts.clone()) {
        Ok(stmts) => stmts.into_iter().for_each(|mut stmt| returns.visit_stmt_mut(&mut stmt)),
        Err(_) => returns.in_tokens(stmts),
    }
    returns.0
}

struct Returns(Vec<Exit>);

impl VisitMut for Returns {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if !matches!(expr, Expr::Closure(_)) {
            visit_mut::visit_expr_mut(self, expr);
        }
    }

    fn visit_item_mut(&mut self, _: &mut Item) {}

    fn visit_expr_return_mut(&mut self, expr: &mut ExprReturn) {
        self.0.push(Exit {
            span: expr.return_token.span,
            value: expr.expr.as_deref().cloned(),
        });
        visit_mut::visit_expr_return_mut(self, expr);
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        self.in_tokens(call.tokens.clone());
    }

    /// Visits an expression that `syn` does not understand.
    fn visit_token_stream_mut(&mut self, tokens: &mut TokenStream) {
        self.in_tokens(tokens.clone());
    }
}

impl Returns {
    /// Searches tokens that are not parsed, such as the arguments of a macro: what looks like a closure or a function in it
    /// is left out.
    fn in_tokens(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(tree) = trees.get(at) {
            at += 1;
            match tree {
                TokenTree::Ident(word) if word == "return" => self.0.push(Exit {
                    span: word.span(),
                    value: None,
                }),
                TokenTree::Ident(word) if word == "fn" && matches!(trees.get(at), Some(TokenTree::Ident(_))) => {
                    at = end(&trees, at, is_braces);
                }
                TokenTree::Punct(punct) if punct.as_char() == '|' && starts_closure(&trees[..at - 1]) => {
                    let body = end(&trees, at, |tree| is_punct(tree, "|"));
                    let end = end(&trees, body, |tree| is_punct(tree, ",;"));
                    // That of a match arm is a pattern.
                    if !trees[at..end].windows(2).any(is_arrow) {
                        at = end;
                    }
                }
                TokenTree::Group(group) => self.in_tokens(group.stream()),
                _ => {}
            }
        }
    }
}

/// Behind the first of the trees for which this holds.
fn end(trees: &[TokenTree], start: usize, ends: impl Fn(&TokenTree) -> bool) -> usize {
    let length = trees[start..].iter().position(ends);
    length.map_or(trees.len(), |length| start + length + 1)
}

fn is_braces(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_punct(tree: &TokenTree, chars: &str) -> bool {
    matches!(tree, TokenTree::Punct(punct) if chars.contains(punct.as_char()))
}

/// Returns `true` if `|` after these opens the parameters of a closure, and is no operator.
fn starts_closure(before: &[TokenTree]) -> bool {
    match before.last() {
        Some(TokenTree::Ident(word)) => word == "move" || word == "return" || word == "async",
        Some(TokenTree::Punct(punct)) => punct.as_char() != '?',
        Some(_) => false,
        None => true,
    }
}

fn is_arrow(trees: &[TokenTree]) -> bool {
    matches!(trees, [equals, greater] if is_punct(equals, "=") && is_punct(greater, ">"))
}
