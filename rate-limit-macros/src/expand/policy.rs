//! The policy of a rule.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned as _;

use super::krate;
use crate::args::{Count, Window};
use crate::model::{Numbers, Policy, Rules};
use crate::params::local;

pub(super) fn policy(policy: &Policy) -> TokenStream {
    let (numbers, block) = match policy {
        Policy::Own(own) => (&own.numbers, &own.block),
        Policy::OfTrait(of) => {
            let span = of.span().resolved_at(Span::mixed_site());
            let policy = Ident::new(POLICY_OF_TRAIT, span);
            return quote_spanned!(span=> <Self as #of>::#policy());
        }
    };
    let (algorithm, count, span) = match numbers {
        Numbers::SlidingWindow(count, window) => ("sliding_window", ("count", count), ("window", window)),
        Numbers::FixedWindow(count, window) => ("fixed_window", ("count", count), ("window", window)),
        Numbers::TokenBucket(capacity, refill) => ("token_bucket", ("capacity", capacity), ("refill", refill)),
    };
    let algorithm = local(algorithm);
    // The literals of a window were checked where they were read; those of a bucket hang together.
    if let ((_, Count::Number(count)), ("window", Window::Micros(micros)), None) = (count, span, block) {
        return quote_spanned!(Span::mixed_site()=> __rate_limit::#algorithm(#count, #micros));
    }
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
    let block = block.as_ref().map(|block| {
        let block = length(block, "block");
        quote_spanned!(Span::mixed_site()=> .block(#block))
    });
    quote_spanned!(Span::mixed_site()=> const { __rate_limit::Policy::#algorithm(#count, #span)#block })
}

/// The hidden function by which a trait tells its numbers to its `impl`s. A constant in its place would keep the trait from
/// being used as `dyn`. The compiler's error says its name where there is none.
const POLICY_OF_TRAIT: &str = "__limit_per_time_on_this_trait";

pub(crate) fn policy_of_trait(rules: &Rules) -> TokenStream {
    let krate = krate(rules);
    let name = local(POLICY_OF_TRAIT);
    let policy = policy(&rules.rules[0].policy);
    quote_spanned! {Span::mixed_site()=>
        #[doc(hidden)]
        fn #name() -> #krate::Policy
        where
            Self: ::core::marker::Sized,
        {
            use #krate::__private as __rate_limit;
            #policy
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
