//! The numbers of a rule.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned as _;

use super::{krate, site};
use crate::args::{Count, OnStoreError, Window};
use crate::model::{Numbers, OwnPolicy, Policy, Rule, Rules, SettleOn};
use crate::params::local;

/// Returns the entry of a rule in the static of the function: its numbers if they are literals or a name, which were checked when they
/// were read, and its options that are the same for every call.
pub(super) fn known(rule: &Rule) -> TokenStream {
    let numbers = match &rule.policy {
        Policy::Own(own) => literal(own),
        Policy::Named(name) => Some(quote!(policy(#name))),
        Policy::OfTrait(_) => None,
    };
    let numbers = numbers.unwrap_or_else(|| quote!(computed()));
    let observe = rule.observe.then(|| quote!(.observe()));
    let on_store_error = rule.on_store_error.map(|mode| match mode {
        OnStoreError::Open => quote!(.open()),
        OnStoreError::Closed => quote!(.closed()),
        OnStoreError::Local => quote!(.local()),
    });
    let settle = rule.settle.map(|settle| match settle.on {
        SettleOn::ResetOnSuccess => quote!(.reset_on_success()),
        SettleOn::RefundOnSuccess => quote!(.refund_on_success()),
        SettleOn::RefundOnError => quote!(.refund_on_error()),
    });
    quote_spanned!(Span::mixed_site()=> __rate_limit::#numbers #observe #on_store_error #settle)
}

fn literal(own: &OwnPolicy) -> Option<TokenStream> {
    let (algorithm, (_, Count::Number(count)), (_, Window::Micros(span))) = parts(&own.numbers) else {
        return None;
    };
    let block = match &own.block {
        Some(Window::Micros(block)) => Some(quote!(.block(#block))),
        Some(Window::Const(_)) => return None,
        None => None,
    };
    Some(quote!(#algorithm(#count, #span) #block))
}

/// Returns the numbers of a rule if the static does not hold them.
pub(super) fn computed(policy: &Policy) -> Option<Computed> {
    match policy {
        Policy::OfTrait(of) => {
            let span = of.span().resolved_at(Span::mixed_site());
            let policy = Ident::new(POLICY_OF_TRAIT, span);
            Some(Computed::OfTrait(quote_spanned!(span=> <Self as #of>::#policy())))
        }
        Policy::Own(own) if literal(own).is_none() => {
            let numbers = constant(own);
            Some(Computed::Own(quote_spanned!(Span::mixed_site()=> const { &#numbers })))
        }
        _ => None,
    }
}

/// Numbers that may be others in another instance of a generic function.
pub(super) enum Computed {
    /// Constant expressions.
    Own(TokenStream),
    OfTrait(TokenStream),
}

/// Returns an expression for numbers that the compiler evaluates and checks.
fn constant(own: &OwnPolicy) -> TokenStream {
    let (algorithm, count, span) = parts(&own.numbers);
    let checked = |expr: &Expr, check: &str| {
        let span = expr.span().resolved_at(Span::mixed_site());
        let check = Ident::new(check, span);
        quote_spanned!(span=> __rate_limit::#check(#expr))
    };
    let length = |length: &Window, check| match length {
        Window::Micros(micros) => quote_spanned!(Span::mixed_site()=> ::core::time::Duration::from_micros(#micros)),
        Window::Const(expr) => checked(expr, check),
    };
    let count = match count {
        (_, Count::Number(count)) => count.to_token_stream(),
        (check, Count::Const(expr)) => checked(expr, check),
    };
    let span = length(span.1, span.0);
    let block = own.block.as_ref().map(|block| {
        let block = length(block, "block");
        quote_spanned!(Span::mixed_site()=> .block(#block))
    });
    quote_spanned!(Span::mixed_site()=> __rate_limit::Numbers::Own(__rate_limit::Policy::#algorithm(#count, #span)#block))
}

/// Returns the constructor, and both numbers, each with what checks it.
fn parts(numbers: &Numbers) -> (Ident, (&'static str, &Count), (&'static str, &Window)) {
    let (algorithm, count, span) = match numbers {
        Numbers::SlidingWindow(count, window) => ("sliding_window", ("count", count), ("window", window)),
        Numbers::FixedWindow(count, window) => ("fixed_window", ("count", count), ("window", window)),
        Numbers::TokenBucket(capacity, refill) => ("token_bucket", ("capacity", capacity), ("refill", refill)),
    };
    (local(algorithm), count, span)
}

/// The hidden function by which a trait tells its numbers to its `impl`s. A constant in its place would keep the trait from
/// being used as `dyn`. The compiler's error says its name where there is none.
const POLICY_OF_TRAIT: &str = "__limit_per_time_on_this_trait";

pub(crate) fn policy_of_trait(rules: &Rules) -> TokenStream {
    let krate = krate(rules);
    let name = local(POLICY_OF_TRAIT);
    // What is asked for is known though no function asks for it here.
    let (site, kind, numbers) = match &rules.rules[0].policy {
        Policy::Named(policy) => (
            site(rules),
            "literal",
            quote_spanned!(Span::mixed_site()=> __rate_limit::Numbers::Named(#policy)),
        ),
        Policy::Own(own) => match literal(own) {
            Some(_) => (using(rules), "literal", constant(own)),
            None => (using(rules), "constant", constant(own)),
        },
        Policy::OfTrait(_) => return TokenStream::new(),
    };
    let kind = local(kind);
    quote_spanned! {Span::mixed_site()=>
        #[doc(hidden)]
        fn #name() -> &'static #krate::__private::TraitNumbers
        where
            Self: ::core::marker::Sized,
        {
            #site
            const { &__rate_limit::TraitNumbers::#kind(#numbers) }
        }
    }
}

/// Returns the import of the runtime as `__rate_limit`.
pub(super) fn using(rules: &Rules) -> TokenStream {
    let krate = krate(rules);
    quote_spanned!(Span::mixed_site()=> use #krate::__private as __rate_limit;)
}

/// Returns the hidden function of [`policy_of_trait`] for a trait whose attribute has an error. It accepts any numbers.
pub(crate) fn no_policy_of_trait() -> TokenStream {
    let name = local(POLICY_OF_TRAIT);
    quote_spanned! {Span::mixed_site()=>
        #[doc(hidden)]
        fn #name<__Policy>() -> __Policy
        where
            Self: ::core::marker::Sized,
        {
            loop {}
        }
    }
}
