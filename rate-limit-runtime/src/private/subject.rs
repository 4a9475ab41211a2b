//! The parts of a key, and whether they name a subject or only an address.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::rc::Rc;
use std::sync::Arc;

use crate::http::client_ip::ClientIp;
use crate::key::{Client, KeyError, KeyHasher};
use crate::to_key::ToKey;

/// The parts of a key in order, with their types listed in `P`.
#[derive(Debug)]
pub struct KeyParts<'a, P> {
    hasher: &'a mut KeyHasher,
    /// The number of parts. A key of one part is the key of its value; a key of several parts is the key of their tuple.
    count: usize,
    types: PhantomData<fn(&P)>,
}

/// The types of the parts of a key.
#[derive(Debug)]
pub struct KeyTypes<P>(PhantomData<fn(&P)>);

/// No type.
#[derive(Debug)]
pub struct Nothing;

/// The types `P`, and one more.
#[derive(Debug)]
pub struct And<P, T: ?Sized>(PhantomData<fn(&P, &T)>);

/// For the parts of a key.
#[inline]
#[must_use]
pub fn key_hasher() -> KeyHasher {
    KeyHasher::new()
}

impl<'a> KeyParts<'a, Nothing> {
    /// No part yet.
    #[inline]
    #[must_use]
    pub fn new(hasher: &'a mut KeyHasher) -> Self {
        Self {
            hasher,
            count: 0,
            types: PhantomData,
        }
    }
}

impl<'a, P> KeyParts<'a, P> {
    /// One more part.
    #[inline]
    #[must_use]
    pub fn part<T: ToKey + ?Sized>(self, part: &T) -> KeyParts<'a, And<P, T>> {
        if self.count == 1 {
            self.hasher.group(0);
        }
        let before = self.hasher.parts();
        part.to_key(self.hasher);
        if self.count > 0 {
            self.hasher.group(before);
        }
        KeyParts {
            hasher: self.hasher,
            count: self.count + 1,
            types: PhantomData,
        }
    }

    /// Compiles only for parts that name more than an address.
    #[inline]
    #[must_use]
    pub fn reset_on_success<S: Subject<P>>(self, _subject: impl FnOnce(&KeyTypes<P>) -> S) -> Self {
        self
    }

    /// The client they name.
    ///
    /// # Errors
    ///
    /// [`KeyError`] if they name nobody.
    #[inline]
    pub fn finish(self) -> Result<&'a Client, KeyError> {
        self.hasher.finish()
    }
}

/// Says that the key names a subject.
#[derive(Debug)]
pub struct SomeSubject;
/// Says that the key is an address and nothing else.
#[derive(Debug)]
pub struct OnlyAnAddress;

/// What a key of parts `P` must name for a success to clear its record.
pub trait Subject<P> {}
impl<P> Subject<P> for SomeSubject {}
// Never holds. That it hangs on the part is for a part whose own type is an error: one error is enough.
impl<P, T: NotAnAddress + ?Sized> Subject<And<P, T>> for OnlyAnAddress {}

/// Holds for no type.
#[diagnostic::on_unimplemented(
    message = "a success must not clear the record of an address",
    label = "the key is only an address",
    note = "an attacker's own valid call would clear the failures that the attack caused: write the account that is tried, as in \
            `key = form.user_id`, and limit the address by an attribute of its own without `reset_on_success`"
)]
pub trait NotAnAddress {}

/// Is an address, or holds nothing else.
pub trait Address {}

macro_rules! addresses {
    ($($address:ty)*) => {$(impl Address for $address {})*};
}
addresses!(IpAddr Ipv4Addr Ipv6Addr SocketAddr SocketAddrV4 SocketAddrV6 ClientIp Nothing);

macro_rules! pointers {
    ($($pointer:ty)*) => {$(impl<T: Address + ?Sized> Address for $pointer {})*};
}
pointers!(&T &mut T Box<T> Rc<T> Arc<T>);

macro_rules! tuples {
    ($(($($part:ident)+))*) => {$(impl<$($part: Address),+> Address for ($($part,)+) {})*};
}
tuples!((A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F)(A B C D E F G)(A B C D E F G H));

impl<T: Address + ToOwned + ?Sized> Address for Cow<'_, T> {}

impl<P: Address, T: Address + ?Sized> Address for And<P, T> {}

/// Reached first, through two references: a key that is an address and nothing else.
pub trait AddressKey {
    /// What the key names.
    fn __subject(&self) -> OnlyAnAddress {
        OnlyAnAddress
    }
}
impl<P: Address> AddressKey for &KeyTypes<P> {}

/// Reached through one reference: any other key.
pub trait SubjectKey {
    /// What the key names.
    fn __subject(&self) -> SomeSubject {
        SomeSubject
    }
}
impl<P> SubjectKey for KeyTypes<P> {}
