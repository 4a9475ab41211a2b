//! Arguments that are called as things of ours.
#![allow(clippy::too_many_arguments)]

use rate_limit::limit_per_time;

use crate::support::{Failure, World, refused};

#[limit_per_time(1, "1m", key = key)]
async fn taken_names(
    key: u64,
    result: String,
    store: &str,
    limiter: u8,
    now: i64,
    ctx: (),
    res: char,
    __key: u8,
    client: &str,
    call: f32,
    rejection: bool,
    permit: [u8; 1],
    admitted: &str,
    out: i8,
    kept: u16,
    body: &str,
    types: u32,
    here: &str,
    __ignored0: u8,
    hasher: u8,
    site: u8,
    policy: u8,
) -> Result<String, Failure> {
    Ok(format!(
        "{key} {result} {store} {limiter} {now} {ctx:?} {res} {__key} {client} {call} {rejection} {permit:?} \
         {admitted} {out} {kept} {body} {types} {here} {__ignored0} {hasher} {site} {policy}"
    ))
}

#[limit_per_time(1, "1m", key = (key, client), reset_on_success, success = |out| out.is_err(), on_limit = |rejection| Err(rejection.into()))]
async fn settled_taken_names(
    key: u64,
    result: String,
    store: &str,
    limiter: u8,
    now: i64,
    ctx: (),
    res: char,
    __key: u8,
    client: &str,
    call: f32,
    rejection: bool,
    permit: [u8; 1],
    admitted: &str,
    out: i8,
    kept: u16,
    body: &str,
    types: u32,
    here: &str,
    __ignored0: u8,
    hasher: u8,
    site: u8,
    policy: u8,
) -> Result<String, Failure> {
    Ok(format!(
        "{key} {result} {store} {limiter} {now} {ctx:?} {res} {__key} {client} {call} {rejection} {permit:?} \
         {admitted} {out} {kept} {body} {types} {here} {__ignored0} {hasher} {site} {policy}"
    ))
}

#[tokio::test]
async fn mac_11_arguments_may_have_any_name() {
    macro_rules! call {
        ($function:ident) => {
            $function(
                1,
                "result".to_owned(),
                "store",
                2,
                -3,
                (),
                'c',
                4,
                "client",
                0.5,
                true,
                [6],
                "admitted",
                -7,
                8,
                "body",
                9,
                "here",
                10,
                11,
                12,
                13,
            )
        };
    }
    let own = "1 result store 2 -3 () c 4 client 0.5 true [6] admitted -7 8 body 9 here 10 11 12 13";
    let world = World::new();
    world
        .run(async {
            assert_eq!(call!(taken_names).await.as_deref(), Ok(own));
            assert!(refused(&call!(taken_names).await));
            assert_eq!(call!(settled_taken_names).await.as_deref(), Ok(own));
            assert!(refused(&call!(settled_taken_names).await));
        })
        .await;
}

/// The options of the attribute are names as any other.
#[limit_per_time(count = 1, window = "1m", key = (count, window.id, { let own = [name]; own[0] }, r#type))]
async fn taken_options(count: u8, window: Window, name: &str, r#type: u8) -> Result<u8, Failure> {
    Ok(count)
}

struct Window {
    id: u8,
}

#[tokio::test]
async fn mac_38_arguments_may_be_called_as_the_options_are() {
    let world = World::new();
    world
        .run(async {
            assert_eq!(taken_options(1, Window { id: 2 }, "a", 0).await, Ok(1));
            assert!(refused(&taken_options(1, Window { id: 2 }, "a", 0).await));
            assert_eq!(taken_options(1, Window { id: 3 }, "a", 0).await, Ok(1));
            assert_eq!(taken_options(1, Window { id: 2 }, "b", 0).await, Ok(1));
        })
        .await;
}
