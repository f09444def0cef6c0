//! The functions that Envoy calls, by their names in `abi.h`.

#![expect(unsafe_code, reason = "Envoy's hooks get raw pointers")]

use std::{
    ffi::{CStr, c_char},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::{
    abi::{Buffer, Filter, FilterConfig, HeadersStatus, Opaque, complain},
    config::ModuleConfig,
    host::RunningHost,
    metrics::Metrics,
    stream::AdmissionStream,
};

const VERSION: &CStr = c"v0.1.0";

/// A panic must not unwind into Envoy: the request goes on.
fn guarded<T>(otherwise: T, act: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(act)).unwrap_or(otherwise)
}

/// Acts on a request.
///
/// # Safety
/// `stream` is what [`envoy_dynamic_module_on_http_filter_new`] returned, and nobody else uses it: Envoy calls the hooks of a filter on one
/// thread.
unsafe fn on<T>(stream: Opaque, otherwise: T, act: impl FnOnce(&mut AdmissionStream) -> T) -> T {
    // SAFETY: the caller's promise.
    match unsafe { stream.cast::<AdmissionStream>().as_mut() } {
        Some(stream) => guarded(otherwise, || act(stream)),
        None => otherwise,
    }
}

#[unsafe(no_mangle)]
extern "C" fn envoy_dynamic_module_on_program_init() -> *const c_char {
    VERSION.as_ptr()
}

/// # Safety
/// Envoy's: a configuration that lives until its destruction, two buffers that live during the call.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_config_new(config: Opaque, _: Buffer, text: Buffer) -> Opaque {
    guarded(std::ptr::null_mut(), || {
        // SAFETY: the caller's promise; the host's thread, which alone touches metrics, is joined when Envoy destroys the configuration.
        let (envoy, text) = unsafe { (FilterConfig::of(config), text.text()) };
        let made =
            ModuleConfig::read(text).and_then(|config| RunningHost::begin(config, |door| Metrics::of(envoy, door)));
        match made {
            Ok(host) => Box::into_raw(Box::new(host)).cast(),
            Err(why) => {
                complain(&format!("admission: {why}"));
                std::ptr::null_mut()
            }
        }
    })
}

/// # Safety
/// What the hook before returned, once.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_config_destroy(host: Opaque) {
    if !host.is_null() {
        // SAFETY: the caller's promise.
        guarded((), || drop(unsafe { Box::from_raw(host.cast::<RunningHost>()) }));
    }
}

/// # Safety
/// What the first hook returned, and is not destroyed.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_new(host: Opaque, _: Opaque) -> Opaque {
    // SAFETY: the caller's promise.
    let Some(running) = (unsafe { host.cast::<RunningHost>().as_ref() }) else { return std::ptr::null_mut() };
    Box::into_raw(Box::new(AdmissionStream::new(Arc::clone(&running.host)))).cast()
}

/// # Safety
/// Envoy's: a filter during this call, and what [`envoy_dynamic_module_on_http_filter_new`] returned.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_request_headers(
    filter: Opaque,
    stream: Opaque,
    _: bool,
) -> u32 {
    // SAFETY: the caller's promise.
    let status = unsafe { on(stream, HeadersStatus::Continue, |stream| stream.request_headers(Filter::of(filter))) };
    status as u32
}

/// # Safety
/// As for the headers of a request.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_response_headers(
    filter: Opaque,
    stream: Opaque,
    _: bool,
) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { on(stream, (), |stream| stream.response_headers(Filter::of(filter))) };
    0
}

/// # Safety
/// As for the headers of a request.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_scheduled(filter: Opaque, stream: Opaque, _: u64) {
    // SAFETY: the caller's promise.
    unsafe { on(stream, (), |stream| stream.scheduled(Filter::of(filter))) }
}

/// # Safety
/// As for the headers of a request.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_local_reply(
    _: Opaque,
    stream: Opaque,
    _: u32,
    _: Buffer,
    _: bool,
) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { on(stream, (), AdmissionStream::local_reply) };
    0
}

/// # Safety
/// As for the headers of a request.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_stream_complete(_: Opaque, stream: Opaque) {
    // SAFETY: the caller's promise.
    unsafe { on(stream, (), AdmissionStream::ended) }
}

/// # Safety
/// What [`envoy_dynamic_module_on_http_filter_new`] returned, once.
#[unsafe(no_mangle)]
unsafe extern "C" fn envoy_dynamic_module_on_http_filter_destroy(stream: Opaque) {
    if !stream.is_null() {
        // SAFETY: the caller's promise.
        guarded((), || drop(unsafe { Box::from_raw(stream.cast::<AdmissionStream>()) }));
    }
}

/// Hooks that Envoy wants to be there, and that have nothing to do: 0 is to go on.
macro_rules! nothing {
    ($($name:ident)+) => { $(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> usize {
            0
        }
    )+ };
}

nothing! {
    envoy_dynamic_module_on_http_filter_request_body
    envoy_dynamic_module_on_http_filter_request_trailers
    envoy_dynamic_module_on_http_filter_response_body
    envoy_dynamic_module_on_http_filter_response_trailers
    envoy_dynamic_module_on_http_filter_http_callout_done
    envoy_dynamic_module_on_http_filter_http_stream_complete
    envoy_dynamic_module_on_http_filter_http_stream_data
    envoy_dynamic_module_on_http_filter_http_stream_headers
    envoy_dynamic_module_on_http_filter_http_stream_reset
    envoy_dynamic_module_on_http_filter_http_stream_trailers
    envoy_dynamic_module_on_http_filter_config_http_callout_done
    envoy_dynamic_module_on_http_filter_config_http_stream_complete
    envoy_dynamic_module_on_http_filter_config_http_stream_data
    envoy_dynamic_module_on_http_filter_config_http_stream_headers
    envoy_dynamic_module_on_http_filter_config_http_stream_reset
    envoy_dynamic_module_on_http_filter_config_http_stream_trailers
    envoy_dynamic_module_on_http_filter_config_scheduled
    envoy_dynamic_module_on_http_filter_downstream_above_write_buffer_high_watermark
    envoy_dynamic_module_on_http_filter_downstream_below_write_buffer_low_watermark
    envoy_dynamic_module_on_http_filter_per_route_config_new
    envoy_dynamic_module_on_http_filter_per_route_config_destroy
}
