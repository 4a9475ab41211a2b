//! Functions that are not `async` but return a future made by an `async` block.

use proc_macro2::{Delimiter, Group, Ident, Span, TokenStream};
use quote::{ToTokens as _, quote};
use syn::token::Brace;
use syn::{
    AngleBracketedGenericArguments, Block, Error, Expr, ExprAsync, GenericArgument, Pat, PathArguments, Result,
    ReturnType, Signature, Stmt, Type, TypeParamBound,
};

/// What the returned future answers, if the type says that it is one.
pub(crate) fn output(ret: &ReturnType) -> Option<Type> {
    match ret {
        ReturnType::Type(_, ty) => output_of(ty),
        ReturnType::Default => None,
    }
}

fn output_of(ty: &Type) -> Option<Type> {
    match ty {
        Type::ImplTrait(opaque) => opaque.bounds.iter().find_map(output_of_bound),
        Type::TraitObject(object) => object.bounds.iter().find_map(output_of_bound),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let mut types = arguments(&last.arguments)?.filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            match last.ident.to_string().as_str() {
                "Pin" | "Box" => output_of(types.next()?),
                "BoxFuture" | "LocalBoxFuture" => types.next().cloned(),
                _ => None,
            }
        }
        Type::Paren(paren) => output_of(&paren.elem),
        Type::Group(group) => output_of(&group.elem),
        _ => None,
    }
}

fn output_of_bound(bound: &TypeParamBound) -> Option<Type> {
    let TypeParamBound::Trait(bound) = bound else {
        return None;
    };
    let last = bound.path.segments.last().filter(|last| last.ident == "Future")?;
    arguments(&last.arguments)?.find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Output" => Some(assoc.ty.clone()),
        _ => None,
    })
}

fn arguments(arguments: &PathArguments) -> Option<impl Iterator<Item = &GenericArgument>> {
    match arguments {
        PathArguments::AngleBracketed(AngleBracketedGenericArguments { args, .. }) => Some(args.iter()),
        _ => None,
    }
}

/// The body of such a function, taken apart around what the future does.
pub(crate) struct FutureBody {
    block: Block,
    /// The statements of the `async` block before the check: those with which `#[async_trait]` unpacks the arguments.
    before: Vec<Stmt>,
    /// What the future does, in braces.
    pub(crate) body: TokenStream,
    /// What `#[async_trait]` binds the value to, and what follows.
    binding: Option<(Pat, Vec<Stmt>)>,
    /// What `#[async_trait]` calls `self`.
    pub(crate) renamed_self: Option<Ident>,
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
        let mut block: Block = syn::parse2(body.to_token_stream())?;
        let (brace, stmts) = match async_block(&mut block) {
            Some(future) => (future.block.brace_token, std::mem::take(&mut future.block.stmts)),
            None => return Err(elsewhere()),
        };
        Ok(match stmts.iter().position(binds_the_value) {
            Some(at) if is_async_trait(sig) => Self::of_async_trait(block, stmts, at).ok_or_else(elsewhere)?,
            _ => Self {
                block,
                before: Vec::new(),
                body: whole(&braced(brace, quote!(#(#stmts)*))).to_token_stream(),
                binding: None,
                renamed_self: None,
            },
        })
    }

    fn of_async_trait(block: Block, mut before: Vec<Stmt>, at: usize) -> Option<Self> {
        let after = before.split_off(at + 1);
        let Some(Stmt::Local(local)) = before.pop() else {
            return None;
        };
        let value = local.init?.expr;
        let renamed_self = before.iter().find_map(|stmt| match stmt {
            Stmt::Local(local) => match &local.pat {
                Pat::Ident(ident) if ident.ident == "__self" => Some(ident.ident.clone()),
                _ => None,
            },
            _ => None,
        });
        Some(Self {
            block,
            before,
            body: value.into_token_stream(),
            binding: Some((local.pat, after)),
            renamed_self,
        })
    }

    /// The statements of the function, with `limited` in place of what the future does.
    pub(crate) fn with(mut self, limited: &TokenStream) -> TokenStream {
        let before = &self.before;
        let stmts = match &self.binding {
            Some((pat, after)) => quote!(#(#before)* let #pat = { #limited }; #(#after)*),
            None => quote!(#(#before)* #limited),
        };
        if let Some(future) = async_block(&mut self.block) {
            future.block.stmts.push(Stmt::Expr(Expr::Verbatim(stmts), None));
        }
        let stmts = &self.block.stmts;
        quote!(#(#stmts)*)
    }
}

/// The `async` block that a block ends with, by itself or in `Box::pin(..)`.
fn async_block(block: &mut Block) -> Option<&mut ExprAsync> {
    let Some(Stmt::Expr(last, None)) = block.stmts.last_mut() else {
        return None;
    };
    match last {
        Expr::Async(future) => Some(future),
        Expr::Call(call) => {
            let pins = matches!(&*call.func, Expr::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == "pin"));
            match call.args.first_mut() {
                Some(Expr::Async(future)) if pins => Some(future),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_async_trait(sig: &Signature) -> bool {
    sig.generics
        .lifetimes()
        .any(|lifetime| lifetime.lifetime.ident == "async_trait")
}

/// `let __ret: T = ..`, or `let _: () = ..`, which `#[async_trait]` writes.
fn binds_the_value(stmt: &Stmt) -> bool {
    let Stmt::Local(local) = stmt else {
        return false;
    };
    match &local.pat {
        Pat::Type(typed) => match &*typed.pat {
            Pat::Ident(ident) => ident.ident == "__ret",
            Pat::Wild(_) => true,
            _ => false,
        },
        _ => false,
    }
}

fn braced(brace: Brace, stream: TokenStream) -> Group {
    let mut group = Group::new(Delimiter::Brace, stream);
    group.set_span(brace.span.join());
    group
}

/// Returns a block as an expression, in the very braces in which it was written: the compiler points at them, drops temporaries as
/// their edition says, and keeps the invisible groups of `macro_rules!` in them. The parentheses keep `unused_braces` away from a
/// block of one expression.
pub(crate) fn whole(block: &Group) -> Group {
    let mut parens = Group::new(Delimiter::Parenthesis, block.to_token_stream());
    parens.set_span(Span::mixed_site());
    parens
}
