//! What rmcp asks of a server: who we are, our tools and our resources.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, Implementation, ListResourcesResult,
        ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig, Tool,
    },
    service::RequestContext,
};

use super::{resources, start::Starter, tools};

const INSTRUCTIONS: &str = "\
headroom measures what Wi-Fi costs an access point's CPU, on a virtual access point with real clients. \
`studies` says what can be asked, `plan` what it takes; `start`, `compare` and `profile` give a handle at once, `wait` \
follows it, `result` has the verdict with its doubts. Invalid is never fail and never pass: read the doubts, repair what \
they say, and measure again.";

/// The server; its clients share the jobs.
#[derive(Clone, Debug)]
pub(super) struct Server(pub(super) Arc<Starter>);

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let us = Implementation::new("headroom", env!("HEADROOM_VERSION"));
        ServerConfig::new(can).with_server_info(us).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::all().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, .. } = request;
        let names: Vec<_> = tools::all().into_iter().map(|tool| tool.name).collect();
        if !names.contains(&name) {
            let why = format!("there is no tool `{name}`; there are {}", names.join(", "));
            return Err(ErrorData::invalid_params(why, None));
        }
        let words = arguments.unwrap_or_default();
        Ok(tools::call(&name, words, &self.0, &context).await.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(resources::all(&self.0.jobs)))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let (text, kind) = resources::read(&self.0.jobs, &request.uri)
            .map_err(|why| ErrorData::resource_not_found(why, None))?;
        let contents = ResourceContents::text(text, request.uri).with_mime_type(kind);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}
