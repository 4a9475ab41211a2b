//! The function that the attribute stands on.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::token::Brace;
use syn::{Attribute, Error, Meta, Result, Signature, Token, Visibility, braced};

use crate::future;

/// A function. Its body is not parsed.
pub(crate) struct Target {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// `#![..]` at the start of the body.
    pub(crate) inner_attrs: Vec<Attribute>,
    pub(crate) brace: Brace,
    pub(crate) body: TokenStream,
}

/// The static in each expansion. That it stands in a body tells that the function is limited already.
pub(crate) const MARKER: &str = "__RATE_LIMIT_SITE";

impl Parse for Target {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        if !starts_function(input) {
            return Err(Error::new(
                input.span(),
                "`limit_per_time` limits async functions: put it on an `async fn`, or on an `impl` or trait that has some",
            ));
        }
        let sig: Signature = input.parse()?;
        if input.peek(Token![;]) {
            return Err(Error::new(
                sig.ident.span(),
                format_args!(
                    "`{}` has no body to limit: put `limit_per_time` on the functions that implement it",
                    sig.ident
                ),
            ));
        }
        let content;
        let brace = braced!(content in input);
        Ok(Self {
            attrs,
            vis,
            sig,
            inner_attrs: content.call(Attribute::parse_inner)?,
            brace,
            body: content.parse()?,
        })
    }
}

impl Target {
    /// Whether it can be limited at all.
    pub(crate) fn check(&self) -> Result<()> {
        let name = &self.sig.ident;
        if let Some(constness) = &self.sig.constness {
            return Err(Error::new(
                constness.span,
                format_args!("a `const fn` cannot be limited: make `{name}` an `async fn`"),
            ));
        }
        if !self.is_async() {
            return Err(Error::new(
                self.sig.fn_token.span,
                if self.attrs.iter().any(is_test) {
                    format!("`{name}` is not async here: put `limit_per_time` above the attribute that makes it a test")
                } else if name == "main" {
                    format!("`{name}` is not async here: put `limit_per_time` above the attribute that rewrites it")
                } else {
                    format!("`{name}` is not async: write `async fn {name}`")
                },
            ));
        }
        if mentions_marker(self.body.clone()) {
            return Err(Error::new(
                name.span(),
                format_args!(
                    "`{name}` is limited already, by the same attribute under another name: it would be charged twice for \
                     each call"
                ),
            ));
        }
        Ok(())
    }

    /// Whether it is an `async fn`, or its return type says that it returns a future.
    pub(crate) fn is_async(&self) -> bool {
        self.sig.asyncness.is_some() || future::output(&self.sig.output).is_some()
    }

    /// The attributes of ours that stand below.
    pub(crate) fn stacked(&self) -> Vec<Stacked> {
        let ours = self.attrs.iter().filter(|attr| is_ours(attr));
        ours.map(Stacked::new).collect()
    }

    /// Takes them off.
    pub(crate) fn take_stacked(&mut self) -> Vec<Stacked> {
        take_stacked(&mut self.attrs)
    }
}

impl ToTokens for Target {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self {
            attrs,
            vis,
            sig,
            inner_attrs,
            brace,
            body,
        } = self;
        tokens.extend(quote!(#(#attrs)* #vis #sig));
        brace.surround(tokens, |tokens| tokens.extend(quote!(#(#inner_attrs)* #body)));
    }
}

/// Takes the attributes of ours off.
pub(crate) fn take_stacked(attrs: &mut Vec<Attribute>) -> Vec<Stacked> {
    let (ours, others): (Vec<_>, Vec<_>) = std::mem::take(attrs).into_iter().partition(is_ours);
    *attrs = others;
    ours.iter().map(Stacked::new).collect()
}

/// An attribute of ours below another.
pub(crate) struct Stacked {
    pub(crate) span: Span,
    pub(crate) args: TokenStream,
}

impl Stacked {
    fn new(attr: &Attribute) -> Self {
        Self {
            span: attr.path().span(),
            args: match &attr.meta {
                Meta::List(list) => list.tokens.clone(),
                _ => TokenStream::new(),
            },
        }
    }

    /// `#[limit_per_time(exempt)]`.
    pub(crate) fn is_exempt(&self) -> bool {
        is_exempt(&self.args)
    }

    pub(crate) fn both_limited_and_exempt(&self) -> Error {
        Error::new(
            self.span,
            "a function that has a limit is not exempt: leave out one of the two",
        )
    }
}

/// Whether the arguments are `exempt` alone, with a comma or without.
pub(crate) fn is_exempt(args: &TokenStream) -> bool {
    matches!(&*args.to_string(), "exempt" | "exempt ," | "exempt,")
}

/// Whether a function comes next, with whatever qualifiers.
pub(crate) fn starts_function(input: ParseStream<'_>) -> bool {
    input.fork().parse::<Signature>().is_ok()
}

fn is_test(attr: &Attribute) -> bool {
    attr.path()
        .segments
        .last()
        .is_some_and(|segment| segment.ident == "test")
}

fn is_ours(attr: &Attribute) -> bool {
    attr.path()
        .segments
        .last()
        .is_some_and(|segment| segment.ident == "limit_per_time")
}

fn mentions_marker(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == MARKER,
        TokenTree::Group(group) => mentions_marker(group.stream()),
        _ => false,
    })
}
