//! The body of a function that returns a future, taken apart around what the future does.

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::{Attribute, Block, Error, Expr, ExprAsync, ExprCall, ExprMethodCall, Local, Pat, Result, Signature, Stmt};

use super::exits;
use crate::error::Errors;
use crate::groups::{Depth, parens, rebuilt, visible};
use crate::params;
use crate::target::without_inner_attrs;

/// The body, and what the future in it does.
pub(crate) struct FutureBody {
    /// The statements of the function, up to its last expression.
    head: Vec<TokenTree>,
    /// The last expression, with the `async` block in it.
    tail: Vec<TokenTree>,
    /// `#![..]` at the start of the `async` block.
    inner_attrs: Vec<Attribute>,
    /// The statements of the `async` block before the check: those with which `#[async_trait]`
    /// unpacks the arguments.
    before: Vec<TokenTree>,
    /// What the future does, in braces.
    pub(crate) body: TokenStream,
    /// What `#[async_trait]` does with the value.
    after: Option<Binding>,
    /// What `#[async_trait]` calls `self`.
    pub(crate) renamed_self: Option<Ident>,
}

/// The pattern that `#[async_trait]` binds the value of the body to, and the statements after that.
struct Binding {
    pat: Pat,
    after: Vec<TokenTree>,
}

impl FutureBody {
    pub(crate) fn new(sig: &Signature, body: &Group) -> Result<Self> {
        let elsewhere = || {
            Error::new(
                sig.ident.span(),
                format_args!(
                    "`{}` returns a future that is made elsewhere: end it with an `async` block or `Box::pin(async ..)`, or \
                     make it an `async fn`",
                    sig.ident
                ),
            )
        };
        let mut head = inside(body);
        let tail = last_expression(&head).filter(|(_, last)| seen_through(last).is_some());
        let (start, _) = tail.ok_or_else(elsewhere)?;
        let tail = head.split_off(start);
        let mut errors = Errors::default();
        for early in exits::returns(without_async_blocks(&head)) {
            errors.push(Error::new(
                early.span,
                format_args!(
                    "this future would not be limited: move the `return` into the `async` block at the end of `{0}`, or make `{0}` \
                     an `async fn`",
                    sig.ident
                ),
            ));
        }
        errors.finish(())?;
        let mut block = None;
        replace_async_block(&mut tail.clone(), &mut |_, found| {
            block = Some(found.clone());
            TokenStream::new()
        });
        let (inner_attrs, block) = without_inner_attrs(block.ok_or_else(elsewhere)?)?;
        let whole = Self {
            head,
            tail,
            inner_attrs,
            before: Vec::new(),
            body: whole(&block).into_token_stream(),
            after: None,
            renamed_self: None,
        };
        match is_async_trait(sig) {
            true => whole.of_async_trait(&block).ok_or_else(elsewhere),
            false => Ok(whole),
        }
    }

    /// Finds what `#[async_trait]` put around the body.
    ///
    /// ```text
    /// let __self = self; .. let __ret: T = { BODY }; __ret
    /// ```
    fn of_async_trait(self, block: &Group) -> Option<Self> {
        let (stmts, mut before) = statements(block).ok()?;
        let Some((at, Local { pat, .. })) = stmts.iter().enumerate().find_map(binds_the_value) else {
            return Some(self);
        };
        let start: usize = stmts[..at].iter().map(length).sum();
        let after = before.split_off(start + length(&stmts[at]));
        let body = match before.split_off(start).into_iter().rev().nth(1)? {
            TokenTree::Group(body) => body,
            _ => return None,
        };
        Some(Self {
            before,
            body: whole(&body).into_token_stream(),
            after: Some(Binding {
                pat: pat.clone(),
                after,
            }),
            renamed_self: stmts[..at].iter().find_map(renamed_self),
            ..self
        })
    }

