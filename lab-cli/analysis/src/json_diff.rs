//! Two JSON values against each other, leaf by leaf.

use serde_json::Value;

/// Every leaf of both, with its place as a JSON pointer.
pub fn differ(
    place: &str,
    a: Option<&Value>,
    b: Option<&Value>,
    leaf: &mut impl FnMut(&str, Option<&Value>, Option<&Value>),
) {
    match (a, b) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let others = right.keys().filter(|key| !left.contains_key(*key));
            for key in left.keys().chain(others) {
                let step = key.replace('~', "~0").replace('/', "~1");
                differ(&format!("{place}/{step}"), left.get(key), right.get(key), leaf);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for at in 0..left.len().max(right.len()) {
                differ(&format!("{place}/{at}"), left.get(at), right.get(at), leaf);
            }
        }
        (a, b) => leaf(place, a, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_leaf_is_held_against_its_like() {
        let a = serde_json::json!({ "n": [1, 2.5, 3], "same": {"x": null}, "only/a": true });
        let b = serde_json::json!({ "n": [1, 2.5000000000000004], "same": {"x": null}, "b": "new" });
        let mut found = Vec::new();
        let mut leaves = 0;
        differ("", Some(&a), Some(&b), &mut |place, a, b| {
            leaves += 1;
            if a != b {
                found.push(place.to_owned());
            }
        });
        assert_eq!((found.as_slice(), leaves), (&["/n/1", "/n/2", "/only~1a", "/b"].map(str::to_owned)[..], 6));
    }
}
