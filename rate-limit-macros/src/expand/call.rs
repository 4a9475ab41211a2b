//! What is known of a call before it is decided.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned as _;

use super::policy::policy;
use crate::args::OnStoreError;
use crate::model::{Rule, Rules, Settle, SettleOn};
use crate::params::local;
use crate::target::MARKER;

/// `let client = ..; let policy = ..; let call = ..;` for each rule, then the limiter where one is given: each in a `let` of its own,
/// so that no borrow or temporary of the user's expressions lives on while the call waits. A rule that may be skipped has them
/// in a branch, so that its key is evaluated only where it is not.
pub(super) fn call(rules: &Rules) -> TokenStream {
    let marker = local(MARKER);
    let new = quote_spanned!(Span::mixed_site()=> __rate_limit::Call::new(&#marker));
    let mut call = TokenStream::new();
    for (place, rule) in rules.rules.iter().enumerate() {
        let so_far = if place == 0 {
            new.clone()
        } else {
            local("__call").into_token_stream()
        };
        let client = client(rule);
        let policy = policy(&rule.policy);
        let asked = asked(rule);
        let further = (!asked.is_empty()).then(|| quote_spanned!(Span::mixed_site()=> let __call = __call #asked;));
        call.extend(match &rule.skip_if {
            None => quote_spanned! {Span::mixed_site()=>
                let __client = #client;
                let __policy = #policy;
                let __call = #so_far.rule(__policy, __client);
                #further
            },
            Some(skip_if) => quote_spanned! {Span::mixed_site()=>
                let __skipped: ::core::primitive::bool = #skip_if;
                let __call = if __skipped {
                    #so_far.skip()
                } else {
                    let __client = #client;
                    let __policy = #policy;
                    #so_far.rule(__policy, __client)#asked
                };
            },
        });
    }
    if let Some(at) = &rules.at {
        let at = by_value(at, "at");
        call.extend(quote_spanned!(Span::mixed_site()=> let __call = __call #at;));
    }
    if let Some(limiter) = &rules.limiter {
        let span = limiter.span().resolved_at(Span::mixed_site());
        let given = local("__limiter");
        call.extend(quote_spanned!(span=> let #given = __rate_limit::limiter(&(#limiter));));
        call.extend(quote_spanned!(Span::mixed_site()=> let __call = __call.limiter(__limiter);));
    }
    call
}

fn client(rule: &Rule) -> TokenStream {
    if rule.key.is_empty() {
        return quote_spanned!(Span::mixed_site()=> __rate_limit::ambient());
    }
    let parts = rule.key.iter().map(|part| {
        let span = part.span().resolved_at(Span::mixed_site());
        let method = Ident::new("part", span);
        quote_spanned!(span=> .#method(&(#part)))
    });
    let subject = match rule.settle {
        Some(Settle {
            span,
            on: SettleOn::ResetOnSuccess,
        }) => {
            let check = Ident::new("reset_on_success", span.resolved_at(Span::mixed_site()));
            Some(quote_spanned!(Span::mixed_site()=> .#check(|__types| (&&__types).__subject())))
        }
        _ => None,
    };
    quote_spanned!(Span::mixed_site()=> __rate_limit::KeyParts::new()#(#parts)*#subject.finish())
}

/// The options of a rule, as calls that follow it.
fn asked(rule: &Rule) -> TokenStream {
    let cost = rule.cost.as_ref().map(|cost| by_value(cost, "cost"));
    let observe = rule.observe.then(|| quote_spanned!(Span::mixed_site()=> .observe()));
    let on_store_error = rule.on_store_error.map(|mode| {
        let mode = match mode {
            OnStoreError::Open => quote!(Open),
            OnStoreError::Closed => quote!(Closed),
            OnStoreError::Local => quote!(Local),
        };
        quote_spanned!(Span::mixed_site()=> .on_store_error(__rate_limit::OnStoreError::#mode))
    });
    let settle = rule.settle.map(|settle| {
        let on = match settle.on {
            SettleOn::ResetOnSuccess => quote!(ResetOnSuccess),
            SettleOn::RefundOnSuccess => quote!(RefundOnSuccess),
            SettleOn::RefundOnError => quote!(RefundOnError),
        };
        quote_spanned!(Span::mixed_site()=> .settle(__rate_limit::SettleOn::#on))
    });
    quote!(#cost #observe #on_store_error #settle)
}

/// `.method(expr)`, with what the compiler has to say about its type said at the expression.
fn by_value(expr: &Expr, method: &str) -> TokenStream {
    let span = expr.span().resolved_at(Span::mixed_site());
    let method = Ident::new(method, span);
    quote_spanned!(span=> .#method(#expr))
}
