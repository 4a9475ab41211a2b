//! A row, read: what the statements leave to be reckoned here.

use sqlx::{ColumnIndex, Decode, Type};

use crate::algorithm::Answer;
use crate::algorithm::token_bucket::{Bucket, Take};
use crate::key::Key;
use crate::store::Charge;
use crate::store::verdict::Decided;
use crate::verdict::Hit;

/// The primary key of a row. A client comes first, so that all its rows are together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Columns {
    pub(super) client: [u8; 16],
    pub(super) method: i64,
}

impl Columns {
    /// No row has them: no hash of a client is zero.
    pub(super) const BEFORE_ALL: Self = Self {
        client: [0; 16],
        method: i64::MIN,
    };

    pub(super) fn of(key: &Key) -> Self {
        Self {
            client: key.client().to_bytes(),
            method: key.method().hash() as i64,
        }
    }
}

/// The places of charges in the order in which every call locks its rows, so that no two wait for each other.
pub(super) fn in_order(charges: &[Charge]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..charges.len()).collect();
    places.sort_by_key(|place| Columns::of(&charges[*place].key));
    places
}

/// The numbers of a bucket as they are bound: microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// What the charge takes.
    pub(super) takes: i64,
    pub(super) refill: i64,
    /// What a whole bucket holds.
    pub(super) whole: i64,
    pub(super) at: Option<i64>,
}

impl Numbers {
    /// A policy keeps all of them below 36,500 days.
    pub(super) fn of(charge: &Charge) -> Self {
        let refill = charge.policy.span();
        Self {
            takes: (refill * u64::from(charge.cost)) as i64,
            refill: refill as i64,
            whole: (refill * u64::from(charge.policy.count())) as i64,
            at: charge.at.map(|at| i64::try_from(at).unwrap_or(i64::MAX)),
        }
    }
}

const fn take(charge: &Charge) -> Take {
    Take {
        capacity: charge.policy.count(),
        refill: charge.policy.span(),
        cost: charge.cost,
        at: charge.at,
    }
}

/// A bucket as it stands in its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) full_at: i64,
    pub(super) refill: i64,
    pub(super) changed_at: i64,
}

impl Row {
    fn of(bucket: Bucket) -> Self {
        Self {
            full_at: bucket.full_at as i64,
            refill: bucket.refill as i64,
            changed_at: bucket.changed_at as i64,
        }
    }

    fn bucket(self) -> Bucket {
        Bucket {
            full_at: self.full_at.max(0) as u64,
            refill: self.refill.max(0) as u64,
            changed_at: self.changed_at.max(0) as u64,
            ..Bucket::default()
        }
    }
}

/// A row that takes the place of another, if nobody has changed that meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Swap {
    pub(super) from: Row,
    pub(super) to: Row,
}

/// A row, or that there is none, at a time of the database's clock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) row: Option<Row>,
    pub(super) now: i64,
}

/// What a row that was not taken from says of a charge.
#[derive(Clone, Copy, Debug)]
pub(super) enum Untaken {
    /// It refuses the charge.
    Refused(Charged),
    /// It would take the charge, and goes by other numbers or by a clock that stepped back since: the statement that
    /// takes leaves such rows alone.
    Take(Charged, Swap),
    /// Another one was first.
    LostRace,
}

impl Seen {
    /// Reads the columns `full_at`, `refill`, `changed_at` and `now`.
    pub(super) fn read<R: sqlx::Row>(row: &R) -> sqlx::Result<Self>
    where
        for<'r> i64: Decode<'r, R::Database> + Type<R::Database>,
        for<'s> &'s str: ColumnIndex<R>,
    {
        let columns = (
            row.try_get("full_at")?,
            row.try_get("refill")?,
            row.try_get("changed_at")?,
        );
        let seen = match columns {
            (Some(full_at), Some(refill), Some(changed_at)) => Some(Row {
                full_at,
                refill,
                changed_at,
            }),
            _ => None,
        };
        Ok(Self {
            row: seen,
            now: row.try_get("now")?,
        })
    }

    /// How a charge stands that was not taken. A charge of nothing has the id of the last that took something, as long
    /// as something is missing.
    pub(super) fn unasked(&self, charge: &Charge) -> Charged {
        let answer = self.bucket().decide(self.now as u64, take(charge));
        Charged {
            answer,
            hit: match self.row {
                Some(row) if charge.cost == 0 && row.full_at > self.now => hit(row.full_at),
                _ => Hit::NONE,
            },
            change: match answer {
                Answer::Refused { .. } => self.healed(),
                _ => None,
            },
        }
    }

