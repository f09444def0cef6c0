//! The sign-in page, and the first page after it.

use maud::{Markup, html};

use super::{Frame, page, plain};

/// The sign-in page, with the error of the last attempt.
#[must_use]
pub fn sign_in(problem: Option<&str>) -> Markup {
    plain(
        "login",
        "Arashi mail",
        &html! {
            @if let Some(problem) = problem { p class="problem" role="alert" { (problem) } }
            form data-do="login" method="post" action="/login" class="stack" {
                label { "User" input type="text" name="user" autocomplete="username" autocapitalize="none" spellcheck="false" required autofocus; }
                label { "Password" input type="password" name="password" autocomplete="current-password" required; }
                button class="main" { "Sign in" }
            }
        },
    )
}

/// The first page of a session.
#[must_use]
pub fn welcome(frame: &Frame<'_>) -> Markup {
    page(
        frame,
        "welcome",
        "Welcome",
        &html! {
            section class="card" {
                h1 { "Welcome, " (frame.session.name) }
                p { a class="button" href=(frame.link("/folderlist".to_owned())) { "Go to your mail" } }
            }
        },
    )
}
