//! Parameters of each form.
#![allow(clippy::too_many_arguments, clippy::toplevel_ref_arg)]

use axum::Json;
use axum::extract::Path;
use rate_limit::{Rejection, limit_per_time};

use crate::support::{Failure, World, refused};

struct Auth;

struct Form {
    user: String,
    tries: [u8; 2],
}

#[limit_per_time(1, "1m", key = (user, id))]
async fn patterns(
    _: Auth,
    Path(id): Path<u64>,
    Json(Form {
        ref user,
        tries: [first, .., last],
    }): Json<Form>,
    (a, _): (u8, u8),
    [x, y]: [u8; 2],
    ref r: String,
    whole @ (left, _): (u8, u8),
    &borrowed: &u8,
) -> Result<String, Failure> {
    Ok(format!(
        "{id} {user} {first}{last} {a} {x}{y} {r} {}{left} {borrowed}",
        whole.1
    ))
}

#[limit_per_time(1, "1m", key = (user, id), reset_on_success, success = |out| out.is_err())]
async fn settled_patterns(
    _: Auth,
    Path(id): Path<u64>,
    Json(Form {
        ref user,
        tries: [first, .., last],
    }): Json<Form>,
    (a, _): (u8, u8),
    [x, y]: [u8; 2],
    ref r: String,
    whole @ (left, _): (u8, u8),
    &borrowed: &u8,
) -> Result<String, Failure> {
    Ok(format!(
        "{id} {user} {first}{last} {a} {x}{y} {r} {}{left} {borrowed}",
        whole.1
    ))
}

#[tokio::test]
async fn mac_05_patterns_bind_and_the_key_names_what_they_bind() {
    macro_rules! call {
        ($function:ident, $user:literal, $id:literal) => {{
            let form = Form {
                user: $user.to_owned(),
                tries: [1, 2],
            };
            let (path, form) = (Path($id), Json(form));
            $function(Auth, path, form, (3, 4), [5, 6], "r".to_owned(), (7, 8), &9).await
        }};
    }
    let world = World::new();
    world
        .run(async {
            assert_eq!(call!(patterns, "alice", 1), Ok("1 alice 12 3 56 r 87 9".to_owned()));
            assert!(refused(&call!(patterns, "alice", 1)));
            assert!(call!(patterns, "alice", 2).is_ok());
            assert!(call!(patterns, "bob", 1).is_ok());
            assert_eq!(
                call!(settled_patterns, "alice", 1),
                Ok("1 alice 12 3 56 r 87 9".to_owned())
            );
            assert!(refused(&call!(settled_patterns, "alice", 1)));
        })
        .await;
}

#[deny(warnings)]
mod mutable {
    use super::{Rejection, limit_per_time};

    #[limit_per_time(1, "1m", key = x)]
    pub(super) async fn checked(mut x: u8, mut list: Vec<u8>, (mut a, b): (u8, u8)) -> Result<Vec<u8>, Rejection> {
        x += 1;
        a += b;
        list.extend([x, a]);
        Ok(list)
    }

    #[limit_per_time(1, "1m", key = x, reset_on_success, success = |_| false)]
    pub(super) async fn settled(mut x: u8, mut list: Vec<u8>, (mut a, b): (u8, u8)) -> Result<Vec<u8>, Rejection> {
        x += 1;
        a += b;
        list.extend([x, a]);
        Ok(list)
    }

    pub(super) struct Counter(pub(super) u8);

    impl Counter {
        #[limit_per_time(1, "1m", key = self.0, reset_on_success, success = |_| false)]
        pub(super) async fn next(mut self, mut by: u8) -> Result<u8, Rejection> {
            by *= 2;
            self.0 += by;
            Ok(self.0)
        }
    }
}

#[tokio::test]
async fn mac_06_mut_stays_and_the_key_sees_the_value_as_it_came() {
    let world = World::new();
    world
        .run(async {
            assert_eq!(mutable::checked(1, vec![0], (2, 3)).await, Ok(vec![0, 2, 5]));
            assert!(mutable::checked(1, vec![], (2, 3)).await.is_err());
            assert!(
                mutable::checked(2, vec![], (2, 3)).await.is_ok(),
                "2 is not what 1 became"
            );
            assert_eq!(mutable::settled(1, vec![0], (2, 3)).await, Ok(vec![0, 2, 5]));
            assert!(mutable::settled(1, vec![], (2, 3)).await.is_err());
            assert_eq!(mutable::Counter(1).next(2).await, Ok(5));
            assert!(mutable::Counter(1).next(2).await.is_err());
        })
        .await;
}

struct Gone;

#[limit_per_time(1, "1m", key = there)]
async fn conditional(
    #[cfg(any())] gone: NoSuchType,
    #[cfg(not(any()))] there: u8,
    #[allow(unused_variables)] unused: Gone,
    #[cfg(any())] there: String,
) -> Result<u8, Failure> {
    Ok(there)
}

#[limit_per_time(1, "1m", key = there, reset_on_success, success = |_| false)]
async fn settled_conditional(
    #[cfg(any())] gone: NoSuchType,
    #[cfg(not(any()))] there: u8,
    #[allow(unused_variables)] unused: Gone,
    #[cfg(any())] _: NoSuchType,
    #[cfg(not(any()))] _: u8,
    Both {
        shown,
        #[cfg(any())]
        hidden,
    }: Both,
) -> Result<u8, Failure> {
    Ok(there + shown)
}

struct Both {
    shown: u8,
    #[cfg(any())]
    hidden: NoSuchType,
}

#[tokio::test]
async fn mac_26_a_parameter_under_cfg_is_there_or_not() {
    let world = World::new();
    world
        .run(async {
            assert_eq!(conditional(7, Gone).await, Ok(7));
            assert!(refused(&conditional(7, Gone).await));
            assert_eq!(settled_conditional(7, Gone, 0, Both { shown: 1 }).await, Ok(8));
            assert!(refused(&settled_conditional(7, Gone, 0, Both { shown: 1 }).await));
        })
        .await;
}