    fn bucket(&self) -> Bucket {
        self.row.map(Row::bucket).unwrap_or_default()
    }

    /// What a refusal leaves to be written: a row that goes by a clock that stepped back is put right.
    fn healed(&self) -> Option<Swap> {
        let (from, mut bucket) = (self.row?, self.bucket());
        bucket.heal(self.now as u64).then(|| Swap {
            from,
            to: Row::of(bucket),
        })
    }

    /// Whether a charge would fit; what remains is what does now.
    pub(super) fn peeked(&self, charge: &Charge) -> Charged {
        let asked = self.unasked(charge);
        match asked.answer {
            Answer::Fits { .. } => self.unasked(&Charge { cost: 0, ..*charge }),
            _ => asked,
        }
    }

    /// How a charge stands that the statement did not take.
    pub(super) fn untaken(&self, charge: &Charge) -> Untaken {
        let untaken = self.locked(charge);
        match (untaken, self.row) {
            // The statement takes from such a row: another call changed the row in between.
            (Untaken::Take(..), Some(row))
                if row.refill == charge.policy.span() as i64 && row.changed_at <= self.now =>
            {
                Untaken::LostRace
            }
            _ => untaken,
        }
    }

    /// How a charge stands on a row that is locked: no call changes the row after it was read.
    pub(super) fn locked(&self, charge: &Charge) -> Untaken {
        let Some(from) = self.row else {
            return Untaken::LostRace;
        };
        let mut charged = self.unasked(charge);
        if matches!(charged.answer, Answer::Refused { .. }) {
            return Untaken::Refused(charged);
        }
        let mut bucket = self.bucket();
        bucket.charge(self.now as u64, take(charge));
        let to = Row::of(bucket);
        charged.hit = hit(to.full_at);
        Untaken::Take(charged, Swap { from, to })
    }
}

/// The id of the hit that moved `full_at` to this: each hit moves it on, so later ones are higher.
pub(super) fn hit(full_at: i64) -> Hit {
    Hit::from_raw(full_at as u64)
}

/// So much is missing after a take.
fn fits(charge: &Charge, missing: i64) -> Answer {
    let Numbers { refill, whole, .. } = Numbers::of(charge);
    Answer::Fits {
        remaining: ((whole - missing).max(0) / refill) as u32,
        reset_after: missing.min(whole) as u64,
    }
}

/// What became of one charge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charged {
    pub(super) answer: Answer,
    pub(super) hit: Hit,
    /// What is left to be written.
    pub(super) change: Option<Swap>,
}

impl Charged {
    const fn new(answer: Answer, hit: Hit) -> Self {
        Self {
            answer,
            hit,
            change: None,
        }
    }

    /// What needs no row to be known.
    pub(super) fn without_asking(charge: &Charge) -> Option<Self> {
        (charge.cost > charge.policy.count()).then_some(Self::new(Answer::Never, Hit::NONE))
    }

    /// It was taken, and the bucket is full again at `full_at`.
    pub(super) fn taken(charge: &Charge, full_at: i64, now: i64) -> Self {
        let at = Numbers::of(charge).at.map_or(now, |at| at.min(now));
        Self::new(fits(charge, (full_at - at).max(0)), hit(full_at))
    }

    /// It was taken, and so much is missing now. Which hit it was is not known.
    #[cfg(feature = "sql-mysql")]
    pub(super) fn taken_missing(charge: &Charge, missing: i64) -> Self {
        Self::new(fits(charge, missing), Hit::NONE)
    }

    /// It was refused: so much would be missing if it were taken.
    #[cfg(feature = "sql-mysql")]
    pub(super) fn refused_missing(charge: &Charge, missing: i64) -> Self {
        let Numbers {
            takes, refill, whole, ..
        } = Numbers::of(charge);
        let refused = Answer::Refused {
            remaining: ((whole - (missing - takes)).max(0) / refill) as u32,
            retry_after: (missing - whole) as u64,
            reset_after: (missing - takes) as u64,
        };
        Self::new(refused, Hit::NONE)
    }

    pub(super) const fn decided(&self, charge: &Charge) -> Decided {
        Decided {
            answer: self.answer,
            observe: charge.observe,
        }
    }

    /// Whether it stands in the way of the others of the call.
    pub(super) const fn refuses(&self, charge: &Charge) -> bool {
        !charge.observe && !matches!(self.answer, Answer::Fits { .. })
    }
}
