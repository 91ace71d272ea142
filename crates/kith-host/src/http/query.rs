//! The query of an address, and what is percent-encoded in its path.

use http::Uri;
use percent_encoding::percent_decode_str;

use super::reply::HttpProblem;

/// The values of these names, in their order. Another name, or one that is there twice, is refused: a
/// misspelt filter must not look like an answer to it.
pub(super) fn query_of<const N: usize>(
    uri: &Uri,
    names: [&str; N],
) -> Result<[Option<String>; N], HttpProblem> {
    let mut values = [const { None }; N];
    let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
    for pair in pairs {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded(name)?;
        let place = names.iter().position(|it| *it == name).and_then(|place| values.get_mut(place));
        let Some(place) = place else {
            let known = names.join("`, `");
            let problem =
                format!("unknown parameter `{}`; there is `{known}`", name.escape_debug());
            return Err(HttpProblem::bad_request(&problem));
        };
        if place.is_some() {
            return Err(HttpProblem::bad_request(&format!(
                "the parameter `{name}` is there twice"
            )));
        }
        // Forms write a space so.
        *place = Some(decoded(&value.replace('+', " "))?);
    }
    Ok(values)
}

pub(super) fn decoded(text: &str) -> Result<String, HttpProblem> {
    let decoded = percent_decode_str(text).decode_utf8();
    let text = decoded.map_err(|_| HttpProblem::bad_request("the address is not UTF-8"))?;
    if text.contains('\0') {
        return Err(HttpProblem::bad_request("the address holds a NUL byte"));
    }
    Ok(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Option<[Option<String>; 2]> {
        query_of(&format!("/x?{query}").parse().unwrap(), ["agentId", "q"]).ok()
    }

    #[test]
    fn a_query_is_read_whole_or_refused() {
        assert_eq!(read(""), Some([None, None]));
        let both = Some([Some("a".to_owned()), Some("环境 b".to_owned())]);
        assert_eq!(read("q=%E7%8E%AF%E5%A2%83+b&agentId=a"), both);
        assert_eq!(read("q="), Some([None, Some(String::new())]));
        for wrong in ["Q=a", "q=a&q=b", "q=%FF", "q=%00", "agentid=a"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
