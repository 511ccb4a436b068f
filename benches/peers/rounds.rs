//! Figures of several rounds. May import: nothing.

use std::fmt;

/// A count as a number to reckon with.
pub fn count(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

/// The value that so many of a hundred do not exceed; zero of nothing.
pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or_default()
}

/// The same figure of each round.
#[derive(Clone, Default)]
pub struct Rounds(pub Vec<f64>);

impl Rounds {
    pub fn median(&self) -> f64 {
        percentile(&self.0, 50)
    }

    /// Round by round; as many as both have.
    pub fn over(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(one, other)| one / other).collect())
    }

    pub fn ends(&self) -> (f64, f64) {
        (percentile(&self.0, 0), percentile(&self.0, 100))
    }

    pub fn first_and_last(&self) -> (f64, f64) {
        (self.0.first().copied().unwrap_or_default(), self.0.last().copied().unwrap_or_default())
    }
}

impl FromIterator<f64> for Rounds {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

/// The median, and from where to where.
impl fmt::Display for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = self.ends();
        let digits = if most >= 100.0 { 0 } else { 2 };
        write!(f, "{:.digits$} ({least:.digits$}-{most:.digits$})", self.median())
    }
}
