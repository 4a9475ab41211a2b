//! The text of a function, with what it stands in and what calls it.

use super::parameter::Parameter;
use super::shape::{Form, Function, Place};
use crate::case::LIMIT;

impl Function {
    fn limit_lines(&self) -> Vec<String> {
        self.limits
            .attributes
            .iter()
            .map(|attribute| format!("{LIMIT}{attribute}"))
            .collect()
    }

    /// Returns `true` if the attribute stands on the block that the function is in.
    fn on_block(&self) -> bool {
        matches!(self.place, Place::Impl | Place::TraitImpl | Place::Trait | Place::Heir)
    }

    fn generics(&self) -> (String, String) {
        let lifetime = self.lifetime.then(|| "'a".to_owned());
        let declared = self
            .parameters
            .iter()
            .filter(|p| p.argument.is_some())
            .filter_map(|p| p.generic.clone());
        let mut conditions = Vec::new();
        let mut names: Vec<String> = lifetime.into_iter().collect();
        for generic in declared {
            match generic.split_once(": ") {
                Some((name, bound)) if self.bounds_in_where && !name.starts_with("const") => {
                    names.push(name.to_owned());
                    conditions.push(format!("{name}: {bound}"));
                }
                _ => names.push(generic),
            }
        }
        // Constants come last.
        names.sort_by_key(|name| name.starts_with("const"));
        let names = if names.is_empty() {
            String::new()
        } else {
            format!("<{}>", names.join(", "))
        };
        let conditions = if conditions.is_empty() {
            String::new()
        } else {
            format!(" where {}", conditions.join(", "))
        };
        (names, conditions)
    }

    fn signature(&self, declared: bool) -> String {
        let (generics, conditions) = self.generics();
        let receiver = self.receiver.iter().map(|receiver| match declared {
            true => receiver.declared().to_owned(),
            false => receiver.written.to_owned(),
        });
        let parameters = self
            .parameters
            .iter()
            .enumerate()
            .map(|(position, parameter)| match declared {
                true => format!("p{position}: {}", parameter.ty),
                false => format!("{}{}: {}", parameter.attr, parameter.pattern, parameter.ty),
            });
        let inputs = receiver.chain(parameters).collect::<Vec<_>>().join(", ");
        let lifetime = if self.lifetime { " + 'a" } else { "" };
        let bound = self.bound;
        let output = self.answer.ty();
        let (keyword, arrow) = match self.form {
            Form::Async | Form::AsyncTrait { .. } => ("async ", self.answer.arrow()),
            Form::ImplFuture => ("", format!(" -> impl Future<Output = {output}>{bound}{lifetime}")),
            Form::Boxed if self.by_alias && self.lifetime && !bound.is_empty() => {
                ("", format!(" -> BoxFuture<'a, {output}>"))
            }
            Form::Boxed => (
                "",
                format!(" -> Pin<Box<dyn Future<Output = {output}>{bound}{lifetime}>>"),
            ),
        };
        let visibility = self.visibility;
        format!("{visibility}{keyword}fn f{generics}({inputs}){arrow}{conditions}")
    }

    /// Returns the function with what stands on it.
    fn written(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.above.iter().map(|line| (*line).to_owned()).collect();
        if !self.on_block() {
            lines.extend(self.limit_lines());
        }
        lines.extend(self.below.iter().map(|line| (*line).to_owned()));
        lines.push(format!("{} {{", self.signature(false)));
        match self.form {
            Form::Async | Form::AsyncTrait { .. } => lines.extend(self.body.iter().cloned()),
            form => {
                let (open, close) = if form == Form::Boxed {
                    ("Box::pin(async move {", "})")
                } else {
                    ("async move {", "}")
                };
                lines.extend(self.before.iter().cloned());
                lines.push(open.to_owned());
                lines.extend(self.body.iter().cloned());
                lines.push(close.to_owned());
            }
        }
        lines.push("}".to_owned());
        lines
    }

