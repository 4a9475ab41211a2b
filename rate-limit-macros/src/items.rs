//! `impl` blocks and traits: each of their functions limited as if the attribute stood on it.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Error, ItemImpl, ItemTrait, Path, Result, Token, Visibility};

use crate::error::Errors;
use crate::expand;
use crate::model::{Model, Rules};
use crate::target::{self, Stacked, Target, starts_function};

/// An `impl` block or a trait.
pub(crate) struct Items {
    attrs: Vec<Attribute>,
    /// All between them and the braces.
    header: TokenStream,
    body: Group,
    kind: Kind,
}

enum Kind {
    /// With the trait that it implements.
    Impl(Option<Path>),
    Trait,
}

/// One item in the braces.
enum Inner {
    /// A function with a body.
    Function(Box<Target>),
    Other(TokenStream),
}

impl Items {
    /// The item, if it is one of these.
    pub(crate) fn new(item: &TokenStream) -> Option<Self> {
        let mut tokens: Vec<TokenTree> = item.clone().into_iter().collect();
        let Some(TokenTree::Group(body)) = tokens.pop() else {
            return None;
        };
        if body.delimiter() != Delimiter::Brace {
            return None;
        }
        let header: TokenStream = tokens.into_iter().collect();
        let apart = |input: ParseStream<'_>| Ok((input.call(Attribute::parse_outer)?, input.parse::<TokenStream>()?));
        let (attrs, header) = apart.parse2(header).ok()?;
        let kind = if let Ok(item) = syn::parse2::<ItemImpl>(quote!(#header {})) {
            Kind::Impl(item.trait_.map(|(path, _)| path))
        } else if syn::parse2::<ItemTrait>(quote!(#header {})).is_ok() {
            Kind::Trait
        } else {
            return None;
        };
        Some(Self {
            attrs,
            header,
            body,
            kind,
        })
    }

    /// Takes the attributes of ours off that stand below. A trait has none: it would not know whose numbers to tell.
    pub(crate) fn take_stacked(&mut self) -> Result<Vec<Stacked>> {
        let stacked = target::take_stacked(&mut self.attrs);
        match (&self.kind, stacked.first()) {
            (Kind::Trait, Some(second)) => Err(Error::new(
                second.span,
                "a trait tells its `impl`s the numbers of one limit: put further ones on its functions",
            )),
            _ => Ok(stacked),
        }
    }

    /// The trait whose numbers hold where an `impl` of it gives none.
    pub(crate) fn inherits(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Impl(of) => of.as_ref(),
            Kind::Trait => None,
        }
    }

    /// Limits every async function that has no attribute of its own: the nearest wins.
    pub(crate) fn limit(self, rules: &Rules) -> Result<TokenStream> {
        let inner = inner_items.parse2(self.body.stream())?;
        let mut errors = Errors::default();
        let mut body = TokenStream::new();
        if let (Kind::Impl(None), false) = (&self.kind, inner.iter().any(Inner::is_async)) {
            let place = self.header.into_iter().next();
            return Err(Error::new_spanned(
                place,
                "nothing in this `impl` is async, so there is nothing to limit: leave out `limit_per_time`",
            ));
        }
        for item in inner {
            match item {
                Inner::Other(tokens) => body.extend(tokens),
                Inner::Function(mut target) => {
                    let stacked = target.stacked();
                    if let Some(exempt) = stacked.iter().find(|own| own.is_exempt()) {
                        if stacked.len() > 1 {
                            errors.push(exempt.both_limited_and_exempt());
                        }
                        target.take_stacked();
                        target.to_tokens(&mut body);
                    } else if !stacked.is_empty() || !target.is_async() {
                        target.to_tokens(&mut body);
                    } else if let Some(model) = errors.take(Model::new(rules.clone(), *target)) {
                        body.extend(errors.take(expand::function(model)));
                    }
                }
            }
        }
        if matches!(self.kind, Kind::Trait) {
            body.extend(expand::policy_of_trait(rules));
        }
        errors.finish(self.with(body))
    }

    /// The item where its attribute is wrong: without what would only tell of that again, and with what the `impl`s of a trait
    /// look for.
    pub(crate) fn unlimited(mut self) -> Result<TokenStream> {
        target::take_stacked(&mut self.attrs);
        let mut body = TokenStream::new();
        for item in inner_items.parse2(self.body.stream())? {
            match item {
                Inner::Other(tokens) => body.extend(tokens),
                Inner::Function(mut target) => {
                    if target.stacked().iter().any(Stacked::is_exempt) {
                        target.take_stacked();
                    }
                    target.to_tokens(&mut body);
                }
            }
        }
        if matches!(self.kind, Kind::Trait) {
            body.extend(expand::no_policy_of_trait());
        }
        Ok(self.with(body))
    }

    fn with(self, body: TokenStream) -> TokenStream {
        let Self { attrs, header, .. } = self;
        let mut group = Group::new(Delimiter::Brace, body);
        group.set_span(self.body.span());
        quote!(#(#attrs)* #header #group)
    }
}

impl Inner {
    fn is_async(&self) -> bool {
        matches!(self, Self::Function(target) if target.is_async())
    }
}

fn inner_items(input: ParseStream<'_>) -> Result<Vec<Inner>> {
    let inner_attrs = input.call(Attribute::parse_inner)?;
    let mut items = vec![Inner::Other(quote!(#(#inner_attrs)*))];
    while !input.is_empty() {
        items.push(match has_body(input) {
            true => Inner::Function(Box::new(input.parse()?)),
            false => Inner::Other(other(input)?),
        });
    }
    Ok(items)
}

/// Whether a function with a body comes next.
fn has_body(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    let header = |input: ParseStream<'_>| -> Result<bool> {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        if !starts_function(input) {
            return Ok(false);
        }
        input.parse::<syn::Signature>()?;
        Ok(input.peek(syn::token::Brace))
    };
    header(&ahead).unwrap_or(false)
}

/// The tokens of an item that is no function with a body: up to a semicolon, or to braces that are not followed by one.
fn other(input: ParseStream<'_>) -> Result<TokenStream> {
    let mut tokens = TokenStream::new();
    loop {
        let token: TokenTree = input
            .parse()
            .map_err(|_| Error::new(input.span(), "this item does not end"))?;
        let ends = match &token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace && !input.peek(Token![;]),
            _ => false,
        };
        token.to_tokens(&mut tokens);
        if ends || input.is_empty() {
            return Ok(tokens);
        }
    }
}
