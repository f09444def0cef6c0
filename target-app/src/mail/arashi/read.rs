//! Pages that change nothing.

use std::time::Instant;

use http::StatusCode;

use super::{Answered, Quality, Signed};
use crate::mail::{
    answer::{self, Answer},
    pages::{self, Found, Shown},
    store::{EntryId, Order, Scope},
};

/// Rows of a list at reduced quality.
const FEW_ROWS: usize = 3;

impl Signed<'_> {
    pub(super) async fn folder_list(&self) -> Answered {
        self.folders_with(StatusCode::OK, None).await
    }

    /// The list of folders, with something that did not work.
    pub(super) async fn folders_with(&self, status: StatusCode, problem: Option<&str>) -> Answered {
        let folders = self.store().folders(self.session.user).await?;
        Ok(answer::page(status, pages::folders(&self.frame(None), &folders, problem)))
    }

    pub(super) async fn list(&self) -> Answered {
        let Some(id) = self.fields.folder("folderid") else { return Ok(answer::missing()) };
        let mut order = Order::from_names(self.fields.text("sort"), self.fields.text("dir"));
        let start = self.fields.number("start").unwrap_or(0);
        let which = (self.session.user, id, order, start);
        if self.quality == Quality::Reduced {
            if let Some(copy) = self.arashi.copies.find(&which, Instant::now())
                && let Some(folder) = copy.folders.iter().find(|folder| folder.id == id)
            {
                let shown = Shown { folder, order, start, rows: &copy.rows };
                let page = pages::messages(&self.frame(Some(id)), shown, &copy.folders);
                return Ok(answer::degraded(answer::page(StatusCode::OK, page), "stale"));
            }
            order = Order::default();
        }
        let folders = self.store().folders(self.session.user).await?;
        let Some(folder) = folders.iter().find(|folder| folder.id == id) else { return Ok(answer::missing()) };
        let mut rows = self.store().list(self.session.user, id, order, start).await?;
        if self.quality == Quality::Reduced {
            rows.truncate(FEW_ROWS);
        } else {
            self.arashi.copies.keep(which, &folders, &rows, Instant::now());
        }
        let shown = Shown { folder, order, start, rows: &rows };
        Ok(self.marked(answer::page(StatusCode::OK, pages::messages(&self.frame(Some(id)), shown, &folders))))
    }

    pub(super) async fn show(&self) -> Answered {
        let Some((id, entry)) = self.fields.folder("folderid").zip(self.fields.number("entry").map(EntryId)) else {
            return Ok(answer::missing());
        };
        let folders = self.store().folders(self.session.user).await?;
        let Some(folder) = folders.iter().find(|folder| folder.id == id) else { return Ok(answer::missing()) };
        let Some(mut message) = self.store().message(self.session.user, id, entry).await? else {
            return Ok(answer::missing());
        };
        if self.quality == Quality::Reduced {
            "(The service is busy: the text is left out for now.)".clone_into(&mut message.text);
            message.html = None;
        }
        let page = pages::message(&self.frame(Some(id)), folder, entry, &message, &folders);
        Ok(self.marked(answer::page(StatusCode::OK, page)))
    }

    /// An answer that is less than was asked for says so.
    fn marked(&self, page: Answer) -> Answer {
        if self.quality == Quality::Reduced { answer::degraded(page, "reduced") } else { page }
    }

    pub(super) async fn attachment(&self) -> Answered {
        let place = self.fields.folder("folderid").zip(self.fields.number("entry").map(EntryId));
        let Some(((folder, entry), part)) = place.zip(self.fields.number("part")) else {
            return Ok(answer::missing());
        };
        let found = self.store().attachment(self.session.user, folder, entry, part).await?;
        Ok(found.map_or_else(answer::missing, |found| answer::attachment(&found.name, found.content)))
    }

    pub(super) async fn search(&self) -> Answered {
        let folder = self.fields.folder("folderid");
        let scope = match (self.fields.text("scope"), folder) {
            (Some("all"), _) | (_, None) => Scope::All,
            (_, Some(folder)) => Scope::Folder(folder),
        };
        let text = self.fields.text("q").unwrap_or("");
        let start = self.fields.number("start").unwrap_or(0);
        let Some(hits) = self.store().search(self.session.user, scope, text, start).await? else {
            return Ok(answer::missing());
        };
        let folders = self.store().folders(self.session.user).await?;
        // A foreign number must not come back in the links of the page, not even where it has no effect.
        let folder = folder.filter(|id| folders.iter().any(|folder| folder.id == *id));
        let found = Found { scope, text, start, hits: &hits };
        Ok(answer::page(StatusCode::OK, pages::search(&self.frame(folder), found, &folders)))
    }
}
