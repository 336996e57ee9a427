//! Somebody asks for a value by its key over HTTP, changes it, or removes it.
#![allow(dead_code, reason = "nobody reads why a handler gives up")]

use aws_lambda_events::apigw::ApiGatewayProxyRequest;
use aws_lambda_events::query_map::QueryMap;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use cloud::{Cloud, CloudError, Item};

cloud::handler!(handle);

enum Failure {
    Request,
    Forbidden,
    NotFound,
    NotAllowed,
    Body(serde_json::Error),
    Cloud(CloudError),
}

/// What goes back.
struct Answer {
    status: u16,
    body: String,
}

/// Who asks.
struct Credentials {
    user: String,
    password: String,
}

fn handle(cloud: &mut Cloud) -> Result<(), Failure> {
    let request: ApiGatewayProxyRequest = serde_json::from_slice(cloud.event()).map_err(|_| Failure::Request)?;
    let answer = route(cloud, &request)?;
    cloud.log(format!("{} {}", answer.status, answer.body));
    Ok(())
}

fn route(cloud: &mut Cloud, request: &ApiGatewayProxyRequest) -> Result<Answer, Failure> {
    let path = request.path.as_deref().unwrap_or("/");
    let Some(key) = path.strip_prefix("/values/").filter(|key| !key.is_empty()) else {
        return match path {
            "/" | "/health" => Ok(Answer { status: 200, body: "fine".to_owned() }),
            _ => Err(Failure::NotFound),
        };
    };
    match request.http_method.as_str() {
        "GET" | "HEAD" => get(cloud, request, key),
        "PUT" => {
            allowed(cloud, request)?;
            put(cloud, request, key)
        }
        "DELETE" => {
            allowed(cloud, request)?;
            match cloud.delete_item("values", key) {
                true => Ok(Answer { status: 204, body: String::new() }),
                false => Err(Failure::NotFound),
            }
        }
        _ => Err(Failure::NotAllowed),
    }
}

fn header<'a>(request: &'a ApiGatewayProxyRequest, name: &str) -> Option<&'a str> {
    request.headers.get(name)?.to_str().ok()
}

fn get(cloud: &Cloud, request: &ApiGatewayProxyRequest, key: &str) -> Result<Answer, Failure> {
    let item = cloud.get_item("values", key).map_err(Failure::Cloud)?.ok_or(Failure::NotFound)?;
    if let (Some(known), Some(tag)) = (header(request, "if-none-match"), item.get("etag"))
        && (known == tag || known == "*")
    {
        return Ok(Answer { status: 304, body: String::new() });
    }
    if let Some(since) = header(request, "if-modified-since") {
        let since = httpdate::parse_http_date(since).map_err(|_| Failure::Request)?;
        let changed = item.get("changed").and_then(|text| httpdate::parse_http_date(text).ok());
        if changed.is_some_and(|changed| changed <= since) {
            return Ok(Answer { status: 304, body: String::new() });
        }
    }
    let body = render(item, &request.query_string_parameters)?;
    Ok(Answer { status: 200, body })
}

fn render(item: &Item, query: &QueryMap) -> Result<String, Failure> {
    let value = item.get("value").ok_or(Failure::NotFound)?;
    match query.first("format") {
        None | Some("text") => Ok(value.clone()),
        Some("json") => serde_json::to_string(item).map_err(Failure::Body),
        Some("base64") => Ok(BASE64_STANDARD.encode(value)),
        Some("length") => Ok(value.len().to_string()),
        Some(_) => Err(Failure::Request),
    }
}

fn allowed(cloud: &Cloud, request: &ApiGatewayProxyRequest) -> Result<(), Failure> {
    let given = header(request, "authorization").ok_or(Failure::Forbidden)?;
    let encoded = given.strip_prefix("Basic ").ok_or(Failure::Forbidden)?;
    let decoded = BASE64_STANDARD.decode(encoded).map_err(|_| Failure::Request)?;
    let decoded = String::from_utf8(decoded).map_err(|_| Failure::Request)?;
    let (user, password) = decoded.split_once(':').ok_or(Failure::Request)?;
    let credentials = Credentials { user: user.to_owned(), password: password.to_owned() };
    let known = cloud.get_item("users", &credentials.user).map_err(Failure::Cloud)?;
    match known.and_then(|known| known.get("password")) {
        Some(right) if *right == credentials.password => Ok(()),
        _ => Err(Failure::Forbidden),
    }
}

fn put(cloud: &mut Cloud, request: &ApiGatewayProxyRequest, key: &str) -> Result<Answer, Failure> {
    let body = request.body.as_deref().ok_or(Failure::Request)?;
    let body = match request.is_base64_encoded {
        true => BASE64_STANDARD.decode(body).map_err(|_| Failure::Request)?,
        false => body.as_bytes().to_vec(),
    };
    let item: Item = match header(request, "content-type") {
        Some("application/json") => serde_json::from_slice(&body).map_err(Failure::Body)?,
        None | Some("text/plain") => {
            let text = String::from_utf8(body).map_err(|_| Failure::Request)?;
            [("value".to_owned(), text)].into()
        }
        Some(_) => return Err(Failure::Request),
    };
    let is_new = cloud.get_item("values", key).map_err(Failure::Cloud)?.is_none();
    cloud.put_items("values", vec![(key.to_owned(), item)]).map_err(Failure::Cloud)?;
    Ok(Answer { status: if is_new { 201 } else { 200 }, body: String::new() })
}
