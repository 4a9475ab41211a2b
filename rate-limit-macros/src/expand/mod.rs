//! The limited function.
//!
//! What is written has `__` before each of its locals, which the comments leave out: hygiene keeps them apart from
//! locals of the user's, and not from constants, statics and unit structs.

mod call;
mod check;
mod policy;
mod rename;
mod settle;

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::{Error, Result};

use self::check::checked;
use self::policy::known;
pub(crate) use self::policy::{no_policy_of_trait, policy_of_trait};
use self::rename::rename_self;
use self::settle::settled;
use crate::args::Args;
use crate::attrs::{Attr, Stacked, is_exempt};
use crate::error::Errors;
use crate::future::{FutureBody, whole};
use crate::groups::{Depth, visible};
use crate::items::Items;
use crate::model::{Model, Rule, Rules, SettleOn};
use crate::params::local;
use crate::target::{MARKER, Target};

/// Expands the attribute. On an error the item is emitted without limits, so that no second error follows.
pub(crate) fn limit_per_time(args: TokenStream, item: TokenStream) -> TokenStream {
    expand(args, item.clone()).unwrap_or_else(|error| {
        let error = error.into_compile_error();
        let item = unlimited(item);
        quote!(#error #item)
    })
}

fn unlimited(item: TokenStream) -> TokenStream {
    if let Some(items) = Items::new(&item) {
        return items.unlimited().unwrap_or(item);
    }
    match Attr::take_outer(item.clone()) {
        Ok((mut attrs, rest)) => {
            Stacked::take(&mut attrs);
            quote!(#(#attrs)* #rest)
        }
        Err(_) => item,
    }
}

fn expand(args: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let args = visible(args, Depth::All);
    if is_exempt(&args) {
        return Err(Error::new_spanned(
            args,
            "nothing is exempt here: the `impl` or trait around this has no `limit_per_time`, or this is none of its functions",
        ));
    }
    if let Some(mut items) = Items::new(&item) {
        let stacked = items.take_stacked()?;
        let rules = Rules::new(attributes(args, stacked)?, items.inherits())?;
        return items.limit(&rules);
    }
    let mut target = Target::new(item)?;
    target.check()?;
    let stacked = Stacked::take(&mut target.attrs);
    function(Model::new(Rules::new(attributes(args, stacked)?, None)?, target)?)
}

/// The arguments of each attribute, the outermost first.
fn attributes(outermost: TokenStream, stacked: Vec<Stacked>) -> Result<Vec<Args>> {
    let mut errors = Errors::default();
    let mut attributes: Vec<Args> = errors.take(syn::parse2(outermost)).into_iter().collect();
    for stacked in stacked {
        if stacked.is_exempt() {
            errors.push(stacked.both_limited_and_exempt());
        } else if let Some(args) = errors.take(syn::parse2::<Args>(stacked.args)) {
            attributes.push(args.at(stacked.span));
        }
    }
    errors.finish(attributes)
}

/// A function as it is limited.
pub(crate) fn function(mut model: Model) -> Result<TokenStream> {
    let limited = match model.future.take() {
        Some(future) => in_future(&mut model, future)?,
        None => {
            let body = whole(&model.target.body).to_token_stream();
            limited(&mut model, body)
        }
    };
    let target = &model.target;
    let (attrs, vis, sig, inner_attrs) = (&target.attrs, &target.vis, &target.sig, &target.inner_attrs);
    Ok(quote! {
        #(#attrs)* #vis #sig {
            #(#inner_attrs)*
            #limited
        }
    })
}

/// A function that returns a future: the check is the first that the future does, so that nothing is charged for one that
/// is made and dropped.
///
/// ```text
/// // Input
/// fn login(user: u64) -> impl Future<Output = Result<Token, Error>> { BEFORE async move { BODY } }
/// // Output
/// fn login(user: u64) -> impl Future<Output = Result<Token, Error>> { BEFORE async move { LIMITED BODY } }
/// ```
fn in_future(model: &mut Model, mut future: FutureBody) -> Result<TokenStream> {
    if let Some(renamed) = future.renamed_self.take() {
        model.rules = rename_self(&model.rules, &renamed)?;
    }
    let body = std::mem::take(&mut future.body);
    let limited = limited(model, body);
    Ok(future.with(&limited))
}

/// The statements that check a call, run the body, and settle the call.
fn limited(model: &mut Model, body: TokenStream) -> TokenStream {
    let site = site(&model.rules);
    let call = call::call(&model.rules);
    let limited = if model.rules.settles() {
        settled(model, &call, &body)
    } else {
        checked(model, &call, &body)
    };
    quote!(#site #limited)
}

/// What stands first in every expansion: the runtime, and what is known of the function once.
fn site(rules: &Rules) -> TokenStream {
    let krate = krate(rules);
    let marker = local(MARKER);
    let site = match &rules.name {
        Some(name) => quote_spanned!(Span::mixed_site()=> __rate_limit::Site::named(#name)),
        None => quote_spanned!(Span::mixed_site()=> __rate_limit::Site::derived(|| ())),
    };
    let numbers = rules.rules.iter().map(|rule| known(&rule.policy));
    let numbers = numbers.map(|numbers| quote!([#numbers]));
    let at = rules.at.as_ref().map(|_| quote!(.at()));
    let resets = |rule: &Rule| rule.settle.is_some_and(|settle| settle.on == SettleOn::ResetOnSuccess);
    let by_type = (rules.settles() && rules.success.is_none()) || rules.rules.iter().any(resets);
    let traits = by_type.then(|| quote_spanned!(Span::mixed_site()=> use __rate_limit::by_type::*;));
    quote_spanned! {Span::mixed_site()=>
        use #krate::__private as __rate_limit;
        #traits
        static #marker: __rate_limit::Site = #site;
        __rate_limit::register!(#marker: #(#numbers)* #at);
    }
}

fn krate(rules: &Rules) -> TokenStream {
    match &rules.krate {
        Some(path) => path.to_token_stream(),
        None => quote!(::rate_limit),
    }
}
