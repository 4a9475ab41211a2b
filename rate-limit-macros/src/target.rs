//! The function that the attribute stands on.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::{Attribute, Error, Result, ReturnType, Signature, Visibility};

use crate::attrs::Attr;
use crate::future::{self, returns_future};
use crate::groups::{Depth, rebuilt, visible};
use crate::neighbours;

/// A function. Its body is not parsed.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) attrs: Vec<Attr>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    /// `#![..]` at the start of the body, where alone they are legal: they stay in the outermost
    /// braces.
    pub(crate) inner_attrs: Vec<Attribute>,
    /// The braces and what is in them: the group that was written, unless inner attributes were
    /// taken out of it.
    pub(crate) body: Group,
}

/// The static in each expansion. That it stands in a body tells that the function is limited
/// already.
pub(crate) const MARKER: &str = "__RATE_LIMIT_SITE";

/// What the attributes call that make a function run its `async` body to the end.
const BLOCK_ON: &str = "block_on";

impl Target {
    /// Reads the tokens of an item.
    pub(crate) fn new(item: TokenStream) -> Result<Self> {
        let (attrs, rest) = Attr::take_outer(item)?;
        let mut header: Vec<TokenTree> = rest.into_iter().collect();
        let end = header.pop();
        let parts = |input: ParseStream<'_>| {
            let vis = input.parse()?;
            let start = input.span();
            let sig = input.parse().map_err(|_| {
                Error::new(
                    start,
                    "`limit_per_time` limits async functions: put it on an `async fn`, or on an `impl` or trait that has some",
                )
            })?;
            Ok((vis, sig))
        };
        let (vis, sig): (Visibility, Signature) = parts.parse2(visible(header.into_iter().collect(), Depth::All))?;
        let body = match end {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => group,
            _ => {
                return Err(Error::new(
                    sig.ident.span(),
                    format_args!(
                        "`{}` has no body to limit: put `limit_per_time` on the functions that implement it",
                        sig.ident
                    ),
                ));
            }
        };
        let (inner_attrs, body) = without_inner_attrs(body)?;
        Ok(Self {
            attrs,
            vis,
            sig,
            inner_attrs,
            body,
        })
    }

    /// Rejects a function that cannot be limited.
    pub(crate) fn check(&self) -> Result<()> {
        neighbours::check(&self.attrs)?;
        let name = &self.sig.ident;
        if let Some(constness) = &self.sig.constness {
            return Err(Error::new(
                constness.span,
                format_args!("a `const fn` cannot be limited: make `{name}` an `async fn`"),
            ));
        }
        if !self.is_async() {
            return Err(self.not_async());
        }
        if mentions(self.body.stream(), MARKER) {
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

    /// Returns the error of a function that is not async.
    fn not_async(&self) -> Error {
        let name = &self.sig.ident;
        if returns_future(&self.body) {
            return self.hides_its_future("or make it an `async fn`");
        }
        let message = if self.attrs.iter().any(Attr::is_test) {
            format!("`{name}` is not async here: put `limit_per_time` above the attribute that makes it a test")
        } else if name == "main" || mentions(self.body.stream(), BLOCK_ON) {
            format!(
                "`{name}` is not async here: put `limit_per_time` above the attribute that rewrites it, such as `#[tokio::main]`, or \
                 write `async fn {name}`"
            )
        } else {
            format!("`{name}` is not async: write `async fn {name}`")
        };
        Error::new(self.sig.fn_token.span, message)
    }

    /// Returns the error of a function that returns a future by a type that does not name one. `or` is what
    /// else there is to do.
    pub(crate) fn hides_its_future(&self, or: &str) -> Error {
        let message = format!(
            "`{}` returns a future, but its return type does not name one: write the type out, as in \
             `Pin<Box<dyn Future<Output = ..>>>`, {or}",
            self.sig.ident
        );
        match &self.sig.output {
            ReturnType::Type(_, ty) => Error::new_spanned(ty, message),
            ReturnType::Default => Error::new(self.sig.ident.span(), message),
        }
    }

    /// Returns `true` if it is an `async fn`, or its return type says that it returns a future.
    pub(crate) fn is_async(&self) -> bool {
        self.sig.asyncness.is_some() || future::output(&self.sig.output).is_some()
    }
}

/// Takes the inner attributes off the start of a block. A block without any stays the very group
/// that it was.
pub(crate) fn without_inner_attrs(block: Group) -> Result<(Vec<Attribute>, Group)> {
    let apart = |input: ParseStream<'_>| Ok((input.call(Attribute::parse_inner)?, input.parse::<TokenStream>()?));
    let (attrs, rest) = apart.parse2(block.stream())?;
    let block = if attrs.is_empty() { block } else { rebuilt(&block, rest) };
    Ok((attrs, block))
}

fn mentions(tokens: TokenStream, word: &str) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == word,
        TokenTree::Group(group) => mentions(group.stream(), word),
        _ => false,
    })
}
