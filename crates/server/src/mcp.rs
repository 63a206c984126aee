//! MCP for agents, on stdio and over HTTP. The only module that knows the crate `rmcp`.
//!
//! Tools are a selection of the routes of the API, with the same arguments and answers. Secrets are always masked. Tools
//! that write exist only if the user allowed it.

mod tools;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::routing::MethodRouter;
use everturn::scan::SecretRules;
use everturn_catalog::SummaryDetail;
use everturn_export::mask_json;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    Prompt, PromptArgument, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
    ResourceUpdatedNotificationParam, Role, ServerCapabilities, ServerConfig,
    SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::{Peer, RequestContext, RoleServer, ServiceExt};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::audit::AuditRecord;
use crate::hub::LiveHub;
use crate::library::Library;
use crate::listener::stopped;
use crate::options::ServeOptions;
use crate::problem::Problem;
use crate::route::{Call, Effect};
use tools::{McpTool, call_input, encoded, tools};

/// The scheme of resources.
const SCHEME: &str = "everturn://session/";

/// How many sessions are listed as resources.
const MAX_RESOURCES: usize = 200;

/// How many tool calls run at a time.
const WORKERS: usize = 8;

/// What all conversations share.
struct McpShared {
    library: Arc<Library>,
    hub: Arc<LiveHub>,
    tools: Vec<McpTool>,
    workers: Semaphore,
    options: ServeOptions,
}

/// Serves one conversation.
struct McpHandler {
    shared: Arc<McpShared>,
    /// The tasks that report changes of resources.
    subscriptions: Mutex<HashMap<String, JoinHandle<()>>>,
}

impl Drop for McpHandler {
    fn drop(&mut self) {
        let subscriptions = self.subscriptions.get_mut().unwrap_or_else(PoisonError::into_inner);
        for task in subscriptions.values() {
            task.abort();
        }
    }
}

fn masked(text: String) -> String {
    mask_json(text, SecretRules::standard())
}

fn internal(detail: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(detail.to_string(), None)
}

impl McpShared {
    fn new(
        library: Arc<Library>,
        hub: Arc<LiveHub>,
        options: &ServeOptions,
        allow_writes: bool,
    ) -> McpShared {
        let workers = Semaphore::new(WORKERS);
        McpShared { library, hub, tools: tools(allow_writes), workers, options: options.clone() }
    }

    /// Calls an operation; returns its answer as JSON with masked secrets.
    fn call(&self, tool: &McpTool, arguments: JsonObject) -> Result<Value, Problem> {
        let input = call_input(&tool.route, arguments);
        let reply = tool.route.serve(&Call { library: &self.library, input: &input });
        if tool.route.effect == Effect::Write {
            let status =
                reply.as_ref().map_or_else(|problem| problem.status, |reply| reply.status.as_u16());
            let session = input.params.get("session").cloned();
            let (time, operation) = ((self.options.now)(), tool.route.operation);
            (self.options.audit)(&AuditRecord { time, by: "agent", operation, session, status });
        }
        let text = String::from_utf8(reply?.bytes)
            .map_err(|error| Problem::internal(error.to_string()))?;
        serde_json::from_str(&masked(text)).map_err(|error| Problem::internal(error.to_string()))
    }

    fn tool(&self, name: &str) -> Option<&McpTool> {
        self.tools.iter().find(|tool| tool.tool.name == name)
    }

    /// The text of a session that fits into a number of tokens.
    fn context(&self, session: &str, tokens: u64, since: Option<u64>) -> Result<Value, Problem> {
        let tool = self.tool("get_context").ok_or_else(|| Problem::internal("no context"))?;
        let mut arguments = JsonObject::new();
        arguments.insert("session".to_owned(), session.into());
        arguments.insert("tokens".to_owned(), tokens.into());
        arguments.insert("since".to_owned(), since.into());
        self.call(tool, arguments)
    }
}

impl McpHandler {
    fn new(shared: Arc<McpShared>) -> McpHandler {
        McpHandler { shared, subscriptions: Mutex::default() }
    }

