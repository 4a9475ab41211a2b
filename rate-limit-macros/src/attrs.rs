//! The attributes of a function or a block, and those of ours among them.

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, Meta, Path, Result, Token};

use crate::groups::{Depth, visible};

/// An outer attribute, in the tokens in which it was written.
#[derive(Clone)]
pub(crate) struct Attr {
    meta: Meta,
    tokens: TokenStream,
}

impl Attr {
    /// Takes those of an item apart from the rest of its tokens, of which no invisible group is
    /// left at the top.
    pub(crate) fn take_outer(item: TokenStream) -> Result<(Vec<Self>, TokenStream)> {
        let apart = |input: ParseStream<'_>| Ok((Self::parse_outer(input)?, input.parse()?));
        apart.parse2(visible(item, Depth::Top))
    }

    /// Parses all that stand here.
    pub(crate) fn parse_outer(input: ParseStream<'_>) -> Result<Vec<Self>> {
        let mut attrs = Vec::new();
        while input.peek(Token![#]) {
            let tokens: [TokenTree; 2] = [input.parse()?, input.parse()?];
            attrs.push(Self::new(tokens.into_iter().collect())?);
        }
        Ok(attrs)
    }

    fn new(tokens: TokenStream) -> Result<Self> {
        let mut attrs = Attribute::parse_outer.parse2(tokens.clone())?;
        match attrs.pop() {
            Some(attr) if attrs.is_empty() => Ok(Self {
                meta: attr.meta,
                tokens,
            }),
            _ => Err(Error::new(tokens.span(), "expected an attribute")),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.meta.path()
    }

    fn ends_with(&self, name: &str) -> bool {
        is_last(self.path(), name)
    }

    /// Returns `true` if the attribute makes the function a test.
    pub(crate) fn is_test(&self) -> bool {
        self.ends_with("test")
    }

    fn is_ours(&self) -> bool {
        self.ends_with(OURS)
    }

    /// Returns the condition of a `cfg_attr` that contains `limit_per_time`, and the attributes that hold
    /// under that.
    fn conditional(&self) -> Option<(TokenStream, Vec<Self>)> {
        let (condition, metas) = conditional(&self.meta)?;
        if !metas.iter().any(is_or_has_ours) {
            return None;
        }
        let span = self.path().span();
        let attrs = metas.into_iter().map(|meta| {
            let tokens = quote_spanned!(span=> #[#meta]);
            Self { meta, tokens }
        });
        Some((condition, attrs.collect()))
    }
}

impl ToTokens for Attr {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.tokens.to_tokens(tokens);
    }
}

const OURS: &str = "limit_per_time";

fn is_last(path: &Path, name: &str) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == name)
}

/// Returns the condition of a `cfg_attr`, and what it stands before.
fn conditional(meta: &Meta) -> Option<(TokenStream, Vec<Meta>)> {
    let Meta::List(list) = meta else { return None };
    if !list.path.is_ident("cfg_attr") {
        return None;
    }
    let parts = |input: ParseStream<'_>| {
        let condition: Meta = input.parse()?;
        input.parse::<Token![,]>()?;
        Ok((condition, Punctuated::<Meta, Token![,]>::parse_terminated(input)?))
    };
    let (condition, metas) = parts.parse2(visible(list.tokens.clone(), Depth::All)).ok()?;
    Some((condition.into_token_stream(), metas.into_iter().collect()))
}

fn is_or_has_ours(meta: &Meta) -> bool {
    is_last(meta.path(), OURS) || conditional(meta).is_some_and(|(_, metas)| metas.iter().any(is_or_has_ours))
}

/// Attributes as they are under each state of the `cfg_attr`s that have one of ours. With the first
/// of them the `cfg` under which they hold, so that the compiler, which alone evaluates it, picks
/// one of the lists.
pub(crate) fn variants(attrs: &[Attr]) -> Result<Vec<Vec<Attr>>> {
    let conditional = |(at, attr): (usize, &Attr)| Some((at, attr.conditional()?));
    let Some((at, (condition, under))) = attrs.iter().enumerate().find_map(conditional) else {
        return Ok(vec![attrs.to_vec()]);
    };
    let (before, after) = (&attrs[..at], &attrs[at + 1..]);
    let mut variants = Vec::new();
    for (cfg, under) in [(quote!(#condition), under), (quote!(not(#condition)), Vec::new())] {
        let cfg = Attr::new(quote_spanned!(Span::mixed_site()=> #[cfg(#cfg)]))?;
        variants.extend(self::variants(&[before, &[cfg], &under, after].concat())?);
    }
    Ok(variants)
}

/// An attribute of ours below another.
pub(crate) struct Stacked {
    pub(crate) span: Span,
    pub(crate) args: TokenStream,
}

impl Stacked {
    fn new(attr: &Attr) -> Self {
        Self {
            span: attr.path().span(),
            args: match &attr.meta {
                Meta::List(list) => visible(list.tokens.clone(), Depth::All),
                _ => TokenStream::new(),
            },
        }
    }

    /// Returns the attributes of ours among those of an item.
    pub(crate) fn among(attrs: &[Attr]) -> Vec<Self> {
        attrs.iter().filter(|attr| attr.is_ours()).map(Self::new).collect()
    }

    /// Takes them off.
    pub(crate) fn take(attrs: &mut Vec<Attr>) -> Vec<Self> {
        let ours = Self::among(attrs);
        attrs.retain(|attr| !attr.is_ours());
        ours
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

/// Returns `true` if the arguments are `exempt` alone, with a comma or without.
pub(crate) fn is_exempt(args: &TokenStream) -> bool {
    matches!(&*args.to_string(), "exempt" | "exempt ," | "exempt,")
}
