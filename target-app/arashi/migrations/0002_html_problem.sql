-- Why the HTML of a message was not kept: its text is shown instead, and a reader is told.
ALTER TABLE bodies ADD COLUMN html_problem TEXT;
