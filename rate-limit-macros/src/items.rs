//! `impl` blocks and traits: each of their functions limited as if the attribute stood on it.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Error, ItemImpl, ItemTrait, Path, Result, Token, Visibility};

use crate::error::Errors;
use crate::expand;
use crate::model::{Model, Rules};
use crate::target::{Target, starts_function};

/// An `impl` block or a trait.
pub(crate) struct Items {
    /// All before the braces.
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
        let kind = if let Ok(item) = syn::parse2::<ItemImpl>(quote!(#header {})) {
            Kind::Impl(item.trait_.map(|(path, _)| path))
        } else if syn::parse2::<ItemTrait>(quote!(#header {})).is_ok() {
            Kind::Trait
        } else {
            return None;
        };
        Some(Self { header, body, kind })
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
        for item in inner {
            match item {
                Inner::Other(tokens) => body.extend(tokens),
                Inner::Function(mut target) => {
                    let stacked = target.stacked();
                    if stacked.iter().any(|own| own.is_exempt()) {
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
        let mut group = Group::new(Delimiter::Brace, body);
        group.set_span(self.body.span());
        let header = self.header;
        errors.finish(quote!(#header #group))
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