    /// Runs work with sessions on a thread that may block.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&McpShared) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let _permit = self.shared.workers.acquire().await.map_err(internal)?;
        let shared = Arc::clone(&self.shared);
        tokio::task::spawn_blocking(move || work(&shared)).await.map_err(internal)
    }

    fn remove_subscription(&self, uri: &str) {
        let mut subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = subscriptions.remove(uri) {
            task.abort();
        }
    }
}

fn session_of(uri: &str) -> Result<String, ErrorData> {
    let unknown = || ErrorData::resource_not_found(format!("{uri:?} is not a resource"), None);
    let encoded = uri.strip_prefix(SCHEME).filter(|key| !key.is_empty()).ok_or_else(unknown)?;
    let mut bytes = Vec::new();
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next(), rest.next()]
            .map(|digit| char::from(digit.unwrap_or_default()).to_digit(16));
        let [Some(high), Some(low)] = digits else { return Err(unknown()) };
        bytes.push(u8::try_from(high * 16 + low).map_err(|_| unknown())?);
    }
    String::from_utf8(bytes).map_err(|_| unknown())
}

/// Reports changes of a session until the conversation ends.
async fn report_changes(
    shared: Arc<McpShared>,
    peer: Peer<RoleServer>,
    uri: String,
    session: String,
) {
    let mut changes = shared.hub.subscribe();
    let library = Arc::clone(&shared.library);
    let found = tokio::task::spawn_blocking(move || library.find(&session)).await;
    let Ok(Ok(found)) = found else { return };
    let paths = found.format.snapshot_paths(&found.place).unwrap_or_default();
    loop {
        match changes.recv().await {
            Ok(change) if !change.concerns(found.source, &paths) => continue,
            Ok(_) | Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
            Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
        }
        let update = ResourceUpdatedNotificationParam::new(uri.clone());
        if peer.notify_resource_updated(update).await.is_err() {
            return;
        }
    }
}

const CONTINUE: &str = "continue_session";
const SUMMARISE: &str = "summarise_since";

/// How much of a session a prompt and a resource contain.
const PROMPT_TOKENS: u64 = 8000;

fn prompts() -> Vec<Prompt> {
    let argument = |name: &str, what: &str| {
        PromptArgument::new(name).with_description(what).with_required(true)
    };
    let session = || argument("session", "The key or ID of a session");
    let turn = argument("turn", "The first turn");
    vec![
        Prompt::new(CONTINUE, Some("Continue a session where it ended"), Some(vec![session()])),
        Prompt::new(
            SUMMARISE,
            Some("Summarise a session since a turn"),
            Some(vec![session(), turn]),
        ),
    ]
}

fn session_resource((key, session): (&str, &everturn_catalog::CatalogSession)) -> Resource {
    let title = masked(json!(session.summary.title).to_string());
    let title: String = serde_json::from_str(&title).unwrap_or_default();
    let mut resource = Resource::new(format!("{SCHEME}{}", encoded(key)), title);
    resource.mime_type = Some("text/plain".to_owned());
    resource
}

