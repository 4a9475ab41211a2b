//! Limits on `impl` blocks and traits.

use core::future::{ready, Future};

use limits::{limit_per_time, Rejection};

/// What the methods belong to.
#[derive(Clone, Copy)]
pub struct Portal {
    /// Tells portals apart.
    pub id: u8,
}

/// Checked, but for those that say otherwise.
#[limit_per_time(1, "1m", key = self.id, crate = limits)]
impl Portal {
    /// The count of one of them.
    const COUNT: u32 = 2;

    /// By reference.
    pub async fn by_reference(&self, _: u8) -> Result<u8, Rejection> {
        Ok(self.id)
    }

    /// By value, changed.
    pub async fn changed(mut self, by: u8) -> Result<u8, Rejection> {
        self.id = self.id.saturating_add(by);
        Ok(self.id)
    }

    /// Returns a future.
    pub fn later(&self) -> impl Future<Output = Result<u8, Rejection>> + Send + '_ {
        async move { Ok(self.id) }
    }

    /// A limit of its own.
    #[limit_per_time(Self::COUNT, "1m", key = self.id, crate = limits)]
    pub async fn nearest(&self) -> Result<u8, Rejection> {
        Ok(self.id)
    }

    /// No limit.
    #[limit_per_time(exempt)]
    pub async fn healthy(&self) -> Result<u8, Rejection> {
        ready(Ok(self.id)).await
    }

    /// Is not async.
    #[must_use]
    pub const fn id(&self) -> u8 {
        self.id
    }
}

/// Has methods too.
pub struct Settled<'name, T>(pub &'name T);

#[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false, crate = limits)]
impl<'name, T: Sync> Settled<'name, T> {
    /// In one line.
    #[rustfmt::skip]
    pub async fn line(&self, id: String) -> Result<&'name T, Rejection> { drop(id); Ok(self.0) }

    /// With an ignored parameter.
    pub async fn ignored(self, _: u8, id: u8, _unused: u8) -> Result<u8, Rejection> {
        Ok(id)
    }
}

/// Has numbers for those who implement it.
#[limit_per_time(1, "1m", key = id, crate = limits)]
#[expect(async_fn_in_trait, reason = "what calls it here needs no `Send`")]
pub trait Api {
    /// Is written by each type.
    async fn required(&self, id: u8) -> Result<u8, Rejection>;

    /// Is written here.
    async fn provided(&self, id: u8) -> Result<u8, Rejection> {
        self.health(id).await
    }

    /// Is written here, and has no limit.
    #[limit_per_time(exempt)]
    async fn health(&self, id: u8) -> Result<u8, Rejection> {
        Ok(id)
    }

    /// Is not async.
    fn name(&self) -> &'static str {
        "api"
    }
}

#[limit_per_time(key = (self.id, id), crate = limits)]
impl Api for Portal {
    async fn required(&self, id: u8) -> Result<u8, Rejection> {
        Ok(id)
    }
}

#[limit_per_time(key = id, refund_on_error, crate = limits)]
impl<T> Api for Settled<'_, T> {
    async fn required(&self, id: u8) -> Result<u8, Rejection> {
        Ok(id)
    }
}

/// Can be `dyn`.
#[limit_per_time(1, "1m", key = 1, crate = limits)]
pub trait Shape {
    /// Is not async.
    fn shape(&self) -> &'static str;
}

#[limit_per_time(crate = limits)]
impl Shape for Portal {
    fn shape(&self) -> &'static str {
        "portal"
    }
}
