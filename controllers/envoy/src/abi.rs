//! The part of Envoy's ABI for dynamic modules that this module uses (`abi.h` of Envoy 1.40, version v0.1.0), and safe wrappers.

#![expect(unsafe_code, reason = "Envoy's functions are C; all that follows goes through the wrappers here")]

use std::ffi::c_void;

/// A pointer whose meaning is Envoy's, or one that Envoy keeps for us.
pub type Opaque = *mut c_void;

/// Bytes of Envoy or of the module; null if there are none.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Buffer {
    pub ptr: *const u8,
    pub length: usize,
}

#[repr(C)]
struct Header {
    key: Buffer,
    value: Buffer,
}

/// Where a header is looked for.
#[repr(u32)]
#[derive(Debug, Clone, Copy)]
pub enum HeaderKind {
    Request = 0,
    Response = 2,
}

/// What Envoy does with a request after its headers.
#[repr(u32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeadersStatus {
    Continue = 0,
    StopIteration = 1,
    /// Nothing of the request goes on until it is continued, and its sender is slowed down.
    StopAllIterationAndWatermark = 4,
}

unsafe extern "C" {
    fn envoy_dynamic_module_callback_http_get_header(
        filter: Opaque,
        kind: u32,
        key: Buffer,
        found: *mut Buffer,
        index: usize,
        count: *mut usize,
    ) -> bool;
    fn envoy_dynamic_module_callback_http_send_response(
        filter: Opaque,
        status: u32,
        headers: *const Header,
        count: usize,
        body: Buffer,
        details: Buffer,
    );
    fn envoy_dynamic_module_callback_http_filter_continue_decoding(filter: Opaque);
    fn envoy_dynamic_module_callback_http_filter_scheduler_new(filter: Opaque) -> Opaque;
    fn envoy_dynamic_module_callback_http_filter_scheduler_commit(scheduler: Opaque, event: u64);
    fn envoy_dynamic_module_callback_http_filter_scheduler_delete(scheduler: Opaque);
    fn envoy_dynamic_module_callback_http_filter_config_define_counter(
        config: Opaque,
        name: Buffer,
        labels: *mut Buffer,
        count: usize,
        id: *mut usize,
    ) -> u32;
    fn envoy_dynamic_module_callback_http_filter_config_define_gauge(
        config: Opaque,
        name: Buffer,
        labels: *mut Buffer,
        count: usize,
        id: *mut usize,
    ) -> u32;
    fn envoy_dynamic_module_callback_http_filter_config_increment_counter(
        config: Opaque,
        id: usize,
        labels: *mut Buffer,
        count: usize,
        by: u64,
    ) -> u32;
    fn envoy_dynamic_module_callback_http_filter_config_set_gauge(
        config: Opaque,
        id: usize,
        labels: *mut Buffer,
        count: usize,
        value: u64,
    ) -> u32;
    fn envoy_dynamic_module_callback_log(level: u32, message: Buffer);
}

impl Buffer {
    pub fn of(text: &str) -> Self {
        Self { ptr: text.as_ptr(), length: text.len() }
    }

    /// The text of a buffer of Envoy's; empty if it is none.
    ///
    /// # Safety
    /// Null, or so many bytes that live as long as `'a`.
    pub unsafe fn text<'a>(self) -> &'a str {
        if self.ptr.is_null() {
            return "";
        }
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(self.ptr, self.length) };
        std::str::from_utf8(bytes).unwrap_or("")
    }
}

/// A request, during a hook that Envoy calls for it.
#[derive(Debug, Clone, Copy)]
pub struct Filter(Opaque);

impl Filter {
    /// # Safety
    /// Envoy's pointer to the filter, and this value is used during that hook alone.
    pub unsafe fn of(filter: Opaque) -> Self {
        Self(filter)
    }

    /// The first header of this name, handed to `read` if there is one.
    pub fn header<T>(self, kind: HeaderKind, name: &str, read: impl FnOnce(&str) -> T) -> Option<T> {
        let mut found = Buffer { ptr: std::ptr::null(), length: 0 };
        // SAFETY: the filter lives during the hook, and Envoy writes the buffer alone.
        let there = unsafe {
            let (name, nobody) = (Buffer::of(name), std::ptr::null_mut());
            envoy_dynamic_module_callback_http_get_header(self.0, kind as u32, name, &raw mut found, 0, nobody)
        };
        // SAFETY: Envoy's bytes live as long as the headers, which nobody changes meanwhile.
        (there && !found.ptr.is_null()).then(|| read(unsafe { found.text() }))
    }

