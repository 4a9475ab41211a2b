//! What is known of a call before it is decided.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::Expr;
use syn::spanned::Spanned as _;

use super::policy::{instance, policy};
use crate::args::OnStoreError;
use crate::model::{Rule, Rules, Settle, SettleOn};
use crate::params::local;
use crate::target::MARKER;

/// `let mut key = ..; let mut call = ..;`, and for each rule `let client = ..; let policy = ..; Call::rule(&mut call, policy, client);`, then the
/// limiter where one is given: each of the user's expressions in a `let` of its own, so that no borrow or temporary of it lives on while
/// the call waits. A rule that may be skipped has them in a branch, so that its key is evaluated only where it is not. What borrows the call
/// is named by its path: a trait in scope may have a method of the same name for every type.
pub(super) fn call(rules: &Rules) -> TokenStream {
    let marker = local(MARKER);
    let mut keys = TokenStream::new();
    let mut call = quote_spanned!(Span::mixed_site()=> let mut __call = __rate_limit::Call::new(&#marker););
    for (place, rule) in rules.rules.iter().enumerate() {
        // Each has a place of its own, which outlasts the call.
        let key = local(&format!("__key_{place}"));
        let client = client(rule, &key);
        let policy = policy(&rule.policy);
        let asked = asked(rule);
        let new = match rule.key.is_empty() {
            true => quote_spanned!(Span::mixed_site()=> let #key = __rate_limit::ambient();),
            false => quote_spanned!(Span::mixed_site()=> let mut #key = __rate_limit::key_hasher();),
        };
        let add = quote_spanned! {Span::mixed_site()=>
            let __client = #client;
            let __policy = #policy;
            __rate_limit::Call::rule(&mut __call, __policy, __client);
            #asked
        };
        keys.extend(new);
        call.extend(match &rule.skip_if {
            None => add,
            Some(skip_if) => quote_spanned! {Span::mixed_site()=>
                let __skipped: ::core::primitive::bool = #skip_if;
                if __skipped {
                    __rate_limit::Call::skip(&mut __call);
                } else {
                    #add
                }
            },
        });
    }
    call.extend(rules.at.as_ref().map(|at| by_value(at, "at")));
    if let Some(limiter) = &rules.limiter {
        let span = limiter.span().resolved_at(Span::mixed_site());
        let given = local("__limiter");
        call.extend(quote_spanned!(span=> let #given = __rate_limit::limiter(&(#limiter));));
        call.extend(quote_spanned!(Span::mixed_site()=> __rate_limit::Call::limiter(&mut __call, __limiter);));
    }
    quote!(#keys #call)
}

fn client(rule: &Rule, key: &Ident) -> TokenStream {
    if rule.key.is_empty() {
        return quote_spanned!(Span::mixed_site()=> __rate_limit::Ambient::client(&#key));
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
    quote_spanned!(Span::mixed_site()=> __rate_limit::KeyParts::new(&mut #key)#(#parts)*#subject.finish())
}

/// The options of a rule, as statements that follow it.
fn asked(rule: &Rule) -> TokenStream {
    let cost = rule.cost.as_ref().map(|cost| by_value(cost, "cost"));
    let observe = rule
        .observe
        .then(|| quote_spanned!(Span::mixed_site()=> __rate_limit::Call::observe(&mut __call);));
    let on_store_error = rule.on_store_error.map(|mode| {
        let mode = match mode {
            OnStoreError::Open => quote!(Open),
            OnStoreError::Closed => quote!(Closed),
            OnStoreError::Local => quote!(Local),
        };
        quote_spanned!(Span::mixed_site()=> __rate_limit::Call::on_store_error(&mut __call, __rate_limit::OnStoreError::#mode);)
    });
    let settle = rule.settle.map(|settle| {
        let on = match settle.on {
            SettleOn::ResetOnSuccess => quote!(ResetOnSuccess),
            SettleOn::RefundOnSuccess => quote!(RefundOnSuccess),
            SettleOn::RefundOnError => quote!(RefundOnError),
        };
        quote_spanned!(Span::mixed_site()=> __rate_limit::Call::settle(&mut __call, __rate_limit::SettleOn::#on);)
    });
    let instance = instance(&rule.policy);
    quote!(#instance #cost #observe #on_store_error #settle)
}

/// `Call::method(&mut call, expr);`, with what the compiler has to say about its type said at the expression.
fn by_value(expr: &Expr, method: &str) -> TokenStream {
    let span = expr.span().resolved_at(Span::mixed_site());
    let method = Ident::new(method, span);
    let [rate_limit, call] = ["__rate_limit", "__call"].map(|name| Ident::new(name, span));
    quote_spanned!(span=> #rate_limit::Call::#method(&mut #call, #expr);)
}