impl ServerHandler for McpHandler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("everturn", env!("CARGO_PKG_VERSION")))
            .with_instructions(
                "Sessions of AI agents and games on this machine. Find them with search_sessions or list_sessions, \
                 then read them by key and turn. Cite as SESSION#TURN.",
            )
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.shared.tools.iter().map(|tool| tool.tool.clone()).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.shared.tool(&request.name).is_none() {
            return Err(ErrorData::invalid_params(
                format!("unknown tool {:?}", request.name),
                None,
            ));
        }
        let answer = self.work(move |shared| match shared.tool(&request.name) {
            Some(tool) => shared.call(tool, request.arguments.unwrap_or_default()),
            None => Err(Problem::internal("the tool is gone")),
        });
        Ok(match answer.await? {
            Ok(value) => CallToolResult::structured(value),
            Err(problem) => {
                let text = serde_json::to_string(&problem).unwrap_or_default();
                CallToolResult::error(vec![ContentBlock::text(masked(text))])
            }
        }
        .into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = self.work(|shared| {
            let listing = shared.library.list(SummaryDetail::All);
            listing.iter().take(MAX_RESOURCES).map(session_resource).collect()
        });
        Ok(ListResourcesResult::with_all_items(resources.await?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let template = ResourceTemplate::new(format!("{SCHEME}{{session}}"), "session");
        Ok(ListResourceTemplatesResult::with_all_items(vec![template]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let session = session_of(&request.uri)?;
        let read = self.work(move |shared| shared.context(&session, PROMPT_TOKENS, None)).await?;
        let value = read.map_err(|problem| match problem.code {
            "not_found" => ErrorData::resource_not_found(problem.to_string(), None),
            _ => internal(problem),
        })?;
        let text = value.get("text").and_then(Value::as_str).unwrap_or_default();
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let session = session_of(&request.uri)?;
        self.remove_subscription(&request.uri);
        let (shared, uri) = (Arc::clone(&self.shared), request.uri.clone());
        let task = tokio::spawn(report_changes(shared, context.peer, uri, session));
        let mut subscriptions = self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner);
        subscriptions.insert(request.uri, task);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.remove_subscription(&request.uri);
        Ok(())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        let missing =
            |name: &str| ErrorData::invalid_params(format!("the argument {name} is missing"), None);
        let session = argument("session").ok_or_else(|| missing("session"))?;
        let (task, since) = match request.name.as_str() {
            CONTINUE => ("Continue this session where it ended.".to_owned(), None),
            SUMMARISE => {
                let turn = argument("turn").and_then(|turn| turn.parse::<u64>().ok());
                let turn = turn.ok_or_else(|| missing("turn"))?;
                (
                    format!(
                        "Summarise what happened in this session since turn {turn}. Cite turns."
                    ),
                    Some(turn),
                )
            }
            name => {
                return Err(ErrorData::invalid_params(format!("unknown prompt {name:?}"), None));
            }
        };
        let context =
            self.work(move |shared| shared.context(&session, PROMPT_TOKENS, since)).await?;
        let context =
            context.map_err(|problem| ErrorData::invalid_params(problem.to_string(), None))?;
        let text = context.get("text").and_then(Value::as_str).unwrap_or_default();
        let message = PromptMessage::new_text(Role::User, format!("{task}\n\n{text}"));
        Ok(GetPromptResult::new(vec![message]).into())
    }
}

/// The service at `/mcp`. The guard has admitted its requests already.
pub(crate) fn http_service<S: Clone + Send + Sync + 'static>(
    (library, hub): (Arc<Library>, Arc<LiveHub>),
    options: &ServeOptions,
    mut stop: watch::Receiver<bool>,
) -> MethodRouter<S> {
    let shared = Arc::new(McpShared::new(library, hub, options, options.agents_may_write));
    let config = StreamableHttpServerConfig::default().disable_allowed_hosts();
    let token = config.cancellation_token.clone();
    tokio::spawn(async move {
        stopped(&mut stop).await;
        token.cancel();
    });
    let factory = move || Ok(McpHandler::new(Arc::clone(&shared)));
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(factory, sessions, config);
    axum::routing::any_service(service)
}

/// Serves MCP on stdin and stdout until the client closes them.
pub(crate) async fn serve_stdio(options: &ServeOptions) -> Result<(), String> {
    let hub = LiveHub::new(options);
    hub.watch();
    let library = Arc::new(Library::new(options, Arc::clone(&hub)));
    let shared =
        Arc::new(McpShared::new(Arc::clone(&library), hub, options, options.agents_may_write));
    let served = McpHandler::new(shared).serve(rmcp::transport::stdio()).await;
    let running = served.map_err(|error| error.to_string())?;
    running.waiting().await.map_err(|error| error.to_string())?;
    let closed = tokio::task::spawn_blocking(move || library.close()).await;
    closed.map_err(|error| error.to_string())?.map_err(|problem| problem.to_string())
}
