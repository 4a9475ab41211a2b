//! The names of functions, by which their counters go.

use std::time::Duration;

use rate_limit::{Limiter, Policies, Policy, limit_per_time};

use crate::world::{Failure, World, admitted};

struct Sort<const BY: char>;

macro_rules! sorts {
    ($($by:literal)*) => {$(
        impl Sort<$by> {
            #[limit_per_time(1, "1m", key = user)]
            async fn list(&self, user: u64) -> Result<u64, Failure> {
                Ok(user)
            }
        }
    )*};
}

sorts! { 'a' 'b' '\'' '>' '<' '_' ':' '"' }

#[test]
fn f_47_a_character_among_the_arguments_of_a_type_tells_functions_apart() {
    let world = World::new();
    world.run(async {
        assert_eq!(admitted(3, || Sort::<'a'>.list(1)).await, 1);
        assert_eq!(admitted(3, || Sort::<'b'>.list(1)).await, 1);
        assert_eq!(admitted(3, || Sort::<'\''>.list(1)).await, 1);
        assert_eq!(admitted(3, || Sort::<'>'>.list(1)).await, 1);
        assert_eq!(admitted(3, || Sort::<'<'>.list(1)).await, 1);
        assert_eq!(admitted(3, || Sort::<'_'>.list(1)).await, 1);
        assert_eq!(admitted(3, || Sort::<':'>.list(1)).await, 1);
        assert_eq!(admitted(3, || Sort::<'"'>.list(1)).await, 1);
    });
}

struct Borrowed<'a, T>(&'a T);

impl<T> Borrowed<'_, T> {
    #[limit_per_time(1, "1m", key = user)]
    async fn list(&self, user: u64) -> Result<u64, Failure> {
        let _ = self.0;
        Ok(user)
    }
}

#[test]
fn f_47_a_configured_policy_finds_a_function_by_its_name() {
    let names = ["Sort<'a'>", r"Sort<'\''>", "Sort<'>'>", "Sort<':'>", "Borrowed<_>"];
    let two = Policy::sliding_window(2, Duration::from_secs(60));
    let policies: Policies = names
        .map(|name| (format!("attribute::names::{name}::list"), two))
        .into_iter()
        .collect();
    let limiter = Limiter::builder().policies(policies).build().expect("no secret is set");
    let world = World {
        limiter,
        ..World::new()
    };
    world.run(async {
        assert_eq!(admitted(3, || Sort::<'a'>.list(1)).await, 2);
        assert_eq!(admitted(3, || Sort::<'\''>.list(1)).await, 2);
        assert_eq!(admitted(3, || Sort::<'>'>.list(1)).await, 2);
        assert_eq!(admitted(3, || Sort::<':'>.list(1)).await, 2);
        assert_eq!(admitted(3, || Sort::<'b'>.list(1)).await, 1, "no entry names it");
        assert_eq!(admitted(3, || Borrowed(&1).list(1)).await, 2);
        assert_eq!(admitted(3, || Borrowed(&"").list(1)).await, 0, "the same function");
    });
}
