//! Several services that call each other: their books, the machines of the whole tree, and reports between tasks.

mod autoscaler;
mod books;
mod machines;
mod platform;
mod reports;

pub use books::{CRASHES, add};
pub use books::{balancer_of, books_of, continued, crashed, ended, gauges_of, requests_of};
pub use machines::{TreeMachines, TreeTurn};
pub use platform::{TaskId, TreeChange};
pub use reports::{MOST_TASKS, addressee, global, local};
