//! The numbers of a rule.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, Path};

use super::{krate, site};
use crate::args::{Count, Window};
use crate::model::{Numbers, OwnPolicy, Policy, Rules};
use crate::params::local;

pub(super) fn policy(policy: &Policy) -> TokenStream {
    match policy {
        Policy::OfTrait(of) => {
            let numbers = numbers_of_trait(of);
            quote_spanned!(Span::mixed_site()=> __rate_limit::numbers_of_trait(#numbers))
        }
        policy => {
            let numbers = numbers(policy);
            quote_spanned!(Span::mixed_site()=> const { &#numbers })
        }
    }
}

/// The numbers of a rule's own, or the name of its policy.
fn numbers(policy: &Policy) -> TokenStream {
    match (policy, known(policy)) {
        (Policy::Own(own), None) => constant(own),
        (_, known) => quote_spanned!(Span::mixed_site()=> __rate_limit::#known),
    }
}

fn numbers_of_trait(of: &Path) -> TokenStream {
    let span = of.span().resolved_at(Span::mixed_site());
    let policy = Ident::new(POLICY_OF_TRAIT, span);
    quote_spanned!(span=> <Self as #of>::#policy())
}

/// The statement that tells of numbers which may be others in another instance of a generic function: constant expressions. The name of a
/// closure in a constant of the function tells which instance this is.
///
/// ```text
/// __rate_limit::Call::constant(&mut call, const { __rate_limit::type_name(|| ()) });
/// ```
pub(super) fn instance(policy: &Policy) -> Option<TokenStream> {
    let here = quote_spanned!(Span::mixed_site()=> const { __rate_limit::type_name(|| ()) });
    match policy {
        Policy::OfTrait(of) => {
            let numbers = numbers_of_trait(of);
            Some(quote_spanned!(Span::mixed_site()=> __rate_limit::Call::of_trait(&mut __call, #numbers, #here);))
        }
        policy if known(policy).is_some() => None,
        _ => Some(quote_spanned!(Span::mixed_site()=> __rate_limit::Call::constant(&mut __call, #here);)),
    }
}

/// The numbers as far as they are literals or a name, so that a static can have them, by what the runtime calls them. They were
/// checked where they were read.
pub(super) fn known(policy: &Policy) -> Option<TokenStream> {
    match policy {
        Policy::Own(own) => literal(own),
        Policy::Named(name) => Some(quote_spanned!(Span::mixed_site()=> Numbers::Named(#name))),
        Policy::OfTrait(_) => None,
    }
}

fn literal(own: &OwnPolicy) -> Option<TokenStream> {
    let (algorithm, (_, Count::Number(count)), (_, Window::Micros(span))) = parts(&own.numbers) else {
        return None;
    };
    let block = match &own.block {
        Some(Window::Micros(block)) => Some(quote_spanned!(Span::mixed_site()=> .block(#block))),
        Some(Window::Const(_)) => return None,
        None => None,
    };
    Some(quote_spanned!(Span::mixed_site()=> #algorithm(#count, #span)#block))
}

/// Numbers that the compiler finds and checks.
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

/// The constructor, and both numbers, each with what checks it.
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
    let policy = &rules.rules[0].policy;
    let numbers = numbers(policy);
    let kind = local(if known(policy).is_some() { "literal" } else { "constant" });
    // What is asked for is known though no function asks for it here.
    let site = match policy {
        Policy::Named(_) => site(rules),
        _ => quote_spanned!(Span::mixed_site()=> use #krate::__private as __rate_limit;),
    };
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

/// The same of a trait whose attribute is wrong, of any numbers.
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
