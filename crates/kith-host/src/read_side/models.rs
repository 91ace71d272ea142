//! The models there are, and which one is used.

use std::sync::Arc;

use kith_providers::local_servers::{USUAL_PORTS, find_local_servers};

use super::ReadSide;
use crate::call::{Reply, Response};
use crate::calls::models::{ListModels, ModelList};
use crate::models::{found_servers, list_models as rows};

pub async fn list_models(side: Arc<ReadSide>, _call: ListModels) -> Reply<ModelList> {
    let settings = side.settings()?;
    let list = rows(&settings)?;
    let found = found_servers(&settings, find_local_servers(&USUAL_PORTS).await);
    Ok(Response::new(ModelList { found, ..list }))
}
