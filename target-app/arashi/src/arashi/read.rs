//! Pages that change no data.

use std::time::Instant;

use http::StatusCode;
use live_service::service;
use service_core::mail::{Page, newest};

use super::{Answered, Quality, Signed, copies::ListKey};
use crate::{
    answer::{self, MailAnswer},
    pages::{self, Frame, SearchResults, Shown},
    store::{EntryId, ListOrder, Scope},
};

/// The number of rows of a list at reduced quality.
const FEW_ROWS: usize = 3;

impl Signed<'_> {
    pub(super) async fn folder_list(&self) -> Answered {
        self.folders_with(StatusCode::OK, None).await
    }

    /// The list of folders, with the problem of a change that failed.
    pub(super) async fn folders_with(&self, status: StatusCode, problem: Option<&str>) -> Answered {
        let folders = self.store().folders(self.session.user).await?;
        Ok(answer::page(status, pages::folders(&self.frame(None), &folders, problem)))
    }

    /// Below full quality, a copy of a list, without any work. `None`: there is no copy that is new enough.
    pub(super) fn as_it_was(&self, page: Page) -> Option<MailAnswer> {
        if self.quality == Quality::Full || page != Page::List {
            return None;
        }
        let which = self.which_list()?;
        let (_, id, order, start) = which;
        let copy = self.arashi.copies.find(&which, Instant::now())?;
        let folder = copy.folders.iter().find(|folder| folder.id == id)?;
        let shown = Shown { folder, order, start, rows: &copy.rows };
        let page = pages::messages(&self.frame(Some(id)), shown, &copy.folders);
        Some(answer::degraded(answer::page(StatusCode::OK, page), "stale"))
    }

    fn which_list(&self) -> Option<ListKey> {
        let id = self.fields.folder("folderid")?;
        let order = ListOrder::from_names(self.fields.text("sort"), self.fields.text("dir"));
        Some((self.session.user, id, order, self.fields.number("start").unwrap_or(0)))
    }

    pub(super) async fn list(&self) -> Answered {
        let Some(which) = self.which_list() else { return Ok(self.missing()) };
        let (_, id, asked, start) = which;
        let order = if self.quality == Quality::Reduced { ListOrder::default() } else { asked };
        let folders = self.store().folders(self.session.user).await?;
        let Some(folder) = folders.iter().find(|folder| folder.id == id) else { return Ok(self.missing()) };
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
            return Ok(self.missing());
        };
        let folders = self.store().folders(self.session.user).await?;
        let Some(folder) = folders.iter().find(|folder| folder.id == id) else { return Ok(self.missing()) };
        let Some(mut message) = self.store().message(self.session.user, id, entry).await? else {
            return Ok(self.missing());
        };
        if self.quality == Quality::Reduced {
            "(The service is busy: the text is left out for now.)".clone_into(&mut message.text);
            message.html = None;
        }
        let page = pages::message(&self.frame(Some(id)), folder, entry, &message, &folders);
        Ok(self.marked(answer::page(StatusCode::OK, page)))
    }

    /// Marks an answer that is less than was requested.
    fn marked(&self, page: MailAnswer) -> MailAnswer {
        if self.quality == Quality::Reduced { answer::degraded(page, "reduced") } else { page }
    }

    pub(super) async fn attachment(&self) -> Answered {
        let place = self.fields.folder("folderid").zip(self.fields.number("entry").map(EntryId));
        let Some(((folder, entry), part)) = place.zip(self.fields.number("part")) else {
            return Ok(self.missing());
        };
        let found = self.store().attachment(self.session.user, folder, entry, part).await?;
        Ok(found.map_or_else(
            || self.missing(),
            |found| {
                let content = service::PageBody::Drawn { length: found.size, pieces: Box::new(found.content) };
                answer::attachment(&found.name, content)
            },
        ))
    }

    pub(super) async fn search(&self) -> Answered {
        let folder = self.fields.folder("folderid");
        let scope = match (self.fields.text("scope"), folder) {
            (Some("all"), _) | (_, None) => Scope::All,
            (_, Some(folder)) => Scope::Folder(folder),
        };
        let text = self.fields.text("q").unwrap_or("");
        let start = self.fields.number("start").unwrap_or(0);
        let share = self.quality.searched();
        let Some(hits) = self.store().search_newest(self.session.user, scope, text, start, share).await? else {
            return Ok(self.missing());
        };
        let folders = self.store().folders(self.session.user).await?;
        // A foreign number must not be repeated in the links of the page, even where it has no effect.
        let folder = folder.filter(|id| folders.iter().any(|folder| folder.id == *id));
        let found = SearchResults { scope, text, start, hits: &hits };
        let frame = Frame { searched: Some((text, scope)), ..self.frame(folder) };
        let page = answer::page(StatusCode::OK, pages::search(&frame, found, &folders));
        Ok(if hits.part.is_some() { answer::degraded(page, &newest(share)) } else { page })
    }
}
