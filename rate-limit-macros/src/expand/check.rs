//! The check in front of the body, and what a call that it turns away returns.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::call::decide;
use super::policy::{Computed, computed};
use crate::model::Model;
use crate::params::local;
use crate::target::MARKER;

/// The statements that check a call, and the body behind them.
///
/// ```text
/// // Input
/// #[limit_per_time(5, "10m", key = form.user)]
/// async fn login(form: Form) -> Result<Token, Error> { BODY }
/// // Output
/// async fn login(form: Form) -> Result<Token, Error> {
///     use ::rate_limit::__private as __rate_limit;
///     static __RATE_LIMIT_SITE: __rate_limit::Site =
///         __rate_limit::Site::new(|| (), &[__rate_limit::sliding_window(5, 600_000_000)]);
///     __rate_limit::register!(__RATE_LIMIT_SITE);
///     let answer = {
///         let mut key_0 = __rate_limit::key();
///         __rate_limit::part(&mut key_0, &(form.user));
///         __rate_limit::admit(&__RATE_LIMIT_SITE, &mut key_0)
///     };
///     if let Err(answer) = answer
///         && let Err(refusal) = answer.await
///     {
///         return <Result<Token, Error> as __rate_limit::FromRejection>::from_rejection(refusal);
///     }
///     ({ BODY })
/// }
/// ```
///
/// With `permit = name`, `let name = match answer.await { .. };` stands in place of the `if`.
pub(super) fn checked(model: &Model, body: &TokenStream) -> TokenStream {
    let refuse = refuse(model);
    let deny = deny(model, &refuse);
    let decide = decide(&model.rules);
    let answer = match model.rules.name {
        None => quote_spanned!(Span::mixed_site()=> __answer),
        Some(_) => quote_spanned!(Span::mixed_site()=> (__answer, __under_way)),
    };
    let admit = match &model.rules.permit {
        // The call may be admitted at once, and then there is nothing to await.
        None if !model.rules.settles() && model.rules.within.is_none() => quote_spanned! {Span::mixed_site()=>
            if let ::core::result::Result::Err(__answer) = __answer
                && let ::core::result::Result::Err(__refusal) = __answer.await
            {
                #refuse
            }
        },
        None => quote_spanned! {Span::mixed_site()=>
            if let ::core::result::Result::Err(__refusal) = __answer.await {
                #refuse
            }
        },
        Some(name) => quote_spanned! {Span::mixed_site()=>
            let #name = match __answer.await {
                ::core::result::Result::Ok(__permit) => __permit,
                ::core::result::Result::Err(__refusal) => { #refuse }
            };
        },
    };
    quote_spanned!(Span::mixed_site()=> #deny let #answer = #decide; #admit #body)
}

/// Returns the statements of `deny_if`, which refuses a call before anything is charged.
fn deny(model: &Model, refuse: &TokenStream) -> Option<TokenStream> {
    let deny_if = model.rules.deny_if.as_ref()?;
    let marker = local(MARKER);
    let denied = match computed(&model.rules.rules[0].policy) {
        Some(Computed::Own(numbers)) => quote_spanned!(Span::mixed_site()=> denied_by(&#marker, #numbers)),
        Some(Computed::OfTrait(numbers)) => quote_spanned!(Span::mixed_site()=> denied_by_trait(&#marker, #numbers)),
        None => quote_spanned!(Span::mixed_site()=> denied(&#marker)),
    };
    Some(quote_spanned! {Span::mixed_site()=>
        let __denied: ::core::primitive::bool = #deny_if;
        if __denied {
            let __refusal = __rate_limit::#denied;
            #refuse
        }
    })
}

/// Returns the statement that leaves the function with the answer of a refused call, made from `refusal`.
fn refuse(model: &Model) -> TokenStream {
    let ret = model.ret.in_expression();
    let refusal = local("__refusal");
    if let Some(value) = &model.rules.on_limit {
        let span = value.span().resolved_at(Span::mixed_site());
        let value = quote_spanned!(span=> __rate_limit::on_limit::<#ret>(#refusal, #value));
        return quote_spanned!(Span::mixed_site()=> return #value;);
    }
    if model.is_beside_a_refusal() {
        return quote_spanned!(Span::mixed_site()=> match __rate_limit::refuse(#refusal).await {});
    }
    let span = ret.span().resolved_at(Span::mixed_site());
    let value = quote_spanned!(span=> <#ret as __rate_limit::FromRejection>::from_rejection(#refusal));
    quote!(return #value;)
}
