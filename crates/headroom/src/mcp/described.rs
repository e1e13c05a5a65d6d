//! A tool as clients see it: a name, what it is for, and the schemas of what it takes and answers.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;

/// A tool that takes an `I` and answers with an `O`.
pub(super) fn tool<I, O>(name: &'static str, about: &'static str, hints: &ToolAnnotations) -> Tool
where
    I: JsonSchema + 'static,
    O: JsonSchema + 'static,
{
    let tool = Tool::new(name, about, Arc::new(JsonObject::new()));
    tool.with_input_schema::<I>().with_output_schema::<O>().with_annotations(hints.clone())
}
