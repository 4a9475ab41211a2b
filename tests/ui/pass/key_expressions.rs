#[path = "../support.rs"]
#[allow(dead_code)]
mod support;

use std::collections::BTreeMap;
use std::num::NonZero;
use std::time::Duration;

use rate_limit::limit_per_time;
use support::{Error, run};

struct Form {
    user: String,
    id: u64,
}

type Answer = Result<u64, Error>;

fn pick<A, B>(a: A, _: B) -> A {
    a
}

#[limit_per_time(1, "1h", key = { let id = form.id; id + 1 })]
async fn block(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = (|a: u64, b: u64| a + b)(form.id, 1))]
async fn closure(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = pick::<u64, BTreeMap<u8, u8>>(form.id, BTreeMap::<u8, u8>::new()))]
async fn turbofish(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = BTreeMap::<&str, u64>::from([("a", form.id)])["a"])]
async fn turbofish_first(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = format!("{}, {}", form.user, form.id))]
async fn macro_call(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = match form.id { 0 => "nobody", 1 | 2 => "few", _ => form.user.as_str() })]
async fn matching(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = if form.user.is_empty() { "anonymous" } else { &form.user })]
async fn branches(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = &*form.user)]
async fn reference(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = form.user.trim().to_lowercase())]
async fn temporary(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = ((form.id, (form.user.as_bytes(), 'a')), -7_i8, true), reset_on_success)]
async fn compound(form: &Form) -> Answer {
    if form.id == 7 { Err(Error::Wrong) } else { Ok(form.id) }
}

#[limit_per_time(1, "1h", key = (form.id,))]
async fn tuple_of_one(form: &Form) -> Answer {
    Ok(form.id)
}

unsafe fn id_of(form: &Form) -> u64 {
    form.id
}

#[limit_per_time(1, "1h", key = unsafe { id_of(form) })]
async fn unsafe_block(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = name_of(form).await)]
async fn awaited(form: &Form) -> Answer {
    Ok(form.id)
}

async fn name_of(form: &Form) -> String {
    form.user.clone()
}

#[limit_per_time(1, "1h", key = form.id, on_store_error = closed, name = "commas",)]
async fn trailing_comma(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(key = form.id, window = "1h 30m", count = 1)]
async fn any_order(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(key = form.id, 1, "1h")]
async fn positions_last(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = ("form", form.id))]
async fn labelled(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = "everybody")]
async fn shared(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = "form of all")]
async fn shared_text_of_words(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(1, "1h", key = NonZero::new(form.id).ok_or(Error::Wrong)?)]
async fn not_zero(form: &Form) -> Answer {
    Ok(form.id)
}

#[limit_per_time(key = form.id, NUMBERS.count, NUMBERS.window)]
async fn positions_of_constant_fields_last(form: &Form) -> Answer {
    Ok(form.id)
}

struct Numbers {
    count: u32,
    window: Duration,
}

const NUMBERS: Numbers = Numbers {
    count: 1,
    window: Duration::from_secs(3600),
};

fn main() {
    let form = &Form {
        user: "alice".into(),
        id: 7,
    };
    macro_rules! check {
        ($($handler:ident: $first:expr)*) => {$(
            assert_eq!([run($handler(form)), run($handler(form))], [$first, Err(Error::Limited)], stringify!($handler));
        )*};
    }
    check! {
        block: Ok(7)
        closure: Ok(7)
        turbofish: Ok(7)
        turbofish_first: Ok(7)
        macro_call: Ok(7)
        matching: Ok(7)
        branches: Ok(7)
        reference: Ok(7)
        temporary: Ok(7)
        compound: Err(Error::Wrong)
        tuple_of_one: Ok(7)
        unsafe_block: Ok(7)
        awaited: Ok(7)
        trailing_comma: Ok(7)
        any_order: Ok(7)
        positions_last: Ok(7)
        labelled: Ok(7)
        shared: Ok(7)
        shared_text_of_words: Ok(7)
        not_zero: Ok(7)
        positions_of_constant_fields_last: Ok(7)
    }
}
