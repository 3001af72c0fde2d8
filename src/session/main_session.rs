//! The integration cycle: what all sessions remember becomes one synthesis, and insights for some of them.

use async_trait::async_trait;
use serde::Deserialize;

use super::session::Session;
use crate::{
    error::Result,
    meta::ChildL2Summary,
    storage::{Store, Write},
    text::Text,
};

/// The part of the application's answer that is stored.
#[derive(Debug, Deserialize)]
pub struct Integration {
    pub synthesis: Text,
    pub insights: Vec<Insight>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Insight {
    pub session_id: Text,
    pub content: Text,
}

/// The application's function from memories to synthesis and insights.
#[async_trait]
pub trait Integrator: Send + Sync {
    async fn integrate(
        &self,
        children: &[ChildL2Summary],
        synthesis: Option<Text>,
    ) -> Result<Integration>;
}

/// Stores synthesis and insights in one step. Answers which of the insights were kept: those for one of the children.
pub async fn integrate(
    session: &Session,
    store: &dyn Store,
    with: &dyn Integrator,
) -> Result<Vec<usize>> {
    session.shared().refuse_archived()?;
    let (children, synthesis) =
        futures_util::future::try_join(store.get_all_session_l2s(), store.get_memory(session.id()))
            .await?;
    let integration = with.integrate(&children, synthesis).await?;
    let ids: std::collections::HashSet<_> =
        children.iter().map(|child| &child.session_id).collect();
    let mut writes = vec![Write::PutMemory {
        id: session.id().clone(),
        content: integration.synthesis,
    }];
    let mut kept = Vec::new();
    for (index, insight) in integration.insights.into_iter().enumerate() {
        if ids.contains(&insight.session_id) {
            kept.push(index);
            writes.push(Write::PutInsight {
                id: insight.session_id,
                content: insight.content,
            });
        }
    }
    store.apply(writes).await?;
    Ok(kept)
}
