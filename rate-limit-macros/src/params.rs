//! The parameters of a function, and what their patterns bind.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, Local, Pat, PatParen, PatType, ReceiverKind, Token, Type};

/// Names each parameter that is `_`, so that it can be mentioned: else it would drop after the call is settled.
/// The name is in parentheses because attributes that come after treat a plain one as a value to show.
pub(crate) fn name_ignored(inputs: &mut Punctuated<FnArg, Token![,]>) {
    for (position, input) in inputs.iter_mut().enumerate() {
        if let FnArg::Typed(PatType { pat, .. }) = input
            && let Pat::Wild(wild) = &**pat
        {
            let span = wild.span().resolved_at(Span::mixed_site());
            let name = Ident::new(&format!("__ignored{position}"), span);
            **pat = Pat::Paren(PatParen {
                attrs: Vec::new(),
                paren_token: syn::token::Paren(span),
                pat: Box::new(syn::parse_quote!(#name)),
            });
        }
    }
}

/// Returns statements that mention every binding, the last first: a block that owns them then drops them in the order in
/// which the function would have. `words` are those of the body and of the attribute.
///
/// A reference needs none: whoever holds it, nothing is dropped with it.
pub(crate) fn mentions(inputs: &Punctuated<FnArg, Token![,]>, words: &Words) -> TokenStream {
    let owned = inputs.iter().filter(|input| !is_reference(input));
    all_mentioned(&bindings(owned), |name| words.has(name))
}

fn is_reference(input: &FnArg) -> bool {
    match input {
        FnArg::Receiver(receiver) => matches!(receiver.kind, ReceiverKind::Reference(..)),
        FnArg::Typed(typed) => matches!(&*typed.ty, Type::Reference(_)),
    }
}

/// Returns the names that the parameters bind, `self` too.
pub(crate) fn names(inputs: &Punctuated<FnArg, Token![,]>) -> Vec<String> {
    let bindings = bindings(inputs.iter());
    bindings.iter().map(|binding| binding.name.to_string()).collect()
}

fn bindings<'a>(inputs: impl Iterator<Item = &'a FnArg>) -> Vec<Binding> {
    let mut bindings = Vec::new();
    for input in inputs {
        match input {
            FnArg::Receiver(receiver) => bindings.push(Binding {
                cfgs: with_path(&receiver.attrs, &["cfg"]),
                lints: Vec::new(),
                mode: TokenStream::new(),
                name: Ident::new("self", receiver.self_token.span),
            }),
            FnArg::Typed(typed) => {
                let (cfgs, lints) = (with_path(&typed.attrs, &["cfg"]), with_path(&typed.attrs, LINTS));
                collect(&typed.pat, &cfgs, &lints, &mut bindings);
            }
        }
    }
    bindings
}

/// As [`mentions`], of what these statements bind.
pub(crate) fn mentions_of<'a>(locals: impl Iterator<Item = &'a Local>) -> TokenStream {
    let mut bindings = Vec::new();
    for local in locals {
        collect(&local.pat, &with_path(&local.attrs, &["cfg"]), &[], &mut bindings);
    }
    all_mentioned(&bindings, |_| true)
}

fn all_mentioned(bindings: &[Binding], is_used: impl Fn(&str) -> bool) -> TokenStream {
    let mentions = bindings.iter().rev().map(|binding| {
        let Binding {
            cfgs,
            lints,
            mode,
            name,
        } = binding;
        let text = name.to_string();
        // A name that starts so says that it is not used.
        let says_unused = text.starts_with('_');
        let allow = says_unused.then(|| quote!(#[allow(clippy::used_underscore_binding)]));
        // The mention is a use, so a binding of this name that has none tells of the parameter.
        let unused = (!says_unused && text != "self" && !is_used(&text))
            .then(|| quote_spanned!(Span::mixed_site()=> #(#cfgs)* { #(#lints)* let #mode #name = (); }));
        quote_spanned!(Span::mixed_site()=> #(#cfgs)* #allow let _ = &#name; #unused)
    });
    quote_spanned!(Span::mixed_site()=> #(#mentions)*)
}

/// The words that stand in tokens, in their text too, where formatting macros have names.
pub(crate) struct Words(BTreeSet<String>);

impl Words {
    pub(crate) fn of(tokens: TokenStream) -> Self {
        let mut words = Self(BTreeSet::new());
        words.collect(tokens);
        words
    }

    fn collect(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.collect(group.stream()),
                TokenTree::Ident(ident) => {
                    self.0.insert(ident.to_string());
                }
                TokenTree::Literal(literal) => {
                    let text = literal.to_string();
                    let words = text.split(|c: char| c != '_' && !c.is_alphanumeric());
                    self.0.extend(words.map(str::to_owned));
                }
                TokenTree::Punct(_) => {}
            }
        }
    }

    fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }
}

/// The attributes that set the level of a lint.
const LINTS: &[&str] = &["allow", "expect", "warn", "deny", "forbid"];

struct Binding {
    /// Under which it is there at all.
    cfgs: Vec<Attribute>,
    lints: Vec<Attribute>,
    /// `ref` and `mut`.
    mode: TokenStream,
    name: Ident,
}

fn with_path(attrs: &[Attribute], paths: &[&str]) -> Vec<Attribute> {
    let is_one = |attr: &&Attribute| paths.iter().any(|path| attr.path().is_ident(path));
    attrs.iter().filter(is_one).cloned().collect()
}

fn collect(pat: &Pat, under: &[Attribute], lints: &[Attribute], bindings: &mut Vec<Binding>) {
    let mut all = |pats: &mut dyn Iterator<Item = &Pat>| {
        for pat in pats {
            collect(pat, under, lints, bindings);
        }
    };
    match pat {
        Pat::Ident(ident) => {
            bindings.push(Binding {
                cfgs: under.to_vec(),
                lints: lints.to_vec(),
                mode: {
                    let (by_ref, mutability) = (&ident.by_ref, &ident.mutability);
                    quote!(#by_ref #mutability)
                },
                name: ident.ident.clone(),
            });
            if let Some((_, inner)) = &ident.subpat {
                collect(inner, under, lints, bindings);
            }
        }
        Pat::Paren(paren) => collect(&paren.pat, under, lints, bindings),
        Pat::Reference(reference) => collect(&reference.pat, under, lints, bindings),
        Pat::Type(typed) => collect(&typed.pat, under, lints, bindings),
        Pat::Tuple(tuple) => all(&mut tuple.elems.iter()),
        Pat::TupleStruct(tuple) => all(&mut tuple.elems.iter()),
        Pat::Slice(slice) => all(&mut slice.elems.iter()),
        // Each alternative binds the same names.
        Pat::Or(or) => all(&mut or.cases.iter().take(1)),
        Pat::Struct(fields) => {
            for field in &fields.fields {
                let under = [under, &with_path(&field.attrs, &["cfg"])].concat();
                collect(&field.pat, &under, lints, bindings);
            }
        }
        _ => {}
    }
}

/// Returns a name of ours that no name of the user's can meet.
pub(crate) fn local(name: &str) -> Ident {
    format_ident!("{name}", span = Span::mixed_site())
}
