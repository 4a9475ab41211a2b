//! The ways out of a function before its last expression.

use proc_macro2::{Span, TokenStream, TokenTree};
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ExprReturn, Item, Macro, Stmt};

/// Returns where the statements return, but for what is of another function: closures, `async` blocks and items.
pub(super) fn returns(stmts: &mut [Stmt]) -> Vec<Span> {
    let mut returns = Returns(Vec::new());
    for stmt in stmts {
        returns.visit_stmt_mut(stmt);
    }
    returns.0
}

struct Returns(Vec<Span>);

impl VisitMut for Returns {
    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if !matches!(expr, Expr::Async(_) | Expr::Closure(_)) {
            visit_mut::visit_expr_mut(self, expr);
        }
    }

    fn visit_item_mut(&mut self, _: &mut Item) {}

    fn visit_expr_return_mut(&mut self, expr: &mut ExprReturn) {
        self.0.push(expr.return_token.span);
        visit_mut::visit_expr_return_mut(self, expr);
    }

    fn visit_macro_mut(&mut self, call: &mut Macro) {
        self.in_tokens(call.tokens.clone());
    }

    /// An expression that is not understood.
    fn visit_token_stream_mut(&mut self, tokens: &mut TokenStream) {
        self.in_tokens(tokens.clone());
    }
}

impl Returns {
    /// What a macro is given is not parsed: what looks like an `async` block, a closure or a function in it is left out.
    fn in_tokens(&mut self, tokens: TokenStream) {
        let mut own = true;
        for token in tokens {
            match token {
                TokenTree::Ident(word) if word == "return" => {
                    if own {
                        self.0.push(word.span());
                    }
                }
                TokenTree::Ident(word) if word == "async" || word == "fn" => own = false,
                TokenTree::Punct(punct) if punct.as_char() == '|' => own = false,
                TokenTree::Punct(punct) if matches!(punct.as_char(), ',' | ';') => own = true,
                TokenTree::Group(group) => {
                    if own {
                        self.in_tokens(group.stream());
                    }
                    if group.delimiter() == proc_macro2::Delimiter::Brace {
                        own = true;
                    }
                }
                _ => {}
            }
        }
    }
}
