//! In which form an answer is wanted, by the `Accept` header. May import: metrics.

use axum::http::{HeaderMap, header};

use crate::metrics::Transport;

/// The forms of an answer; among equals the earlier one is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Media {
    /// Before the GraphQL type existed: every answer to a well-formed request is a success.
    Json,
    /// The GraphQL type: a request that was not executed is a failure.
    Graphql,
    /// Server-sent events.
    EventStream,
}

impl Media {
    /// All of them.
    pub(super) const OFFERED: [Self; 3] = [Self::Json, Self::Graphql, Self::EventStream];

    /// Without parameters.
    pub(super) fn essence(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Graphql => "application/graphql-response+json",
            Self::EventStream => "text/event-stream",
        }
    }

    /// As what an answer of this form is counted.
    pub(super) fn transport(self) -> Transport {
        match self {
            Self::Json | Self::Graphql => Transport::Http,
            Self::EventStream => Transport::Events,
        }
    }

    /// The header of an answer; an error before a stream began is JSON.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Self::Json | Self::EventStream => "application/json; charset=utf-8",
            Self::Graphql => "application/graphql-response+json; charset=utf-8",
        }
    }

    /// What the client likes best of what there is; nothing said is JSON; none: it takes none of them.
    pub(super) fn accepted(headers: &HeaderMap) -> Option<Self> {
        let mut lines = headers.get_all(header::ACCEPT).iter().peekable();
        if lines.peek().is_none() {
            return Some(Self::Json);
        }
        let text: Vec<&str> = lines.filter_map(|line| line.to_str().ok()).collect();
        let ranges: Vec<Range<'_>> = text.iter().flat_map(|line| line.split(',')).map(Range::read).collect();
        let likings = Self::OFFERED.into_iter().filter_map(|media| Some((liking(media, &ranges)?, media)));
        // The first one of equal likings.
        likings.reduce(|best, next| if next.0 > best.0 { next } else { best }).map(|(_, media)| media)
    }
}

/// A quality in thousandths, and how early it was named; greater is better.
type Liking = (u16, std::cmp::Reverse<usize>);

struct Range<'a> {
    essence: &'a str,
    quality: u16,
}

impl<'a> Range<'a> {
    fn read(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default();
        let named =
            parts.filter_map(|part| part.split_once('=')).find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
        let quality = named.map_or(1_000, |(_, value)| thousandths(value.trim()));
        Self { essence, quality }
    }

    /// How closely it names a type; none: not at all.
    fn closeness(&self, essence: &str) -> Option<u8> {
        let (kind, _) = essence.split_once('/')?;
        match self.essence.split_once('/')? {
            ("*", "*") => Some(0),
            (named, "*") if named.eq_ignore_ascii_case(kind) => Some(1),
            _ if self.essence.eq_ignore_ascii_case(essence) => Some(2),
            _ => None,
        }
    }
}

/// The closest range decides; a quality of zero refuses.
fn liking(media: Media, ranges: &[Range<'_>]) -> Option<Liking> {
    let close = ranges.iter().enumerate().filter_map(|(index, range)| {
        let closeness = range.closeness(media.essence())?;
        Some((closeness, range.quality, std::cmp::Reverse(index)))
    });
    let (closeness, quality, index) = close.max_by_key(|(closeness, _, index)| (*closeness, *index))?;
    // A stream is for those who ask for one by its name.
    let is_meant = media != Media::EventStream || closeness == 2;
    (quality > 0 && is_meant).then_some((quality, index))
}

/// `0.85` as 850; what is no quality counts as the lowest, not as none.
fn thousandths(text: &str) -> u16 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits: String = part.chars().chain("000".chars()).take(3).collect();
    match (whole, digits.parse::<u16>()) {
        ("1", Ok(_)) => 1_000,
        ("0" | "", Ok(part)) => part,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(accept: &str) -> Option<Media> {
        Media::accepted(&HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]))
    }

    #[test]
    fn the_best_liked_type_is_chosen() {
        let cases = [
            ("*/*", Media::Json),
            ("application/*", Media::Json),
            ("application/graphql-response+json, application/json", Media::Graphql),
            ("application/json, application/graphql-response+json", Media::Json),
            ("application/json;q=0.5, application/graphql-response+json", Media::Graphql),
            ("application/graphql-response+json;q=0.85, application/json;q=0.9", Media::Json),
            ("application/json;q=0, */*;q=0.1", Media::Graphql),
            ("text/html, */*;q=0.8", Media::Json),
            ("text/event-stream", Media::EventStream),
            ("text/event-stream, application/json;q=0.9", Media::EventStream),
            ("TEXT/Event-Stream; charset=utf-8", Media::EventStream),
            ("application/json;q=nonsense", Media::Json),
        ];
        for (accept, expected) in cases {
            assert_eq!(accepted(accept), Some(expected), "{accept}");
        }
        assert_eq!(Media::accepted(&HeaderMap::new()), Some(Media::Json));
    }

    #[test]
    fn a_client_that_takes_nothing_of_ours_gets_nothing() {
        for accept in ["", "text/html", "text/*", "application/json;q=0", "application/json;q=0.000, image/*"] {
            assert_eq!(accepted(accept), None, "{accept}");
        }
    }
}
