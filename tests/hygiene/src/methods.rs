//! Methods with `self` in each form, and a trait's.

use core::pin::Pin;

use limits::{limit_per_time, Rejection};

/// What the methods belong to.
#[derive(Clone)]
pub struct Portal {
    /// Tells portals apart.
    pub id: u8,
    /// Is added to.
    pub sum: u8,
}

impl Portal {
    /// The count of each.
    const COUNT: u32 = 1;

    /// Without `self`.
    #[limit_per_time(Self::COUNT, "1m", key = id, on_limit = |_| Self { id: 0, sum: 0 }, crate = limits)]
    pub async fn new(id: u8) -> Self {
        Self { id, sum: 0 }
    }

    /// By reference.
    #[limit_per_time(Self::COUNT, "1m", key = self.id, crate = limits)]
    pub async fn by_reference(&self, _: u8) -> Result<u8, Rejection> {
        Ok(self.sum)
    }

    /// By reference, settled.
    #[limit_per_time(Self::COUNT, "1m", key = self.id, reset_on_success, success = |_| false, crate = limits)]
    pub async fn settled_by_reference(&self, _: u8) -> Result<&u8, Rejection> {
        Ok(&self.sum)
    }

    /// By mutable reference.
    #[limit_per_time(1, "1m", key = self.id, reset_on_success, success = |_| false, crate = limits)]
    pub async fn by_mutable_reference(&mut self, by: u8) -> Result<u8, Rejection> {
        self.sum = self.sum.saturating_add(by);
        Ok(self.sum)
    }

    /// By value.
    #[limit_per_time(1, "1m", key = self.id, crate = limits)]
    pub async fn by_value(self) -> Result<Self, Rejection> {
        Ok(self)
    }

    /// By value, changed, settled.
    #[limit_per_time(1, "1m", key = self.id, reset_on_success, success = |_| false, crate = limits)]
    pub async fn changed(mut self, by: u8) -> Result<Self, Rejection> {
        self.sum = by;
        Ok(self)
    }

    /// Boxed.
    #[limit_per_time(1, "1m", key = self.id, reset_on_success, success = |_| false, crate = limits)]
    pub async fn boxed(self: Box<Self>) -> Result<u8, Rejection> {
        Ok(self.sum)
    }

    /// Pinned.
    #[limit_per_time(1, "1m", key = self.id, crate = limits)]
    pub async fn pinned(self: Pin<&mut Self>) -> Result<u8, Rejection> {
        Ok(self.sum)
    }
}

/// Has methods.
#[expect(async_fn_in_trait, reason = "what calls it here needs no `Send`")]
pub trait Api {
    /// Is written by each type.
    async fn required(&self, id: u8) -> Result<u8, Rejection>;

    /// Is written here.
    #[limit_per_time(1, "1m", key = id, crate = limits)]
    async fn provided(&self, id: u8) -> Result<u8, Rejection> {
        self.required(id).await
    }
}

impl Api for Portal {
    #[limit_per_time(1, "1m", key = (self.id, id), crate = limits)]
    async fn required(&self, id: u8) -> Result<u8, Rejection> {
        Ok(id)
    }
}

impl Api for u8 {
    #[limit_per_time(1, "1m", key = id, reset_on_success, success = |_| false, crate = limits)]
    async fn required(&self, id: u8) -> Result<u8, Rejection> {
        Ok(id)
    }
}