    /// Answers in the place of the service.
    pub fn answer(self, status: u16, headers: &[(&str, &str)], body: &str) {
        let headers: Vec<Header> =
            headers.iter().map(|(key, value)| Header { key: Buffer::of(key), value: Buffer::of(value) }).collect();
        // SAFETY: the filter lives during the hook, and Envoy copies what it is given.
        unsafe {
            let (body, details) = (Buffer::of(body), Buffer::of("admission"));
            let (first, count) = (headers.as_ptr(), headers.len());
            envoy_dynamic_module_callback_http_send_response(self.0, status.into(), first, count, body, details);
        }
    }

    /// Lets a request go on that was stopped.
    pub fn go_on(self) {
        // SAFETY: the filter lives during the hook.
        unsafe { envoy_dynamic_module_callback_http_filter_continue_decoding(self.0) }
    }
}

/// Calls a request's worker back, from any thread.
#[derive(Debug)]
pub struct Scheduler(Opaque);

// SAFETY: Envoy's scheduler is made for being committed from other threads; the filter that it wakes is held by it weakly.
unsafe impl Send for Scheduler {}

impl Scheduler {
    pub fn of(filter: Filter) -> Self {
        // SAFETY: the filter lives during the hook.
        Self(unsafe { envoy_dynamic_module_callback_http_filter_scheduler_new(filter.0) })
    }

    /// Has the worker call the hook `scheduled` of the request, unless that is gone.
    pub fn wake(&self) {
        // SAFETY: it is there until it is dropped.
        unsafe { envoy_dynamic_module_callback_http_filter_scheduler_commit(self.0, 0) }
    }
}

impl Drop for Scheduler {
    fn drop(&mut self) {
        // SAFETY: it was made by `of`, and is deleted once.
        unsafe { envoy_dynamic_module_callback_http_filter_scheduler_delete(self.0) }
    }
}

/// The configuration of a filter in Envoy, until it is destroyed.
#[derive(Debug, Clone, Copy)]
pub struct FilterConfig(Opaque);

// SAFETY: Envoy's metrics are atomics behind tables that are not changed any more once requests come; nothing else is used of it.
unsafe impl Send for FilterConfig {}

/// A metric that Envoy has.
#[derive(Debug, Clone, Copy)]
pub struct MetricId(usize);

impl FilterConfig {
    /// # Safety
    /// Envoy's pointer to the configuration; no metric is touched after it is destroyed.
    pub unsafe fn of(config: Opaque) -> Self {
        Self(config)
    }

    /// Makes a counter, or else a gauge; `None`: Envoy does not.
    pub fn metric(self, name: &str, counts: bool) -> Option<MetricId> {
        let (mut id, name, none) = (0, Buffer::of(name), std::ptr::null_mut());
        // SAFETY: during the hook that makes the configuration; Envoy copies the name.
        let result = unsafe {
            match counts {
                true => {
                    envoy_dynamic_module_callback_http_filter_config_define_counter(self.0, name, none, 0, &raw mut id)
                }
                false => {
                    envoy_dynamic_module_callback_http_filter_config_define_gauge(self.0, name, none, 0, &raw mut id)
                }
            }
        };
        (result == 0).then_some(MetricId(id))
    }

    pub fn add(self, MetricId(id): MetricId, by: u64) {
        // SAFETY: the configuration is there until the module's thread has ended.
        unsafe {
            envoy_dynamic_module_callback_http_filter_config_increment_counter(self.0, id, std::ptr::null_mut(), 0, by)
        };
    }

    pub fn set(self, MetricId(id): MetricId, value: u64) {
        // SAFETY: as above.
        unsafe {
            envoy_dynamic_module_callback_http_filter_config_set_gauge(self.0, id, std::ptr::null_mut(), 0, value)
        };
    }
}

/// Writes a line into Envoy's log, as an error.
pub fn complain(text: &str) {
    const ERROR: u32 = 4;
    // SAFETY: Envoy copies the text.
    unsafe { envoy_dynamic_module_callback_log(ERROR, Buffer::of(text)) }
}
