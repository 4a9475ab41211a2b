//! The parts of a key, and whether they name a subject or only an address.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::rc::Rc;
use std::sync::Arc;

use crate::client;
use crate::http::client_ip::ClientIp;
use crate::key::KeyHasher;
use crate::to_key::ToKey;

/// Returns a hasher for the parts of a key.
#[inline]
#[must_use]
pub fn key() -> KeyHasher {
    KeyHasher::new()
}

/// Returns a hasher that names the ambient client, for a rule without a key.
#[must_use]
pub fn ambient() -> KeyHasher {
    KeyHasher::of(client::ambient())
}

/// Hashes the only part of a key: the key is that of its value.
#[inline]
pub fn part<T: ToKey + ?Sized>(key: &mut KeyHasher, part: &T) -> Part<T> {
    part.to_key(key);
    Part(PhantomData)
}

/// Hashes one of several parts: the key is that of their tuple.
#[inline]
pub fn element<T: ToKey + ?Sized>(key: &mut KeyHasher, part: &T) -> Part<T> {
    let before = key.parts();
    part.to_key(key);
    key.group(before);
    Part(PhantomData)
}

/// The type of a part. The types of several are pairs: `(Part<A>, (Part<B>, Part<C>))`.
#[derive(Debug)]
pub struct Part<T: ?Sized>(PhantomData<fn(&T)>);

/// Holds for no type.
#[diagnostic::on_unimplemented(
    message = "a success must not clear the record of an address",
    label = "the key is only an address",
    note = "an attacker's own valid call would clear the failures that the attack caused: write the account that is tried, as in \
            `key = form.user_id`, and limit the address by an attribute of its own without `reset_on_success`"
)]
pub trait NotAnAddress {}

/// A type that is an address, or holds nothing else.
pub trait Address {}

macro_rules! addresses {
    ($($address:ty)*) => {$(impl Address for $address {})*};
}
addresses!(IpAddr Ipv4Addr Ipv6Addr SocketAddr SocketAddrV4 SocketAddrV6 ClientIp);

macro_rules! pointers {
    ($($pointer:ty)*) => {$(impl<T: Address + ?Sized> Address for $pointer {})*};
}
pointers!(&T &mut T Box<T> Rc<T> Arc<T>);

macro_rules! tuples {
    ($(($($part:ident)+))*) => {$(impl<$($part: Address),+> Address for ($($part,)+) {})*};
}
tuples!((A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F)(A B C D E F G)(A B C D E F G H));

impl<T: Address + ToOwned + ?Sized> Address for Cow<'_, T> {}

impl<T: Address + ?Sized> Address for Part<T> {}

/// Reached first, through two references: a key that is an address and nothing else.
pub trait AddressKey {
    /// The type of its first part. That the error hangs on it is for a part whose own type is an error: one error is enough.
    type First: ?Sized;
    /// Does not compile.
    fn __names_a_subject(&self)
    where
        Self::First: NotAnAddress,
    {
    }
}
impl<T: Address + ?Sized> AddressKey for &Part<T> {
    type First = T;
}
impl<T: Address + ?Sized, B: Address> AddressKey for &(Part<T>, B) {
    type First = T;
}

/// Reached through one reference: any other key.
pub trait SubjectKey {
    /// Compiles.
    fn __names_a_subject(&self) {}
}
impl<T: ?Sized> SubjectKey for Part<T> {}
impl<A, B> SubjectKey for (A, B) {}
