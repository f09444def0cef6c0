//! A real browser, driven by the WebDriver protocol.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Chromium without a window. It ends when this is dropped.
pub struct Browser {
    driver: Child,
    session: String,
    client: reqwest::Client,
    runtime: tokio::runtime::Runtime,
    _profile: tempfile::TempDir,
}

/// An element of the page that is shown.
pub struct Element(String);

/// The key that the protocol has for elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

impl Browser {
    /// Starts one. `None` where Chromium or its driver is not installed, unless the environment says that it must be.
    pub fn start() -> Option<Self> {
        let chromium = installed(&["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]);
        let driver = installed(&["/usr/bin/chromedriver", "/usr/local/bin/chromedriver"]);
        let Some((chromium, driver)) = chromium.zip(driver) else {
            assert!(std::env::var_os("LAB_REQUIRE_TOOLS").is_none(), "Chromium or ChromeDriver is not installed");
            eprintln!("skipped: there is no Chromium with ChromeDriver");
            return None;
        };
        let mut driver = Command::new(driver)
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("ChromeDriver starts");
        let stdout = BufReader::new(driver.stdout.take().expect("is a pipe"));
        let port = stdout.lines().map_while(Result::ok).find_map(|line| {
            line.strip_suffix('.')?.rsplit_once("started successfully on port ")?.1.parse::<u16>().ok()
        });
        let port = port.expect("ChromeDriver says on which port it is");
        let profile = tempfile::tempdir().expect("a folder");
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-sync",
            "--disable-background-networking",
            "--disable-component-update",
            "--autoplay-policy=no-user-gesture-required",
            "--window-size=1100,900",
            &format!("--user-data-dir={}", profile.path().display()),
        ];
        let options = json!({ "binary": chromium, "args": arguments });
        // The client wants one even if it never speaks TLS; a second one is refused, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut browser = Self {
            driver,
            session: format!("http://127.0.0.1:{port}/session"),
            client: reqwest::Client::builder().timeout(Duration::from_secs(60)).build().expect("a client"),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"),
            _profile: profile,
        };
        let begun = browser.post("", &json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } }));
        browser.session = format!("{}/{}", browser.session, begun["sessionId"].as_str().expect("a session"));
        Some(browser)
    }

    /// Goes to an address and waits until the page is loaded.
    pub fn go(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// Shows pages as on a screen of this size, in CSS pixels.
    pub fn resize(&self, width: u32, height: u32) {
        let params = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.post("/goog/cdp/execute", &json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": params }));
    }

    /// The result of a script that runs in the page.
    pub fn measure(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// The page as it is now.
    pub fn source(&self) -> String {
        self.get("/source").as_str().expect("text").to_owned()
    }

    /// The first element that a CSS selector finds.
    pub fn find(&self, selector: &str) -> Element {
        self.find_all(selector).into_iter().next().unwrap_or_else(|| panic!("no {selector} in {}", self.source()))
    }

    /// All elements that a CSS selector finds.
    pub fn find_all(&self, selector: &str) -> Vec<Element> {
        let found = self.post("/elements", &json!({ "using": "css selector", "value": selector }));
        let id = |element: &Value| Element(element[ELEMENT].as_str().expect("an element").to_owned());
        found.as_array().expect("a list").iter().map(id).collect()
    }

    /// Clicks something that leads to another page, and waits until the old one is gone. The driver waits too, but only
    /// if the way to the other page has begun by the time it looks: on a busy machine it has not.
    pub fn click(&self, element: &Element) {
        self.tick(element);
        wait_for(|| {
            let asked = self.client.get(format!("{}/element/{}/name", self.session, element.0));
            self.try_ask(asked).ok().map(|name| format!("a page after a click on {name}"))
        });
    }

    /// Clicks something that stays on the page.
    pub fn tick(&self, element: &Element) {
        self.post(&format!("/element/{}/click", element.0), &json!({}));
    }

    /// Types.
    pub fn write(&self, element: &Element, text: &str) {
        self.post(&format!("/element/{}/value", element.0), &json!({ "text": text }));
    }

    /// The text that a person sees.
    pub fn text(&self, element: &Element) -> String {
        self.get(&format!("/element/{}/text", element.0)).as_str().expect("text").to_owned()
    }

    /// The visible text of all elements that a CSS selector finds.
    pub fn texts(&self, selector: &str) -> Vec<String> {
        self.find_all(selector).iter().map(|element| self.text(element)).collect()
    }

    /// Everything from here on is inside of this frame.
    pub fn enter(&self, frame: &Element) {
        self.post("/frame", &json!({ "id": { ELEMENT: frame.0 } }));
    }

    /// Back to the page.
    pub fn leave_frame(&self) {
        self.post("/frame", &json!({ "id": null }));
    }

    /// Writes a picture of the page as PNG into the folder that `LAB_PICTURES` names, if it does: for people who work
    /// on the pages.
    pub fn picture(&self, name: &str) {
        let Some(folder) = std::env::var_os("LAB_PICTURES") else { return };
        let picture = self.get("/screenshot");
        let picture = picture.as_str().expect("text").as_bytes();
        let picture = mail_parser::decoders::base64::base64_decode(picture).expect("base64");
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), picture).expect("a file");
    }

    fn get(&self, command: &str) -> Value {
        self.ask(self.client.get(format!("{}{command}", self.session)))
    }

    fn post(&self, command: &str, body: &Value) -> Value {
        self.ask(self.client.post(format!("{}{command}", self.session)).json(body))
    }

    fn ask(&self, request: reqwest::RequestBuilder) -> Value {
        self.try_ask(request).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The driver's answer, or its error.
    fn try_ask(&self, request: reqwest::RequestBuilder) -> Result<Value, Value> {
        let answer: Value = self.runtime.block_on(async { request.send().await?.json().await }).expect("an answer");
        let value = answer["value"].clone();
        if value.get("error").is_some() { Err(value) } else { Ok(value) }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The driver ends its browser with the session, and not when it is killed.
        let _ = self.runtime.block_on(async { self.client.delete(&self.session).send().await.map(|_| ()) });
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Asks again and again until nothing is missing, for at most 20 seconds.
pub fn wait_for<T: std::fmt::Debug>(mut missing: impl FnMut() -> Option<T>) {
    let end = Instant::now() + Duration::from_secs(20);
    while let Some(missing) = missing() {
        assert!(Instant::now() < end, "waited in vain: {missing:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn installed(programs: &[&'static str]) -> Option<&'static str> {
    programs.iter().copied().find(|program| Path::new(program).exists())
}
