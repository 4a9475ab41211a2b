//! The limited function.
//!
//! What is written has `__` before each of its locals, which the comments leave out: hygiene keeps them apart from
//! locals of the user's, and not from constants, statics and unit structs.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, Result};

use crate::args::{Count, OnStoreError, Window};
use crate::model::{Model, Settlement};
use crate::params::{self, local};
use crate::ret::Ret;
use crate::target::MARKER;

/// Expands the attribute. On an error the item is emitted as it was, so that no second error follows.
pub(crate) fn limit_per_time(args: TokenStream, item: TokenStream) -> TokenStream {
    expand(args, item.clone()).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote!(#error #item)
    })
}

fn expand(args: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let target = syn::parse2(item)?;
    let model = Model::new(syn::parse2(args)?, target)?;
    Ok(function(model))
}

fn function(mut model: Model) -> TokenStream {
    let body = match (&model.settlement, &model.ret, &model.on_limit) {
        (None, Ret::Response, None) => checked_response(&mut model),
        (None, ..) => checked(&model),
        (Some(_), Ret::Response, None) => settled_response(&mut model),
        (Some(_), ..) => settled(&mut model),
    };
    let site = site(&model);
    let target = &model.target;
    let (attrs, vis, sig, inner_attrs) = (&target.attrs, &target.vis, &target.sig, &target.inner_attrs);
    quote! {
        #(#attrs)* #vis #sig {
            #(#inner_attrs)*
            #site
            #body
        }
    }
}

/// The check stands in front of the body.
///
/// ```text
/// // Input
/// #[limit_per_time(5, "10m", key = form.user)]
/// async fn login(form: Form) -> Result<Token, Error> { BODY }
/// // Output
/// async fn login(form: Form) -> Result<Token, Error> {
///     use ::rate_limit::__private as __rate_limit;
///     static __RATE_LIMIT_SITE: __rate_limit::Site = { fn here() {} __rate_limit::Site::derived(here) };
///     let client = __rate_limit::KeyParts::new().part(&(form.user)).finish();
///     let call = __rate_limit::Call::new(&__RATE_LIMIT_SITE, const { POLICY }, client);
///     if let Err(rejection) = call.admit().await {
///         return <Result<Token, Error> as __rate_limit::FromRejection>::from_rejection(rejection);
///     }
///     { BODY }
/// }
/// ```
fn checked(model: &Model) -> TokenStream {
    let call = call(model);
    let refusal = refusal(model);
    let body = braced_body(model);
    quote_spanned! {Span::mixed_site()=>
        #call
        if let ::core::result::Result::Err(__rejection) = __call.admit().await {
            return #refusal;
        }
        #body
    }
}

/// For `impl IntoResponse`: the body and a refusal are two types, made one.
///
/// ```text
///     let client = ..;
///     let call = ..;
///     let body = async move { MENTIONS { BODY } };
///     if let Err(rejection) = call.admit().await {
///         return __rate_limit::Either::Refused(rejection);
///     }
///     __rate_limit::Either::Passed(body.await)
/// ```
fn checked_response(model: &mut Model) -> TokenStream {
    let call = call(model);
    let body = owned_body(model);
    quote_spanned! {Span::mixed_site()=>
        #call
        let __body = #body;
        if let ::core::result::Result::Err(__rejection) = __call.admit().await {
            return __rate_limit::Either::Refused(__rejection);
        }
        __rate_limit::Either::Passed(__body.await)
    }
}

/// Key, check and body are one inner block, whose value is settled after it.
///
/// ```text
///     let mut permit = None;
///     let admitted = &mut permit;
///     SETTLE, of async move {
///         MENTIONS
///         if let Some(out) = None::<Result<Token, Error>> { return out; }
///         let client = ..;
///         let call = ..;
///         match call.admit().await {
///             Ok(permit) => *admitted = Some(permit),
///             Err(rejection) => return <Result<Token, Error> as __rate_limit::FromRejection>::from_rejection(rejection),
///         }
///         { BODY }
///     }
///     .await
/// ```
fn settled(model: &mut Model) -> TokenStream {
    params::name_ignored(&mut model.target.sig.inputs);
    let mentions = params::mentions(&model.target.sig.inputs);
    let call = call(model);
    let refusal = refusal(model);
    let ret = model.ret.in_expression();
    let body = braced_body(model);
    let pin = quote_spanned! {ret.span().resolved_at(Span::mixed_site())=>
        if let ::core::option::Option::Some(__out) = ::core::option::Option::None::<#ret> {
            return __out;
        }
    };
    let settle = settle(
        model,
        quote_spanned! {Span::mixed_site()=>
            async move {
                #mentions
                #pin
                #call
                match __call.admit().await {
                    ::core::result::Result::Ok(__permit) => *__admitted = ::core::option::Option::Some(__permit),
                    ::core::result::Result::Err(__rejection) => return #refusal,
                }
                #body
            }
            .await
        },
    );
    quote_spanned! {Span::mixed_site()=>
        let mut __permit = ::core::option::Option::None;
        let __admitted = &mut __permit;
        #settle
    }
}

