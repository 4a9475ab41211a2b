//! Type parameters, lifetimes and bounds.

use std::fmt::Display;

use rate_limit::{Rejection, ToKey, limit_per_time};

use crate::support::World;

type Out<'a, T> = Result<(&'a T, Vec<T>), Rejection>;

#[limit_per_time(2, "1m", key = N)]
async fn bounded<'a, T, const N: usize>(x: &'a [T; N]) -> Out<'a, T>
where
    T: Clone + Send + Sync,
{
    Ok((&x[0], x.to_vec()))
}

#[limit_per_time(2, "1m", key = N, reset_on_success, success = |_| false)]
async fn settled_bounded<'a, T, const N: usize>(x: &'a [T; N]) -> Out<'a, T>
where
    T: Clone + Send + Sync,
{
    Ok((&x[0], x.to_vec()))
}

#[limit_per_time(2, "1m", key = id)]
async fn by_trait(id: impl ToKey, shown: &impl Display) -> Result<String, Rejection> {
    Ok(shown.to_string())
}

#[limit_per_time(2, "1m", key = id, reset_on_success, success = |_| false)]
async fn settled_by_trait<K: ToKey + ?Sized>(id: &K, shown: impl Display) -> Result<String, Rejection> {
    Ok(shown.to_string())
}

#[tokio::test]
async fn mac_08_generics_lifetimes_and_bounds_stay() {
    let world = World::new();
    world
        .run(async {
            assert_eq!(bounded(&[1, 2]).await, Ok((&1, vec![1, 2])));
            assert_eq!(settled_bounded(&["a", "b"]).await, Ok((&"a", vec!["a", "b"])));
            assert_eq!(by_trait("alice", &1).await, Ok("1".to_owned()));
            assert_eq!(settled_by_trait("alice", 'c').await, Ok("c".to_owned()));
        })
        .await;
}

#[tokio::test]
async fn mac_20_all_type_arguments_have_one_counter() {
    let world = World::new();
    world
        .run(async {
            assert!(bounded(&[1_u8, 2]).await.is_ok());
            assert!(bounded(&["a", "b"]).await.is_ok());
            assert!(bounded(&[1.0, 2.0]).await.is_err());
            assert!(bounded(&[1_u8]).await.is_ok(), "another client");

            assert!(settled_bounded(&[1_u8, 2]).await.is_ok());
            assert!(settled_bounded(&["a", "b"]).await.is_ok());
            assert!(settled_bounded(&[1.0, 2.0]).await.is_err());

            assert!(by_trait(7_u8, &1).await.is_ok());
            assert!(by_trait(7_u64, &"a").await.is_ok());
            assert!(by_trait(7_i32, &'c').await.is_err());

            assert!(settled_by_trait("alice", 1).await.is_ok());
            assert!(settled_by_trait(&"alice".to_owned(), 'c').await.is_ok());
            assert!(settled_by_trait("alice", "a").await.is_err());
        })
        .await;
}

struct View<'a>(&'a str);

#[limit_per_time(1, "1m", key = (a, b))]
async fn two_references(a: &str, b: &str, c: &'static str) -> Result<usize, Rejection> {
    Ok(a.len() + b.len() + c.len())
}

#[limit_per_time(1, "1m", key = (a, b.0), reset_on_success, success = |_| false)]
async fn elided(a: &str, b: View<'_>, c: &mut View<'_>) -> Result<usize, Rejection> {
    c.0 = "changed";
    Ok(a.len() + b.0.len() + c.0.len())
}

#[limit_per_time(1, "1m", key = (a, b), reset_on_success, success = |_| false)]
async fn borrowed_output<'a>(a: &'a str, b: &str) -> Result<View<'a>, Rejection> {
    Ok(View(&a[b.len()..]))
}

#[limit_per_time(1, "1m", key = view.0, reset_on_success, success = |_| false)]
async fn elided_output(view: View<'_>, n: usize) -> Result<View<'_>, Rejection> {
    Ok(View(&view.0[n..]))
}

#[tokio::test]
async fn mac_33_several_lifetimes_stay() {
    let world = World::new();
    world
        .run(async {
            let (a, b) = ("a".to_owned(), "bb".to_owned());
            assert_eq!(two_references(&a, &b, "ccc").await, Ok(6));
            let mut view = View("c");
            assert_eq!(elided(&a, View(&b), &mut view).await, Ok(10));
            assert_eq!(view.0, "changed");
            let output = {
                let short = "x".to_owned();
                borrowed_output("abc", &short).await
            };
            assert_eq!(output.map(|view| view.0), Ok("bc"));
            assert_eq!(elided_output(View(&b), 1).await.map(|view| view.0), Ok("b"));
            assert!(elided_output(View(&b), 1).await.is_err());
        })
        .await;
}
