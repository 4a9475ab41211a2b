//! Which types name a client.

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::num::NonZero;
use std::rc::Rc;
use std::sync::Arc;

use http::HeaderValue;

use crate::key::KeyHasher;

/// A value that can name a client: text, bytes, numbers, addresses, and tuples of them.
///
/// An implementation must feed [`KeyHasher`] the same parts for equal clients and different ones for different
/// clients, on every machine and in every release, since the store outlives the process.
///
/// * Text is taken byte by byte: `Alice` and `alice` are two clients. Fold it as your log-in folds it.
/// * A number of any width is its value: `7_u32`, `7_u64` and `NonZeroU64` of 7 are one client.
/// * An IP address is that one address. An IPv6 host has 2^64 of them, each with a budget of its own, so a limit by address takes
///   [`ClientIp`](crate::ClientIp) as its key, which counts a `/64` as one client.
/// * An IPv4-mapped IPv6 address is the IPv4 address. The port of a socket address is left out, or each connection would be a client of
///   its own; the scope of a link-local one is part of it.
/// * A tuple is its parts in order. A part that is itself a tuple, or feeds several parts, is told apart from those beside it:
///   `(("a", "b"), "c")` is not `("a", ("b", "c"))`. So an implementation that has two lists feeds a tuple of them.
/// * What feeds no part, or an empty or blank one, names nobody: [`KeyError::Missing`](crate::KeyError::Missing).
///
/// A newtype of your own passes on what it holds:
///
/// ```
/// use rate_limit_runtime::{Client, KeyHasher, ToKey};
///
/// struct StudentId(String);
///
/// impl ToKey for StudentId {
///     fn to_key(&self, hasher: &mut KeyHasher) {
///         self.0.to_key(hasher);
///     }
/// }
///
/// assert_eq!(Client::of(&StudentId("20230001".into())), Client::of("20230001"));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "this does not name a client",
    note = "a key is text, bytes, an integer, an address, or a tuple of them: write the field that tells clients apart, as in \
            `key = form.user_id`, or implement `rate_limit::ToKey` for a type of your own",
    note = "an `Option` may be `None`, which names no client: write `key = id.ok_or(error)?` to refuse such calls, or \
            `key = id.as_deref().unwrap_or(\"anonymous\")` to count all of them together"
)]
pub trait ToKey {
    /// Feeds the parts that name this client.
    fn to_key(&self, hasher: &mut KeyHasher);
}

// The impls are not recommended, so that an error lists none of them: the notes above say what to write.

#[diagnostic::do_not_recommend]
impl ToKey for str {
    fn to_key(&self, hasher: &mut KeyHasher) {
        hasher.text(self.as_bytes());
    }
}

#[diagnostic::do_not_recommend]
impl ToKey for String {
    fn to_key(&self, hasher: &mut KeyHasher) {
        self.as_str().to_key(hasher);
    }
}

/// As text: blank is missing.
#[diagnostic::do_not_recommend]
impl ToKey for HeaderValue {
    fn to_key(&self, hasher: &mut KeyHasher) {
        hasher.text(self.as_bytes());
    }
}

#[diagnostic::do_not_recommend]
impl ToKey for char {
    fn to_key(&self, hasher: &mut KeyHasher) {
        self.encode_utf8(&mut [0; 4]).to_key(hasher);
    }
}

#[diagnostic::do_not_recommend]
impl ToKey for [u8] {
    fn to_key(&self, hasher: &mut KeyHasher) {
        hasher.bytes(self);
    }
}

#[diagnostic::do_not_recommend]
impl<const N: usize> ToKey for [u8; N] {
    fn to_key(&self, hasher: &mut KeyHasher) {
        hasher.bytes(self);
    }
}

#[diagnostic::do_not_recommend]
impl ToKey for Vec<u8> {
    fn to_key(&self, hasher: &mut KeyHasher) {
        hasher.bytes(self);
    }
}

macro_rules! numbers {
    ($as:ident: $($number:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl ToKey for $number {
            #[inline]
            fn to_key(&self, hasher: &mut KeyHasher) {
                hasher.$as((*self).into());
            }
        }
    )*};
}
numbers!(unsigned: u8 u16 u32 u64 u128 bool);
numbers!(signed: i8 i16 i32 i64 i128);

#[diagnostic::do_not_recommend]
impl ToKey for usize {
    fn to_key(&self, hasher: &mut KeyHasher) {
        hasher.unsigned(*self as u128);
    }
}

#[diagnostic::do_not_recommend]
impl ToKey for isize {
    fn to_key(&self, hasher: &mut KeyHasher) {
        hasher.signed(*self as i128);
    }
}

macro_rules! non_zero {
    ($($number:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl ToKey for NonZero<$number> {
            #[inline]
            fn to_key(&self, hasher: &mut KeyHasher) {
                self.get().to_key(hasher);
            }
        }
    )*};
}
non_zero!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

macro_rules! addresses {
    ($($address:ty: $host:expr;)*) => {$(
        #[diagnostic::do_not_recommend]
        impl ToKey for $address {
            fn to_key(&self, hasher: &mut KeyHasher) {
                let host: fn(&$address) -> (IpAddr, u32) = $host;
                let (ip, scope) = host(self);
                hasher.host(ip, scope);
            }
        }
    )*};
}
addresses! {
    IpAddr: |ip| (*ip, 0);
    Ipv4Addr: |ip| ((*ip).into(), 0);
    Ipv6Addr: |ip| ((*ip).into(), 0);
    SocketAddrV4: |socket| ((*socket.ip()).into(), 0);
    SocketAddrV6: |socket| ((*socket.ip()).into(), socket.scope_id());
}

#[diagnostic::do_not_recommend]
impl ToKey for SocketAddr {
    fn to_key(&self, hasher: &mut KeyHasher) {
        match self {
            Self::V4(socket) => socket.to_key(hasher),
            Self::V6(socket) => socket.to_key(hasher),
        }
    }
}

macro_rules! pointers {
    ($($pointer:ty)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: ToKey + ?Sized> ToKey for $pointer {
            fn to_key(&self, hasher: &mut KeyHasher) {
                T::to_key(self, hasher);
            }
        }
    )*};
}
pointers!(&T &mut T Box<T> Rc<T> Arc<T>);

#[diagnostic::do_not_recommend]
impl<T: ToKey + ToOwned + ?Sized> ToKey for Cow<'_, T> {
    fn to_key(&self, hasher: &mut KeyHasher) {
        T::to_key(self, hasher);
    }
}

/// What it holds, alone.
#[diagnostic::do_not_recommend]
impl<T: ToKey> ToKey for (T,) {
    fn to_key(&self, hasher: &mut KeyHasher) {
        self.0.to_key(hasher);
    }
}

macro_rules! tuples {
    ($(($($part:ident)+))*) => {$(
        #[diagnostic::do_not_recommend]
        impl<$($part: ToKey),+> ToKey for ($($part,)+) {
            fn to_key(&self, hasher: &mut KeyHasher) {
                #[allow(non_snake_case)]
                let ($($part,)+) = self;
                $(
                    let before = hasher.parts();
                    $part.to_key(hasher);
                    hasher.group(before);
                )+
            }
        }
    )*};
}
tuples!((A B)(A B C)(A B C D)(A B C D E)(A B C D E F)(A B C D E F G)(A B C D E F G H));