/// For `impl IntoResponse`: the value becomes the response that it stands for, so that its status tells a success.
///
/// ```text
///     let client = ..;
///     let call = ..;
///     let body = async move { MENTIONS { BODY } };
///     let permit = match call.admit().await {
///         Ok(permit) => Some(permit),
///         Err(rejection) => return __rate_limit::into_response(rejection),
///     };
///     SETTLE, of __rate_limit::into_response(body.await)
/// ```
fn settled_response(model: &mut Model) -> TokenStream {
    let call = call(model);
    let body = owned_body(model);
    let settle = settle(
        model,
        quote_spanned!(Span::mixed_site()=> __rate_limit::into_response(__body.await)),
    );
    quote_spanned! {Span::mixed_site()=>
        #call
        let __body = #body;
        let __permit = match __call.admit().await {
            ::core::result::Result::Ok(__permit) => ::core::option::Option::Some(__permit),
            ::core::result::Result::Err(__rejection) => return __rate_limit::into_response(__rejection),
        };
        #settle
    }
}

/// What stands first in every expansion: the runtime, and what is known of the function once.
fn site(model: &Model) -> TokenStream {
    let krate = match &model.krate {
        Some(path) => path.to_token_stream(),
        None => quote!(::rate_limit),
    };
    let site = match &model.name {
        Some(name) => quote_spanned!(Span::mixed_site()=> __rate_limit::Site::named(#name)),
        None => quote_spanned!(Span::mixed_site()=> { fn here() {} __rate_limit::Site::derived(here) }),
    };
    let marker = local(MARKER);
    quote_spanned! {Span::mixed_site()=>
        use #krate::__private as __rate_limit;
        static #marker: __rate_limit::Site = #site;
    }
}

/// `let client = ..; let call = ..;`, and before them the limiter where one is given: each in a `let` of its own, so
/// that no borrow or temporary of the user's expressions lives on while the call waits.
fn call(model: &Model) -> TokenStream {
    let parts = model.key.iter().map(|part| by_reference(part, "part"));
    let subject = model.settlement.as_ref().map(|Settlement { span, .. }| {
        let check = quote_spanned!(span.resolved_at(Span::mixed_site())=> reset_on_success);
        quote_spanned! {Span::mixed_site()=>
            .#check(|__types| { use __rate_limit::{AddressKey as _, SubjectKey as _}; (&&__types).__subject() })
        }
    });
    let policy = policy(model);
    let marker = local(MARKER);
    let on_store_error = model.on_store_error.map(|mode| {
        let mode = match mode {
            OnStoreError::Open => quote!(Open),
            OnStoreError::Closed => quote!(Closed),
            OnStoreError::Local => quote!(Local),
        };
        quote_spanned!(Span::mixed_site()=> .on_store_error(__rate_limit::OnStoreError::#mode))
    });
    let given = model.limiter.as_ref().map(|limiter| {
        let span = limiter.span().resolved_at(Span::mixed_site());
        quote_spanned!(span=> let __limiter = __rate_limit::limiter(&(#limiter));)
    });
    let limiter = model
        .limiter
        .as_ref()
        .map(|_| quote_spanned!(Span::mixed_site()=> .limiter(__limiter)));
    quote_spanned! {Span::mixed_site()=>
        let __client = __rate_limit::KeyParts::new()#(#parts)*#subject.finish();
        #given
        let __call = __rate_limit::Call::new(&#marker, const { #policy }, __client)#on_store_error #limiter;
    }
}

/// `.method(&(expr))`, with what the compiler has to say about its type said at the expression.
fn by_reference(expr: &Expr, method: &str) -> TokenStream {
    let span = expr.span().resolved_at(Span::mixed_site());
    let method = syn::Ident::new(method, span);
    quote_spanned!(span=> .#method(&(#expr)))
}

fn policy(model: &Model) -> TokenStream {
    let checked = |expr: &Expr, check: &str| {
        let span = expr.span().resolved_at(Span::mixed_site());
        let check = syn::Ident::new(check, span);
        quote_spanned!(span=> __rate_limit::#check(#expr))
    };
    let count = match &model.count {
        Count::Number(count) => count.to_token_stream(),
        Count::Const(expr) => checked(expr, "count"),
    };
    let window = match &model.window {
        Window::Micros(micros) => quote_spanned!(Span::mixed_site()=> ::core::time::Duration::from_micros(#micros)),
        Window::Const(expr) => checked(expr, "window"),
    };
    quote_spanned!(Span::mixed_site()=> __rate_limit::policy(#count, #window))
}

/// The value that says "refused", from `rejection`.
fn refusal(model: &Model) -> TokenStream {
    let ret = model.ret.in_expression();
    if let Some(value) = &model.on_limit {
        let span = value.span().resolved_at(Span::mixed_site());
        let rejection = local("__rejection");
        return quote_spanned!(span=> __rate_limit::on_limit::<#ret>(#rejection, #value));
    }
    let span = ret.span().resolved_at(Span::mixed_site());
    let rejection = local("__rejection");
    quote_spanned!(span=> <#ret as __rate_limit::FromRejection>::from_rejection(#rejection))
}

/// A block that owns the arguments and is the body.
fn owned_body(model: &mut Model) -> TokenStream {
    params::name_ignored(&mut model.target.sig.inputs);
    let mentions = params::mentions(&model.target.sig.inputs);
    let body = braced_body(model);
    quote_spanned!(Span::mixed_site()=> async move { #mentions #body })
}

/// The body in the braces that it was written in, so that the compiler points at them, and drops temporaries as their
/// edition says. The empty statement keeps `unused_braces` away from a body of one expression.
fn braced_body(model: &Model) -> TokenStream {
    let mut tokens = TokenStream::new();
    let (brace, body) = (&model.target.brace, &model.target.body);
    brace.surround(&mut tokens, |tokens| {
        tokens.extend(quote_spanned!(Span::mixed_site()=> ; #body));
    });
    tokens
}

/// Settles `permit` by `out`, an expression, and answers with its value.
///
/// ```text
///     let kept = match { let out = OUT; if permit.is_none() { return out; } SPLIT } {
///         Continue(kept) => kept,
///         Break(out) => return out,
///     };
///     __rate_limit::settle(&__RATE_LIMIT_SITE, permit).await;
///     __rate_limit::Kept::restore(kept)
/// ```
///
/// SPLIT is `{ use TRAITS; (&&&__rate_limit::Outcome::of(&out)).__split(out) }`, or asks the function's own `success`. A
/// refusal is no outcome, and is not asked about.
///
/// `out` was borrowed, so its place counts as used for as long as it is in scope: it is out of it before anything is
/// waited for. A failure returns at once; of a success only what has to be is held while it is settled.
fn settle(model: &Model, out: TokenStream) -> TokenStream {
    let success = model
        .settlement
        .as_ref()
        .and_then(|settlement| settlement.success.as_ref());
    let split = match success {
        Some(success) => quote_spanned!(Span::mixed_site()=> __rate_limit::split_by(__out, #success)),
        None => quote_spanned! {Span::mixed_site()=> {
            use __rate_limit::{AnyResult as _, AnyValue as _, ResultWithStatus as _, WithStatus as _};
            (&&&__rate_limit::Outcome::of(&__out)).__split(__out)
        }},
    };
    let marker = local(MARKER);
    quote_spanned! {Span::mixed_site()=>
        let __kept = match { let __out = #out; if __permit.is_none() { return __out; } #split } {
            ::core::ops::ControlFlow::Continue(__kept) => __kept,
            ::core::ops::ControlFlow::Break(__out) => return __out,
        };
        __rate_limit::settle(&#marker, __permit).await;
        __rate_limit::Kept::restore(__kept)
    }
}
