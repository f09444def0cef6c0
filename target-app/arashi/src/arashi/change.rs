//! Pages that change data: the shared stage of the paper. A change that is answered with *done* is in the database.

use http::StatusCode;

use super::{Answered, Signed};
use crate::{
    answer,
    pages::{self, Done},
    store::{FolderId, NewFolder, Scope},
};

/// The longest name of a folder, in characters.
const MAX_NAME: usize = 60;

impl Signed<'_> {
    pub(super) async fn delete(&self) -> Answered {
        let Some((scope, entries)) = self.scope().zip(self.fields.messages()) else { return Ok(self.missing()) };
        match self.store().delete(self.session.user, scope, &entries).await? {
            Some(number) => self.done(Done::Delete, number, Some(scope)).await,
            None => Ok(self.missing()),
        }
    }

    pub(super) async fn refile(&self) -> Answered {
        let chosen = self.scope().zip(self.fields.messages()).zip(self.fields.folder("to"));
        let Some(((scope, entries), to)) = chosen else { return Ok(self.missing()) };
        match self.store().refile(self.session.user, scope, to, &entries).await? {
            Some(number) => self.done(Done::Refile, number, Some(scope)).await,
            None => Ok(self.missing()),
        }
    }

    pub(super) async fn create_folder(&self) -> Answered {
        let name = self.fields.text("name").unwrap_or("").trim();
        if name.is_empty() || name.chars().count() > MAX_NAME || name.chars().any(is_unfit) {
            let problem = "A folder's name has 1 to 60 characters, and no control characters.";
            return self.folders_with(StatusCode::BAD_REQUEST, Some(problem)).await;
        }
        match self.store().create_folder(self.session.user, name).await? {
            NewFolder::Created(id) => self.done(Done::CreateFolder, 1, Some(Scope::Folder(id))).await,
            NewFolder::Exists(_) => {
                self.folders_with(StatusCode::CONFLICT, Some("There is a folder of that name already.")).await
            }
            NewFolder::TooMany => {
                self.folders_with(StatusCode::CONFLICT, Some("There are too many folders. Delete one first.")).await
            }
        }
    }

    pub(super) async fn delete_folder(&self) -> Answered {
        let Some(id) = self.fields.folder("folderid") else { return Ok(self.missing()) };
        let folders = self.store().folders(self.session.user).await?;
        let Some(folder) = folders.iter().find(|folder| folder.id == id && !folder.inbox) else {
            return Ok(self.missing());
        };
        if folder.messages > 0 && self.fields.text("with") != Some("messages") {
            let problem = "That folder is not empty. Tick the box to delete its messages too.";
            return self.folders_with(StatusCode::CONFLICT, Some(problem)).await;
        }
        match self.store().delete_folder(self.session.user, id).await? {
            Some(number) => self.done(Done::DeleteFolder, number, None).await,
            None => Ok(self.missing()),
        }
    }

    async fn done(&self, what: Done, number: u64, scope: Option<Scope>) -> Answered {
        let back = match scope {
            Some(Scope::Folder(folder)) => Some(folder),
            Some(Scope::All) | None => self.inbox().await?,
        };
        Ok(answer::page(StatusCode::OK, pages::done(&self.frame(back), what, number, back)))
    }

    async fn inbox(&self) -> Result<Option<FolderId>, crate::store::StoreError> {
        let folders = self.store().folders(self.session.user).await?;
        Ok(folders.first().map(|folder| folder.id))
    }
}

/// True for control characters, and for marks that reverse the direction of writing: a name must look like what it is.
fn is_unfit(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}