    /// Returns the function in what it stands in.
    pub fn around(&self) -> Vec<String> {
        let host = self.host.definition().into_iter();
        let block = |header: &str, lines: Vec<String>| {
            let mut all = vec![format!("{header} {{")];
            all.extend(lines);
            all.push("}".to_owned());
            all
        };
        let limits = |on_block: bool| if on_block { self.limit_lines() } else { Vec::new() };
        let by_async_trait = |limited: bool| match self.form {
            Form::AsyncTrait { above: true } => [limits(limited), vec!["#[async_trait]".to_owned()]].concat(),
            Form::AsyncTrait { above: false } => [vec!["#[async_trait]".to_owned()], limits(limited)].concat(),
            _ => limits(limited),
        };
        let other = ["const OTHER: u32 = 3;", "fn other(&self) -> u32 { Self::OTHER * 2 }"]
            .map(str::to_owned)
            .to_vec();
        match self.place {
            Place::Free => [self.written(), self.idle()].concat(),
            Place::Method => host.chain(block(&self.host.header(None), self.written())).collect(),
            Place::Impl => {
                let items = [other, self.written()].concat();
                host.chain(limits(true))
                    .chain(block(&self.host.header(None), items))
                    .collect()
            }
            Place::TraitMethod | Place::TraitImpl | Place::Heir => {
                let on_impl = self.place != Place::TraitMethod;
                let of_trait = self
                    .limits
                    .of_trait
                    .iter()
                    .map(|attribute| format!("{LIMIT}{attribute}"));
                let declared = vec![format!("{};", self.signature(true))];
                let parts = [
                    of_trait.collect(),
                    by_async_trait(false),
                    block("trait Does", declared),
                    by_async_trait(on_impl),
                    block(&self.host.header(Some("Does")), self.written()),
                ];
                host.chain(parts.concat()).collect()
            }
            Place::TraitDefault | Place::Trait => {
                let on_trait = self.place == Place::Trait;
                let sync = match self.form {
                    Form::AsyncTrait { .. } => ": Send + Sync + Sized + 'static",
                    _ if self.bound.is_empty() => ": Sized + 'static",
                    _ => ": Send + Sync + Sized + 'static",
                };
                let parts = [
                    by_async_trait(on_trait),
                    block(&format!("trait Does{sync}"), self.written()),
                    by_async_trait(false),
                    block(&self.host.header(Some("Does")), Vec::new()),
                ];
                host.chain(parts.concat()).collect()
            }
            Place::MacroTokens => {
                let definition =
                    ["macro_rules! pass {", "($($tokens:tt)*) => { $($tokens)* };", "}"].map(str::to_owned);
                [definition.to_vec(), block("pass!", self.written())].concat()
            }
            Place::MacroFragments => self.by_fragments(),
        }
    }

    /// Returns a function that nothing calls.
    fn idle(&self) -> Vec<String> {
        let limit = format!("{LIMIT}#[limit_per_time(key = 1)]");
        [
            limit.as_str(),
            "async fn idle() -> Result<(), Fail> {",
            "yield_now().await;",
            "Ok(())",
            "}",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// Returns the function made of an expression, types, patterns and a block that a macro was given.
    fn by_fragments(&self) -> Vec<String> {
        let parameters: Vec<&Parameter> = self.parameters.iter().filter(|p| p.argument.is_some()).collect();
        let (generics, conditions) = self.generics();
        let mut lines = vec!["macro_rules! make {".to_owned()];
        lines.push("($e:expr, $ret:ty, [$($p:pat => $t:ty),*], $body:block) => {".to_owned());
        lines.extend(self.limit_lines());
        lines.push(format!("async fn f{generics}($($p: $t),*) -> $ret{conditions} {{"));
        lines.extend(
            [
                "note($e * 2);",
                "let closure = |n: u32| n * $e;",
                "note(closure(2));",
                "$body",
            ]
            .map(str::to_owned),
        );
        lines.extend(["}", "};", "}"].map(str::to_owned));
        let given = parameters
            .iter()
            .map(|p| format!("{} => {}", p.pattern, p.ty))
            .collect::<Vec<_>>()
            .join(", ");
        lines.push(format!("make!(1 + input(), {}, [{given}], {{", self.answer.ty()));
        lines.extend(self.body.iter().cloned());
        lines.push("});".to_owned());
        lines
    }

    /// Returns the function that calls the generated function.
    pub fn glue(&self) -> Vec<String> {
        let mut lines = vec![
            "#[allow(warnings, clippy::all, clippy::pedantic, clippy::nursery)]".to_owned(),
            "pub(crate) async fn glue(mode: Mode) {".to_owned(),
        ];
        lines.extend(self.parameters.iter().filter_map(|parameter| parameter.owner.clone()));
        let arguments = self
            .parameters
            .iter()
            .filter_map(|parameter| parameter.argument.clone());
        let arguments = arguments.collect::<Vec<_>>().join(", ");
        let called = match &self.receiver {
            Some(receiver) => {
                lines.push(format!("let mut host = {};", self.host.value()));
                lines.extend(receiver.owner.map(str::to_owned));
                format!("{}.f", receiver.argument)
            }
            None if self.place.is_trait() => format!("<{} as Does>::f", self.host.called()),
            None if self.place.is_of_type() => format!("{}::f", self.host.called()),
            None => "f".to_owned(),
        };
        lines.push(format!("let call = {called}({arguments});"));
        lines.push("note(format_args!(\"send: {}\", Probe::of(&call).is_send()));".to_owned());
        lines.push(match self.answer.is_response() {
            true => "drive(async move { call.await.into_response() }, mode).await;".to_owned(),
            false => "drive(call, mode).await;".to_owned(),
        });
        lines.push("}".to_owned());
        lines
    }
}
