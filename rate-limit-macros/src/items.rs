//! `impl` blocks and traits: each of their functions limited as if the attribute stood on it.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens as _, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::{Error, ItemImpl, ItemTrait, Path, Result, Signature, Token, Visibility};

use crate::attrs::{Attr, Stacked, variants};
use crate::error::Errors;
use crate::expand;
use crate::future::returns_future;
use crate::groups::{Depth, rebuilt, visible};
use crate::model::{Model, Rules};
use crate::target::Target;

/// An `impl` block or a trait.
pub(crate) struct Items {
    attrs: Vec<Attr>,
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
struct Inner {
    attrs: Vec<Attr>,
    /// All that follows them.
    tokens: TokenStream,
    kind: InnerKind,
}

enum InnerKind {
    /// A function with a body.
    Function(Box<Target>),
    /// A call of the macro by this path.
    MacroCall(Path),
    /// A constant, a type, a function without a body.
    Other,
}

impl Items {
    /// Returns the item, if it is one of these.
    pub(crate) fn new(item: &TokenStream) -> Option<Self> {
        let (attrs, rest) = Attr::take_outer(item.clone()).ok()?;
        let mut header: Vec<TokenTree> = rest.into_iter().collect();
        let body = match header.pop() {
            Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => body,
            _ => return None,
        };
        let header: TokenStream = header.into_iter().collect();
        let parsed = visible(header.clone(), Depth::All);
        let kind = if let Ok(item) = syn::parse2::<ItemImpl>(quote!(#parsed {})) {
            Kind::Impl(item.trait_.map(|(path, _)| path))
        } else if syn::parse2::<ItemTrait>(quote!(#parsed {})).is_ok() {
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

    /// Takes the attributes of ours off that stand below. A trait has none: it would not know whose
    /// numbers to tell.
    pub(crate) fn take_stacked(&mut self) -> Result<Vec<Stacked>> {
        let stacked = Stacked::take(&mut self.attrs);
        match (&self.kind, stacked.first()) {
            (Kind::Trait, Some(second)) => Err(Error::new(
                second.span,
                "a trait tells its `impl`s the numbers of one limit: put further ones on its functions",
            )),
            _ => Ok(stacked),
        }
    }

    /// Returns the trait whose numbers hold where an `impl` of it gives none.
    pub(crate) fn inherits(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Impl(of) => of.as_ref(),
            Kind::Trait => None,
        }
    }

    /// Limits every async function that has no attribute of its own: the nearest wins.
    pub(crate) fn limit(self, rules: &Rules) -> Result<TokenStream> {
        let (inner_attrs, inner) = self.inner()?;
        if let (Kind::Impl(None), false) = (&self.kind, inner.iter().any(Inner::may_be_limited)) {
            let place = self.header.into_iter().next();
            return Err(Error::new_spanned(
                place,
                "nothing in this `impl` is async, so there is nothing to limit: leave out `limit_per_time`",
            ));
        }
        let mut errors = Errors::default();
        let mut body = inner_attrs;
        for item in inner {
            body.extend(errors.take(item.limited(rules)));
        }
        if matches!(self.kind, Kind::Trait) {
            body.extend(expand::policy_of_trait(rules));
        }
        errors.finish(self.with(body))
    }

    /// Returns the item where its attribute is wrong: without what would only tell of that again, and with
    /// what the `impl`s of a trait look for.
    pub(crate) fn unlimited(mut self) -> Result<TokenStream> {
        Stacked::take(&mut self.attrs);
        let (mut body, inner) = self.inner()?;
        for item in inner {
            for attrs in variants(&item.attrs)? {
                body.extend(item.untouched(attrs));
            }
        }
        if matches!(self.kind, Kind::Trait) {
            body.extend(expand::no_policy_of_trait());
        }
        Ok(self.with(body))
    }

    /// Returns the inner attributes, and the items.
    fn inner(&self) -> Result<(TokenStream, Vec<Inner>)> {
        let inner = |input: ParseStream<'_>| {
            let attrs = input.call(syn::Attribute::parse_inner)?;
            let mut items = Vec::new();
            while !input.is_empty() {
                items.push(Inner::parse(input)?);
            }
            Ok((quote!(#(#attrs)*), items))
        };
        inner.parse2(visible(self.body.stream(), Depth::Top))
    }

    fn with(self, body: TokenStream) -> TokenStream {
        let Self { attrs, header, .. } = self;
        let body = rebuilt(&self.body, body);
        quote!(#(#attrs)* #header #body)
    }
}

impl Inner {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attrs = Attr::parse_outer(input)?;
        let (tokens, kind) = if let Some(tokens) = function(input)? {
            let target = Target::new(quote!(#(#attrs)* #tokens))?;
            (tokens, InnerKind::Function(Box::new(target)))
        } else {
            let called = input.fork();
            let path = called.call(Path::parse_mod_style);
            let kind = match path {
                Ok(path) if called.peek(Token![!]) => InnerKind::MacroCall(path),
                _ => InnerKind::Other,
            };
            (other(input)?, kind)
        };
        Ok(Self { attrs, tokens, kind })
    }

    /// Returns the item under the rules of the block, unless it has rules of its own or is exempt.
    fn limited(&self, rules: &Rules) -> Result<TokenStream> {
        let mut errors = Errors::default();
        let mut tokens = TokenStream::new();
        for attrs in variants(&self.attrs)? {
            let stacked = Stacked::among(&attrs);
            let exempt = stacked.iter().find(|own| own.is_exempt());
            if let (Some(exempt), true) = (exempt, stacked.len() > 1) {
                errors.push(exempt.both_limited_and_exempt());
            }
            tokens.extend(match stacked.is_empty() {
                true => errors.take(self.under(rules, attrs)),
                false => Some(self.untouched(attrs)),
            });
        }
        errors.finish(tokens)
    }

    fn under(&self, rules: &Rules, attrs: Vec<Attr>) -> Result<TokenStream> {
        match &self.kind {
            InnerKind::Function(target) if target.is_async() => {
                let target = Target {
                    attrs,
                    ..Target::clone(target)
                };
                expand::function(Model::new(rules.clone(), target)?)
            }
            InnerKind::Function(target) if returns_future(&target.body) => {
                Err(target.hides_its_future("or put `#[limit_per_time(exempt)]` on it"))
            }
            InnerKind::MacroCall(path) => Err(Error::new_spanned(
                path,
                format_args!(
                    "`limit_per_time` cannot see the functions that `{0}!` expands to: put it on each of them, and \
                     `#[limit_per_time(exempt)]` on `{0}!`",
                    path.segments
                        .last()
                        .map(|last| last.ident.to_string())
                        .unwrap_or_default()
                ),
            )),
            _ => Ok(self.untouched(attrs)),
        }
    }

    /// Returns the tokens that were written, without an attribute that only says to leave them so.
    fn untouched(&self, mut attrs: Vec<Attr>) -> TokenStream {
        let may_be_exempt = !matches!(self.kind, InnerKind::Other);
        if may_be_exempt && Stacked::among(&attrs).iter().any(Stacked::is_exempt) {
            Stacked::take(&mut attrs);
        }
        let tokens = &self.tokens;
        quote!(#(#attrs)* #tokens)
    }

    fn may_be_limited(&self) -> bool {
        match &self.kind {
            InnerKind::Function(target) => target.is_async() || returns_future(&target.body),
            InnerKind::MacroCall(_) => true,
            InnerKind::Other => false,
        }
    }
}

/// Returns the tokens of a function with a body, if one comes next.
fn function(input: ParseStream<'_>) -> Result<Option<TokenStream>> {
    let ahead = input.fork();
    let header = |input: ParseStream<'_>| -> Result<bool> {
        input.parse::<Visibility>()?;
        input.parse::<Signature>()?;
        Ok(input.peek(syn::token::Brace))
    };
    if !header(&ahead).unwrap_or(false) {
        return Ok(None);
    }
    let mut tokens = TokenStream::new();
    while input.cursor() != ahead.cursor() {
        input.parse::<TokenTree>()?.to_tokens(&mut tokens);
    }
    input.parse::<TokenTree>()?.to_tokens(&mut tokens);
    Ok(Some(tokens))
}

/// Returns the tokens of an item that is no function with a body: up to a semicolon, or to braces that are
/// not followed by one.
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
