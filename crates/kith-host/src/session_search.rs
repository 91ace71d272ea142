//! What was said in the sessions of this house, for the tool that searches them.

use kith_vocab::clock::BoxFuture;
use kith_vocab::session_search::{FoundMessage, SessionSearch};

use crate::calls::session::SearchSessions;
use crate::house::House;
use crate::read_side::ReadSide;
use crate::read_side::search::search;

/// Reads the files of the house as every reader does, so nothing is found that is not durable.
pub struct HouseSearch {
    pub house: House,
}

impl SessionSearch for HouseSearch {
    fn search<'a>(
        &'a self,
        query: &'a str,
        limit: u32,
    ) -> BoxFuture<'a, Result<Vec<FoundMessage>, String>> {
        Box::pin(async move {
            let side = ReadSide::open(self.house.clone()).await;
            let call = SearchSessions { query: query.to_owned(), limit };
            let found = search(&side, call, &|_| ()).await;
            let hits = found.map_err(|report| report.message())?.data.hits;
            let message = hits.into_iter().map(|it| FoundMessage {
                session_id: it.session_id,
                at: it.ts,
                excerpt: it.text,
            });
            Ok(message.collect())
        })
    }
}
