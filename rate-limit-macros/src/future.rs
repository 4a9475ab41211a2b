//! Functions that are not `async` but return a future made by an `async` block.

mod body;
mod exits;

use syn::{AngleBracketedGenericArguments, GenericArgument, PathArguments, ReturnType, Type, TypeParamBound};

pub(crate) use self::body::{FutureBody, returns_future, whole};

/// Returns what the returned future answers, if the type says that it is one.
pub(crate) fn output(ret: &ReturnType) -> Option<Type> {
    match ret {
        ReturnType::Type(_, ty) => output_of(ty),
        ReturnType::Default => None,
    }
}

fn output_of(ty: &Type) -> Option<Type> {
    match ty {
        Type::ImplTrait(opaque) => opaque.bounds.iter().find_map(output_of_bound),
        Type::TraitObject(object) => object.bounds.iter().find_map(output_of_bound),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            let mut types = arguments(&last.arguments)?.filter_map(|argument| match argument {
                GenericArgument::Type(ty) => Some(ty),
                _ => None,
            });
            match last.ident.to_string().as_str() {
                "Pin" | "Box" => output_of(types.next()?),
                "BoxFuture" | "LocalBoxFuture" => types.next().cloned(),
                _ => None,
            }
        }
        Type::Paren(paren) => output_of(&paren.elem),
        Type::Group(group) => output_of(&group.elem),
        _ => None,
    }
}

fn output_of_bound(bound: &TypeParamBound) -> Option<Type> {
    let TypeParamBound::Trait(bound) = bound else {
        return None;
    };
    let last = bound.path.segments.last().filter(|last| last.ident == "Future")?;
    arguments(&last.arguments)?.find_map(|argument| match argument {
        GenericArgument::AssocType(assoc) if assoc.ident == "Output" => Some(assoc.ty.clone()),
        _ => None,
    })
}

fn arguments(arguments: &PathArguments) -> Option<impl Iterator<Item = &GenericArgument>> {
    match arguments {
        PathArguments::AngleBracketed(AngleBracketedGenericArguments { args, .. }) => Some(args.iter()),
        _ => None,
    }
}
