//! The return type, and how a refusal becomes a value of it.

use proc_macro2::TokenStream;
use quote::{ToTokens as _, quote};
use syn::spanned::Spanned as _;
use syn::visit_mut::{self, VisitMut};
use syn::{Ident, Lifetime, ReturnType, TraitBound, Type, TypeFnPtr, TypeImplTrait, TypeInfer, TypeParamBound};

/// What a function returns.
pub(crate) enum Ret {
    /// Nothing.
    Unit,
    /// `impl IntoResponse`: any response does, so a refusal can be one.
    Response,
    /// `impl Responder`, likewise.
    Responder,
    /// `impl Trait` of another trait, which no refusal is known to implement.
    Opaque(Type),
    /// A type that can be named, but for what is `impl Trait` inside of it.
    Named(Type),
}

impl Ret {
    pub(crate) fn new(output: &ReturnType) -> Self {
        match output {
            ReturnType::Type(_, ty) => Self::of(ty),
            ReturnType::Default => Self::Unit,
        }
    }

    pub(crate) fn of(ty: &Type) -> Self {
        match ty {
            Type::ImplTrait(opaque) if is_impl_of(opaque, "IntoResponse") => Self::Response,
            Type::ImplTrait(opaque) if is_impl_of(opaque, "Responder") => Self::Responder,
            Type::ImplTrait(_) => Self::Opaque(ty.clone()),
            Type::Paren(paren) => Self::of(&paren.elem),
            Type::Group(group) => Self::of(&group.elem),
            _ => Self::Named(ty.clone()),
        }
    }

    /// Returns the type as it can stand in an expression: what cannot be named is `_`.
    pub(crate) fn in_expression(&self) -> TokenStream {
        match self {
            Self::Unit => quote!(()),
            Self::Response | Self::Responder => quote!(_),
            Self::Opaque(ty) | Self::Named(ty) => {
                let mut ty = ty.clone();
                InferOpaque.visit_type_mut(&mut ty);
                ty.into_token_stream()
            }
        }
    }
}

/// By its last segment, since that is all that a macro can see.
fn is_impl_of(opaque: &TypeImplTrait, name: &str) -> bool {
    opaque.bounds.iter().any(|bound| match bound {
        TypeParamBound::Trait(bound) => bound.path.segments.last().is_some_and(|segment| segment.ident == name),
        _ => false,
    })
}

/// Replaces types that stand in a return type and in no expression, and lifetimes of the function, which a lint counts as used where
/// they are repeated.
struct InferOpaque;

impl VisitMut for InferOpaque {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if matches!(ty, Type::ImplTrait(_) | Type::Never(_)) {
            *ty = Type::Infer(TypeInfer {
                attrs: Vec::new(),
                underscore_token: syn::token::Underscore(ty.span()),
            });
        } else {
            visit_mut::visit_type_mut(self, ty);
        }
    }

    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident != "static" {
            lifetime.ident = Ident::new("_", lifetime.ident.span());
        }
    }

    // Those that `for<'a>` declares are the type's own.
    fn visit_type_fn_ptr_mut(&mut self, _: &mut TypeFnPtr) {}

    fn visit_trait_bound_mut(&mut self, bound: &mut TraitBound) {
        if bound.lifetimes.is_none() {
            visit_mut::visit_trait_bound_mut(self, bound);
        }
    }
}