    /// Returns mentions of what `#[async_trait]` unpacks, if this is one of its functions.
    pub(crate) fn mentions(&self) -> Option<TokenStream> {
        self.after.as_ref()?;
        let before = &self.before;
        let unpacked: Block = syn::parse2(quote!({ #(#before)* })).ok()?;
        let locals = unpacked.stmts.iter().filter_map(|stmt| match stmt {
            Stmt::Local(local) => Some(local),
            _ => None,
        });
        Some(params::mentions_of(locals))
    }

    /// Returns the statements of the function, with `limited` in place of what the future does.
    pub(crate) fn with(self, limited: &TokenStream) -> TokenStream {
        self.wrapped(limited, |future| future)
    }

    /// Returns the statements of the function, with `limited` in place of what the future does, and `around` the future.
    pub(crate) fn wrapped(self, limited: &TokenStream, around: impl Fn(TokenStream) -> TokenStream) -> TokenStream {
        let Self {
            head,
            mut tail,
            inner_attrs,
            before,
            after,
            ..
        } = self;
        let stmts = match after {
            Some(Binding { pat, after }) => quote!(#(#before)* let #pat = { #limited }; #(#after)*),
            None => quote!(#(#before)* #limited),
        };
        replace_async_block(&mut tail, &mut |asyncness, block| {
            let block = rebuilt(block, quote!(#(#inner_attrs)* #stmts));
            around(quote!(#(#asyncness)* #block))
        });
        quote!(#(#head)* #(#tail)*)
    }
}

/// Returns `true` if a body returns an `async` block by any of its ways out, whatever the type is.
pub(crate) fn returns_future(body: &Group) -> bool {
    let trees = inside(body);
    let last = last_expression(&trees).map(|(_, last)| last);
    let early = exits::returns(without_async_blocks(&trees));
    let values = early.into_iter().filter_map(|exit| exit.value);
    last.into_iter().chain(values).any(|value| is_future(&value))
}

fn is_future(expr: &Expr) -> bool {
    let ends_with_future = |block: &Block| match block.stmts.last() {
        Some(Stmt::Expr(Expr::Return(last), _)) => last.expr.as_deref().is_some_and(is_future),
        Some(Stmt::Expr(last, None)) => is_future(last),
        _ => false,
    };
    match expr {
        Expr::If(branch) => {
            let otherwise = branch.else_branch.as_ref().is_some_and(|(_, last)| is_future(last));
            otherwise || ends_with_future(&branch.then_branch)
        }
        Expr::Match(branches) => branches.arms.iter().any(|arm| is_future(&arm.body)),
        Expr::Block(block) => ends_with_future(&block.block),
        Expr::Unsafe(block) => ends_with_future(&block.block),
        last => seen_through(last).is_some(),
    }
}

/// Returns a block as an expression, in the very braces in which it was written: the compiler
/// points at them, drops temporaries as their edition says, and keeps the invisible groups of
/// `macro_rules!` in them. The parentheses keep `unused_braces` away from a block of one
/// expression.
pub(crate) fn whole(block: &Group) -> Group {
    parens(block.to_token_stream(), block.span())
}

/// Returns the statements that `#[async_trait]` wrote, and their tokens.
fn statements(block: &Group) -> Result<(Vec<Stmt>, Vec<TokenTree>)> {
    let trees = inside(block);
    let parsed: Block = syn::parse2(rebuilt(block, without_async_blocks(&trees)).into_token_stream())?;
    Ok((parsed.stmts, trees))
}

/// Returns the trees with empty `async` blocks: a `return` in such a block does not leave the function.
fn without_async_blocks(trees: &[TokenTree]) -> TokenStream {
    let emptied = trees.iter().enumerate().map(|(at, tree)| match tree {
        TokenTree::Group(group) => {
            let content = match is_async_block(&trees[..at], tree) {
                true => TokenStream::new(),
                false => without_async_blocks(&inside(group)),
            };
            rebuilt(group, content).into()
        }
        tree => tree.clone(),
    });
    emptied.collect()
}

/// Returns the number of token trees of a statement.
fn length(stmt: &Stmt) -> usize {
    stmt.to_token_stream().into_iter().count()
}

/// Returns the expression whose value a function returns, and where it starts. What stands before it is not
/// parsed: the compiler has parsed it, and has told of what is wrong with it.
fn last_expression(trees: &[TokenTree]) -> Option<(usize, Expr)> {
    let (trees, is_statement) = match trees {
        [trees @ .., TokenTree::Punct(semicolon)] if semicolon.as_char() == ';' => (trees, true),
        trees => (trees, false),
    };
    let starts = (0..trees.len()).rev().filter(|start| match trees[..*start].last() {
        Some(TokenTree::Punct(punct)) => punct.as_char() == ';',
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Brace,
        Some(_) => false,
        None => true,
    });
    let mut parsed = starts.filter_map(|start| Some((start, syn::parse2(without_async_blocks(&trees[start..])).ok()?)));
    match parsed.next()? {
        (start, Expr::Return(last)) => Some((start, *last.expr?)),
        last => (!is_statement).then_some(last),
    }
}

/// Returns the `async` block of an expression that only boxes or pins it.
fn seen_through(expr: &Expr) -> Option<&ExprAsync> {
    match expr {
        Expr::Async(future) => Some(future),
        Expr::Paren(paren) => seen_through(&paren.expr),
        Expr::Group(group) => seen_through(&group.expr),
        Expr::Cast(cast) => seen_through(&cast.expr),
        Expr::Call(ExprCall { func, args, .. }) => {
            let Expr::Path(path) = &**func else { return None };
            let boxes = ["pin", "new", "from", "into_pin"];
            let last = path.path.segments.last()?;
            (args.len() == 1 && boxes.iter().any(|name| last.ident == name)).then(|| seen_through(&args[0]))?
        }
        Expr::MethodCall(ExprMethodCall {
            receiver, method, args, ..
        }) => {
            let wraps = match args.len() {
                0 => ["boxed", "boxed_local", "into", "in_current_span"]
                    .iter()
                    .any(|name| method == name),
                _ => method == "instrument",
            };
            wraps.then(|| seen_through(receiver))?
        }
        _ => None,
    }
}

/// Replaces the first `async` block of an expression with the tokens that `replace` makes of its keywords and its braces.
fn replace_async_block(
    trees: &mut Vec<TokenTree>,
    replace: &mut dyn FnMut(&[TokenTree], &Group) -> TokenStream,
) -> bool {
    let here = (0..trees.len()).find(|at| is_async_block(&trees[..*at], &trees[*at]));
    if let Some((at, TokenTree::Group(block))) = here.map(|at| (at, trees[at].clone())) {
        let is_async = |tree: &TokenTree| matches!(tree, TokenTree::Ident(ident) if ident == "async");
        let start = trees[..at].iter().rposition(is_async).unwrap_or(at);
        let replaced = replace(&trees[start..at], &block);
        trees.splice(start..=at, replaced);
        return true;
    }
    trees.iter_mut().any(|tree| {
        let TokenTree::Group(group) = tree else { return false };
        let mut trees = inside(group);
        let found = replace_async_block(&mut trees, replace);
        if found {
            *group = rebuilt(group, trees.into_iter().collect());
        }
        found
    })
}

fn inside(group: &Group) -> Vec<TokenTree> {
    visible(group.stream(), Depth::Top).into_iter().collect()
}

/// Returns `true` if these are braces after `async` or `async move`.
fn is_async_block(before: &[TokenTree], tree: &TokenTree) -> bool {
    let is = |tree: &TokenTree, word: &str| matches!(tree, TokenTree::Ident(ident) if ident == word);
    let braces = matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
    braces
        && match before {
            [.., asyncness, capture] if is(capture, "move") => is(asyncness, "async"),
            [.., asyncness] => is(asyncness, "async"),
            [] => false,
        }
}

fn is_async_trait(sig: &Signature) -> bool {
    sig.generics
        .lifetimes()
        .any(|lifetime| lifetime.lifetime.ident == "async_trait")
}

/// Returns the statement if it is `let __ret: T = ..` or `let _: () = ..`, which `#[async_trait]` writes.
fn binds_the_value((at, stmt): (usize, &Stmt)) -> Option<(usize, &Local)> {
    let Stmt::Local(local) = stmt else { return None };
    let Pat::Type(typed) = &local.pat else { return None };
    match &*typed.pat {
        Pat::Ident(ident) if ident.ident == "__ret" => Some((at, local)),
        Pat::Wild(_) => Some((at, local)),
        _ => None,
    }
}

/// Returns the name `__self` if the statement is `let __self = self;`.
fn renamed_self(stmt: &Stmt) -> Option<Ident> {
    match stmt {
        Stmt::Local(Local {
            pat: Pat::Ident(pat), ..
        }) if pat.ident == "__self" => Some(pat.ident.clone()),
        _ => None,
    }
}
