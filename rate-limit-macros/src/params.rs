//! The parameters of a function, and what their patterns bind.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, format_ident, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Attribute, FnArg, Pat, PatParen, PatType, Token};

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

/// Statements that mention every binding, the last first: a block that owns them then drops them in the order in
/// which the function would have.
pub(crate) fn mentions(inputs: &Punctuated<FnArg, Token![,]>) -> TokenStream {
    let bindings = bindings(inputs);
    let mentions = bindings.iter().rev().map(|Binding { cfgs, name }| {
        // A name that starts so says that it is not used.
        let allow = name
            .to_string()
            .starts_with('_')
            .then(|| quote!(#[allow(clippy::used_underscore_binding)]));
        quote_spanned!(Span::mixed_site()=> #(#cfgs)* #allow let _ = &#name;)
    });
    quote_spanned!(Span::mixed_site()=> #(#mentions)*)
}

/// The names that the parameters bind, `self` too.
pub(crate) fn names(inputs: &Punctuated<FnArg, Token![,]>) -> Vec<String> {
    bindings(inputs)
        .iter()
        .map(|binding| binding.name.to_string())
        .collect()
}

struct Binding {
    /// Under which it is there at all.
    cfgs: Vec<Attribute>,
    name: TokenStream,
}

fn bindings(inputs: &Punctuated<FnArg, Token![,]>) -> Vec<Binding> {
    let mut bindings = Vec::new();
    for input in inputs {
        match input {
            FnArg::Receiver(receiver) => bindings.push(Binding {
                cfgs: cfgs(&receiver.attrs),
                name: receiver.self_token.to_token_stream(),
            }),
            FnArg::Typed(typed) => collect(&typed.pat, &cfgs(&typed.attrs), &mut bindings),
        }
    }
    bindings
}

fn cfgs(attrs: &[Attribute]) -> Vec<Attribute> {
    attrs
        .iter()
        .filter(|attr| attr.path().is_ident("cfg"))
        .cloned()
        .collect()
}

fn collect(pat: &Pat, under: &[Attribute], bindings: &mut Vec<Binding>) {
    let mut all = |pats: &mut dyn Iterator<Item = &Pat>| {
        for pat in pats {
            collect(pat, under, bindings);
        }
    };
    match pat {
        Pat::Ident(ident) => {
            bindings.push(Binding {
                cfgs: under.to_vec(),
                name: ident.ident.to_token_stream(),
            });
            if let Some((_, inner)) = &ident.subpat {
                collect(inner, under, bindings);
            }
        }
        Pat::Paren(paren) => collect(&paren.pat, under, bindings),
        Pat::Reference(reference) => collect(&reference.pat, under, bindings),
        Pat::Type(typed) => collect(&typed.pat, under, bindings),
        Pat::Tuple(tuple) => all(&mut tuple.elems.iter()),
        Pat::TupleStruct(tuple) => all(&mut tuple.elems.iter()),
        Pat::Slice(slice) => all(&mut slice.elems.iter()),
        // Each alternative binds the same names.
        Pat::Or(or) => all(&mut or.cases.iter().take(1)),
        Pat::Struct(fields) => {
            for field in &fields.fields {
                let under = [under, &cfgs(&field.attrs)].concat();
                collect(&field.pat, &under, bindings);
            }
        }
        _ => {}
    }
}

/// A name of ours that no name of the user's can meet.
pub(crate) fn local(name: &str) -> Ident {
    format_ident!("{name}", span = Span::mixed_site())
}
